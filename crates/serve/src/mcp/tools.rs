//! The tools: one for each agent, and `answer`.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Map, Value};

use crate::caller::Caller;
use crate::keys::Right;
use crate::problem::Result;
use crate::service::Service;
use planwright::contract::ToolEffect;
use planwright::spec::Spec;

/// The tool that answers what a person is asked.
pub(super) const ANSWER: &str = "answer";
const ANSWERS: &str = "Answers what a run of another tool waits for, and goes on with it. What is approved or \
                       answered here counts as the word of a person: ask them first.";
/// What the tools take and give, as JSON schemas.
const SCHEMAS: &str = include_str!("schemas.json");

/// The name of an agent's tool.
fn tool_name(agent: &str) -> String {
    if agent == ANSWER { format!("{agent}_agent") } else { agent.to_owned() }
}

/// The agent that this is the tool of.
pub(super) fn agent_of(service: &Service, caller: &Caller, tool: &str) -> Result<String> {
    let names = service.agent_names();
    let none = || match caller.may(Right::Answer) {
        true => service.no_such_agent(tool).hint("the tool `answer` is there besides"),
        false => service.no_such_agent(tool),
    };
    names.into_iter().find(|name| tool_name(name) == tool).ok_or_else(none)
}

/// The tools that a caller may use.
pub(super) fn list_tools(service: &Service, caller: &Caller) -> Result<Vec<Tool>> {
    let mut schemas: Map<String, Value> = serde_json::from_str(SCHEMAS).expect("schemas.json is JSON");
    let mut schema = |name: &str| match schemas.remove(name) {
        Some(Value::Object(schema)) => Arc::new(schema),
        _ => Arc::default(),
    };
    let (ask, answer, reply) = (schema("ask"), schema("answer"), schema("reply"));
    let agents = service.agent_names().into_iter().filter(|_| caller.may(Right::Run));
    let tools = agents.map(|name| Ok(tool_of(&service.spec_of(&name)?, &ask, &reply)));
    let mut tools = tools.collect::<Result<Vec<Tool>>>()?;
    if caller.may(Right::Answer) {
        let about = ToolAnnotations::with_title("Answer for a person").read_only(false).destructive(true);
        tools.push(Tool::new(ANSWER, ANSWERS, answer).with_raw_output_schema(reply).with_annotations(about));
    }
    Ok(tools)
}

fn tool_of(spec: &Spec, ask: &Arc<JsonObject>, reply: &Arc<JsonObject>) -> Tool {
    let writes = spec.all_tools().iter().any(|tool| tool.effect == ToolEffect::Write);
    let about = ToolAnnotations::with_title(&spec.name).read_only(!writes).destructive(writes);
    Tool::new(tool_name(&spec.name), spec.description.clone(), Arc::clone(ask))
        .with_raw_output_schema(Arc::clone(reply))
        .with_annotations(about)
}
