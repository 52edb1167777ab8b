//! The ports of models and of people, and why there may be no reply.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::tool::Secret;
use crate::machine::{EffectId, FailureClass, HumanAnswer, ModelFailure, ModelReply, State};
use crate::prompt::ModelRequest;

/// Where a streaming model puts the text as it comes.
pub type TokenSink<'a> = &'a mut dyn FnMut(&str);
/// What a model tells before it waits for another try: why, of how many tries, and how long it waits.
pub type RetrySink<'a> = &'a dyn Fn(&Unanswered, u32, Duration);

/// A model. Blocking. It retries transport failures itself, a bounded number of times.
///
/// ```
/// use planwright::ports::{Model, ModelError};
/// use planwright::machine::ModelReply;
/// use planwright::prompt::ModelRequest;
///
/// struct Parrot;
///
/// impl Model for Parrot {
///     fn name(&self) -> &str {
///         "parrot"
///     }
///     fn ask(&self, asked: &ModelRequest, _: Option<&mut dyn FnMut(&str)>) -> Result<ModelReply, ModelError> {
///         Ok(ModelReply::text(asked.payload.clone()))
///     }
/// }
/// ```
pub trait Model: Send + Sync {
    /// The model's name, for people.
    fn name(&self) -> &str;

    /// Asks once and waits for the answer. A model that streams gives `tokens` the text piece by piece; the
    /// reply holds the whole text either way.
    ///
    /// # Errors
    /// [`ModelError::Failed`] for an answer that is no reply, [`ModelError::Unanswered`] if there was no
    /// answer and the tries are used up.
    fn ask(
        &self,
        request: &ModelRequest,
        tokens: Option<&mut dyn FnMut(&str)>,
    ) -> Result<ModelReply, ModelError>;

    /// Asks like [`ask`](Model::ask), which is what a model does that has no method of its own. A model that
    /// tries again tells `retrying` before each wait: what `tokens` was given so far is void then. Once
    /// `stop` says so no other try begins and a wait ends.
    ///
    /// # Errors
    /// Those of [`ask`](Model::ask).
    fn ask_until(
        &self,
        request: &ModelRequest,
        tokens: Option<&mut dyn FnMut(&str)>,
        retrying: &dyn Fn(&Unanswered, u32, Duration),
        stop: &dyn Fn() -> bool,
    ) -> Result<ModelReply, ModelError> {
        let _ = (retrying, stop);
        self.ask(request, tokens)
    }

    /// The keys this model is configured with. Their values are redacted in everything that is kept.
    fn secrets(&self) -> Vec<Secret> {
        Vec::new()
    }

    /// The servers that it may ask, the usual one first. A run's header keeps them, for who looks at the run later.
    fn servers(&self) -> Vec<ModelServer> {
        Vec::new()
    }
}

/// A server of models. It is kept with a run, so it holds no key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelServer {
    /// The name that [`ModelReply::server`] or a spec's `model` has for it; empty for the usual one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Whose protocol it speaks: `openai`, `anthropic`.
    pub provider: String,
    /// Its host.
    pub host: String,
    /// Its port.
    pub port: u16,
}

impl<T: Model + ?Sized> Model for Arc<T> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn ask(&self, request: &ModelRequest, tokens: Option<TokenSink<'_>>) -> Result<ModelReply, ModelError> {
        (**self).ask(request, tokens)
    }

    fn ask_until(
        &self,
        request: &ModelRequest,
        tokens: Option<TokenSink<'_>>,
        retrying: RetrySink<'_>,
        stop: &dyn Fn() -> bool,
    ) -> Result<ModelReply, ModelError> {
        (**self).ask_until(request, tokens, retrying, stop)
    }

    fn secrets(&self) -> Vec<Secret> {
        (**self).secrets()
    }

    fn servers(&self) -> Vec<ModelServer> {
        (**self).servers()
    }
}

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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub struct Unanswered {
    /// The kind of failure.
    pub cause: Cause,
    /// What went wrong, and what to do about it if that is known. Never holds a key.
    pub message: String,
    /// How long the server asked to wait, if it did.
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

/// The kinds of transport failure. Shown as words, such as `rate limit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Cause {
    /// The server does not accept the key, or there is none (401, 403).
    #[error("authentication")]
    Authentication,
    /// A proxy on the way does not accept the name and password, or there are none (407).
    #[error("proxy")]
    Proxy,
    /// The quota or the credit is used up; waiting does not help (402, `insufficient_quota`).
    #[error("quota")]
    Quota,
    /// Too many requests (429).
    #[error("rate limit")]
    RateLimit,
    /// No answer in time.
    #[error("timeout")]
    Timeout,
    /// The connection could not be made or broke.
    #[error("connection")]
    Connection,
    /// The address or the model does not exist there (404), or the address is no URL.
    #[error("not found")]
    NotFound,
    /// The server failed (5xx).
    #[error("server")]
    Server,
    /// What came is no answer: broken JSON, a cut stream, another format, a redirect elsewhere.
    #[error("bad response")]
    BadResponse,
    /// There is nothing to ask: a scripted model at the end of its script, a replay without this recording.
    #[error("unavailable")]
    Unavailable,
    /// The user stopped the run before there was an answer. It can be gone on with.
    #[error("stopped")]
    Stopped,
    /// A write that may not be made twice was called, and it is not known whether it happened. A person has to say.
    #[error("in doubt")]
    InDoubt,
}

/// A person, or a program that answers for one. Blocking.
///
/// ```
/// use planwright::ports::{Human, Question};
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
    /// Asks and waits for the answer. `None` lets the run end waiting.
    fn ask(&self, question: &Question<'_>) -> Option<HumanAnswer>;
}

impl<T: Human + ?Sized> Human for Arc<T> {
    fn ask(&self, question: &Question<'_>) -> Option<HumanAnswer> {
        (**self).ask(question)
    }
}

/// What a person is asked.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Question<'a> {
    /// The effect that the answer answers.
    pub effect: EffectId,
    /// The step's position in the plan, from 0.
    pub step: u32,
    /// The question.
    pub text: &'a str,
    /// How many calls it asks about; 0 if it asks about anything else.
    pub calls: usize,
    /// The run so far: plan, results, trace.
    pub state: &'a State,
    /// Why the last answer was refused, if it was.
    pub refused: Option<&'a str>,
}
