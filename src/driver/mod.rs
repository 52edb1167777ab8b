//! The driver.
mod ports;

pub use ports::{Cause, Model, ModelError, Secret, TokenSink, Tool, ToolCall, ToolError, Unanswered};
