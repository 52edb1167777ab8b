//! The port of models: asks once, gives a reply or says why there is none.

use std::fmt;
use std::time::Duration;

use super::secret::Secret;
use crate::machine::{FailureClass, ModelFailure, ModelReply};
use crate::prompt::ModelRequest;

/// A model. Blocking; retries of transport failures are its own affair, and bounded.
///
/// ```
/// use planwright::ports::{Model, ModelError, TokenSink};
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

    /// Asks once and waits for the answer. If the model streams, the sink
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
        ModelError::Unanswered(Unanswered::new(cause, message))
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

impl Unanswered {
    /// A request that was tried once and got no answer.
    pub fn new(cause: Cause, message: impl Into<String>) -> Self {
        Unanswered { cause, message: message.into(), retry_after: None, tries: 1 }
    }
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

impl Cause {
    /// Its name, in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Cause::Authentication => "authentication",
            Cause::Quota => "quota",
            Cause::RateLimit => "rate limit",
            Cause::Timeout => "timeout",
            Cause::Connection => "connection",
            Cause::NotFound => "not found",
            Cause::Server => "server",
            Cause::BadResponse => "bad response",
            Cause::Unavailable => "unavailable",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
