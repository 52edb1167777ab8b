//! The local document tools.

mod articles;
mod cache;
mod calc;
mod contracts;
mod folder;
mod toolbox;

use planwright::ports::{Tool, ToolCall, ToolError, ToolOutput};
use serde_json::Value;

/// Calls a tool without a deadline, with room for so many bytes.
fn call(tool: &dyn Tool, input: &Value, max_output_bytes: usize) -> Result<ToolOutput, ToolError> {
    tool.call(&ToolCall { input, idempotency_key: "run/1", timeout: None, max_output_bytes, once: false })
}
