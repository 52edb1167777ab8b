//! A message as it builds up: from one body, or from the events of a stream.

use serde_json::{Map, Value, json};

use crate::client::{AttemptError, Client};
use crate::door::{Draft, bound_reasoning, broken_off, check_error, read_count};
use planwright::contract::AskedCall;
use planwright::machine::{FailureClass, ModelFailure, ModelReply, Usage};
use planwright::ports::TokenSink;
use planwright::spec::RequestFrame;

/// Most blocks of one reply.
const MAX_BLOCKS: usize = 1_024;

#[derive(Debug, Default)]
pub struct MessageDraft {
    /// The tool that stands for the reply's form.
    form: Option<String>,
    is_stream: bool,
    blocks: Vec<Block>,
    /// How the message ended, and what is said about it.
    stop: Option<(String, Value)>,
    usage: Map<String, Value>,
    has_message: bool,
}

/// A block with the JSON of a call's input as it comes.
#[derive(Debug)]
struct Block {
    index: u64,
    value: Value,
    input: String,
}

impl Draft for MessageDraft {
    fn begin(frame: &RequestFrame, is_stream: bool) -> Self {
        let form = frame.schema.as_ref().filter(|_| !frame.native_calls).map(|_| frame.role.to_string());
        MessageDraft { form, is_stream, ..MessageDraft::default() }
    }

    fn has_reply(&self) -> bool {
        self.has_message
    }

    fn has_ended(&self) -> bool {
        self.stop.is_some()
    }

    fn add(
        &mut self,
        client: &Client,
        value: &Value,
        sink: &mut Option<TokenSink<'_>>,
    ) -> Result<bool, AttemptError> {
        check_error(client, value)?;
        let index = value["index"].as_u64().unwrap_or_default();
        match value["type"].as_str().unwrap_or_default() {
            "message" => self.add_message(value, sink),
            "message_start" => self.add_message(&value["message"], sink),
            "content_block_start" => self.begin_block(index, &value["content_block"], sink),
            "content_block_delta" => self.add_delta(index, &value["delta"], sink),
            "message_delta" => {
                self.add_usage(&value["usage"]);
                self.end(&value["delta"]);
                Ok(())
            }
            // A server may know more kinds of events than this.
            kind => return Ok(kind == "message_stop"),
        }
        .map(|()| false)
    }

    fn finish(self) -> Result<ModelReply, AttemptError> {
        let usage = self.read_usage();
        let (stop, details) = self.stop.unwrap_or_default();
        let mut reply = ModelReply { usage, ..ModelReply::default() };
        for Block { value, input, .. } in self.blocks {
            match value["type"].as_str().unwrap_or_default() {
                "text" => reply.text.push_str(value["text"].as_str().unwrap_or_default()),
                "tool_use" if value["name"].as_str() == self.form.as_deref() => reply.text.push_str(&input),
                "tool_use" => {
                    let name = value["name"].as_str().unwrap_or_default().to_owned();
                    let arguments = if input.trim().is_empty() { "{}".to_owned() } else { input };
                    reply.tool_calls.push(AskedCall { name, arguments });
                }
                "thinking" => {
                    reply.thoughts.push_str(value["thinking"].as_str().unwrap_or_default());
                    reply.reasoning.push(value);
                }
                "redacted_thinking" => reply.reasoning.push(value),
                _ => {}
            }
        }
        bound_reasoning(&mut reply);
        let (class, message) = match stop.as_str() {
            "refusal" => {
                let why = details["explanation"].as_str().or(details["category"].as_str());
                (FailureClass::Refusal, why.unwrap_or("the model refused and did not say why").to_owned())
            }
            "max_tokens" => {
                let tokens = usage.output_tokens;
                (FailureClass::Length, format!("the reply was cut at its token limit, after {tokens} tokens"))
            }
            "model_context_window_exceeded" => {
                (FailureClass::Length, "the reply was cut where the model's context was full".to_owned())
            }
            "pause_turn" => {
                let problem = "the server broke the reply off for a tool of its own, which no request offers";
                (FailureClass::Length, problem.to_owned())
            }
            // `end_turn`, `stop_sequence`, `tool_use`, and what is yet to come.
            _ => return Ok(reply),
        };
        Err(broken_off(reply, class, message))
    }
}

impl MessageDraft {
    /// Adds a whole message, or the one that a stream begins with.
    fn add_message(&mut self, message: &Value, sink: &mut Option<TokenSink<'_>>) -> Result<(), AttemptError> {
        self.has_message = true;
        self.add_usage(&message["usage"]);
        for (nth, block) in (0..).zip(message["content"].as_array().into_iter().flatten()) {
            self.begin_block(nth, block, sink)?;
        }
        self.end(message);
        Ok(())
    }

    fn begin_block(
        &mut self,
        index: u64,
        block: &Value,
        sink: &mut Option<TokenSink<'_>>,
    ) -> Result<(), AttemptError> {
        if self.blocks.len() == MAX_BLOCKS {
            let problem = format!("expected at most {MAX_BLOCKS} blocks in one reply, found more");
            return Err(AttemptError::failed(ModelFailure::new(FailureClass::TooLarge, problem)));
        }
        if !block.is_object() {
            return Err(AttemptError::bad_response(
                "expected an object as a block, found another value",
                true,
            ));
        }
        // The input of a stream comes in pieces after an empty one.
        let is_whole = block["input"].as_object().is_some_and(|input| !self.is_stream || !input.is_empty());
        let input = if is_whole { block["input"].to_string() } else { String::new() };
        let shown = block["text"].as_str().unwrap_or_default().to_owned();
        self.blocks.push(Block { index, value: block.clone(), input });
        let is_form = self.is_form(block);
        let at = self.blocks.len() - 1;
        let shown = if is_form { &self.blocks[at].input } else { &shown };
        tell(sink, shown);
        Ok(())
    }

    fn is_form(&self, block: &Value) -> bool {
        self.form.is_some() && block["type"] == "tool_use" && block["name"].as_str() == self.form.as_deref()
    }

    fn add_delta(
        &mut self,
        index: u64,
        delta: &Value,
        sink: &mut Option<TokenSink<'_>>,
    ) -> Result<(), AttemptError> {
        let Some(at) = self.blocks.iter().rposition(|block| block.index == index) else {
            return Err(AttemptError::bad_response("a piece of a block came before the block", true));
        };
        let is_form = self.is_form(&self.blocks[at].value);
        let Block { value, input, .. } = &mut self.blocks[at];
        let (key, piece) = match delta["type"].as_str().unwrap_or_default() {
            "input_json_delta" => {
                let piece = delta["partial_json"].as_str().unwrap_or_default();
                input.push_str(piece);
                tell(sink, if is_form { piece } else { "" });
                return Ok(());
            }
            "text_delta" => ("text", &delta["text"]),
            "thinking_delta" => ("thinking", &delta["thinking"]),
            "signature_delta" => ("signature", &delta["signature"]),
            _ => return Ok(()),
        };
        let piece = piece.as_str().unwrap_or_default();
        match &mut value[key] {
            Value::String(known) => known.push_str(piece),
            other => *other = json!(piece),
        }
        tell(sink, if key == "text" { piece } else { "" });
        Ok(())
    }

    /// Takes counts; a later one stands in the place of an earlier.
    fn add_usage(&mut self, usage: &Value) {
        let counts = usage.as_object().into_iter().flatten().filter(|(_, count)| count.is_number());
        self.usage.extend(counts.map(|(name, count)| (name.clone(), count.clone())));
    }

    fn end(&mut self, end: &Value) {
        if let Some(reason) = end["stop_reason"].as_str() {
            self.stop = Some((reason.to_owned(), end["stop_details"].clone()));
        }
    }

    /// The tokens read are told apart: those that were in the cache, those that went into it, and the others.
    fn read_usage(&self) -> Usage {
        let count = |name: &str| self.usage.get(name).map(read_count).unwrap_or_default();
        let (cached, written) = (count("cache_read_input_tokens"), count("cache_creation_input_tokens"));
        Usage {
            input_tokens: count("input_tokens").saturating_add(cached).saturating_add(written),
            output_tokens: count("output_tokens"),
            cached_tokens: cached,
            cache_written_tokens: written,
            ..Usage::default()
        }
    }
}

fn tell(sink: &mut Option<TokenSink<'_>>, piece: &str) {
    if let Some(sink) = sink.as_mut().filter(|_| !piece.is_empty()) {
        sink(piece);
    }
}
