//! The world of a story: what the exchanges of its fixture say is said again, to the same requests.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use planwright::agents;
use planwright::contract::ToolContract;
use planwright::driver::Agent;
use planwright::journal::{Exchange, Fixture, ModelAnswer};
use planwright::machine::{HumanAnswer, ModelReply, ToolOutcome};
use planwright::ports::{Cause, Model, ModelError, TokenSink, Tool, ToolCall, ToolError, ToolOutput};
use planwright::prompt::ModelRequest;
use planwright::spec::Spec;
use serde_json::{Value, json};

use crate::server::post;

/// The fixtures of every shipped agent.
pub fn fixtures() -> Vec<(&'static str, PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let of_agent = |agent: &'static str| {
        let files = std::fs::read_dir(folder.join(agent)).unwrap();
        let mut paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
        paths.sort();
        paths.into_iter().map(move |path| (agent, path))
    };
    agents::names().flat_map(of_agent).collect()
}

/// What is said in a story.
pub struct World {
    exchanges: Mutex<Vec<Exchange>>,
    /// The input of the call in which a person cancels the run, and where they do.
    cancels: Mutex<Option<(Value, SocketAddr, String)>>,
    contracts: Vec<ToolContract>,
}

impl World {
    /// The world of a fixture. Where the run was cancelled, it is in the first of the calls made last.
    pub fn new(fixture: &Fixture, spec: &Spec, ingress: SocketAddr, thread: &str) -> Arc<Self> {
        let ends = fixture.exchanges.iter().any(|exchange| matches!(exchange, Exchange::Happened(_)));
        let exchanges = fixture.exchanges.iter().rev().skip(usize::from(ends));
        let last = exchanges.map_while(|exchange| match exchange {
            Exchange::Tool { input, .. } => Some(input.clone()),
            _ => None,
        });
        let cancelled = last.last().filter(|_| ends);
        let cancels = cancelled.map(|input| (input, ingress, format!("/planwright/{thread}/cancel")));
        let inner = spec.agents.iter().filter_map(|agent| agent.spec.as_ref());
        let contracts = spec.tools.iter().chain(inner.flat_map(|spec| &spec.tools)).cloned().collect();
        let (exchanges, cancels) = (Mutex::new(fixture.exchanges.clone()), Mutex::new(cancels));
        Arc::new(World { exchanges, cancels, contracts })
    }

    /// The agent of the story.
    pub fn agent(self: &Arc<Self>, spec: Spec) -> Agent {
        let tool = |contract: &ToolContract| Said { contract: contract.clone(), world: Arc::clone(self) };
        let tools: Vec<Said> = self.contracts.iter().map(tool).collect();
        Agent::builder(spec).model(Speaker(Arc::clone(self))).tools(tools).build().unwrap()
    }

    /// Takes the first exchange that fits.
    fn say<T>(&self, fits: impl Fn(&Exchange) -> Option<T>) -> Option<T> {
        let mut exchanges = self.exchanges.lock().unwrap();
        let (at, said) =
            exchanges.iter().enumerate().find_map(|(at, exchange)| Some((at, fits(exchange)?)))?;
        exchanges.remove(at);
        Some(said)
    }

    /// What a person says to a question.
    pub fn answer(&self, asked: &str) -> Option<HumanAnswer> {
        self.say(|exchange| match exchange {
            Exchange::Human { question, answer, .. } if question == asked => Some(answer.clone()),
            _ => None,
        })
    }
}

struct Speaker(Arc<World>);

impl Model for Speaker {
    fn name(&self) -> &str {
        "scripted"
    }

    fn ask(&self, asked: &ModelRequest, _: Option<TokenSink<'_>>) -> Result<ModelReply, ModelError> {
        let payload: Value = serde_json::from_str(&asked.payload).unwrap_or_default();
        let said = self.0.say(|exchange| match exchange {
            Exchange::Model { request, answer, .. } if request["task"] == payload["task"] => {
                Some(answer.clone())
            }
            _ => None,
        });
        match said {
            Some(ModelAnswer::Reply(reply)) => Ok(reply),
            Some(ModelAnswer::Failure(failure)) => Err(ModelError::Failed(failure)),
            None => Err(ModelError::unanswered(Cause::Unavailable, "nobody says it")),
        }
    }
}

struct Said {
    contract: ToolContract,
    world: Arc<World>,
}

impl Tool for Said {
    fn contract(&self) -> ToolContract {
        self.contract.clone()
    }

    fn call(&self, call: &ToolCall<'_>) -> Result<ToolOutput, ToolError> {
        let said = self.world.say(|exchange| match exchange {
            Exchange::Tool { tool, input, answer, .. }
                if *tool == self.contract.name && input == call.input =>
            {
                Some(answer.clone())
            }
            _ => None,
        });
        let mut cancels = self.world.cancels.lock().unwrap();
        if let Some((_, ingress, path)) = cancels.take_if(|(input, ..)| input == call.input) {
            post(ingress, &path, "", &json!({"reason": "stopped by the user"}).to_string()).unwrap();
        }
        match said {
            Some(ToolOutcome::Returned { output, sources, data }) => {
                let data = data.map(|data| *data);
                Ok(ToolOutput { data, ..ToolOutput::from_sources(output, sources) })
            }
            Some(ToolOutcome::Failed { kind, message }) => Err(ToolError::new(kind.as_str(), message)),
            None => Err(ToolError::new("story", "nobody says it")),
        }
    }
}
