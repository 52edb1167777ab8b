//! The port of tools: what a tool is called with and what it returns.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::secret::Secret;
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

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        ToolOutput { text, sources: Vec::new() }
    }
}

impl From<&str> for ToolOutput {
    fn from(text: &str) -> Self {
        ToolOutput::from(text.to_owned())
    }
}

/// One call of a tool.
#[derive(Clone, Copy, Debug)]
pub struct ToolCall<'a> {
    /// What the plan says to call it with; it conforms to the contract's schema.
    pub input: &'a Value,
    /// The same for every repetition of this very call, in another process too: `<run>/<effect id>`. The
    /// further tries of a write carry the id of the first: what ran out of time may have happened.
    pub idempotency_key: &'a str,
    /// How long the call may take, where the contract says. The driver stops waiting then.
    pub timeout: Option<Duration>,
    /// Largest output that is kept, in bytes.
    pub max_output_bytes: usize,
    /// Whether it changes something and may not do so twice. A tool that repeats a request which got no
    /// answer sends it only once then.
    pub once: bool,
}

impl<'a> ToolCall<'a> {
    /// The input as a text.
    ///
    /// # Errors
    /// Where the input is another JSON value.
    pub fn text(&self) -> Result<&'a str, ToolError> {
        self.input.as_str().ok_or_else(|| ToolError::input(format!("expected a text, found {}", self.input)))
    }

    /// The input as a text without the blanks around it.
    ///
    /// # Errors
    /// Where the input is another JSON value or an empty text; the message names what was `expected`, such
    /// as `an expression`.
    pub fn nonempty_text(&self, expected: &str) -> Result<&'a str, ToolError> {
        match self.text()?.trim() {
            "" => Err(ToolError::input(format!("expected {expected}, found an empty text"))),
            text => Ok(text),
        }
    }

    /// The results as compact JSON, without the last ones where all of them would be longer than
    /// [`max_output_bytes`](ToolCall::max_output_bytes). What is left out is taken off `results`.
    ///
    /// # Errors
    /// Where a result is not representable as JSON.
    pub fn fit_json<T: Serialize>(&self, results: &mut Vec<T>) -> Result<String, ToolError> {
        loop {
            let json = serde_json::to_string(results)
                .map_err(|error| ToolError::new(ToolErrorKind::Internal, error.to_string()))?;
            if json.len() <= self.max_output_bytes || results.is_empty() {
                return Ok(json);
            }
            results.pop();
        }
    }
}

/// The first `max` characters of a text.
pub fn first_chars(text: &str, max: usize) -> &str {
    text.char_indices().nth(max).map_or(text, |(end, _)| &text[..end])
}
