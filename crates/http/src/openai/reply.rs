//! A chat completion as it builds up: from one body, or from the chunks of a stream.
//!
//! What is taken is the content of the first choice, and the tool calls and the thoughts beside it.

use serde_json::Value;

use super::calls::Calls;
use crate::client::{AttemptError, Client};
use crate::door::{Draft, broken_off, check_error, read_count};
use planwright::machine::{FailureClass, ModelFailure, ModelReply, Usage};
use planwright::ports::{Cause, TokenSink};
use planwright::spec::RequestFrame;

#[derive(Debug, Default)]
pub struct Completion {
    is_stream: bool,
    text: String,
    thoughts: String,
    calls: Calls,
    refusal: String,
    /// How the server said that the reply ended, after which nothing of it is missing.
    finish: Option<String>,
    usage: Usage,
    /// Whether there is any reply at all.
    has_choice: bool,
}

impl Draft for Completion {
    fn begin(_: &RequestFrame, is_stream: bool) -> Self {
        Completion { is_stream, ..Completion::default() }
    }

    fn has_reply(&self) -> bool {
        self.has_choice
    }

    fn has_ended(&self) -> bool {
        self.finish.is_some()
    }

    fn add(
        &mut self,
        client: &Client,
        value: &Value,
        sink: &mut Option<TokenSink<'_>>,
    ) -> Result<bool, AttemptError> {
        check_error(client, value)?;
        for usage in [&value["usage"], &value["x_groq"]["usage"]] {
            if usage.is_object() {
                self.usage = parse_usage(usage);
            }
        }
        // A request asks for one choice, whatever else is sent.
        let mut choices = value["choices"].as_array().into_iter().flatten();
        let is_first = |choice: &&Value| choice["index"].as_u64().unwrap_or_default() == 0;
        let Some(choice) = choices.find(is_first) else { return Ok(false) };
        self.has_choice = true;
        check_error(client, choice)?;
        if let Some(finish) = choice["finish_reason"].as_str().filter(|finish| !finish.is_empty()) {
            self.finish = Some(finish.to_lowercase());
        }
        // Some servers repeat the whole message beside each delta, others put an empty delta beside the message.
        let (message, is_piece) = match &choice["delta"] {
            _ if !self.is_stream && choice["message"].is_object() => (&choice["message"], false),
            delta if delta.is_object() => (delta, true),
            _ if self.text.is_empty() && self.calls.is_empty() => (&choice["message"], false),
            _ => return Ok(false),
        };
        // Two names for the same; some servers send both.
        let thoughts = message["reasoning_content"].as_str().or(message["reasoning"].as_str());
        self.thoughts.push_str(thoughts.unwrap_or_default());
        self.add_part(message, &message["content"], sink);
        for part in message["content"].as_array().into_iter().flatten() {
            let text = match part["type"].as_str() {
                None if part.is_string() => part,
                None | Some("text" | "output_text") => &part["text"],
                Some(_) => &Value::Null,
            };
            self.add_part(part, text, sink);
        }
        let added = self.calls.add(message, is_piece);
        let failed = |message| AttemptError::failed(ModelFailure::new(FailureClass::TooLarge, message));
        added.map(|()| false).map_err(failed)
    }

    fn finish(self) -> Result<ModelReply, AttemptError> {
        let Completion { text, thoughts, calls, refusal, usage, finish, .. } = self;
        let reply = ModelReply { text, tool_calls: calls.finish(), thoughts, usage, ..ModelReply::default() };
        let finish = finish.unwrap_or_default();
        let is_filtered = ["content_filter", "content-filter", "safety"].iter().any(|it| finish.contains(it));
        let or = |message: &str| if refusal.is_empty() { message } else { refusal.as_str() }.to_owned();
        let (class, message) = match finish.as_str() {
            _ if is_filtered => (FailureClass::ContentFilter, or("the reply was withheld by a filter")),
            finish if finish == "refusal" || !refusal.is_empty() => {
                (FailureClass::Refusal, or("the model refused and did not say why"))
            }
            "length" | "max_tokens" | "model_length" => {
                let tokens = usage.output_tokens;
                (FailureClass::Length, format!("the reply was cut at its token limit, after {tokens} tokens"))
            }
            "error" => {
                let problem = "the server broke the reply off with an error";
                return Err(AttemptError {
                    cause: Cause::Server,
                    doubtful: false,
                    ..AttemptError::bad_response(problem, true)
                });
            }
            _ => return Ok(reply),
        };
        Err(broken_off(reply, class, message))
    }
}

impl Completion {
    /// Adds the refusal and the text of a message or of a part of one.
    fn add_part(&mut self, part: &Value, text: &Value, sink: &mut Option<TokenSink<'_>>) {
        self.refusal.push_str(part["refusal"].as_str().unwrap_or_default());
        let Some(text) = text.as_str().filter(|text| !text.is_empty()) else { return };
        self.text.push_str(text);
        if let Some(sink) = sink {
            sink(text);
        }
    }
}

fn parse_usage(usage: &Value) -> Usage {
    let details = &usage["prompt_tokens_details"];
    let cached = [&details["cached_tokens"], &usage["prompt_cache_hit_tokens"], &usage["cached_tokens"]]
        .map(read_count);
    Usage {
        input_tokens: read_count(&usage["prompt_tokens"]),
        output_tokens: read_count(&usage["completion_tokens"]),
        cached_tokens: cached.into_iter().max().unwrap_or_default(),
        ..Usage::default()
    }
}
