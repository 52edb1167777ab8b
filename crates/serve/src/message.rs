//! The messages of a client that keeps the conversation itself: what was said, and the question that comes last.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::problem::{Kind, Problem, Result};
use planwright::machine::{Speaker, Turn};

/// A message. That of a `user` or an `assistant` has a text or parts of type `text`; no other is read.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
pub(crate) struct Message {
    role: Role,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    content: Value,
    #[serde(flatten)]
    #[schema(ignore)]
    rest: Map<String, Value>,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    System,
    Developer,
    User,
    Assistant,
    Tool,
    Function,
    Activity,
    Reasoning,
}

impl Message {
    fn text(&self) -> Option<String> {
        let part = |part: &Value| {
            (part["type"] == "text").then(|| part["text"].as_str()).flatten().map(str::to_owned)
        };
        match &self.content {
            Value::Null => Some(String::new()),
            Value::String(text) => Some(text.clone()),
            Value::Array(parts) => Some(parts.iter().map(part).collect::<Option<Vec<_>>>()?.join("\n")),
            _ => None,
        }
    }
}

/// The last question of the user, and what was said before it. The agent has instructions of its own, so those of a
/// system are left out.
pub(crate) fn split(messages: &[Message]) -> Result<(String, Vec<Turn>)> {
    let mut said = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let role = match message.role {
            Role::User => Speaker::User,
            Role::Assistant => Speaker::Assistant,
            _ => continue,
        };
        let content = message.text().ok_or_else(|| {
            let problem = format!("$.messages[{at}].content: expected a text or parts of type text");
            Problem::new(Kind::Input, problem).hint("the agents read no pictures, sounds and files")
        })?;
        if !content.trim().is_empty() {
            said.push(Turn { role, content, trusted: false });
        }
    }
    let question = said.iter().rposition(|turn| turn.role == Speaker::User);
    let question = question.ok_or_else(|| {
        Problem::new(Kind::Input, "$.messages: expected a question of the user, found none")
    })?;
    said.truncate(question + 1);
    let question = said.pop().map(|turn| turn.content.trim().to_owned());
    Ok((question.unwrap_or_default(), said))
}
