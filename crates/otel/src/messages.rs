//! What was said, as JSON texts of the conventions' shapes. It is made only where it was asked for, out of what is
//! without keys.

use std::borrow::Cow;

use opentelemetry::KeyValue;
use planwright::machine::{Event, ModelReply, ToolOutcome};
use planwright::prompt::{Call, Message, ModelRequest};
use serde_json::{Value, json};

use crate::attributes::{finish_reason, text};

/// What a model is sent.
pub(crate) fn of_request(request: &ModelRequest) -> [KeyValue; 2] {
    let first = json!({"role": "user", "parts": [text_part(&request.payload)]});
    let messages: Vec<Value> = [first].into_iter().chain(request.conversation.iter().map(message)).collect();
    let system = json!([text_part(&request.frame.system)]);
    [
        text("gen_ai.system_instructions", &system.to_string()),
        text("gen_ai.input.messages", &json!(messages).to_string()),
    ]
}

/// What came of an effect.
pub(crate) fn of_answer(event: &Event) -> Option<KeyValue> {
    Some(match event {
        Event::ModelReplied { reply, .. } => output(reply_parts(reply), finish_reason(Some(event))),
        Event::ModelFailed { failure, .. } => {
            output(vec![text_part(&failure.text)], finish_reason(Some(event)))
        }
        Event::ToolReturned { outcome: ToolOutcome::Returned { output, .. }, .. } => {
            text("gen_ai.tool.call.result", output)
        }
        Event::ToolReturned { outcome: ToolOutcome::Failed { message, .. }, .. } => {
            text("gen_ai.tool.call.result", message)
        }
        Event::HumanAnswered { answer, .. } => text("planwright.human.answer", &json!(answer).to_string()),
        _ => return None,
    })
}

fn output(parts: Vec<Value>, reason: Option<Cow<'static, str>>) -> KeyValue {
    let messages = json!([{"role": "assistant", "parts": parts, "finish_reason": reason}]);
    text("gen_ai.output.messages", &messages.to_string())
}

fn text_part(text: &str) -> Value {
    json!({"type": "text", "content": text})
}

fn reply_parts(reply: &ModelReply) -> Vec<Value> {
    let text = (!reply.text.is_empty()).then(|| text_part(&reply.text));
    let calls = reply
        .tool_calls
        .iter()
        .map(|call| json!({"type": "tool_call", "name": call.name, "arguments": call.arguments}));
    text.into_iter().chain(calls).collect()
}

fn message(message: &Message) -> Value {
    match message {
        Message::Assistant { text, calls, .. } => {
            let text = (!text.is_empty()).then(|| text_part(text));
            let calls = calls.iter().map(|Call { id, name, arguments }| {
                json!({"type": "tool_call", "id": id, "name": name, "arguments": arguments})
            });
            json!({"role": "assistant", "parts": text.into_iter().chain(calls).collect::<Vec<_>>()})
        }
        Message::Tool { id, content, .. } => {
            let part = json!({"type": "tool_call_response", "id": id, "result": content});
            json!({"role": "tool", "parts": [part]})
        }
        Message::User { content } => json!({"role": "user", "parts": [text_part(content)]}),
    }
}
