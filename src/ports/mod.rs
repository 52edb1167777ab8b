//! The ports: what the driver asks of the world, each a small blocking trait.
//!
//! **Invariant:** a model, a tool or a person's screen that is written in another crate needs nothing of
//! the loop and nothing of the journal.

mod embedder;
mod function;
mod human;
mod model;
mod observer;
mod scripted;
mod secret;
mod tool;
mod tool_error;
mod toolbox;

pub use embedder::Embedder;
pub use function::FnTool;
pub use human::{Human, Question};
pub use model::{Cause, Model, ModelError, TokenSink, Unanswered};
pub use observer::{Answer, Nobody, Observer, Signal, Span};
pub use scripted::ScriptedModel;
pub use secret::Secret;
pub use tool::{Tool, ToolCall, ToolOutput, first_chars};
pub use tool_error::{ToolError, ToolErrorKind};
pub use toolbox::ToolBox;
