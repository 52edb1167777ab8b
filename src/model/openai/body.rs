//! The body of a request.

use serde::Serialize;
use serde_json::Value;

use super::dialect::{Dialect, Output};
use crate::prompt::ModelRequest;

const FORM_INSTRUCTION: &str =
    "Reply with one JSON object and nothing else. It must conform to this JSON schema:";

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: [Message<'a>; 2],
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
struct Message<'a> {
    role: &'static str,
    content: &'a str,
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

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

/// Writes a request in a server's dialect.
pub(super) fn render(request: &ModelRequest, model: &str, dialect: Dialect, streams: bool) -> Vec<u8> {
    let frame = &*request.frame;
    let told;
    let system = match &frame.schema {
        Some(schema) if dialect.output != Output::JsonSchema => {
            told = format!("{}\n\n{FORM_INSTRUCTION}\n{schema}", frame.system);
            &told
        }
        _ => &frame.system,
    };
    let response_format = frame.schema.as_ref().and_then(|schema| match dialect.output {
        Output::JsonSchema => {
            let json_schema = NamedSchema { name: frame.role.as_str(), strict: true, schema };
            Some(ResponseFormat::JsonSchema { json_schema })
        }
        Output::JsonObject => Some(ResponseFormat::JsonObject),
        Output::Prompt => None,
    });
    let body = Body {
        model,
        messages: [
            Message { role: "system", content: system },
            Message { role: "user", content: &request.payload },
        ],
        temperature: frame.temperature.filter(|_| dialect.sends_temperature),
        max_tokens: frame.max_tokens.filter(|_| !dialect.completion_tokens),
        max_completion_tokens: frame.max_tokens.filter(|_| dialect.completion_tokens),
        response_format,
        stream: streams,
        stream_options: (streams && dialect.stream_options).then_some(StreamOptions { include_usage: true }),
    };
    serde_json::to_vec(&body).expect("a request has text keys only")
}
