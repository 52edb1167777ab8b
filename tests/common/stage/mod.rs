//! A stage for runs: scripted models and tools that write down how they were called.
#![allow(dead_code, reason = "each binary uses a part of it")]

use std::sync::{Arc, Condvar, Mutex};

use planwright::agents;
use planwright::contract::{ToolContract, ToolEffect, Trust};
use planwright::driver::{Agent, AgentBuilder, Run};
use planwright::machine::Input;
use planwright::ports::FnTool;
use planwright::ports::{Observer, ScriptedModel, Signal, Tool, ToolCall, ToolError};
use planwright::spec::{Execution, Spec};
use serde_json::{Value, json};

pub const NOW: &str = "2026-11-20T09:30:00+09:00[Asia/Seoul]";

pub fn asked(question: &str) -> Input {
    Input { now: NOW.to_owned(), ..Input::question(question) }
}

/// One call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Called {
    pub tool: String,
    pub input: Value,
    pub key: String,
}

/// What all tools were called with, in the order in which they were.
#[derive(Clone, Default)]
pub struct Calls(Arc<Mutex<Vec<Called>>>);

impl Calls {
    pub fn all(&self) -> Vec<Called> {
        self.0.lock().unwrap().clone()
    }

    pub fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    /// `tool:input`, in the order of calling.
    pub fn names(&self) -> Vec<String> {
        self.all().iter().map(|called| format!("{}:{}", called.tool, text(&called.input))).collect()
    }

    /// A tool that writes down its calls.
    pub fn tool(
        &self,
        contract: ToolContract,
        answer: impl Fn(&ToolCall<'_>) -> Result<String, ToolError> + Send + Sync + 'static,
    ) -> impl Tool + 'static {
        let (calls, tool) = (self.clone(), contract.name.clone());
        FnTool::new(contract, move |call| {
            let (input, key) = (call.input.clone(), call.idempotency_key.to_owned());
            calls.0.lock().unwrap().push(Called { tool: tool.clone(), input, key });
            answer(call)
        })
    }

    /// A tool that says `<name> of <input>`.
    pub fn echo(&self, contract: ToolContract) -> impl Tool + 'static {
        let name = contract.name.clone();
        self.tool(contract, move |call| Ok(format!("{name} of {}", text(call.input))))
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The contracts of the stage: `calc` (pure), `find` (read), `send` (a write that may not be done
/// twice), `store` (a write that may).
pub fn contracts() -> Vec<ToolContract> {
    let contract = |name, effect| ToolContract {
        trust: Trust::Untrusted,
        ..ToolContract::text(name, "Stands in for a tool.", effect)
    };
    vec![
        contract("calc", ToolEffect::Pure),
        contract("find", ToolEffect::Read),
        contract("send", ToolEffect::Write),
        ToolContract { idempotent: Some(true), ..contract("store", ToolEffect::Write) },
    ]
}

/// A shipped agent with the tools of the stage in place of its own.
pub fn spec(name: &str) -> Spec {
    let mut spec = agents::shipped(name).expect("a shipped agent");
    spec.tools = contracts();
    spec
}

/// A shipped spec that keeps only the contracts of this stage, with steps side by side.
pub fn parallel(name: &str, width: u32) -> Spec {
    let mut spec = spec(name);
    spec.policy.execution = Execution::Parallel { width };
    spec
}

/// An agent under this spec whose tools echo.
pub fn echoing(spec: Spec, model: &Arc<ScriptedModel>, calls: &Calls) -> AgentBuilder {
    let contracts = spec.tools.clone();
    let builder = Agent::builder(spec).model(model.clone());
    contracts.into_iter().fold(builder, |builder, contract| builder.tool(calls.echo(contract)))
}

/// A model that replies with these texts.
pub fn model<T: Into<String>>(replies: impl IntoIterator<Item = T>) -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::replies(replies))
}

/// A plan of these steps and a last one.
pub fn plan(steps: &[(&str, &str)]) -> String {
    let mut steps: Vec<Value> =
        steps.iter().map(|(tool, input)| json!({"tool": tool, "input": input})).collect();
    steps.push(json!({"tool": "final_answer", "input": "the answer"}));
    json!({"goal": "a goal", "steps": steps}).to_string()
}

pub fn accepted() -> String {
    json!({"ok": true, "reason": "enough", "fix_hint": ""}).to_string()
}

pub fn rejected(reason: &str, fix_hint: &str) -> String {
    json!({"ok": false, "reason": reason, "fix_hint": fix_hint}).to_string()
}

pub fn answer(text: &str) -> String {
    json!({"final": text}).to_string()
}

/// Lets tools answer in one order: a call with the input `n` returns when all that stand before
/// `n` in the order have been taken up by the run.
pub struct Conductor {
    order: Vec<String>,
    turn: Mutex<usize>,
    moved: Condvar,
}

impl Conductor {
    pub fn new(order: &[&str]) -> Arc<Self> {
        let order = order.iter().map(|&input| input.to_owned()).collect();
        Arc::new(Conductor { order, turn: Mutex::new(0), moved: Condvar::new() })
    }

    /// Waits until it is the turn of `input`.
    pub fn wait(&self, input: &str) {
        let turn = self.turn.lock().unwrap();
        let before = |turn: &mut usize| self.order.get(*turn).is_some_and(|next| next != input);
        drop(self.moved.wait_while(turn, before).unwrap());
    }
}

impl Observer for Conductor {
    fn notice(&self, signal: Signal<'_>) {
        if let Signal::Finished { .. } = signal {
            *self.turn.lock().unwrap() += 1;
            self.moved.notify_all();
        }
    }
}

/// The output of a step of the last plan, counted from 0.
pub fn output(run: &Run, step: usize) -> Option<&str> {
    run.state().current_steps().nth(step).and_then(|step| step.output)
}
