//! The ports: what the driver asks of the world, each a small blocking trait.
//!
//! **Invariant:** a model, a tool or a screen in another crate needs neither the loop nor the journal.

mod model;
mod observer;
mod scripted;
mod tool;

pub use model::{Cause, Human, Model, ModelError, ModelServer, Question, Unanswered};
pub use observer::{Answer, Beginning, Observer, Signal, Span};
pub use scripted::ScriptedModel;
pub use tool::{Embedder, FnTool, Secret, Tool, ToolCall, ToolError, ToolErrorKind, ToolOutput};

// For the other crates of this workspace and for tests.
#[doc(hidden)]
pub use crate::contract::first_chars;
#[doc(hidden)]
pub use model::{RetrySink, TokenSink};
