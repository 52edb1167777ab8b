//! The body of a request: instructions, payload and the conversation since, in a server's dialect.

use serde_json::{Value, json};

use super::dialect::{Dialect, StructuredOutput};
use planwright::contract::ToolContract;
use planwright::prompt::{Call, Message, ModelRequest};

const FORM_INSTRUCTION: &str =
    "Reply with one JSON object and nothing else. It must conform to this JSON schema:";

/// Writes a request in a server's dialect. Where tools are offered natively, no form is asked for:
/// a reply is calls or plain words then.
pub(super) fn render(request: &ModelRequest, model: &str, dialect: Dialect, streams: bool) -> Vec<u8> {
    let frame = &*request.frame;
    let schema = frame.schema.as_ref().filter(|_| !frame.native_calls);
    let told = schema.filter(|_| dialect.output != StructuredOutput::JsonSchema);
    let system = match told {
        Some(schema) => format!("{}\n\n{FORM_INSTRUCTION}\n{schema}", frame.system),
        None => frame.system.clone(),
    };
    let response_format = schema.and_then(|schema| match dialect.output {
        StructuredOutput::JsonSchema => Some(json!({"type": "json_schema", "json_schema": {
            "name": frame.role, "strict": true, "schema": schema,
        }})),
        StructuredOutput::JsonObject => Some(json!({"type": "json_object"})),
        StructuredOutput::Auto | StructuredOutput::Prompt => None,
    });
    let mut messages = vec![
        json!({"role": "system", "content": system}),
        json!({"role": "user", "content": request.payload}),
    ];
    messages.extend(request.conversation.iter().map(render_message));
    let offers = frame.native_calls && !frame.tools.is_empty();
    let limit = if dialect.completion_tokens { "max_completion_tokens" } else { "max_tokens" };
    let usage = (streams && dialect.stream_options).then(|| json!({"include_usage": true}));
    let fields = [
        ("model", Some(json!(model))),
        ("messages", Some(json!(messages))),
        ("tools", offers.then(|| frame.tools.iter().map(render_tool).collect())),
        ("tool_choice", offers.then(|| json!("auto"))),
        ("temperature", frame.temperature.filter(|_| dialect.sends_temperature).map(Value::from)),
        (limit, frame.max_tokens.map(Value::from)),
        ("response_format", response_format),
        ("stream", Some(json!(streams))),
        ("stream_options", usage),
    ];
    let fields = fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Value::Object(fields.collect()).to_string().into_bytes()
}

fn render_tool(contract: &ToolContract) -> Value {
    let (name, description) = (contract.name.as_str(), contract.description.trim());
    let function = json!({"name": name, "description": description, "parameters": contract.parameters()});
    json!({"type": "function", "function": function})
}

fn render_message(message: &Message) -> Value {
    match message {
        Message::Assistant { text, calls } if calls.is_empty() => {
            json!({"role": "assistant", "content": text})
        }
        // Some servers refuse an empty text beside calls.
        Message::Assistant { text, calls } => json!({
            "role": "assistant",
            "content": Some(text).filter(|text| !text.is_empty()),
            "tool_calls": calls.iter().map(render_call).collect::<Value>(),
        }),
        Message::Tool { id, content, .. } => json!({"role": "tool", "tool_call_id": id, "content": content}),
        Message::User { content } => json!({"role": "user", "content": content}),
    }
}

fn render_call(call: &Call) -> Value {
    // The arguments are JSON in a text.
    let function = json!({"name": call.name, "arguments": call.arguments.to_string()});
    json!({"id": call.id, "type": "function", "function": function})
}
