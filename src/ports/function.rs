//! A tool made of a contract and a closure.

use super::tool::{Tool, ToolCall, ToolOutput};
use super::tool_error::ToolError;
use crate::contract::ToolContract;

/// A tool made of a contract and a closure: the short way to give an agent something to call, and
/// what tests use to stand in for the world.
///
/// ```
/// use planwright::contract::{ToolContract, ToolEffect};
/// use planwright::ports::{FnTool, Tool, ToolCall};
/// use serde_json::json;
///
/// let contract = ToolContract::text("shout", "Says it louder.", ToolEffect::Pure);
/// let shout = FnTool::new(contract, |call| Ok(call.text()?.to_uppercase()));
///
/// let input = json!("hello");
/// let call = ToolCall { input: &input, idempotency_key: "run/1", timeout: None, max_output_bytes: 100, once: false };
/// assert_eq!(shout.call(&call).unwrap().text, "HELLO");
/// ```
pub struct FnTool<F> {
    contract: ToolContract,
    function: F,
}

impl<F> FnTool<F>
where
    F: Fn(&ToolCall<'_>) -> Result<String, ToolError> + Send + Sync,
{
    /// A tool that declares this contract and does what the closure does.
    pub fn new(contract: ToolContract, function: F) -> Self {
        FnTool { contract, function }
    }
}

impl<F> Tool for FnTool<F>
where
    F: Fn(&ToolCall<'_>) -> Result<String, ToolError> + Send + Sync,
{
    fn contract(&self) -> ToolContract {
        self.contract.clone()
    }

    fn call(&self, call: &ToolCall<'_>) -> Result<ToolOutput, ToolError> {
        (self.function)(call).map(ToolOutput::from)
    }
}

impl<F> std::fmt::Debug for FnTool<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FnTool").field("contract", &self.contract).finish_non_exhaustive()
    }
}
