//! The world of a story: one script for models, tools and people. What may be said side by side is
//! said in the order of the script all the same: nobody speaks before all that stands before has been
//! taken up by the run.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use planwright::contract::ToolContract;
use planwright::driver::{CancelToken, Clock};
use planwright::journal::{Journal, JournalError, MemoryJournal, Record};
use planwright::machine::{Event, HumanAnswer, ModelReply};
use planwright::ports::{
    Cause, Human, Model, ModelError, Question, TokenSink, Tool, ToolCall, ToolError, ToolOutput,
};
use planwright::prompt::ModelRequest;
use planwright::spec::Spec;
use serde_json::Value;

/// Longest wait for a turn, for a story that is told in an order that cannot be.
const PATIENCE: Duration = Duration::from_secs(20);

/// One thing that is said.
pub struct Act {
    pub said: Said,
    /// Whether a person stops the run meanwhile.
    pub cancels: bool,
}

pub enum Said {
    /// By a model that is asked for this task, or for none.
    Model { task: Option<String>, answer: Result<ModelReply, ModelError> },
    /// By a tool that is called with this.
    Tool { tool: String, input: Value, answer: Result<ToolOutput, ToolError> },
}

impl Said {
    /// Who says it to what, for people.
    fn whose(&self) -> String {
        match self {
            Said::Model { task, .. } => format!("model {task:?}"),
            Said::Tool { tool, input, .. } => format!("{tool} {input}"),
        }
    }
}

#[derive(Default)]
struct Script {
    /// What has not been said yet, each with its place in the script.
    acts: Vec<(usize, Act)>,
    people: VecDeque<(String, HumanAnswer)>,
    /// How many answers of models and tools the run has taken up.
    taken: usize,
    /// What was asked and nobody has an answer to.
    missing: Vec<String>,
}

/// The world, shared by all that speak in it.
#[derive(Clone, Default)]
pub struct World {
    script: Arc<Mutex<Script>>,
    moved: Arc<Condvar>,
    token: CancelToken,
}

impl World {
    pub fn new(acts: Vec<Act>, people: Vec<(String, HumanAnswer)>) -> Self {
        let acts = acts.into_iter().enumerate().collect();
        let script = Script { acts, people: people.into(), ..Script::default() };
        World { script: Arc::new(Mutex::new(script)), ..World::default() }
    }

    /// Who may stop the run.
    pub fn token(&self) -> CancelToken {
        self.token.clone()
    }

    /// A journal that says when answers are taken up.
    pub fn journal(&self) -> Noticing {
        Noticing { records: MemoryJournal::new(), world: self.clone() }
    }

    /// The tools that a spec names, itself or in its agents; several may name the same one.
    pub fn tools(&self, spec: &Spec) -> Vec<impl Tool + use<>> {
        let tool = |contract: &ToolContract| Scripted { contract: contract.clone(), world: self.clone() };
        let mut tools: Vec<Scripted> = spec.tools.iter().map(tool).collect();
        for inner in spec.agents.iter().filter_map(|member| member.spec.as_ref()) {
            tools.extend(inner.tools.iter().map(tool));
        }
        tools
    }

    /// What nobody has heard, or nobody has said.
    pub fn unsaid(&self) -> Vec<String> {
        let script = self.script();
        let acts = script.acts.iter().map(|(_, act)| act.said.whose());
        let people = script.people.iter().map(|(question, _)| format!("a person asked {question:?}"));
        acts.chain(people).chain(script.missing.iter().cloned()).collect()
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first act that fits, when its turn has come.
    fn act(&self, asked: impl Fn() -> String, fits: impl Fn(&Said) -> bool) -> Option<Act> {
        let mut script = self.script();
        let Some(at) = script.acts.iter().position(|(_, act)| fits(&act.said)) else {
            script.missing.push(format!("nothing is said to {}", asked()));
            return None;
        };
        let (place, act) = script.acts.remove(at);
        let early = |script: &mut Script| script.taken < place;
        let (mut script, waited) =
            self.moved.wait_timeout_while(script, PATIENCE, early).unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            script.missing.push(format!("its turn never came: {}", act.said.whose()));
        }
        if act.cancels {
            self.token.cancel();
        }
        Some(act)
    }
}

impl Model for World {
    fn name(&self) -> &str {
        "scripted"
    }

    fn ask(&self, request: &ModelRequest, _: Option<TokenSink<'_>>) -> Result<ModelReply, ModelError> {
        let payload: Value = serde_json::from_str(&request.payload).unwrap_or_default();
        let asked_for = payload["task"].as_str();
        let fits = |said: &Said| matches!(said, Said::Model { task, .. } if task.as_deref() == asked_for);
        let asked = || format!("{} asked {}", request.frame.role, request.payload);
        match self.act(asked, fits).map(|act| act.said) {
            Some(Said::Model { answer, .. }) => answer,
            _ => Err(ModelError::unanswered(Cause::Unavailable, format!("nobody says it: {}", asked()))),
        }
    }
}

/// A tool that says what the script says.
struct Scripted {
    contract: ToolContract,
    world: World,
}

impl Tool for Scripted {
    fn contract(&self) -> ToolContract {
        self.contract.clone()
    }

    fn call(&self, call: &ToolCall<'_>) -> Result<ToolOutput, ToolError> {
        let (name, wanted) = (self.contract.name.as_str(), call.input);
        let fits =
            |said: &Said| matches!(said, Said::Tool { tool, input, .. } if tool == name && input == wanted);
        match self.world.act(|| format!("{name} called with {wanted}"), fits).map(|act| act.said) {
            Some(Said::Tool { answer, .. }) => answer,
            _ => Err(ToolError::new("story", "nobody says it")),
        }
    }
}

impl Human for World {
    fn ask(&self, question: &Question<'_>) -> Option<HumanAnswer> {
        let mut script = self.script();
        let (expected, answer) = script.people.pop_front()?;
        if question.text != expected {
            script.missing.push(format!("a person was asked {:?}, not {expected:?}", question.text));
        }
        Some(answer)
    }
}

impl Clock for World {
    fn sleep(&self, _: Duration, _: &dyn Fn() -> bool) {}
}

/// A journal that says when an answer is taken up.
pub struct Noticing {
    records: MemoryJournal,
    world: World,
}

impl Noticing {
    pub fn into_records(self) -> Vec<Record> {
        self.records.into_records()
    }
}

impl Journal for Noticing {
    fn append(&mut self, index: u64, records: Vec<Record>) -> Result<(), JournalError> {
        use Event::{ModelFailed, ModelReplied, ToolReturned};
        let answers = |record: &&Record| match record {
            Record::Answered { event, .. } => {
                matches!(event, ModelReplied { .. } | ModelFailed { .. } | ToolReturned { .. })
            }
            _ => false,
        };
        let taken = records.iter().filter(answers).count();
        self.records.append(index, records)?;
        if taken > 0 {
            self.world.script().taken += taken;
            self.world.moved.notify_all();
        }
        Ok(())
    }

    fn records(&self) -> Result<Vec<Record>, JournalError> {
        self.records.records()
    }
}
