//! Small agents for the tests of the offline model, and one way to ask it.

use std::sync::Arc;

use planwright::agents;
use planwright::machine::ModelReply;
use planwright::ports::Model;
use planwright::prompt::{Message, ModelRequest};
use planwright::spec::{CompiledAgent, CompiledSpec, RequestFrame, RoleName, Spec};
use planwright_offline::Offline;
use serde_json::{Value, json};

/// Every intake, agents that do the steps, an orchestrator, a judge of the answer.
pub const WORKERS: &str = include_str!("workers.toml");

/// Tools and agents in one plan, a writer last.
pub const RESEARCH: &str = include_str!("research.toml");

/// Native calls, judged by sufficiency after every round.
pub const ROUNDS: &str = include_str!("rounds.toml");

/// Thought and action as text, the planner's words as the answer.
pub const REACT: &str = include_str!("react.toml");

/// Native calls of which some must be made, the planner's words as the answer.
pub const TITLES: &str = include_str!("titles.toml");

/// Steps that work on each other's outputs, and a new plan that keeps what was done.
pub const CHAIN: &str = include_str!("chain.toml");

/// The checked form of one of these specs.
pub fn compiled(spec: &str) -> CompiledSpec {
    Spec::from_toml(spec).unwrap().check().unwrap()
}

/// The constant part of a role's requests.
pub fn frame(compiled: &CompiledSpec, role: RoleName) -> Arc<RequestFrame> {
    compiled.frame(role).unwrap().clone()
}

/// The constant part of the requests of a role of a shipped agent.
pub fn shipped(agent: &str, role: RoleName) -> Arc<RequestFrame> {
    frame(&agents::shipped(agent).unwrap().check().unwrap(), role)
}

/// The constant part of the requests of an agent that does steps.
pub fn agent_frame(compiled: &CompiledSpec, name: &str) -> Arc<RequestFrame> {
    match compiled.agent(name).unwrap() {
        CompiledAgent::Role(frame) => frame.clone(),
        CompiledAgent::Spec(_) => panic!("{name} is a whole agent"),
    }
}

/// A record of `tool_results`.
pub fn result(tool: &str, input: &str, status: &str, output: &str) -> Value {
    json!({"step_index": 0, "tool": tool, "input": input, "status": status, "trust": "untrusted", "output": output})
}

/// What `docs` returns for these sources and texts.
pub fn docs(passages: &[(&str, &str)]) -> Value {
    let record = |(source, text): &(&str, &str)| json!({"source": source, "text": text});
    let records: Value = passages.iter().map(record).collect();
    result("docs", "x", "completed", &records.to_string())
}

/// Asks the offline model, twice: equal requests get equal replies.
pub fn ask(frame: &Arc<RequestFrame>, payload: &Value, conversation: &[Message]) -> ModelReply {
    let (payload, conversation) = (payload.to_string(), conversation.to_vec());
    let request = ModelRequest { frame: frame.clone(), payload, conversation, trace: None };
    let reply = Offline::new().ask(&request, None).unwrap();
    assert_eq!(Offline::new().ask(&request, None).unwrap(), reply);
    reply
}
