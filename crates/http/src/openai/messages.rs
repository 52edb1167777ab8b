//! The messages of a request: instructions, payload, and the conversation since.

use serde::Serialize;

use planwright::prompt::{Call, Message as Said, ModelRequest};

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub(super) enum Message<'a> {
    System {
        content: &'a str,
    },
    User {
        content: &'a str,
    },
    Assistant {
        /// `null` where there are calls and no words: some servers refuse an empty text there.
        content: Option<&'a str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: &'a str,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ToolCall<'a> {
    Function { id: &'a str, function: Function<'a> },
}

#[derive(Serialize)]
pub(super) struct Function<'a> {
    name: &'a str,
    /// JSON in a text.
    arguments: String,
}

impl<'a> ToolCall<'a> {
    fn of(call: &'a Call) -> Self {
        let function = Function { name: &call.name, arguments: call.arguments.to_string() };
        ToolCall::Function { id: &call.id, function }
    }
}

/// All messages of a request, under these instructions.
pub(super) fn of<'a>(system: &'a str, request: &'a ModelRequest) -> Vec<Message<'a>> {
    let mut messages = Vec::with_capacity(2 + request.conversation.len());
    messages.push(Message::System { content: system });
    messages.push(Message::User { content: &request.payload });
    messages.extend(request.conversation.iter().map(|said| match said {
        Said::Assistant { text, calls } => Message::Assistant {
            content: Some(text.as_str()).filter(|text| !text.is_empty() || calls.is_empty()),
            tool_calls: calls.iter().map(ToolCall::of).collect(),
        },
        Said::Tool { id, content, .. } => Message::Tool { tool_call_id: id, content },
        Said::User { content } => Message::User { content },
    }));
    messages
}
