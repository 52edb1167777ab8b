//! The stories that the fixtures tell, told again: each fixture's run is recorded anew by the shipped
//! agent, in a world that says what it says there. A new story is a fixture whose question and answers
//! were written by hand; recording puts the rest right.
#![allow(dead_code, reason = "each binary uses a part of it")]

mod world;

use std::path::{Path, PathBuf};

use planwright::agents;
use planwright::driver::{Agent, Stopped};
use planwright::journal::{Exchange, Fixture, ModelAnswer};
use planwright::ports::{ModelError, ToolError, ToolOutput};

use planwright::machine::ToolOutcome;
use world::{Act, Said, World};

/// One run of a shipped agent: what is asked, and what models, tools and people say to it.
pub struct Story {
    pub agent: &'static str,
    pub name: String,
    pub question: String,
    /// Where it comes from, and what in it is made up.
    pub notes: Vec<String>,
    fixture: Fixture,
}

/// Every story there is.
pub fn all() -> Vec<Story> {
    agents::names().flat_map(of_agent).collect()
}

fn of_agent(agent: &'static str) -> Vec<Story> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(agent);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let story = |path: PathBuf| {
        let fixture = Fixture::load(&path).unwrap_or_else(|error| panic!("{error}"));
        let name = path.file_stem().expect("a file").to_string_lossy().into_owned();
        let (question, notes) = (fixture.input.question.clone(), fixture.notes.clone());
        Story { agent, name, question, notes, fixture }
    };
    paths.into_iter().map(story).collect()
}

impl Story {
    /// Where its fixture is kept, seen from the crate's folder.
    pub fn path(&self) -> PathBuf {
        Path::new("fixtures").join(self.agent).join(&self.name).with_extension("json")
    }

    /// What models and tools say, in the order in which the run takes it up. A person who stops the run
    /// does it while the first of the tools called last is at work.
    fn acts(&self) -> Vec<Act> {
        let act = |exchange: &Exchange| match exchange {
            Exchange::Model { request, answer, .. } => {
                let answer = match answer {
                    ModelAnswer::Reply(reply) => Ok(reply.clone()),
                    ModelAnswer::Failure(failure) => Err(ModelError::Failed(failure.clone())),
                };
                let task = request["task"].as_str().map(str::to_owned);
                Some(Act { said: Said::Model { task, answer }, cancels: false })
            }
            Exchange::Tool { tool, input, answer, .. } => {
                let answer = match answer.clone() {
                    ToolOutcome::Returned { output, sources, data } => {
                        let data = data.map(|data| *data);
                        Ok(ToolOutput { data, ..ToolOutput::from_sources(output, sources) })
                    }
                    ToolOutcome::Failed { kind, message } => Err(ToolError::new(kind.as_str(), message)),
                };
                let (tool, input) = (tool.clone(), input.clone());
                Some(Act { said: Said::Tool { tool, input, answer }, cancels: false })
            }
            _ => None,
        };
        let mut acts: Vec<Act> = self.fixture.exchanges.iter().filter_map(act).collect();
        if self.fixture.exchanges.iter().any(|exchange| matches!(exchange, Exchange::Happened(_))) {
            let tools_last =
                acts.iter().rev().take_while(|act| matches!(act.said, Said::Tool { .. })).count();
            let first = acts.len() - tools_last;
            acts[first].cancels = true;
        }
        acts
    }

    /// Tells the story: runs the shipped agent and records the run. Everything that the story says
    /// must be heard.
    pub fn record(self) -> Result<Fixture, Stopped> {
        let spec = agents::shipped(self.agent).expect("a story is told of a shipped agent");
        let people = self.fixture.exchanges.iter().filter_map(|exchange| match exchange {
            Exchange::Human { question, answer, .. } => Some((question.clone(), answer.clone())),
            _ => None,
        });
        let world = World::new(self.acts(), people.collect());
        let tools = world.tools(&spec);
        let builder = Agent::builder(spec).model(world.clone()).human(world.clone()).clock(world.clone());
        let agent = tools.into_iter().fold(builder, |builder, tool| builder.tool(tool));
        let agent = agent.build().expect("a shipped spec checks");
        let mut journal = world.journal();
        let input = self.fixture.input.clone();
        let run = agent.job(input).cancel(world.token()).journal(&mut journal).run();
        let unsaid = world.unsaid();
        assert!(unsaid.is_empty(), "{}: not told to its end: {unsaid:?}; {run:?}", self.path().display());
        let waiting = run?.waiting().map(ToString::to_string);
        let mut fixture = Fixture::of_records(&journal.into_records(), waiting)?;
        fixture.notes = self.notes;
        Ok(fixture)
    }
}
