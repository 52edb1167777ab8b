//! How a request is written: its messages, its tools, and its form in the server's dialect.
//!
//! The strictest servers and chat templates (Mistral's) want ids of nine letters and digits, and a user message only
//! after words of the assistant. Every server takes a request that they take, so all get the same.

use serde_json::{Value, json};

use crate::door::{Asked, NO_WORDS, StructuredOutput, parse_repair, render_system, split_reply};
use planwright::contract::ToolContract;
use planwright::contract::schema::is_strict;
use planwright::prompt::{Call, Message, ModelRequest};

/// Writes a request. With native tools no form is asked for: a reply is calls or plain words then.
pub(super) fn render_request(
    request: &ModelRequest,
    Asked { model, dialect, streams, .. }: Asked<'_>,
) -> Vec<(&'static str, Option<Value>)> {
    let frame = &*request.frame;
    let schema = frame.schema.as_ref().filter(|_| !frame.native_calls);
    let told = schema.filter(|_| dialect.output != StructuredOutput::JsonSchema);
    let system = render_system(frame, told);
    let response_format = schema.and_then(|schema| match dialect.output {
        StructuredOutput::JsonSchema => Some(json!({"type": "json_schema", "json_schema": {
            "name": frame.role, "strict": is_strict(schema), "schema": schema,
        }})),
        StructuredOutput::JsonObject => Some(json!({"type": "json_object"})),
        StructuredOutput::Auto | StructuredOutput::Prompt => None,
    });
    let mut messages = vec![
        json!({"role": "system", "content": system}),
        json!({"role": "user", "content": request.payload}),
    ];
    request.conversation.iter().for_each(|message| push_message(&mut messages, message, frame.native_calls));
    let offers = frame.native_calls && !frame.tools.is_empty();
    let limit = if dialect.completion_tokens { "max_completion_tokens" } else { "max_tokens" };
    let usage = (streams && dialect.stream_options).then(|| json!({"include_usage": true}));
    vec![
        ("model", Some(json!(model))),
        ("messages", Some(json!(messages))),
        ("tools", offers.then(|| frame.tools.iter().map(render_tool).collect())),
        ("tool_choice", offers.then(|| json!("auto"))),
        ("temperature", frame.temperature.filter(|_| dialect.sends_temperature).map(Value::from)),
        (limit, frame.max_tokens.map(Value::from)),
        ("response_format", response_format),
        ("stream", Some(json!(streams))),
        ("stream_options", usage),
    ]
}

fn render_tool(contract: &ToolContract) -> Value {
    let (name, description) = (contract.name.as_str(), contract.description.trim());
    let function = json!({"name": name, "description": description, "parameters": contract.parameters()});
    json!({"type": "function", "function": function})
}

/// Adds a message of the conversation.
fn push_message(messages: &mut Vec<Value>, message: &Message, native_calls: bool) {
    match message {
        Message::Assistant { text, calls, .. } if calls.is_empty() => {
            messages.push(json!({"role": "assistant", "content": text}));
        }
        Message::Assistant { text, calls, .. } => messages.push(render_calls(text, calls)),
        Message::Tool { id, content, .. } => messages.push(render_result(id, content)),
        Message::User { content } => {
            if let Some((reply, problem)) = parse_repair(content) {
                let (words, calls) = if native_calls { split_reply(&reply) } else { (&*reply, Vec::new()) };
                if !calls.is_empty() {
                    messages.push(render_calls(words, &calls));
                    messages.extend(calls.iter().map(|call| render_result(&call.id, &problem)));
                    return;
                }
                let words = if words.trim().is_empty() { NO_WORDS } else { words };
                messages.push(json!({"role": "assistant", "content": words}));
                messages.push(json!({"role": "user", "content": problem}));
                return;
            }
            if messages.last().is_some_and(|last| last["role"] != "assistant") {
                messages.push(json!({"role": "assistant", "content": NO_WORDS}));
            }
            messages.push(json!({"role": "user", "content": content}));
        }
    }
}

fn render_calls(text: &str, calls: &[Call]) -> Value {
    let render = |call: &Call| {
        // The arguments are JSON in a text.
        let function = json!({"name": call.name, "arguments": call.arguments.to_string()});
        json!({"id": render_id(&call.id), "type": "function", "function": function})
    };
    // Some servers refuse an empty text beside calls.
    let content = Some(text).filter(|text| !text.is_empty());
    json!({"role": "assistant", "content": content, "tool_calls": calls.iter().map(render).collect::<Value>()})
}

fn render_result(id: &str, content: &str) -> Value {
    json!({"role": "tool", "tool_call_id": render_id(id), "content": content})
}

/// The id of a call in nine letters and digits: `call_1` is `0000call1`.
fn render_id(id: &str) -> String {
    let kept: String = id.chars().filter(char::is_ascii_alphanumeric).collect();
    format!("{:0>9}", &kept[kept.len().saturating_sub(9)..])
}
