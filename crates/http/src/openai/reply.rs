//! An answer as it builds up: from one completion, or from the chunks of a stream.
//!
//! What is taken is the content of the first choice, and the tool calls beside it. Reasoning is
//! neither.

use serde_json::Value;

use super::calls::Calls;
use crate::client::{AttemptError, ServerError};
use planwright::machine::{FailureClass, ModelFailure, ModelReply, Usage};
use planwright::ports::{Cause, TokenSink};

/// Why one attempt gave no reply.
#[derive(Debug)]
pub(super) enum ReplyError {
    /// The server answered with an error, which may be about how the request was put.
    Server(Box<ServerError>),
    /// The answer is no reply.
    Failure(ModelFailure),
    /// There was no answer.
    Attempt(AttemptError),
}

impl ReplyError {
    pub(super) fn failure(class: FailureClass, message: impl Into<String>) -> Self {
        ReplyError::Failure(ModelFailure::new(class, message))
    }
}

impl From<AttemptError> for ReplyError {
    fn from(error: AttemptError) -> Self {
        ReplyError::Attempt(error)
    }
}

/// What has come of an answer so far.
#[derive(Debug, Default)]
pub(super) struct Draft {
    text: String,
    calls: Calls,
    refusal: String,
    finish: Option<String>,
    usage: Usage,
    has_choice: bool,
}

impl Draft {
    /// Adds a completion or a chunk of one; text goes to the sink as it comes.
    pub(super) fn add(&mut self, value: &Value, sink: &mut Option<TokenSink<'_>>) -> Result<(), ReplyError> {
        if is_error(&value["error"]) {
            return Err(ReplyError::Server(Box::new(ServerError::without_status(value))));
        }
        for usage in [&value["usage"], &value["x_groq"]["usage"]] {
            if usage.is_object() {
                self.usage = read_usage(usage);
            }
        }
        let Some(choice) = first_choice(value) else { return Ok(()) };
        self.has_choice = true;
        if is_error(&choice["error"]) {
            return Err(ReplyError::Server(Box::new(ServerError::without_status(choice))));
        }
        if let Some(finish) = choice["finish_reason"].as_str().filter(|finish| !finish.is_empty()) {
            self.finish = Some(finish.to_owned());
        }
        // Some servers repeat the whole message beside each delta.
        let (message, is_piece) = match &choice["delta"] {
            delta if delta.is_object() => (delta, true),
            _ if self.text.is_empty() && self.calls.is_empty() => (&choice["message"], false),
            _ => return Ok(()),
        };
        if let Some(refusal) = message["refusal"].as_str() {
            self.refusal.push_str(refusal);
        }
        match &message["content"] {
            Value::String(text) => self.add_text(text, sink),
            Value::Array(parts) => parts.iter().for_each(|part| self.add_part(part, sink)),
            _ => {}
        }
        let added = self.calls.add(message, is_piece);
        added.map_err(|message| ReplyError::failure(FailureClass::TooLarge, message))
    }

    fn add_part(&mut self, part: &Value, sink: &mut Option<TokenSink<'_>>) {
        if let Some(refusal) = part["refusal"].as_str() {
            self.refusal.push_str(refusal);
        }
        if let (None | Some("text" | "output_text"), Some(text)) =
            (part["type"].as_str(), part["text"].as_str().or(part.as_str()))
        {
            self.add_text(text, sink);
        }
    }

    fn add_text(&mut self, text: &str, sink: &mut Option<TokenSink<'_>>) {
        if text.is_empty() {
            return;
        }
        self.text.push_str(text);
        if let Some(sink) = sink {
            sink(text);
        }
    }

    /// Whether the server said how the reply ended, after which nothing of it is missing.
    pub(super) fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    /// Whether there is any reply at all.
    pub(super) fn has_choice(&self) -> bool {
        self.has_choice
    }

    /// The reply, or what came in place of one. Either costs what the server says.
    pub(super) fn finish(self) -> Result<ModelReply, ReplyError> {
        let usage = self.usage;
        let failed = |class, message: &str| {
            Err(ReplyError::Failure(ModelFailure { usage, ..ModelFailure::new(class, message) }))
        };
        let finish = self.finish.unwrap_or_default().to_lowercase();
        let refusal = Some(self.refusal.as_str()).filter(|refusal| !refusal.is_empty());
        if ["content_filter", "content-filter", "safety"].iter().any(|word| finish.contains(word)) {
            let message = refusal.unwrap_or("the reply was withheld by a filter");
            return failed(FailureClass::ContentFilter, message);
        }
        if let Some(refusal) = refusal {
            return failed(FailureClass::Refusal, refusal);
        }
        match finish.as_str() {
            "refusal" => failed(FailureClass::Refusal, "the model refused and did not say why"),
            "length" | "max_tokens" | "model_length" => {
                let tokens = usage.output_tokens;
                failed(
                    FailureClass::Length,
                    &format!("the reply was cut at its token limit, after {tokens} tokens"),
                )
            }
            "error" => {
                let message = "the server broke the reply off with an error";
                let error = AttemptError::bad_response(message, true);
                Err(AttemptError { cause: Cause::Server, ..error }.into())
            }
            _ => {
                let tool_calls = self.calls.finish();
                Ok(ModelReply { text: self.text, tool_calls, usage, ..ModelReply::default() })
            }
        }
    }
}

fn is_error(value: &Value) -> bool {
    match value {
        Value::Object(_) => true,
        Value::String(text) => !text.is_empty(),
        _ => false,
    }
}

/// Choice 0; a request asks for one, whatever else is sent.
fn first_choice(value: &Value) -> Option<&Value> {
    value["choices"].as_array()?.iter().find(|choice| choice["index"].as_u64().unwrap_or_default() == 0)
}

fn read_usage(usage: &Value) -> Usage {
    let count = |value: &Value| {
        // A float beyond the range of an integer saturates, a negative one becomes zero.
        value.as_u64().unwrap_or_else(|| value.as_f64().unwrap_or_default() as u64)
    };
    let cached = [
        &usage["prompt_tokens_details"]["cached_tokens"],
        &usage["prompt_cache_hit_tokens"],
        &usage["cached_tokens"],
    ];
    Usage {
        input_tokens: count(&usage["prompt_tokens"]),
        output_tokens: count(&usage["completion_tokens"]),
        cached_tokens: cached.into_iter().map(count).max().unwrap_or_default(),
    }
}
