//! Why one attempt got no usable answer: the one table of transport errors and statuses.

use std::io;
use std::time::Duration;

use ureq::Error;

use planwright::ports::{Cause, ModelError, ToolError, Unanswered};

/// Why one attempt got no usable answer.
#[derive(Debug)]
pub(crate) struct AttemptError {
    pub(crate) cause: Cause,
    pub(crate) message: String,
    pub(crate) stage: Stage,
    /// Whether the same request may fare better later.
    pub(crate) transient: bool,
    /// How long the server asks to wait.
    pub(crate) retry_after: Option<Duration>,
    /// How many attempts there were, this one included.
    pub(crate) tries: u32,
}

/// How far an attempt came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The request did not reach the server.
    NotSent,
    /// The request may have reached the server, and no whole answer came back.
    Sent,
    /// The server answered with an error.
    Answered,
}

/// The time that an attempt has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AttemptTime {
    /// What is left of it.
    pub(crate) left: Duration,
    /// What there was in all, for error texts.
    pub(crate) whole: Duration,
    /// The longest wait for a connection.
    pub(crate) connect: Duration,
}

impl AttemptError {
    /// An answer that cannot be read.
    pub(crate) fn bad_response(message: impl Into<String>, transient: bool) -> Self {
        AttemptError::new(Cause::BadResponse, transient, Stage::Sent, message.into())
    }

    pub(super) fn new(cause: Cause, transient: bool, stage: Stage, message: String) -> Self {
        AttemptError { cause, message, stage, transient, retry_after: None, tries: 1 }
    }

    /// Says what an error of the transport means.
    pub(super) fn from_transport(error: Error, time: AttemptTime) -> Self {
        use ureq::Timeout::{Connect, Resolve};
        let (cause, transient, stage) = match &error {
            Error::Timeout(Connect | Resolve) => (Cause::Timeout, true, Stage::NotSent),
            Error::Timeout(_) => (Cause::Timeout, true, Stage::Sent),
            Error::Io(error) if error.kind() == io::ErrorKind::TimedOut => {
                (Cause::Timeout, true, Stage::Sent)
            }
            Error::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                (Cause::Connection, true, Stage::NotSent)
            }
            Error::HostNotFound | Error::ConnectProxyFailed(_) => (Cause::Connection, true, Stage::NotSent),
            Error::Io(_) | Error::ConnectionFailed => (Cause::Connection, true, Stage::Sent),
            Error::Http(_) | Error::BadUri(_) => (Cause::NotFound, false, Stage::NotSent),
            Error::Protocol(_)
            | Error::LargeResponseHeader(..)
            | Error::Decompress(..)
            | Error::BodyStalled => (Cause::BadResponse, true, Stage::Sent),
            // What is left is a matter of set-up: certificates, TLS, proxy settings.
            _ => (Cause::Connection, false, Stage::NotSent),
        };
        let message = match error {
            Error::Timeout(Connect | Resolve) => format!("no connection within {:?}", time.connect),
            Error::Timeout(_) => format!("no whole answer within {:?}", time.whole),
            Error::Io(error) => error.to_string(),
            other => other.to_string(),
        };
        AttemptError::new(cause, transient, stage, message)
    }

    /// The failure of a tool call to the service at `place`. A call that the server did not get or
    /// refused for good did not happen.
    pub(crate) fn into_tool_error(self, place: &str) -> ToolError {
        let kind = match (self.stage, self.cause) {
            (Stage::Answered, _) => "http",
            (_, Cause::Timeout) => "timeout",
            (_, Cause::BadResponse) => "response",
            _ => "connection",
        };
        let did_not_happen = match self.stage {
            Stage::NotSent => true,
            Stage::Sent => false,
            Stage::Answered => !self.transient,
        };
        let mut message = format!("{place}: {}", self.message);
        if let Some(delay) = self.retry_after {
            message.push_str(&format!(" (the server asks to wait {} s)", delay.as_secs_f64().ceil()));
        }
        if self.tries > 1 {
            message.push_str(&format!(" (tried {} times)", self.tries));
        }
        let error = ToolError::new(kind, message);
        if did_not_happen { error.did_not_happen() } else { error }
    }
}

impl From<AttemptError> for ModelError {
    fn from(error: AttemptError) -> Self {
        let AttemptError { cause, message, retry_after, tries, .. } = error;
        ModelError::Unanswered(Unanswered { cause, message, retry_after, tries })
    }
}

/// What an error status means: its cause, and whether it may pass.
pub(super) fn classify_status(status: u16) -> (Cause, bool) {
    match status {
        401 | 403 | 407 => (Cause::Authentication, false),
        402 => (Cause::Quota, false),
        404 | 405 | 410 => (Cause::NotFound, false),
        408 => (Cause::Timeout, true),
        425 => (Cause::Server, true),
        429 => (Cause::RateLimit, true),
        501 | 505 => (Cause::Server, false),
        500..=599 => (Cause::Server, true),
        _ => (Cause::BadResponse, false),
    }
}
