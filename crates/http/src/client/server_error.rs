//! What a server says instead of an answer.
//!
//! Servers word their errors in many ways: `{"error": {"message", "type", "code", "param"}}`,
//! `{"error": "…"}`, `{"message": "…"}`, `{"detail": "…"}`, `{"detail": [{"loc", "msg"}]}`, plain
//! text, and any of these under status 200 or inside a stream.

use std::time::Duration;

use serde_json::Value;

use super::attempt_error::{AttemptError, Stage, classify_status};
use planwright::contract::read::excerpt;
use planwright::driver::redact;
use planwright::ports::{Cause, Secret};

/// Most characters of a server's message that are passed on.
const MAX_MESSAGE_CHARS: usize = 1_000;

/// An error in a server's words.
#[derive(Debug)]
pub(crate) struct ServerError {
    /// The HTTP status, or the one that an error under status 200 stands for.
    pub(crate) status: u16,
    pub(crate) message: String,
    /// The error as it came; null where it is no JSON.
    pub(crate) details: Value,
    /// Codes, types and parameter names, lowercase.
    marks: String,
    retry_after: Option<Duration>,
}

impl ServerError {
    /// Reads the body of a response with an error status.
    pub(super) fn parse(status: u16, text: &str, retry_after: Option<Duration>) -> Self {
        let error = match serde_json::from_str::<Value>(text) {
            Ok(value) => ServerError::from_json(&value, Some(status)),
            Err(_) => {
                // A page for people says nothing to a program.
                let message = Some(text.trim()).filter(|text| !text.starts_with('<')).unwrap_or_default();
                let (message, marks) = (message.to_owned(), String::new());
                ServerError { status, message, details: Value::Null, marks, retry_after: None }
            }
        };
        ServerError { retry_after, ..error }
    }

    /// Reads an error that came under status 200.
    pub(crate) fn without_status(value: &Value) -> Self {
        ServerError::from_json(value, None)
    }

    fn from_json(value: &Value, status: Option<u16>) -> Self {
        let error = value.get("error").filter(|error| error.is_object()).unwrap_or(value);
        let mut marks = String::new();
        for place in [error, &error["innererror"]] {
            for mark in ["code", "type", "param"].into_iter().filter_map(|key| place[key].as_str()) {
                marks.push_str(&mark.to_lowercase());
                marks.push(' ');
            }
        }
        let status = status.or_else(|| find_status(error)).unwrap_or_else(|| guess_status(&marks));
        let message = find_message(value, error);
        ServerError { status, message, details: error.clone(), marks, retry_after: None }
    }

    /// The error without the values of these keys.
    pub(crate) fn redact(mut self, secrets: &[Secret]) -> Self {
        self.message = redact(&self.message, secrets).into_owned();
        self
    }

    /// Whether the server's codes hold one of these.
    pub(crate) fn has_mark(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.marks.contains(word))
    }

    /// Whether the server's message or codes hold one of these.
    pub(crate) fn mentions(&self, words: &[&str]) -> bool {
        let message = self.message.to_lowercase();
        self.has_mark(words) || words.iter().any(|word| message.contains(word))
    }

    /// The server's message with its status.
    pub(crate) fn describe(&self) -> String {
        match excerpt(&self.message, MAX_MESSAGE_CHARS) {
            message if message.is_empty() => format!("status {} without a message", self.status),
            message => format!("{message} (status {})", self.status),
        }
    }

    /// What this means for the request, and whether it may pass.
    pub(crate) fn into_attempt_error(self) -> AttemptError {
        let is_quota = self.status == 429 && self.has_mark(&["insufficient_quota", "billing_hard_limit"]);
        let (cause, transient) = if is_quota { (Cause::Quota, false) } else { classify_status(self.status) };
        let error = AttemptError::new(cause, transient, Stage::Answered, self.describe());
        AttemptError { retry_after: self.retry_after, ..error }
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

fn find_message(value: &Value, error: &Value) -> String {
    let message = value["error"].as_str().map(str::to_owned).or_else(|| {
        let keys = ["message", "msg", "detail", "error_description", "info"];
        keys.into_iter().find_map(|key| join_texts(&error[key])).or_else(|| join_texts(&value["errors"]))
    });
    let mut message = message.unwrap_or_else(|| value.to_string());
    // A router passes on what the server behind it said.
    if let Some(raw) = error["metadata"]["raw"].as_str() {
        message = format!("{message}: {raw}");
    }
    message.trim().to_owned()
}

/// A message: a text, an object that holds one, or a list of texts or of
/// `{loc: ["body", "response_format"], msg}`.
fn join_texts(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(entries) => {
            let texts: Vec<String> = entries.iter().map(describe_entry).collect();
            Some(texts.join("; ")).filter(|text| !text.is_empty())
        }
        Value::Object(fields) => {
            ["detail", "message", "error"].iter().find_map(|key| join_texts(fields.get(*key)?))
        }
        _ => None,
    }
}

fn describe_entry(value: &Value) -> String {
    let text = value.as_str().or_else(|| value["msg"].as_str()).or_else(|| value["message"].as_str());
    let place: Vec<&str> = value["loc"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    match (place.is_empty(), text) {
        (true, Some(text)) => text.to_owned(),
        (false, Some(text)) => format!("{}: {text}", place.join(".")),
        (_, None) => value.to_string(),
    }
}
