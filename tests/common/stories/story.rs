//! One story: what is asked, what the world says to it, and how it is told.

use std::path::{Path, PathBuf};

use planwright::agents;
use planwright::contract::Source;
use planwright::driver::{Agent, Stopped};
use planwright::journal::Fixture;
use planwright::machine::{FailureClass, HumanAnswer, Input, ModelReply, Speaker, Turn};
use planwright::ports::ModelError;
use planwright::ports::ToolError;
use serde_json::json;

use super::NOW;
use super::world::{Act, Said, World};

/// One run of a shipped agent: what is asked, and what models, tools and people say to it.
pub struct Story {
    pub agent: &'static str,
    pub name: &'static str,
    pub question: &'static str,
    /// Where it comes from, and what in it is made up.
    pub notes: Vec<&'static str>,
    history: Vec<Turn>,
    outline: Vec<String>,
    /// What models and tools say, in the order in which the run takes it up.
    acts: Vec<Act>,
    /// What a person is asked and says, in order. Where there is no more, nobody is there.
    people: Vec<(&'static str, HumanAnswer)>,
}

impl Story {
    pub fn new(agent: &'static str, name: &'static str, question: &'static str) -> Self {
        let (history, outline, acts, people) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Story { agent, name, question, notes: Vec::new(), history, outline, acts, people }
    }

    pub fn note(mut self, note: &'static str) -> Self {
        self.notes.push(note);
        self
    }

    /// An earlier turn of the thread.
    pub fn after(mut self, asked: &str, answered: &str) -> Self {
        for (role, content) in [(Speaker::User, asked), (Speaker::Assistant, answered)] {
            self.history.push(Turn { role, content: content.to_owned() });
        }
        self
    }

    /// The parts of the material at hand.
    pub fn outline(mut self, parts: &[&str]) -> Self {
        self.outline = parts.iter().map(|&part| part.to_owned()).collect();
        self
    }

    fn model(mut self, to: Option<&'static str>, answer: Result<ModelReply, ModelError>) -> Self {
        self.acts.push(Act { said: Said::Model { to, answer }, cancels: false });
        self
    }

    pub fn reply(self, text: impl Into<String>) -> Self {
        self.model(None, Ok(ModelReply::text(text)))
    }

    /// A reply to whoever is asked for this `task`, where several are asked at a time.
    pub fn reply_to(self, task: &'static str, text: &str) -> Self {
        self.model(Some(task), Ok(ModelReply::text(text)))
    }

    /// A reply that asks for these calls, each of a tool that takes a text.
    pub fn calls(self, calls: &[(&str, &str)]) -> Self {
        self.thinks("", calls)
    }

    /// The same, with words beside the calls.
    pub fn thinks(self, thought: &str, calls: &[(&str, &str)]) -> Self {
        let calls = calls.iter().map(|(tool, input)| (*tool, json!({"input": input})));
        self.model(None, Ok(ModelReply { text: thought.to_owned(), ..ModelReply::calls(calls) }))
    }

    pub fn fails(self, class: FailureClass, message: &'static str) -> Self {
        self.model(None, Err(ModelError::failed(class, message)))
    }

    fn call(
        mut self,
        tool: &'static str,
        input: &str,
        answer: Result<(String, Vec<Source>), ToolError>,
    ) -> Self {
        let said = Said::Tool { tool, input: input.to_owned(), answer };
        self.acts.push(Act { said, cancels: false });
        self
    }

    pub fn tool(self, tool: &'static str, input: &str, output: &str) -> Self {
        self.tool_from(tool, input, output, &[])
    }

    /// A tool that knows where what it says comes from.
    pub fn tool_from(self, tool: &'static str, input: &str, output: &str, sources: &[Source]) -> Self {
        self.call(tool, input, Ok((output.to_owned(), sources.to_vec())))
    }

    pub fn failing_tool(self, tool: &'static str, input: &str, (kind, message): (&str, &str)) -> Self {
        self.call(tool, input, Err(ToolError::new(kind, message)))
    }

    /// A person stops the run while the tool called last is at work.
    pub fn cancelled_meanwhile(mut self) -> Self {
        if let Some(act) = self.acts.last_mut() {
            act.cancels = true;
        }
        self
    }

    /// A person is asked this and answers.
    pub fn person(mut self, question: &'static str, answer: HumanAnswer) -> Self {
        self.people.push((question, answer));
        self
    }

    /// Where its fixture is kept, seen from the crate's folder.
    pub fn path(&self) -> PathBuf {
        Path::new("fixtures").join(self.agent).join(self.name).with_extension("json")
    }

    fn input(&self) -> Input {
        let (history, outline) = (self.history.clone(), self.outline.clone());
        Input { now: NOW.to_owned(), history, outline, ..Input::question(self.question) }
    }

    /// Tells the story: runs the shipped agent and records the run. Everything that the story says
    /// must be heard.
    pub fn record(self) -> Result<Fixture, Stopped> {
        let (input, path) = (self.input(), self.path());
        let spec = agents::shipped(self.agent).expect("a story is told of a shipped agent");
        let world = World::new(self.acts, self.people);
        let tools = world.tools(&spec);
        let builder = Agent::builder(spec).model(world.clone()).human(world.clone()).sleeper(world.clone());
        let agent = tools.into_iter().fold(builder, |builder, tool| builder.tool(tool));
        let agent = agent.build().expect("a shipped spec checks");
        let mut journal = world.journal();
        let run = agent.job(input).cancel(world.token()).journal(&mut journal).run();
        let unsaid = world.unsaid();
        assert!(unsaid.is_empty(), "{}: not told to its end: {unsaid:?}; {run:?}", path.display());
        let waiting = run?.waiting().map(ToString::to_string);
        let mut fixture = Fixture::of_records(&journal.into_records(), waiting)?;
        fixture.notes = self.notes.into_iter().map(str::to_owned).collect();
        Ok(fixture)
    }
}
