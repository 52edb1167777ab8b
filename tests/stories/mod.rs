//! The stories that the fixtures tell, each as what was asked and what the world said. The models
//! and tools are scripted and the time is fixed, so telling a story again gives the same bytes.
#![allow(dead_code)]

mod notebook;
mod plan_then_execute;
mod validated;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use planwright::agents;
use planwright::driver::{Agent, CancelToken, ModelError, Stopped, ToolCall, ToolError};
use planwright::journal::Fixture;
use planwright::machine::{FailureClass, Input, ModelReply};
use planwright::model::ScriptedModel;
use planwright::tool::FnTool;

/// When every story is told.
pub const NOW: &str = "2026-11-20T09:30:00+09:00[Asia/Seoul]";

/// One run of a shipped agent: what is asked, and what models and tools say to it.
pub struct Story {
    pub agent: &'static str,
    pub name: &'static str,
    pub question: &'static str,
    /// Where it comes from, and what in it is made up.
    pub notes: Vec<&'static str>,
    /// What the model says, in order.
    model: Vec<Result<ModelReply, ModelError>>,
    /// What the tools say, in order.
    tools: Vec<Said>,
}

/// What one tool call is answered with.
struct Said {
    tool: &'static str,
    input: &'static str,
    answer: Result<&'static str, (&'static str, &'static str)>,
    /// Whether a person stops the run while the call goes on.
    cancels: bool,
}

impl Story {
    fn new(agent: &'static str, name: &'static str, question: &'static str) -> Self {
        Story { agent, name, question, notes: Vec::new(), model: Vec::new(), tools: Vec::new() }
    }

    fn note(mut self, note: &'static str) -> Self {
        self.notes.push(note);
        self
    }

    fn reply(mut self, text: impl Into<String>) -> Self {
        self.model.push(Ok(ModelReply::text(text)));
        self
    }

    fn fails(mut self, class: FailureClass, message: &'static str) -> Self {
        self.model.push(Err(ModelError::failed(class, message)));
        self
    }

    fn tool(mut self, tool: &'static str, input: &'static str, output: &'static str) -> Self {
        self.tools.push(Said { tool, input, answer: Ok(output), cancels: false });
        self
    }

    fn failing_tool(
        mut self,
        tool: &'static str,
        input: &'static str,
        failure: (&'static str, &'static str),
    ) -> Self {
        self.tools.push(Said { tool, input, answer: Err(failure), cancels: false });
        self
    }

    /// A person stops the run while the tool called last is at work.
    fn cancelled_meanwhile(mut self) -> Self {
        if let Some(said) = self.tools.last_mut() {
            said.cancels = true;
        }
        self
    }

    /// Where its fixture is kept, seen from the crate's folder.
    pub fn path(&self) -> PathBuf {
        Path::new("fixtures").join(self.agent).join(self.name).with_extension("json")
    }

    /// Tells the story: runs the shipped agent and records the run.
    pub fn record(self) -> Result<Fixture, Stopped> {
        let spec = agents::shipped(self.agent).expect("a story is told of a shipped agent");
        let (script, token) = (Arc::new(Mutex::new(self.tools)), CancelToken::new());
        let mut builder = Agent::builder(spec)
            .model(self.model.into_iter().fold(ScriptedModel::new(), |model, answer| model.answer(answer)));
        for contract in agents::tools() {
            let (script, token, name) = (Arc::clone(&script), token.clone(), contract.name.clone());
            builder = builder.tool(FnTool::new(contract, move |call| said(&script, &token, &name, call)));
        }
        let agent = builder.build().expect("a shipped spec checks");
        let input = Input { now: NOW.to_owned(), ..Input::question(self.question) };
        let mut fixture = agent.job(input).cancel(token).run()?.fixture()?;
        fixture.notes = self.notes.into_iter().map(str::to_owned).collect();
        Ok(fixture)
    }
}

fn said(
    script: &Mutex<Vec<Said>>,
    token: &CancelToken,
    tool: &str,
    call: &ToolCall<'_>,
) -> Result<String, ToolError> {
    let (input, mut script) = (call.text()?, script.lock().expect("no tool panics"));
    let next = script.iter().position(|said| said.tool == tool && said.input == input);
    let said = next.map(|at| script.remove(at)).unwrap_or_else(|| panic!("no {tool} says {input:?}"));
    if said.cancels {
        token.cancel();
    }
    said.answer.map(str::to_owned).map_err(|(kind, message)| ToolError::new(kind, message))
}

/// Every story there is.
pub fn all() -> Vec<Story> {
    let mut stories = notebook::stories();
    stories.extend(plan_then_execute::stories());
    stories.extend(validated::stories());
    stories
}

/// A plan as a planner writes it.
fn plan(goal: &str, steps: &[(&str, &str)]) -> String {
    let steps: Vec<_> =
        steps.iter().map(|(tool, input)| serde_json::json!({"tool": tool, "input": input})).collect();
    serde_json::json!({"goal": goal, "steps": steps}).to_string()
}

/// A verdict as a validator writes it.
fn verdict(ok: bool, reason: &str, fix_hint: &str) -> String {
    serde_json::json!({"ok": ok, "reason": reason, "fix_hint": fix_hint}).to_string()
}

/// An answer as the writer of `plan-then-execute` writes it.
fn answer(text: &str) -> String {
    serde_json::json!({"final": text}).to_string()
}
