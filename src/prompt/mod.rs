//! The words: what models, tools and people are asked, rendered from a run's state.
//!
//! The system message instructs; the user message is one JSON object (`user_question`, `plan`,
//! `tool_results`, `fix_hint`, …). So a model reads data that is never mixed into instructions, and the
//! offline model reads the same payload as a language model.
//!
//! **Invariant:** rendering is pure. Equal states give equal bytes, so a digest finds the recording.

mod conversation;
mod object;
mod payload;
mod planning;
mod question;
mod repeats;
mod request;
mod trace_context;

#[doc(hidden)]
pub use payload::Work;
pub(crate) use question::subject;
pub use question::{calls, choices};
#[doc(hidden)]
pub use request::role_frame;
pub use request::{Request, RequestBody};
pub(crate) use request::{human_digest, wait_digest};
pub use trace_context::TraceContext;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::spec::{Digest, RequestFrame};

/// One request to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelRequest {
    /// The part that all requests of a role share: instructions, tools, schema, sampling.
    pub frame: Arc<RequestFrame>,
    /// The first user message: one JSON object.
    pub payload: String,
    /// The messages after it, for a planner that goes on call by call. Every call has its result.
    pub conversation: Vec<Message>,
    /// The span that the call is of, where the run is traced. In no digest and on no record.
    pub trace: Option<TraceContext>,
}

impl ModelRequest {
    /// The digest that names this request in a recording.
    pub fn digest(&self) -> Digest {
        let (frame, payload) = (self.frame.digest.bytes(), self.payload.as_bytes());
        if self.conversation.is_empty() {
            return Digest::of([frame, payload]);
        }
        let messages = serde_json::to_vec(&self.conversation).expect("a conversation has text keys only");
        Digest::of([frame, payload, messages.as_slice()])
    }
}

/// One message after the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// A reply of the model.
    Assistant {
        /// Its words.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
        /// The calls it asked for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<Call>,
        /// What the server that it came from wants back with them, unchanged.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        reasoning: Vec<Value>,
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
    /// A note to the model.
    User {
        /// One JSON object.
        content: String,
    },
}

/// One tool call of the conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// The call's id: `call_N`, where N is the position of its step, from 1.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments: a JSON object.
    pub arguments: Value,
}
