//! The ports: what the driver asks of the world, each a small blocking trait.

mod embedder;
mod function;
mod observer;
mod scripted;
mod toolbox;
pub mod toolkit;

pub use embedder::Embedder;
pub use function::FnTool;
pub use observer::{Nobody, Observer, Signal};
pub use scripted::ScriptedModel;
pub use toolbox::ToolBox;

use std::fmt;
use std::time::Duration;

use serde_json::Value;

use crate::contract::{Source, ToolContract};
use crate::machine::{EffectId, FailureClass, HumanAnswer, ModelFailure, ModelReply, State};
use crate::prompt::ModelRequest;

/// A model. Blocking; retries of transport failures are its own affair, and bounded.
///
/// ```
/// use planwright::driver::{Model, ModelError, TokenSink};
/// use planwright::machine::ModelReply;
/// use planwright::prompt::ModelRequest;
///
/// struct Parrot;
///
/// impl Model for Parrot {
///     fn name(&self) -> &str {
///         "parrot"
///     }
///     fn ask(&self, request: &ModelRequest, _: Option<TokenSink<'_>>) -> Result<ModelReply, ModelError> {
///         Ok(ModelReply::text(request.payload.clone()))
///     }
/// }
/// ```
pub trait Model: Send + Sync {
    /// The model's name, for people.
    fn name(&self) -> &str;

    /// Asks once and waits for the answer. Where there is a sink and the model streams, the sink
    /// gets the text piece by piece as it comes; the reply holds the whole text either way.
    ///
    /// # Errors
    /// [`ModelError::Failed`] where the answer is no reply, [`ModelError::Unanswered`] where there
    /// was no answer and the tries are used up.
    fn ask(&self, request: &ModelRequest, tokens: Option<TokenSink<'_>>) -> Result<ModelReply, ModelError>;

    /// The keys this model is configured with. Their values are replaced before anything that the
    /// world said is kept.
    fn secrets(&self) -> Vec<Secret> {
        Vec::new()
    }
}

/// Where a streaming model puts the text as it comes.
pub type TokenSink<'a> = &'a mut dyn FnMut(&str);

/// Why there is no reply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// There was an answer, and it is no reply. The machine decides what follows.
    #[error("{0}")]
    Failed(ModelFailure),
    /// There was no answer. The run is interrupted and can be resumed.
    #[error("{0}")]
    Unanswered(Unanswered),
}

impl ModelError {
    /// An answer that is no reply.
    pub fn failed(class: FailureClass, message: impl Into<String>) -> Self {
        ModelError::Failed(ModelFailure::new(class, message))
    }

    /// No answer.
    pub fn unanswered(cause: Cause, message: impl Into<String>) -> Self {
        ModelError::Unanswered(Unanswered { cause, message: message.into(), retry_after: None, tries: 1 })
    }
}

/// A request that got no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unanswered {
    /// The kind of failure.
    pub cause: Cause,
    /// What went wrong, with what to do about it where that is known. Never holds a key.
    pub message: String,
    /// How long the server asked to wait, where it did.
    pub retry_after: Option<Duration>,
    /// How many times it was tried.
    pub tries: u32,
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.cause, self.message)?;
        if let Some(delay) = self.retry_after {
            write!(f, " (the server asks to wait {} s)", delay.as_secs_f64().ceil())?;
        }
        if self.tries > 1 {
            write!(f, " (tried {} times)", self.tries)?;
        }
        Ok(())
    }
}

impl std::error::Error for Unanswered {}

/// The kinds of transport failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// The server does not accept the key, or there is none (401, 403).
    Authentication,
    /// The quota or the credit is used up; waiting does not help (402, `insufficient_quota`).
    Quota,
    /// Too many requests (429).
    RateLimit,
    /// No answer in time.
    Timeout,
    /// The connection could not be made or broke.
    Connection,
    /// The address or the model does not exist there (404), or the address is no URL.
    NotFound,
    /// The server failed (5xx).
    Server,
    /// What came is no answer: broken JSON, a cut stream, another format, a redirect elsewhere.
    BadResponse,
    /// There is nothing to ask: a scripted model at the end of its script, a replay without this
    /// recording.
    Unavailable,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cause::Authentication => "authentication",
            Cause::Quota => "quota",
            Cause::RateLimit => "rate limit",
            Cause::Timeout => "timeout",
            Cause::Connection => "connection",
            Cause::NotFound => "not found",
            Cause::Server => "server",
            Cause::BadResponse => "bad response",
            Cause::Unavailable => "unavailable",
        })
    }
}

/// A tool. Blocking; called at most once for each effect the machine asks for.
///
/// ```
/// use planwright::contract::{ToolContract, ToolEffect};
/// use planwright::driver::{Tool, ToolCall, ToolError, ToolOutput};
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
    /// A failure is recorded as the step's result; it is never a crash of the run. A write that may not
    /// happen twice and does not know whether it did says so with a kind of [`ToolError::UNKNOWN`]: then
    /// a person is asked.
    fn call(&self, call: &ToolCall<'_>) -> Result<ToolOutput, ToolError>;

    /// The keys this tool is configured with; see [`Model::secrets`].
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
    /// A text with its sources.
    pub fn from_sources(text: impl Into<String>, sources: Vec<Source>) -> Self {
        ToolOutput { text: text.into(), sources }
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

/// A person, or whoever answers for one. Blocking.
///
/// ```
/// use planwright::driver::{Human, Question};
/// use planwright::machine::HumanAnswer;
///
/// struct Boss;
///
/// impl Human for Boss {
///     fn ask(&self, question: &Question<'_>) -> Option<HumanAnswer> {
///         Some(HumanAnswer::respond(format!("{}: yes", question.text)))
///     }
/// }
/// ```
pub trait Human: Send + Sync {
    /// Asks and waits for the answer; `None` where nobody is there, and the run is to wait.
    fn ask(&self, question: &Question<'_>) -> Option<HumanAnswer>;
}

/// What a person is asked.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The effect that the answer answers.
    pub effect: EffectId,
    /// The step's position in the plan, from 0.
    pub step: u32,
    /// The question.
    pub text: &'a str,
    /// The run so far: plan, results, trace.
    pub state: &'a State,
    /// Why the answer before was not taken, where it was not.
    pub refused: Option<&'a str>,
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
    /// Whether it changes something and may not do so twice: a tool that would ask again where it gets no
    /// answer asks once then, and says what it does not know (see [`ToolError::UNKNOWN`]).
    pub once: bool,
}

impl<'a> ToolCall<'a> {
    /// The input as a text.
    ///
    /// # Errors
    /// Where the input is another JSON value.
    pub fn text(&self) -> Result<&'a str, ToolError> {
        self.input
            .as_str()
            .ok_or_else(|| ToolError::new("input", format!("expected a text, found {}", self.input)))
    }
}

/// Why a tool call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: {message}")]
pub struct ToolError {
    /// One word for the kind: `timeout`, `http`, `input`, ….
    pub kind: String,
    /// What went wrong. Never holds a key.
    pub message: String,
}

impl ToolError {
    /// The kinds of failure that leave open whether anything happened: an answer that did not come in
    /// time or broke off, a panic. A write that may not happen twice is in doubt after one.
    pub const UNKNOWN: [&'static str; 4] = ["timeout", "connection", "panic", "unknown"];

    /// A failure of this kind.
    pub fn new(kind: impl Into<String>, message: impl Into<String>) -> Self {
        ToolError { kind: kind.into(), message: message.into() }
    }
}

/// A key. It cannot be printed; [`expose`](Secret::expose) is the one way to its value.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps a key.
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
