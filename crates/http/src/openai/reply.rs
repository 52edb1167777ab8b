//! An answer as it builds up: from one completion, or from the chunks of a stream.
//!
//! What is taken is the content of the first choice, and the tool calls and the thoughts beside it.
//! Whether an answer is a stream is seen from its first byte and not from what was asked for or what the
//! headers say; servers differ there.

use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::calls::Calls;
use crate::client::{AttemptError, Client, Event, Response, ServerError, detach, parse_json, wait};
use planwright::machine::{FailureClass, ModelFailure, ModelReply, Usage};
use planwright::ports::{Cause, TokenSink};

/// How long the farewell of a stream is waited for after its reply has ended: the usage, and `[DONE]`.
const FAREWELL: Duration = Duration::from_secs(1);

/// Reads an answer to its end. Text of a stream goes to the sink as it comes, and `idle` is the longest time between
/// two lines of one.
pub(super) fn read_reply(
    client: &Client,
    mut response: Response,
    idle: Duration,
    mut sink: Option<TokenSink<'_>>,
    stop: &dyn Fn() -> bool,
) -> Result<ModelReply, AttemptError> {
    let unreadable = |bytes: &[u8]| client.explain_unreadable("a chat completion", bytes);
    let (start, mut response) = detach(stop, move || (response.peek(), response))?;
    let start = start?;
    // `data:`, `event:`, `id:`, `retry:`, a comment, or a byte-order mark before them.
    let is_stream = matches!(start.first(), Some(b'd' | b'e' | b'i' | b'r' | b':' | 0xEF));
    let mut draft = Draft { is_stream, ..Draft::default() };
    if !is_stream {
        let bytes = detach(stop, move || response.read_all())??;
        let value: Value = parse_json(&bytes).map_err(|_| unreadable(&bytes))?;
        draft.add(client, &value, &mut sink)?;
        return if draft.has_choice { draft.finish() } else { Err(unreadable(&bytes)) };
    }
    let events = response.into_events()?;
    let mut farewell = None;
    let is_done = loop {
        let patience = match draft.finish {
            Some(_) => {
                farewell.get_or_insert_with(|| Instant::now() + FAREWELL).duration_since(Instant::now())
            }
            None => idle,
        };
        match wait(&events, patience, stop) {
            Ok(Ok(Event::Json(value))) => {
                farewell = None;
                draft.add(client, &value, &mut sink)?;
            }
            Ok(Ok(Event::Alive)) => {}
            Ok(Ok(Event::Done)) => break true,
            // What is missing then is the farewell, not the reply.
            _ if draft.finish.is_some() => break true,
            Ok(Ok(Event::Unreadable(data))) => return Err(unreadable(&data)),
            Ok(Err(error)) => return Err(error),
            Err(RecvTimeoutError::Timeout) if stop() => return Err(AttemptError::stopped()),
            Err(RecvTimeoutError::Timeout) => return Err(AttemptError::idle(idle)),
            Err(RecvTimeoutError::Disconnected) => break false,
        }
    };
    match is_done {
        true if draft.has_choice => draft.finish(),
        false if start.starts_with(b"data") => {
            Err(AttemptError::bad_response("the stream ended before the reply did", true))
        }
        _ => Err(unreadable(&start)),
    }
}

#[derive(Debug, Default)]
struct Draft {
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

impl Draft {
    /// Adds a completion or a chunk of one; text goes to the sink as it comes.
    fn add(
        &mut self,
        client: &Client,
        value: &Value,
        sink: &mut Option<TokenSink<'_>>,
    ) -> Result<(), AttemptError> {
        check_error(client, value)?;
        for usage in [&value["usage"], &value["x_groq"]["usage"]] {
            if usage.is_object() {
                self.usage = parse_usage(usage);
            }
        }
        // A request asks for one choice, whatever else is sent.
        let mut choices = value["choices"].as_array().into_iter().flatten();
        let is_first = |choice: &&Value| choice["index"].as_u64().unwrap_or_default() == 0;
        let Some(choice) = choices.find(is_first) else { return Ok(()) };
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
            _ => return Ok(()),
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
        added.map_err(|message| AttemptError::failed(ModelFailure::new(FailureClass::TooLarge, message)))
    }

    /// Adds the refusal and the text of a message or of a part of one.
    fn add_part(&mut self, part: &Value, text: &Value, sink: &mut Option<TokenSink<'_>>) {
        self.refusal.push_str(part["refusal"].as_str().unwrap_or_default());
        let Some(text) = text.as_str().filter(|text| !text.is_empty()) else { return };
        self.text.push_str(text);
        if let Some(sink) = sink {
            sink(text);
        }
    }

    /// The reply, or what came in place of one. Either costs what the server says.
    fn finish(self) -> Result<ModelReply, AttemptError> {
        let Draft { text, thoughts, calls, refusal, usage, .. } = self;
        let finish = self.finish.unwrap_or_default();
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
            _ => {
                let tool_calls = calls.finish();
                return Ok(ModelReply { text, tool_calls, thoughts, usage, ..ModelReply::default() });
            }
        };
        // Words beside a call that was cut are no reply that came so far.
        let is_kept = class == FailureClass::Length && calls.is_empty();
        let text = if is_kept { text } else { String::new() };
        Err(AttemptError::failed(ModelFailure { usage, text, ..ModelFailure::new(class, message) }))
    }
}

/// An error under status 200.
fn check_error(client: &Client, value: &Value) -> Result<(), AttemptError> {
    let error = &value["error"];
    match error.is_object() || error.as_str().is_some_and(|text| !text.is_empty()) {
        true => Err(client.explain_error(ServerError::from_json(value, None))),
        false => Ok(()),
    }
}

fn parse_usage(usage: &Value) -> Usage {
    // A float beyond the range of an integer saturates, a negative one becomes zero.
    let count = |value: &Value| value.as_u64().unwrap_or(value.as_f64().unwrap_or_default() as u64);
    let details = &usage["prompt_tokens_details"];
    let cached =
        [&details["cached_tokens"], &usage["prompt_cache_hit_tokens"], &usage["cached_tokens"]].map(count);
    Usage {
        input_tokens: count(&usage["prompt_tokens"]),
        output_tokens: count(&usage["completion_tokens"]),
        cached_tokens: cached.into_iter().max().unwrap_or_default(),
        estimated_tokens: 0,
    }
}
