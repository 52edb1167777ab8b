//! Small agents for the tests of the offline model, and one way to ask it.
#![allow(dead_code)]

use std::sync::Arc;

use planwright::agents;
use planwright::machine::ModelReply;
use planwright::ports::Model;
use planwright::prompt::{Message, ModelRequest};
use planwright::spec::{CompiledAgent, CompiledSpec, RequestFrame, RoleName, Spec};
use planwright_offline::Offline;
use serde_json::{Value, json};

/// Every intake, agents that do the steps, an orchestrator, a judge of the answer.
pub const WORKERS: &str = r#"
name = "teams"
tools = []

[policy]
intake = ["scope", "previous_context", "intent"]
intent = { form = "kind", kinds = ["search", "analysis", "document", "comprehensive", "unclear", "irrelevant"], answer_at_once = ["unclear", "irrelevant"] }
orchestrate = "each_step"
validate = "verdict"
validate_at = "answer"
memory = "thread"
approval = "steps"

[policy.plan]
min_steps = 0
max_steps = 6
final_step = "none"
says = { goal = true, reasoning = true, strategy = true }
fields = ["id", "task", "description", "input_from", "depends_on", "hitl_question"]
required = ["description"]

[limits]
max_replans = 1
max_added_steps = 2

[roles]
scope = { prompt = "Is it in scope?" }
previous_context = { prompt = "Does it need earlier turns?" }
intent = { prompt = "What is wanted?" }
planner = { prompt = "Plan." }
orchestrator = { prompt = "Decide." }
validator = { prompt = "Judge." }
writer = { prompt = "Write." }
conversation = { prompt = "Talk." }

[[agents]]
name = "search_team"
description = "Searches."
role = { prompt = "Search." }

[[agents]]
name = "analysis_team"
description = "Analyses what was found."
role = { prompt = "Analyse." }

[[agents]]
name = "document_team"
description = "Puts what was found into a document."
role = { prompt = "Write a document." }
"#;

/// Tools and agents in one plan, a writer last.
pub const RESEARCH: &str = r#"
name = "study"
tools = ["wiki", "search"]

[policy]
validate = "off"
write = "last_result"
execution = { mode = "parallel", width = 4 }

[policy.plan]
final_step = "none"
fields = ["id", "input_from", "depends_on"]

[roles]
planner = { prompt = "Plan." }

[[agents]]
name = "research"
description = "Researches a question on what was found."
role = { prompt = "Research." }

[[agents]]
name = "writer"
description = "Writes the answer."
role = { prompt = "Write." }
"#;

/// Native calls, judged by sufficiency after every round.
pub const ROUNDS: &str = r#"
name = "rounds"
tools = [
    { name = "hybrid_search", description = "Searches the contract by words and meaning.", effect = "pure" },
    { name = "get_article_by_index", description = "Returns an article by its number.", effect = "pure" },
    "lookup", "wiki", "calc",
]

[policy]
intake = ["intent"]
planner = "tool_calls"
horizon = "next"
validate = "sufficiency"
on_exhausted = "write"
duplicates = "skip"
memory = "thread"

[policy.plan]
final_step = "none"
says = { goal = false }

[limits]
max_iterations = 4

[roles]
intent = { prompt = "What is wanted?" }
planner = { prompt = "Call tools." }
validator = { prompt = "Is it enough?" }
writer = { prompt = "Write." }
"#;

/// Thought and action as text, the planner's words as the answer.
pub const REACT: &str = r#"
name = "thinker"
tools = ["docs", "wiki", "calc"]

[policy]
intake = ["intent"]
intent = { form = "text" }
planner = "react_text"
horizon = "next"
validate = "off"
write = "planner"

[policy.plan]
final_step = "none"
says = { goal = false }

[limits]
max_iterations = 8

[roles]
intent = { prompt = "What is wanted?" }
planner = { prompt = "Think and act." }
"#;

/// Native calls of which some must be made, the planner's words as the answer.
pub const TITLES: &str = r#"
name = "titles"
tools = ["wiki", "lookup"]

[policy]
planner = "tool_calls"
horizon = "next"
validate = "off"
write = "planner"
required_calls = [{ tool = "wiki", least = 1 }, { tool = "lookup", least = 1 }]

[policy.plan]
final_step = "none"
says = { goal = false }

[limits]
max_iterations = 8

[roles]
planner = { prompt = "Call tools." }
"#;

/// Steps that work on each other's outputs, and a new plan that keeps what was done.
pub const CHAIN: &str = r#"
name = "chain"
tools = [
    { name = "web_search", description = "Searches the web.", effect = "read", timeout_ms = 1000 },
    { name = "summarize", description = "Summarises a text.", effect = "pure" },
    "wiki",
]

[policy]
intake = ["intent"]
validate = "off"
on_step_failure = "replan"
on_replan = "keep"
memory = "thread"

[policy.plan]
min_steps = 0
final_step = "none"
fields = ["id", "input_from"]

[limits]
max_replans = 2

[roles]
intent = { prompt = "What is wanted?" }
planner = { prompt = "Plan." }
replanner = { prompt = "Plan again." }
writer = { prompt = "Write." }
conversation = { prompt = "Talk." }
"#;

/// The checked form of one of these specs.
pub fn rules(spec: &str) -> CompiledSpec {
    Spec::from_toml(spec).unwrap().check().unwrap()
}

/// The constant part of a role's requests.
pub fn frame(rules: &CompiledSpec, role: RoleName) -> Arc<RequestFrame> {
    rules.frame(role).unwrap().clone()
}

/// The constant part of the requests of a role of a shipped agent.
pub fn shipped(agent: &str, role: RoleName) -> Arc<RequestFrame> {
    frame(&agents::shipped(agent).unwrap().check().unwrap(), role)
}

/// The constant part of the requests of an agent that does steps.
pub fn agent_frame(rules: &CompiledSpec, name: &str) -> Arc<RequestFrame> {
    match rules.agent(name).unwrap() {
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
    let request = ModelRequest { frame: frame.clone(), payload, conversation };
    let reply = Offline::new().ask(&request, None).unwrap();
    assert_eq!(Offline::new().ask(&request, None).unwrap(), reply);
    reply
}
