//! The port of tools: what a tool is called with, what it returns, and why a call failed.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::de::IntoDeserializer;
use serde::de::value::StrDeserializer;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::contract::{Source, ToolContract};
use crate::prompt::TraceContext;

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

/// A tool made of a contract and a closure.
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

/// What a tool returns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolOutput {
    /// The text that models and people are shown.
    pub text: String,
    /// Where it comes from; an answer names these.
    pub sources: Vec<Source>,
    /// What the text says as data, if the tool's contract declares an [`output`](ToolContract::output): later steps
    /// may refer to parts of it. As JSON it is no longer than the text may be.
    pub data: Option<Value>,
}

impl ToolOutput {
    /// A text with its sources, each named once.
    pub fn from_sources(text: impl Into<String>, mut sources: Vec<Source>) -> Self {
        let mut known = std::collections::BTreeSet::new();
        sources.retain(|source| known.insert(source.clone()));
        ToolOutput { text: text.into(), sources, data: None }
    }

    /// Data that is shown as the JSON that it is.
    pub fn from_data(data: Value) -> Self {
        ToolOutput { text: data.to_string(), sources: Vec::new(), data: Some(data) }
    }
}

impl<T: Into<String>> From<T> for ToolOutput {
    fn from(text: T) -> Self {
        ToolOutput { text: text.into(), ..ToolOutput::default() }
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
    /// Becomes true once nobody waits for the answer any more: no other try begins then, and a wait ends.
    pub abandoned: &'a AtomicBool,
    /// The span that the call is of, where the run is traced: what a server is told as `traceparent`.
    pub trace: Option<TraceContext>,
}

static WAITED_FOR: AtomicBool = AtomicBool::new(false);

impl<'a> ToolCall<'a> {
    /// A call that may take its time and be made again, for at most 24,000 bytes.
    pub fn new(input: &'a Value, idempotency_key: &'a str) -> Self {
        let (timeout, max_output_bytes, once, abandoned) = (None, 24_000, false, &WAITED_FOR);
        ToolCall { input, idempotency_key, timeout, max_output_bytes, once, abandoned, trace: None }
    }

    /// Whether nobody waits for the answer any more.
    pub fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Relaxed)
    }

    /// The input as a text.
    ///
    /// # Errors
    /// The input is another JSON value.
    pub fn text(&self) -> Result<&'a str, ToolError> {
        self.input.as_str().ok_or_else(|| ToolError::input(format!("expected a text, found {}", self.input)))
    }

    /// The input as a text without the blanks around it.
    ///
    /// # Errors
    /// The input is another JSON value or empty. The message names what was `expected`: `an expression`.
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

/// Why a tool call failed.
///
/// A failed write that may not happen twice leaves its run in doubt, unless the tool says that nothing was
/// written:
///
/// ```
/// use planwright::ports::{ToolError, ToolErrorKind};
///
/// let broke_off = ToolError::new(ToolErrorKind::Connection, "the server closed the connection");
/// assert!(broke_off.may_have_happened());
/// let full = ToolError::new("mailbox_full", "the mailbox is full").did_not_happen();
/// assert!(!full.may_have_happened());
/// assert!(!ToolError::input("expected an address").may_have_happened());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: {message}")]
#[non_exhaustive]
pub struct ToolError {
    /// The kind of failure.
    pub kind: ToolErrorKind,
    /// What went wrong. Never holds a key.
    pub message: String,
    did_not_happen: bool,
}

impl ToolError {
    /// A failure of this kind, which says nothing of whether the call had an effect.
    pub fn new(kind: impl Into<ToolErrorKind>, message: impl Into<String>) -> Self {
        ToolError { kind: kind.into(), message: message.into(), did_not_happen: false }
    }

    /// The input was refused before anything was done.
    pub fn input(message: impl Into<String>) -> Self {
        ToolError::new(ToolErrorKind::Input, message).did_not_happen()
    }

    /// Says that the call had no effect: a write may be tried again.
    #[must_use]
    pub fn did_not_happen(mut self) -> Self {
        self.did_not_happen = true;
        self
    }

    /// Whether the call may have had its effect.
    pub fn may_have_happened(&self) -> bool {
        !self.did_not_happen
    }
}

/// The kinds of failure of a tool call. A name of a tool's own is [`Other`](ToolErrorKind::Other).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolErrorKind {
    /// The input is not what the tool expects.
    Input,
    /// What was asked for does not exist.
    NotFound,
    /// No answer in time.
    Timeout,
    /// The connection could not be made or broke.
    Connection,
    /// The server answered with an error.
    Http,
    /// The server answered with something that is no answer.
    Response,
    /// A limit of the tool was reached.
    Limit,
    /// The machine gave no thread, memory or file.
    Resources,
    /// The tool panicked.
    Panic,
    /// The tool failed for a reason of its own.
    Internal,
    /// Another kind, in a word.
    #[serde(untagged)]
    Other(String),
}

/// The name under which it is recorded.
impl fmt::Display for ToolErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl From<&str> for ToolErrorKind {
    fn from(name: &str) -> Self {
        let name: StrDeserializer<'_, serde::de::value::Error> = name.into_deserializer();
        ToolErrorKind::deserialize(name).expect("every name is a kind")
    }
}

impl PartialEq<&str> for ToolErrorKind {
    fn eq(&self, name: &&str) -> bool {
        let kind = self.to_string();
        kind == *name
    }
}

/// Turns texts into vectors whose nearness is nearness of meaning. Blocking, with bounded retries of its
/// own. A tool that uses one passes its [`secrets`](Embedder::secrets) on.
pub trait Embedder: Send + Sync {
    /// One vector for each text, in the order of the texts, all of one length.
    ///
    /// # Errors
    /// If there is no whole answer, or one that does not fit the texts.
    fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, ToolError>;

    /// Embeds like [`embed`](Embedder::embed), which is what an embedder does that has no method of its own. Once
    /// `stop` says so no other try begins and a wait ends.
    ///
    /// # Errors
    /// Those of [`embed`](Embedder::embed).
    fn embed_until(&self, texts: &[String], stop: &dyn Fn() -> bool) -> Result<Vec<Vec<f32>>, ToolError> {
        let _ = stop;
        self.embed(texts)
    }

    /// The keys this embedder is configured with.
    fn secrets(&self) -> Vec<Secret> {
        Vec::new()
    }
}

/// A key. It cannot be printed; [`expose`](Secret::expose) is the one way to its value.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a key.
    pub fn new(value: impl Into<String>) -> Self {
        Secret(value.into())
    }

    /// The value, for the header of a request.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
