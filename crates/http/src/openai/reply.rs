//! An answer as it builds up: from one completion, or from the chunks of a stream.
//!
//! What is taken is the content of the first choice, and the tool calls beside it. Reasoning is
//! neither.

use serde_json::Value;

use super::attempt_error::Trouble;
use super::calls::Calls;
use super::server_error::Said;
use planwright::machine::{FailureClass, ModelReply, Usage};
use planwright::ports::{Cause, TokenSink};

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
    pub(super) fn add(&mut self, value: &Value, sink: &mut Option<TokenSink<'_>>) -> Result<(), Trouble> {
        if is_error(&value["error"]) {
            return Err(Trouble::Said(Said::without_status(value)));
        }
        for usage in [&value["usage"], &value["x_groq"]["usage"]] {
            if usage.is_object() {
                self.usage = read_usage(usage);
            }
        }
        let Some(choice) = first_choice(value) else { return Ok(()) };
        self.has_choice = true;
        if is_error(&choice["error"]) {
            return Err(Trouble::Said(Said::without_status(choice)));
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
        self.calls.add(message, is_piece)
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
    pub(super) fn finish(self) -> Result<ModelReply, Trouble> {
        let usage = self.usage;
        self.read().map_err(|trouble| trouble.costing(usage))
    }

    fn read(self) -> Result<ModelReply, Trouble> {
        let finish = self.finish.unwrap_or_default().to_lowercase();
        let filtered =
            ["content_filter", "content-filter", "safety"].iter().any(|word| finish.contains(word));
        if filtered {
            let reason =
                if self.refusal.is_empty() { "the reply was withheld by a filter" } else { &self.refusal };
            return Err(Trouble::failed(FailureClass::ContentFilter, reason));
        }
        if !self.refusal.is_empty() {
            return Err(Trouble::failed(FailureClass::Refusal, self.refusal));
        }
        match finish.as_str() {
            "refusal" => Err(Trouble::failed(FailureClass::Refusal, "the model refused and did not say why")),
            "length" | "max_tokens" | "model_length" => {
                let tokens = self.usage.output_tokens;
                let message = format!("the reply was cut at its token limit, after {tokens} tokens");
                Err(Trouble::failed(FailureClass::Length, message))
            }
            "error" => Err(Trouble::passing(Cause::Server, "the server broke the reply off with an error")),
            _ => {
                let tool_calls = self.calls.finish();
                Ok(ModelReply { text: self.text, tool_calls, usage: self.usage, ..ModelReply::default() })
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
