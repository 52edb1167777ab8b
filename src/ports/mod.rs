//! The ports: what the driver asks of the world, each a small blocking trait.
//!
//! **Invariant:** a model, a tool or a screen in another crate needs neither the loop nor the journal.

mod human;
mod model;
mod observer;
mod scripted;
mod tool;
mod tool_error;

#[doc(hidden)]
pub use crate::contract::first_chars;
pub use human::{Human, Question};
pub use model::{Cause, Embedder, Model, ModelError, Secret, TokenSink, Unanswered};
pub use observer::{Answer, Nobody, Observer, Signal, Span};
pub use scripted::ScriptedModel;
pub use tool::{FnTool, Tool, ToolCall, ToolOutput};
pub use tool_error::{ToolError, ToolErrorKind};
