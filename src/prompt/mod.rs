//! The words: what a model is shown, rendered from a run's state.
//!
//! As in the state-machine notebook this follows, the system message instructs and the user
//! message is one JSON payload (`user_question`, `plan`, `tool_results`, `fix_hint`, …). What the
//! model is shown is machine-readable, data is never mixed into instructions, and the offline model
//! reads the same payload that a language model does.
//!
//! **Invariant:** rendering is pure. Equal states give equal bytes, so a recording can be found by
//! digest.

mod call;
mod conversation;
mod payload;
mod question;
mod request;
mod results;
mod situation;

pub use call::{asked, call, called, frame, request, tool_call};
pub use payload::render;
pub use question::{question, subject};
pub use request::{Request, RequestBody, tool_digest};
pub(crate) use request::{human_digest, wait_digest};

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::spec::{Digest, RequestFrame};

/// One request to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelRequest {
    /// What is the same in every request of this role: instructions, tools, schema, sampling.
    pub frame: Arc<RequestFrame>,
    /// The first user message: one JSON object.
    pub payload: String,
    /// What was said since, where the planner goes on call by call: its calls, their results, and
    /// notes to it. Every call has its result.
    pub conversation: Vec<Message>,
}

/// One message after the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// What the model said, and the calls it asked for.
    Assistant {
        /// Its words.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
        /// Its calls.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<Call>,
    },
    /// The result of one call.
    Tool {
        /// The call's id.
        id: String,
        /// The tool.
        name: String,
        /// One JSON object: `{"status": …, "output": …}`.
        content: String,
    },
    /// A note to the model: one JSON object.
    User {
        /// The note.
        content: String,
    },
}

/// One tool call of the conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// The call's id: `call_N`, with N the position of its step from 1.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments: a JSON object.
    pub arguments: Value,
}

impl ModelRequest {
    /// What names this request in a recording.
    pub fn digest(&self) -> Digest {
        if self.conversation.is_empty() {
            return Digest::of([self.frame.digest.bytes(), self.payload.as_bytes()]);
        }
        let said = serde_json::to_vec(&self.conversation).expect("a conversation has text keys only");
        Digest::of([self.frame.digest.bytes(), self.payload.as_bytes(), said.as_slice()])
    }
}
