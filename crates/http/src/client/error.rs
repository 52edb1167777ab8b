//! Why one attempt got no usable answer: the one table of transport errors, statuses and servers' own words.
//!
//! Servers word their errors in many ways: `{"error": {"message", "type", "code", "param"}}`,
//! `{"error": "…"}`, `{"message": "…"}`, `{"detail": "…"}`, `{"detail": [{"loc", "msg"}]}`, plain
//! text, and any of these under status 200 or inside a stream.

use std::io::ErrorKind;
use std::time::Duration;

use serde_json::Value;
use ureq::Error;

use planwright::contract::excerpt;
use planwright::machine::ModelFailure;
use planwright::ports::{Cause, ToolError, ToolErrorKind};

/// Most characters of a server's message that are passed on.
const MAX_MESSAGE_CHARS: usize = 1_000;

#[derive(Debug)]
pub struct AttemptError {
    pub(crate) cause: Cause,
    pub(crate) message: String,
    pub(crate) stage: Stage,
    /// Whether the same request may fare better later.
    pub(crate) transient: bool,
    /// Whether it is mostly a mistake in the settings, worth one more try and no more.
    pub(crate) doubtful: bool,
    pub(crate) retry_after: Option<Duration>,
    /// How many attempts there were, this one included.
    pub(crate) tries: u32,
}

/// How far an attempt came.
#[derive(Debug)]
pub enum Stage {
    NotSent,
    /// The request may have reached the server, and no whole answer came back.
    Sent,
    TooLarge,
    Answered(Box<ServerError>),
    /// The server answered with what a model said, and that is no reply.
    Failed(Box<ModelFailure>),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) left: Duration,
    /// The time that there was in all, for error texts.
    pub(super) whole: Duration,
    pub(super) connect: Duration,
    pub(super) max_bytes: u64,
}

impl AttemptError {
    fn new(cause: Cause, transient: bool, stage: Stage, message: impl Into<String>) -> Self {
        let doubtful = cause == Cause::BadResponse;
        AttemptError {
            cause,
            message: message.into(),
            stage,
            transient,
            doubtful,
            retry_after: None,
            tries: 1,
        }
    }

    pub(crate) fn bad_response(message: impl Into<String>, transient: bool) -> Self {
        AttemptError::new(Cause::BadResponse, transient, Stage::Sent, message)
    }

    /// What no further try mends.
    pub(super) fn set_up(problem: &str) -> Self {
        AttemptError::new(Cause::Connection, false, Stage::NotSent, problem)
    }

    pub(super) fn too_large(bounds: Bounds) -> Self {
        let message = format!("expected at most {} bytes, found more", bounds.max_bytes);
        AttemptError::new(Cause::BadResponse, false, Stage::TooLarge, message)
    }

    /// An answer that is no reply; the machine decides what follows.
    pub(crate) fn failed(failure: ModelFailure) -> Self {
        AttemptError::new(Cause::BadResponse, false, Stage::Failed(Box::new(failure)), "")
    }

    /// Adds the id that the server gave the request to an error that it answered with.
    pub(crate) fn with_request(mut self, id: Option<String>) -> Self {
        if let (Stage::Answered(error), Some(id)) = (&mut self.stage, id) {
            error.request = id;
            self.message = error.describe();
        }
        self
    }

    /// The caller has stopped waiting for the answer.
    pub(crate) fn stopped() -> Self {
        AttemptError::new(Cause::Stopped, false, Stage::Sent, "the wait for an answer was ended")
    }

    /// The time between two pieces of an answer is up.
    pub(crate) fn idle(patience: Duration) -> Self {
        let message = format!("nothing more of the answer within {patience:?}");
        AttemptError::new(Cause::Timeout, true, Stage::Sent, message)
    }

    pub(super) fn from_transport(error: Error, bounds: Bounds) -> Self {
        use ureq::Timeout::{Connect, Resolve};
        let (cause, transient, stage) = match &error {
            Error::Timeout(Connect | Resolve) => (Cause::Timeout, true, Stage::NotSent),
            Error::Timeout(_) => (Cause::Timeout, true, Stage::Sent),
            Error::Io(error) => match error.kind() {
                ErrorKind::TimedOut => (Cause::Timeout, true, Stage::Sent),
                ErrorKind::ConnectionRefused => (Cause::Connection, true, Stage::NotSent),
                _ if is_unknown_host(error) => (Cause::Connection, true, Stage::NotSent),
                // So TLS says that it trusts no certificate, or that the server does not speak it.
                ErrorKind::InvalidData if error.to_string().contains("certificate") => {
                    (Cause::Connection, false, Stage::NotSent)
                }
                ErrorKind::InvalidData => (Cause::Connection, false, Stage::Sent),
                _ => (Cause::Connection, true, Stage::Sent),
            },
            Error::HostNotFound => (Cause::Connection, true, Stage::NotSent),
            Error::ConnectProxyFailed(reason) if reason.contains("407") => {
                (Cause::Proxy, false, Stage::NotSent)
            }
            Error::ConnectProxyFailed(_) => (Cause::Connection, true, Stage::NotSent),
            Error::ConnectionFailed => (Cause::Connection, true, Stage::Sent),
            Error::Http(_) | Error::BadUri(_) => (Cause::NotFound, false, Stage::NotSent),
            Error::Protocol(_)
            | Error::LargeResponseHeader(..)
            | Error::Decompress(..)
            | Error::BodyStalled => (Cause::BadResponse, true, Stage::Sent),
            // What is left is a matter of set-up: certificates, TLS, proxy settings.
            _ => (Cause::Connection, false, Stage::NotSent),
        };
        let is_unknown_host = match &error {
            Error::Io(error) => is_unknown_host(error),
            error => matches!(error, Error::HostNotFound),
        };
        let message = match error {
            Error::Timeout(Connect | Resolve) => format!("no connection within {:?}", bounds.connect),
            Error::Timeout(_) => format!("no whole answer within {:?}", bounds.whole),
            Error::Io(error) if error.kind() == ErrorKind::InvalidData => {
                format!("no TLS connection: {error}")
            }
            Error::Io(error) => error.to_string(),
            error => error.to_string(),
        };
        let error = AttemptError::new(cause, transient, stage, message);
        AttemptError { doubtful: error.doubtful || is_unknown_host, ..error }
    }

    /// The failure of a tool call; what the server did not get, or refused for good, did not happen.
    pub(super) fn into_tool_error(self, place: &str) -> ToolError {
        let kind = match (&self.stage, self.cause) {
            (Stage::Answered(_), _) => ToolErrorKind::Http,
            (_, Cause::Timeout) => ToolErrorKind::Timeout,
            (_, Cause::BadResponse) => ToolErrorKind::Response,
            _ => ToolErrorKind::Connection,
        };
        let mut message = format!("{place}: {}", self.message);
        if let Some(delay) = self.retry_after {
            message.push_str(&format!(" (the server asks to wait {} s)", delay.as_secs_f64().ceil()));
        }
        if self.tries > 1 {
            message.push_str(&format!(" (tried {} times)", self.tries));
        }
        let error = ToolError::new(kind, message);
        match self.stage {
            Stage::NotSent => error.did_not_happen(),
            Stage::Answered(_) if !self.transient => error.did_not_happen(),
            _ => error,
        }
    }
}

/// Whether no name server knows the host; one that does not answer may do so later.
fn is_unknown_host(error: &std::io::Error) -> bool {
    let text = error.to_string();
    let is_lookup = text.starts_with("failed to lookup address") || text.starts_with("No such host");
    is_lookup && !text.contains("emporary")
}

/// An error in a server's words.
#[derive(Debug)]
pub struct ServerError {
    /// The HTTP status, or the one that an error under status 200 stands for.
    pub(crate) status: u16,
    pub(crate) message: String,
    /// The error as it came; null where it is no JSON.
    pub(crate) details: Value,
    /// Codes, types and parameter names, lowercase.
    marks: String,
    /// The name that the server gave the request, if it did.
    request: String,
}

impl ServerError {
    /// Reads the body of a response with an error status.
    pub(super) fn parse(status: u16, text: &str) -> Self {
        if let Ok(value) = serde_json::from_str(text) {
            return ServerError::from_json(&value, Some(status));
        }
        // A page for people says nothing to a program.
        let message = Some(text.trim()).filter(|text| !text.starts_with('<')).unwrap_or_default().to_owned();
        ServerError { status, message, details: Value::Null, marks: String::new(), request: String::new() }
    }

    /// Reads an error; one without a status came under status 200.
    pub(crate) fn from_json(value: &Value, status: Option<u16>) -> Self {
        let error = value.get("error").filter(|error| error.is_object()).unwrap_or(value);
        let places = [error, &error["innererror"]].into_iter();
        let marks = places.flat_map(|place| ["code", "type", "param"].map(|key| &place[key]));
        let marks = marks.filter_map(Value::as_str).collect::<Vec<_>>().join(" ").to_lowercase();
        let status = status.or_else(|| find_status(error)).unwrap_or_else(|| guess_status(&marks));
        let mut message = find_message(error).unwrap_or_else(|| value.to_string());
        // A router passes on what the server behind it said.
        if let Some(raw) = error["metadata"]["raw"].as_str() {
            message = format!("{message}: {raw}");
        }
        let (message, request) = (message.trim().to_owned(), String::new());
        ServerError { status, message, details: error.clone(), marks, request }
    }

    /// The status that the error stands for: routers say 400 where the key or the model is wrong.
    pub(crate) fn meaning(&self) -> u16 {
        let wrong_key = "invalid_api_key,authentication_error,auth_error,authentication error,api key not valid,\
                         invalid api key,incorrect api key";
        let no_model =
            "model_not_found,invalid_model,invalid model,not a valid model,model not found,no such model";
        match self.status {
            400 if self.mentions(wrong_key) => 401,
            400 if self.mentions(no_model) => 404,
            status => status,
        }
    }

    /// Whether the server's codes hold one of these, separated by commas.
    pub(crate) fn has_mark(&self, words: &str) -> bool {
        words.split(',').any(|word| self.marks.contains(word))
    }

    /// Whether the server's message or codes hold one of these, separated by commas.
    pub(crate) fn mentions(&self, words: &str) -> bool {
        let message = self.message.to_lowercase();
        self.has_mark(words) || words.split(',').any(|word| message.contains(word))
    }

    /// The server's message with its status.
    pub(crate) fn describe(&self) -> String {
        let request = match &*self.request {
            "" => String::new(),
            id => format!(", request {id}"),
        };
        match excerpt(&self.message, MAX_MESSAGE_CHARS) {
            message if message.is_empty() => format!("status {} without a message{request}", self.status),
            message => format!("{message} (status {}{request})", self.status),
        }
    }
}

/// What a server's error means for the request, and whether it may pass.
impl From<ServerError> for AttemptError {
    fn from(error: ServerError) -> Self {
        let (cause, transient) = match error.meaning() {
            401 | 403 => (Cause::Authentication, false),
            407 => (Cause::Proxy, false),
            402 => (Cause::Quota, false),
            404 | 405 | 410 => (Cause::NotFound, false),
            408 => (Cause::Timeout, true),
            425 => (Cause::Server, true),
            429 if error.has_mark("insufficient_quota,billing_hard_limit") => (Cause::Quota, false),
            429 => (Cause::RateLimit, true),
            501 | 505 => (Cause::Server, false),
            500..=599 => (Cause::Server, true),
            _ => (Cause::BadResponse, false),
        };
        let message = error.describe();
        AttemptError::new(cause, transient, Stage::Answered(Box::new(error)), message)
    }
}

/// A status that stands in the error itself: `"code": 429`, `"status": 400`.
fn find_status(error: &Value) -> Option<u16> {
    ["status", "code", "status_code"].into_iter().find_map(|key| {
        let value = &error[key];
        let number = value.as_u64().or_else(|| value.as_str()?.parse().ok())?;
        u16::try_from(number).ok().filter(|status| (400..=599).contains(status))
    })
}

/// The status that an error without one stands for.
fn guess_status(marks: &str) -> u16 {
    match marks {
        _ if ["insufficient_quota", "billing"].iter().any(|mark| marks.contains(mark)) => 402,
        _ if marks.contains("rate_limit") => 429,
        _ if marks.contains("overloaded") => 529,
        _ if ["invalid_api_key", "authentication"].iter().any(|mark| marks.contains(mark)) => 401,
        _ if marks.contains("permission") => 403,
        _ if marks.contains("not_found") => 404,
        _ if ["context", "content", "invalid"].iter().any(|mark| marks.contains(mark)) => 400,
        _ => 500,
    }
}

/// A message: a text, an object that holds one and perhaps its place (`{loc, msg}`), or a list of these.
fn find_message(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(entries) if !entries.is_empty() => {
            let text = |entry| find_message(entry).unwrap_or_else(|| entry.to_string());
            Some(entries.iter().map(text).collect::<Vec<_>>().join("; "))
        }
        Value::Object(_) => {
            let keys = ["error", "message", "msg", "detail", "error_description", "info", "errors"];
            let text = keys.iter().find_map(|key| find_message(&value[*key]))?;
            let place = value["loc"].as_array().into_iter().flatten();
            let place: Vec<&str> = place.filter_map(Value::as_str).collect();
            Some(if place.is_empty() { text } else { format!("{}: {text}", place.join(".")) })
        }
        _ => None,
    }
}
