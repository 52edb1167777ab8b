//! A response as it builds up: from one body, or from the events of a stream, of which the last holds all of it.

use serde_json::Value;

use crate::client::{AttemptError, Client, ServerError};
use crate::door::{Draft, bound_reasoning, broken_off, check_error, read_count};
use planwright::contract::AskedCall;
use planwright::machine::{FailureClass, ModelReply, Usage};
use planwright::ports::TokenSink;
use planwright::spec::RequestFrame;

/// Most items of one reply.
const MAX_ITEMS: usize = 1_024;

#[derive(Debug, Default)]
pub struct ResponseDraft {
    is_stream: bool,
    /// The items that are whole, for a server whose last event does not repeat them.
    items: Vec<Value>,
    /// What was streamed, for a reply that was cut amid an item.
    streamed: String,
    response: Option<Value>,
}

impl Draft for ResponseDraft {
    fn begin(_: &RequestFrame, is_stream: bool) -> Self {
        ResponseDraft { is_stream, ..ResponseDraft::default() }
    }

    fn has_reply(&self) -> bool {
        self.response.is_some()
    }

    fn has_ended(&self) -> bool {
        self.response.is_some()
    }

    fn add(
        &mut self,
        client: &Client,
        value: &Value,
        sink: &mut Option<TokenSink<'_>>,
    ) -> Result<bool, AttemptError> {
        check_error(client, value)?;
        match value["type"].as_str().unwrap_or_default() {
            // `{"type": "error", "code": …, "message": …}`
            "error" => return Err(client.explain_error(ServerError::from_json(value, None))),
            "response.output_text.delta" => {
                let piece = value["delta"].as_str().unwrap_or_default();
                self.streamed.push_str(piece);
                if let Some(sink) = sink.as_mut().filter(|_| !piece.is_empty()) {
                    sink(piece);
                }
            }
            "response.output_item.done" if self.items.len() < MAX_ITEMS => {
                self.items.push(value["item"].clone())
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                check_error(client, &value["response"])?;
                self.response = Some(value["response"].clone());
            }
            _ if !self.is_stream && value["output"].is_array() => self.response = Some(value.clone()),
            _ => {}
        }
        Ok(self.is_stream && self.response.is_some())
    }

    fn finish(self) -> Result<ModelReply, AttemptError> {
        let response = self.response.unwrap_or_default();
        let items = response["output"].as_array().filter(|items| !items.is_empty()).unwrap_or(&self.items);
        let mut reply = ModelReply { usage: read_usage(&response["usage"]), ..ModelReply::default() };
        let mut refusal = String::new();
        for item in items {
            add_item(&mut reply, &mut refusal, item);
        }
        if reply.text.is_empty() {
            reply.text = self.streamed;
        }
        bound_reasoning(&mut reply);
        let usage = reply.usage;
        let reason = response["incomplete_details"]["reason"].as_str().unwrap_or_default();
        let (class, message) = match (response["status"].as_str().unwrap_or_default(), reason) {
            _ if !refusal.is_empty() => (FailureClass::Refusal, refusal),
            ("incomplete", "content_filter") => {
                (FailureClass::ContentFilter, "the reply was withheld by a filter".to_owned())
            }
            ("incomplete", _) => {
                let tokens = usage.output_tokens;
                (FailureClass::Length, format!("the reply was cut at its token limit, after {tokens} tokens"))
            }
            ("failed" | "cancelled", _) => {
                return Err(AttemptError::bad_response("the server broke the reply off", true));
            }
            _ => return Ok(reply),
        };
        Err(broken_off(reply, class, message))
    }
}

fn add_item(reply: &mut ModelReply, refusal: &mut String, item: &Value) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match item["type"].as_str().unwrap_or_default() {
        "message" => {
            for part in item["content"].as_array().into_iter().flatten() {
                reply.text.push_str(&text(&part["text"]));
                refusal.push_str(&text(&part["refusal"]));
            }
        }
        "function_call" => {
            let arguments = Some(text(&item["arguments"])).filter(|arguments| !arguments.trim().is_empty());
            let arguments = arguments.unwrap_or_else(|| "{}".to_owned());
            reply.tool_calls.push(AskedCall { name: text(&item["name"]), arguments });
        }
        "reasoning" => {
            let parts =
                [&item["summary"], &item["content"]].into_iter().filter_map(Value::as_array).flatten();
            let thoughts: Vec<String> = parts.map(|part| text(&part["text"])).collect();
            reply.thoughts.push_str(&thoughts.join("\n"));
            // Without its seal an item names what the server was told not to store.
            if item["encrypted_content"].is_string() {
                reply.reasoning.push(item.clone());
            }
        }
        _ => {}
    }
}

fn read_usage(usage: &Value) -> Usage {
    Usage {
        input_tokens: read_count(&usage["input_tokens"]),
        output_tokens: read_count(&usage["output_tokens"]),
        cached_tokens: read_count(&usage["input_tokens_details"]["cached_tokens"]),
        ..Usage::default()
    }
}
