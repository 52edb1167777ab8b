//! The port of tools: what a tool is called with and what it returns.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::model::Secret;
use super::tool_error::{ToolError, ToolErrorKind};
use crate::contract::{Source, ToolContract};

/// A tool. Blocking; called at most once for each effect the machine asks for.
///
/// ```
/// use planwright::contract::{ToolContract, ToolEffect};
/// use planwright::ports::{Tool, ToolCall, ToolError, ToolOutput};
///
/// struct Shout;
///
/// impl Tool for Shout {
///     fn contract(&self) -> ToolContract {
///         ToolContract::text("shout", "Says it louder.", ToolEffect::Pure)
///     }
///     fn call(&self, call: &ToolCall<'_>) -> Result<ToolOutput, ToolError> {
///         Ok(call.text()?.to_uppercase().into())
///     }
/// }
/// ```
pub trait Tool: Send + Sync {
    /// What the tool declares about itself.
    fn contract(&self) -> ToolContract;

    /// Calls the tool.
    ///
    /// # Errors
    /// A failure is recorded as the step's result and never crashes the run. After the failure of a write
    /// that may not happen twice a person is asked, unless the tool says that it
    /// [did not happen](ToolError::did_not_happen).
    fn call(&self, call: &ToolCall<'_>) -> Result<ToolOutput, ToolError>;

    /// The keys this tool is configured with; see [`Model::secrets`](super::Model::secrets).
    fn secrets(&self) -> Vec<Secret> {
        Vec::new()
    }
}

impl<T: Tool + ?Sized> Tool for Arc<T> {
    fn contract(&self) -> ToolContract {
        (**self).contract()
    }

    fn call(&self, call: &ToolCall<'_>) -> Result<ToolOutput, ToolError> {
        (**self).call(call)
    }

    fn secrets(&self) -> Vec<Secret> {
        (**self).secrets()
    }
}

/// A tool made of a contract and a closure: the short way to give an agent something to call.
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

impl<F: Fn(&ToolCall<'_>) -> Result<String, ToolError> + Send + Sync> FnTool<F> {
    /// A tool that declares this contract and does what the closure does.
    pub fn new(contract: ToolContract, function: F) -> Self {
        FnTool { contract, function }
    }
}

impl<F: Fn(&ToolCall<'_>) -> Result<String, ToolError> + Send + Sync> Tool for FnTool<F> {
    fn contract(&self) -> ToolContract {
        self.contract.clone()
    }

    fn call(&self, call: &ToolCall<'_>) -> Result<ToolOutput, ToolError> {
        (self.function)(call).map(ToolOutput::from)
    }
}

impl<F> fmt::Debug for FnTool<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnTool").field("contract", &self.contract).finish_non_exhaustive()
    }
}

/// What a tool returns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolOutput {
    /// The text that models and people are shown.
    pub text: String,
    /// Where it comes from; an answer names these.
    pub sources: Vec<Source>,
}

impl ToolOutput {
    /// A text with its sources, each named once.
    pub fn from_sources(text: impl Into<String>, sources: Vec<Source>) -> Self {
        let mut distinct = Vec::new();
        for source in sources {
            if !distinct.contains(&source) {
                distinct.push(source);
            }
        }
        ToolOutput { text: text.into(), sources: distinct }
    }
}

impl<T: Into<String>> From<T> for ToolOutput {
    fn from(text: T) -> Self {
        ToolOutput { text: text.into(), sources: Vec::new() }
    }
}

/// One call of a tool.
#[derive(Clone, Copy, Debug)]
pub struct ToolCall<'a> {
    /// What the plan says to call it with; it conforms to the contract's schema.
    pub input: &'a Value,
    /// `<run>/<effect id>`: equal for every repetition of this very call, in another process too. Further
    /// tries of a write carry the id of the first, because a call that ran out of time may have happened.
    pub idempotency_key: &'a str,
    /// How long the call may take, if the contract says. The driver stops waiting then.
    pub timeout: Option<Duration>,
    /// Largest output that is kept, in bytes.
    pub max_output_bytes: usize,
    /// Whether it changes something and may not do so twice. A tool that repeats unanswered requests sends
    /// such a one only once.
    pub once: bool,
}

impl<'a> ToolCall<'a> {
    /// The input as a text.
    ///
    /// # Errors
    /// If the input is another JSON value.
    pub fn text(&self) -> Result<&'a str, ToolError> {
        self.input.as_str().ok_or_else(|| ToolError::input(format!("expected a text, found {}", self.input)))
    }

    /// The input as a text without the blanks around it.
    ///
    /// # Errors
    /// If the input is another JSON value or an empty text. The message names what was `expected`, such as
    /// `an expression`.
    pub fn nonempty_text(&self, expected: &str) -> Result<&'a str, ToolError> {
        match self.text()?.trim() {
            "" => Err(ToolError::input(format!("expected {expected}, found an empty text"))),
            text => Ok(text),
        }
    }

    /// The results as compact JSON. While that is longer than
    /// [`max_output_bytes`](ToolCall::max_output_bytes), the last one is taken off `results`.
    ///
    /// # Errors
    /// If a result is not representable as JSON.
    pub fn fit_json<T: Serialize>(&self, results: &mut Vec<T>) -> Result<String, ToolError> {
        loop {
            let json = serde_json::to_string(results)
                .map_err(|error| ToolError::new(ToolErrorKind::Internal, error.to_string()))?;
            if json.len() <= self.max_output_bytes || results.pop().is_none() {
                return Ok(json);
            }
        }
    }
}
