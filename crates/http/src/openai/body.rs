//! The body of a request.

use serde::Serialize;
use serde_json::Value;

use super::dialect::{Dialect, Output};
use super::messages::{self, Message};
use planwright::contract::ToolContract;
use planwright::prompt::ModelRequest;

const FORM_INSTRUCTION: &str =
    "Reply with one JSON object and nothing else. It must conform to this JSON schema:";

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<Message<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat<'a>>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ResponseFormat<'a> {
    JsonSchema { json_schema: NamedSchema<'a> },
    JsonObject,
}

#[derive(Serialize)]
struct NamedSchema<'a> {
    name: &'static str,
    strict: bool,
    schema: &'a Value,
}

/// A tool as it is offered.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Tool<'a> {
    Function { function: Function<'a> },
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: Value,
}

impl<'a> Tool<'a> {
    fn of(contract: &'a ToolContract) -> Self {
        let (name, description) = (contract.name.as_str(), contract.description.trim());
        Tool::Function { function: Function { name, description, parameters: contract.parameters() } }
    }
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

/// Writes a request in a server's dialect. Where tools are offered natively, no form is asked for:
/// a reply is calls or plain words then.
pub(super) fn render(request: &ModelRequest, model: &str, dialect: Dialect, streams: bool) -> Vec<u8> {
    let frame = &*request.frame;
    let schema = frame.schema.as_ref().filter(|_| !frame.native_calls);
    let told;
    let system = match schema {
        Some(schema) if dialect.output != Output::JsonSchema => {
            told = format!("{}\n\n{FORM_INSTRUCTION}\n{schema}", frame.system);
            &told
        }
        _ => &frame.system,
    };
    let response_format = schema.and_then(|schema| match dialect.output {
        Output::JsonSchema => {
            let json_schema = NamedSchema { name: frame.role.as_str(), strict: true, schema };
            Some(ResponseFormat::JsonSchema { json_schema })
        }
        Output::JsonObject => Some(ResponseFormat::JsonObject),
        Output::Prompt => None,
    });
    let offered = frame.tools.iter().filter(|_| frame.native_calls);
    let tools: Vec<Tool<'_>> = offered.map(Tool::of).collect();
    let body = Body {
        model,
        messages: messages::of(system, request),
        tool_choice: (!tools.is_empty()).then_some("auto"),
        tools,
        temperature: frame.temperature.filter(|_| dialect.sends_temperature),
        max_tokens: frame.max_tokens.filter(|_| !dialect.completion_tokens),
        max_completion_tokens: frame.max_tokens.filter(|_| dialect.completion_tokens),
        response_format,
        stream: streams,
        stream_options: (streams && dialect.stream_options).then_some(StreamOptions { include_usage: true }),
    };
    serde_json::to_vec(&body).expect("a request has text keys only")
}
