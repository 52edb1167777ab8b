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
mod payload;

pub use call::tool_call;
pub use payload::render;

use std::sync::Arc;

use crate::spec::{Digest, RequestFrame};

/// One request to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelRequest {
    /// What is the same in every request of this role: instructions, tools, schema, sampling.
    pub frame: Arc<RequestFrame>,
    /// The user message: one JSON object.
    pub payload: String,
}

impl ModelRequest {
    /// What names this request in a recording.
    pub fn digest(&self) -> Digest {
        Digest::of([self.frame.digest.bytes(), self.payload.as_bytes()])
    }
}
