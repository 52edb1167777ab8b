//! A story in which everything happens that a crash could spoil (a replan, steps side by side, a
//! write that may be repeated and one that may not, a person), and a world that answers it the same
//! however often it is asked.

use std::collections::{BTreeSet, HashMap};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use planwright::agents;
use planwright::contract::{ToolContract, ToolEffect};
use planwright::driver::{Agent, Run};
use planwright::journal::{Exchange, Fixture, ModelAnswer, Record};
use planwright::machine::{Event, HumanAnswer, Input, ModelReply};
use planwright::ports::{Model, ModelError, TokenSink, Tool, ToolCall, ToolError, ToolOutput};
use planwright::prompt::ModelRequest;
use planwright::spec::{Approval, Containment, Digest, Execution, RoleName, Spec};
use serde_json::json;

pub const QUESTION: &str = "보고서를 만들어 보낼까?";
const NOW: &str = "2026-11-21T09:30:00+09:00[Asia/Seoul]";
/// What the person says.
pub const WORD: &str = "네, 보내세요";

pub fn input() -> Input {
    Input { now: NOW.to_owned(), ..Input::question(QUESTION) }
}

/// `validated`, with short prompts (every byte of the journal is going to be a test), two steps side by
/// side and a person.
pub fn spec() -> Spec {
    let mut spec = agents::shipped("validated").expect("a shipped agent");
    let contract = |name, effect| ToolContract::text(name, "A tool.", effect);
    spec.tools = vec![
        contract("find", ToolEffect::Read),
        contract("send", ToolEffect::Write),
        ToolContract { idempotent: Some(true), ..contract("store", ToolEffect::Write) },
    ];
    spec.policy.execution = Execution::Parallel { width: 2 };
    spec.policy.approval = Approval::STEPS;
    // The story writes in its second plan, after it has read: here nothing is contained.
    spec.policy.containment = Containment::Off;
    spec.description = String::new();
    for (name, role) in &mut spec.roles {
        role.prompt = if *name == RoleName::Planner { "Plan." } else { "Do it." }.to_owned();
    }
    spec
}

fn replies() -> [String; 5] {
    let plan = |steps: serde_json::Value| json!({"goal": "g", "steps": steps}).to_string();
    [
        plan(json!([
            {"tool": "find", "input": "하나"},
            {"tool": "find", "input": "둘"},
            {"tool": "final_answer", "input": "x"},
        ])),
        json!({"ok": false, "reason": "부족", "fix_hint": "보내라"}).to_string(),
        plan(json!([
            {"tool": "store", "input": "초안"},
            {"tool": "find", "input": "셋"},
            {"tool": "hitl", "hitl_question": "보낼까요?"},
            {"tool": "send", "input": "보고서"},
            {"tool": "final_answer", "input": "x"},
        ])),
        json!({"ok": true, "reason": "충분", "fix_hint": ""}).to_string(),
        "보냈습니다.".to_owned(),
    ]
}

/// Says to each request what was said to it in the straight run.
pub struct Remembering(HashMap<Digest, ModelReply>);

impl Model for Remembering {
    fn name(&self) -> &str {
        "remembering"
    }

    fn ask(&self, request: &ModelRequest, _: Option<TokenSink<'_>>) -> Result<ModelReply, ModelError> {
        let known = self.0.get(&request.digest());
        Ok(known.unwrap_or_else(|| panic!("the straight run asked nothing like {}", request.payload)).clone())
    }
}

/// What was done in the world: each call's key and tool. In a file, it outlives a killed process.
#[derive(Clone)]
pub struct Log(Option<PathBuf>, Arc<Mutex<Vec<String>>>);

impl Log {
    pub fn in_memory() -> Self {
        Log(None, Arc::default())
    }

    pub fn file(path: &Path) -> Self {
        Log(Some(path.to_owned()), Arc::default())
    }

    /// Notes that something was done.
    pub fn did(&self, line: &str) {
        self.write(line.to_owned());
    }

    fn write(&self, line: String) {
        match &self.0 {
            Some(path) => {
                let mut file = OpenOptions::new().create(true).append(true).open(path).expect("a log");
                writeln!(file, "{line}").expect("a line");
            }
            None => self.1.lock().expect("no writer panics").push(line),
        }
    }

    /// `tool effect`, in the order of doing.
    pub fn done(&self) -> Vec<String> {
        match &self.0 {
            Some(path) => {
                std::fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
            }
            None => self.1.lock().expect("no writer panics").clone(),
        }
    }

    /// How often a tool was really called.
    pub fn times(&self, tool: &str) -> usize {
        self.done().iter().filter(|line| line.starts_with(tool)).count()
    }
}

/// A tool that writes down that it was called; `around` is told before and after.
struct Logged {
    contract: ToolContract,
    log: Log,
    around: Arc<dyn Fn(&str) + Send + Sync>,
}

impl Tool for Logged {
    fn contract(&self) -> ToolContract {
        self.contract.clone()
    }

    fn call(&self, call: &ToolCall<'_>) -> Result<ToolOutput, ToolError> {
        let effect = call.idempotency_key.split_once('/').map_or("", |(_, effect)| effect);
        (self.around)("before an effect");
        self.log.write(format!("{} {effect}", self.contract.name));
        (self.around)("after an effect");
        Ok(format!("{} of {}", self.contract.name, call.text()?).into())
    }
}

/// The story, told once without a fault.
pub struct Story {
    pub fixture: Fixture,
    pub trace: String,
    pub answer: String,
}

impl Story {
    pub fn told() -> Self {
        let model = planwright::ports::ScriptedModel::replies(replies());
        let agent = tools(Agent::builder(spec()).model(model), &Log::in_memory(), Arc::new(|_| {}));
        let agent = agent.build().expect("the spec checks");
        let waiting = agent.job(input()).run().expect("nothing interrupts it");
        let run = waiting.respond(&agent, HumanAnswer::respond(WORD)).expect("it waits");
        let answer = run.answer().expect("it ends with an answer").to_owned();
        Story { fixture: run.fixture().expect("it folds"), trace: trace(&run), answer }
    }

    /// An agent for the same story, whose world tells `around` before and after each thing it does.
    pub fn agent(&self, log: &Log, around: Arc<dyn Fn(&str) + Send + Sync>) -> Agent {
        let said = self.fixture.exchanges.iter().filter_map(|exchange| match exchange {
            Exchange::Model { digest, answer: ModelAnswer::Reply(reply), .. } => {
                Some((*digest, reply.clone()))
            }
            _ => None,
        });
        let model = Remembering(said.collect());
        tools(Agent::builder(spec()).model(model), log, around).build().expect("the spec checks")
    }

    /// Whether a run is the story, told to its end.
    pub fn is_told_by(&self, run: &Run) -> bool {
        trace(run) == self.trace && run.answer() == Some(&self.answer)
    }
}

fn tools(
    builder: planwright::driver::AgentBuilder,
    log: &Log,
    around: Arc<dyn Fn(&str) + Send + Sync>,
) -> planwright::driver::AgentBuilder {
    spec().tools.into_iter().fold(builder, |builder, contract| {
        builder.tool(Logged { contract, log: log.clone(), around: around.clone() })
    })
}

pub fn trace(run: &Run) -> String {
    serde_json::to_string(run.trace()).expect("a trace serialises")
}

/// The effects that records say were answered.
pub fn answered(records: &[Record]) -> BTreeSet<String> {
    let effect = |record: &Record| match record {
        Record::Answered { event, .. } => event.effect().map(|effect| effect.to_string()),
        _ => None,
    };
    records.iter().filter_map(effect).collect()
}

/// The events that records hold, for a look at what was kept.
pub fn events(records: &[Record]) -> Vec<&Event> {
    let event = |record| match record {
        &Record::Answered { ref event, .. } | &Record::Happened { ref event, .. } => Some(event),
        _ => None,
    };
    records.iter().filter_map(event).collect()
}
