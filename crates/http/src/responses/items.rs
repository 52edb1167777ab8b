//! How a request is written: instructions, and the items of the conversation.

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
    let format = schema.and_then(|schema| match dialect.output {
        StructuredOutput::JsonSchema => {
            let strict = is_strict(schema);
            Some(json!({"type": "json_schema", "name": frame.role, "strict": strict, "schema": schema}))
        }
        StructuredOutput::JsonObject => Some(json!({"type": "json_object"})),
        StructuredOutput::Auto | StructuredOutput::Prompt => None,
    });
    let mut items = vec![say("user", &request.payload)];
    // What was thought before calls goes back with their results; nothing is stored there.
    let sealed = frame.native_calls && dialect.sealed_reasoning;
    request.conversation.iter().for_each(|message| push_items(&mut items, message, frame.native_calls));
    if !sealed {
        items.retain(|item| item["type"] != "reasoning");
    }
    let offers = frame.native_calls && !frame.tools.is_empty();
    vec![
        ("model", Some(json!(model))),
        ("instructions", Some(json!(render_system(frame, told)))),
        ("tools", offers.then(|| frame.tools.iter().map(render_tool).collect())),
        ("tool_choice", offers.then(|| json!("auto"))),
        ("input", Some(items.into())),
        ("text", format.map(|format| json!({"format": format}))),
        ("temperature", frame.temperature.filter(|_| dialect.sends_temperature).map(Value::from)),
        ("max_output_tokens", frame.max_tokens.map(Value::from)),
        ("include", sealed.then(|| json!(["reasoning.encrypted_content"]))),
        ("store", Some(json!(false))),
        ("stream", Some(json!(streams))),
    ]
}

fn render_tool(contract: &ToolContract) -> Value {
    let (name, description) = (contract.name.as_str(), contract.description.trim());
    let parameters = contract.parameters();
    json!({
        "type": "function", "name": name, "description": description, "parameters": parameters, "strict": false,
    })
}

fn say(role: &str, content: &str) -> Value {
    json!({"role": role, "content": content})
}

fn answer(id: &str, output: &str) -> Value {
    json!({"type": "function_call_output", "call_id": id, "output": output})
}

/// Adds what the assistant said and called, after what it had thought.
fn push_words(items: &mut Vec<Value>, reasoning: &[Value], words: &str, calls: &[Call]) {
    items.extend(reasoning.iter().filter(|item| item["type"] == "reasoning").cloned());
    if !words.trim().is_empty() {
        items.push(say("assistant", words));
    }
    for Call { id, name, arguments } in calls {
        let arguments = arguments.to_string();
        items.push(json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments}));
    }
}

fn push_items(items: &mut Vec<Value>, message: &Message, native_calls: bool) {
    match message {
        Message::Assistant { text, calls, reasoning } => push_words(items, reasoning, text, calls),
        Message::Tool { id, content, .. } => items.push(answer(id, content)),
        Message::User { content } => match parse_repair(content) {
            None => items.push(say("user", content)),
            Some((reply, problem)) => {
                let (words, calls) = if native_calls { split_reply(&reply) } else { (&*reply, Vec::new()) };
                let nothing = words.trim().is_empty() && calls.is_empty();
                push_words(items, &[], if nothing { NO_WORDS } else { words }, &calls);
                items.extend(calls.iter().map(|call| answer(&call.id, &problem)));
                if calls.is_empty() {
                    items.push(say("user", &problem));
                }
            }
        },
    }
}
