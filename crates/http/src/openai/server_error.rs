//! What a server says instead of an answer, and what it means.
//!
//! Servers word their errors in many ways: `{"error": {"message", "type", "code", "param"}}`,
//! `{"error": "…"}`, `{"message": "…"}`, `{"detail": "…"}`, `{"detail": [{"loc", "msg"}]}`, plain
//! text, and any of these under status 200 or inside a stream.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::Value;

use planwright::contract::read::excerpt;
use planwright::driver::redact;
use planwright::machine::{FailureClass, ModelReply};
use planwright::ports::{Cause, ModelError, Secret, Unanswered};

/// Most characters of a server's message that are passed on.
const MAX_MESSAGE_CHARS: usize = 1_000;

/// An error as a server told it.
#[derive(Debug)]
pub(super) struct Said {
    /// The HTTP status, or the one that an error under status 200 stands for.
    status: u16,
    message: String,
    /// Codes, types and parameter names, lowercase.
    marks: String,
    retry_after: Option<Duration>,
    /// The text that the server itself found not to fit the schema, where it tells it.
    generated: Option<String>,
}

impl Said {
    /// Reads the body of a response with an error status.
    pub(super) fn with_status(status: u16, text: &str, retry_after: Option<Duration>) -> Self {
        let mut said = match serde_json::from_str::<Value>(text) {
            Ok(value) => Said::read(&value, Some(status)),
            Err(_) => Said {
                status,
                message: text.trim().to_owned(),
                marks: String::new(),
                retry_after: None,
                generated: None,
            },
        };
        said.retry_after = retry_after;
        said
    }

    /// Reads an error that came under status 200.
    pub(super) fn without_status(value: &Value) -> Self {
        Said::read(value, None)
    }

    fn read(value: &Value, status: Option<u16>) -> Self {
        let error = value.get("error").filter(|error| error.is_object()).unwrap_or(value);
        let mut marks = String::new();
        for place in [error, &error["innererror"]] {
            for key in ["code", "type", "param"] {
                if let Some(mark) = place[key].as_str() {
                    marks.push_str(&mark.to_lowercase());
                    marks.push(' ');
                }
            }
        }
        let generated = marks.contains("json_validate_failed").then(|| error["failed_generation"].as_str());
        let status = status.or_else(|| numeric_status(error)).unwrap_or_else(|| status_of(&marks));
        Said {
            status,
            message: message_of(value, error),
            generated: generated.flatten().filter(|text| !text.is_empty()).map(str::to_owned),
            marks,
            retry_after: None,
        }
    }

    /// Whether the server names one of these, in its message or its codes.
    pub(super) fn names(&self, words: &[&str]) -> bool {
        let message = self.message.to_lowercase();
        words.iter().any(|word| message.contains(word) || self.marks.contains(word))
    }

    /// Whether the server does not know or take this parameter at all. A value out of range is
    /// another matter.
    pub(super) fn refuses(&self, parameter: &str) -> bool {
        const UNTAKEN: [&str; 8] = [
            "support",
            "deprecated",
            "unrecognized",
            "unknown",
            "not permitted",
            "not allowed",
            "not accept",
            "unexpected",
        ];
        matches!(self.status, 400 | 422) && self.names(&[parameter]) && self.names(&UNTAKEN)
    }

    /// Whether the server does not take the form that was asked for.
    pub(super) fn refuses_the_form(&self) -> bool {
        const FORM: [&str; 9] = [
            "response_format",
            "response format",
            "json_schema",
            "json_object",
            "schema",
            "grammar",
            "structured output",
            "json mode",
            "requested parameters",
        ];
        const ANYTHING: [&str; 3] = ["support", "not implemented", "unrecognized"];
        match self.status {
            501 => true,
            400 | 422 => self.message.is_empty() || self.names(&FORM) || self.names(&ANYTHING),
            404 | 405 | 415 | 500 => self.names(&FORM),
            _ => false,
        }
    }

    /// The same, about a request that offered tools. A server or a model that takes none says so
    /// under many a status; it is an answer all the same, for without its tools a request would be
    /// another one.
    pub(super) fn about_tools(self) -> Self {
        const TOOLS: [&str; 6] =
            ["tool_choice", "tool choice", "tools param", "tool use", "support tools", "function calling"];
        let refuses = matches!(self.status, 404 | 405 | 500 | 501) && self.names(&TOOLS);
        if refuses { Said { status: 400, ..self } } else { self }
    }

    /// Whether putting the request differently cannot help.
    pub(super) fn is_final(&self) -> bool {
        self.generated.is_some()
            || self.is_context_length()
            || self.is_content_filter()
            || matches!(self.status, 401..=403 | 407 | 408 | 429)
    }

    fn is_context_length(&self) -> bool {
        // "Too many tokens" under 429 is about tokens a minute.
        !matches!(self.status, 401..=403 | 429)
            && self.names(&[
                "context_length_exceeded",
                "exceed_context_size",
                "maximum context length",
                "context length",
                "context window",
                "context size",
                "too many tokens",
                "prompt is too long",
                "input is too long",
            ])
    }

    fn is_content_filter(&self) -> bool {
        ["content_filter", "content_policy_violation", "responsibleaipolicyviolation"]
            .iter()
            .any(|mark| self.marks.contains(mark))
    }

    fn is_quota(&self) -> bool {
        self.status == 402
            || ["insufficient_quota", "billing_hard_limit"].iter().any(|mark| self.marks.contains(mark))
    }

    /// The same without the values of these keys.
    pub(super) fn without(mut self, secrets: &[Secret]) -> Self {
        self.message = redact(&self.message, secrets).into_owned();
        self
    }

    /// What this means for the request, and whether it may pass.
    pub(super) fn outcome(self) -> Result<ModelReply, (ModelError, bool)> {
        let message = self.in_words();
        if let Some(text) = self.generated {
            // The model did answer; that its answer does not fit is for the contract's reader to say.
            return Ok(ModelReply::text(text));
        }
        let failed = |class| Err((ModelError::failed(class, message.clone()), false));
        if self.is_context_length() {
            return failed(FailureClass::ContextLength);
        }
        if self.is_content_filter() {
            return failed(FailureClass::ContentFilter);
        }
        let (cause, passing) = match self.status {
            401 | 403 | 407 => (Cause::Authentication, false),
            402 | 429 if self.is_quota() => (Cause::Quota, false),
            404 | 405 | 410 => (Cause::NotFound, false),
            408 => (Cause::Timeout, true),
            429 => (Cause::RateLimit, true),
            425 => (Cause::Server, true),
            400..=499 => return failed(FailureClass::BadRequest),
            501 | 505 => (Cause::Server, false),
            500..=599 => (Cause::Server, true),
            _ => (Cause::BadResponse, false),
        };
        let retry_after = self.retry_after;
        Err((ModelError::Unanswered(Unanswered { cause, message, retry_after, tries: 1 }), passing))
    }

    fn in_words(&self) -> String {
        match excerpt(&self.message, MAX_MESSAGE_CHARS) {
            message if message.is_empty() => format!("status {} without a message", self.status),
            message => format!("{message} (status {})", self.status),
        }
    }
}

/// A status that stands in the error itself: `"code": 429`, `"status": 400`.
fn numeric_status(error: &Value) -> Option<u16> {
    ["status", "code", "status_code"].into_iter().find_map(|key| {
        let value = &error[key];
        let number = value.as_u64().or_else(|| value.as_str()?.parse().ok())?;
        u16::try_from(number).ok().filter(|status| (400..=599).contains(status))
    })
}

/// The status that an error without one stands for.
fn status_of(marks: &str) -> u16 {
    const KNOWN: [(&str, u16); 8] = [
        ("insufficient_quota", 402),
        ("rate_limit", 429),
        ("invalid_api_key", 401),
        ("authentication", 401),
        ("not_found", 404),
        ("context", 400),
        ("content", 400),
        ("invalid", 400),
    ];
    KNOWN.iter().find(|(mark, _)| marks.contains(mark)).map_or(500, |(_, status)| *status)
}

fn message_of(value: &Value, error: &Value) -> String {
    let mut message = match &value["error"] {
        Value::String(text) => text.clone(),
        _ => ["message", "msg", "detail", "error_description"]
            .into_iter()
            .find_map(|key| told(&error[key]))
            .or_else(|| told(&value["errors"]))
            .unwrap_or_else(|| value.to_string()),
    };
    // A router passes on what the server behind it said.
    if let Some(raw) = error["metadata"]["raw"].as_str() {
        let _ = write!(message, ": {raw}");
    }
    message.trim().to_owned()
}

/// A message: a text, or a list of texts or of `{loc: ["body", "response_format"], msg}`.
fn told(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(entries) => {
            let texts: Vec<String> = entries.iter().map(entry).collect();
            Some(texts.join("; ")).filter(|text| !text.is_empty())
        }
        // A validation error as an object: the nested entries are under `detail`.
        Value::Object(fields) => fields.get("detail").or_else(|| fields.get("message")).and_then(told),
        _ => None,
    }
}

fn entry(value: &Value) -> String {
    let text = value.as_str().or_else(|| value["msg"].as_str()).or_else(|| value["message"].as_str());
    let place: Vec<&str> = value["loc"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    match (place.is_empty(), text) {
        (true, Some(text)) => text.to_owned(),
        (false, Some(text)) => format!("{}: {text}", place.join(".")),
        (_, None) => value.to_string(),
    }
}
