//! What differs between the protocols of models' servers: how a request is written, and how its answer builds up.

use serde_json::{Map, Value};

use super::dialect::Dialect;
use crate::client::{AttemptError, Client, ServerError};
use planwright::machine::{FailureClass, ModelFailure, ModelReply};
use planwright::ports::{Secret, TokenSink};
use planwright::prompt::ModelRequest;
use planwright::spec::RequestFrame;

/// Most bytes of thoughts that are kept to be sent back.
const MAX_REASONING_BYTES: usize = 256 << 10;

/// Members that no setting replaces: who is asked, how the answer comes, and a model that must rest.
const FIXED: [&str; 3] = ["model", "stream", "thinking"];

/// Leaves out reasoning that is not sent back: that of a reply without calls, and more than may be kept.
pub(crate) fn bound_reasoning(reply: &mut ModelReply) {
    let size: usize = reply.reasoning.iter().map(|block| block.to_string().len()).sum();
    if reply.tool_calls.is_empty() || size > MAX_REASONING_BYTES {
        reply.reasoning.clear();
    }
}

/// The failure of a reply that did not come whole. Where it was cut, it holds what had come.
pub(crate) fn broken_off(reply: ModelReply, class: FailureClass, message: String) -> AttemptError {
    // Words beside a call that was cut are no reply that came so far.
    let is_kept = class == FailureClass::Length && reply.tool_calls.is_empty();
    let text = if is_kept { reply.text } else { String::new() };
    AttemptError::failed(ModelFailure { usage: reply.usage, text, ..ModelFailure::new(class, message) })
}

/// A protocol. Everything else about a request is the door's.
pub trait Protocol: Send + Sync + 'static {
    /// Where requests go, below the server's base URL.
    const PATH: &'static str;
    /// Whose protocol it is.
    const PROVIDER: &'static str;
    /// What a base URL without a path stands for.
    const ROOT: &'static str = "";
    /// An answer, for people: `a chat completion`.
    const ANSWER: &'static str;
    /// Whether a reply can be asked for as any JSON object.
    const HAS_JSON_OBJECT: bool;
    /// What an error speaks of that refuses the reasoning a request asks for or sends back.
    const REASONING: Option<&'static str> = None;
    type Draft: Draft;

    fn open_client(key: &Secret) -> Result<Client, String> {
        Client::with_key(key)
    }

    /// Writes a request: its members in the order in which they are sent.
    fn render(request: &ModelRequest, asked: Asked<'_>) -> Vec<(&'static str, Option<Value>)>;

    /// What the model said and the server itself found unfit, where its error tells it.
    fn read_generation(_error: &ServerError) -> Option<ModelReply> {
        None
    }
}

/// How one request is put.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    pub(crate) model: &'a str,
    pub(crate) dialect: Dialect,
    pub(crate) streams: bool,
    /// What is set in place of what is written, or beside it; `FIXED` members stay as they are written.
    pub(crate) extra: &'a Map<String, Value>,
}

impl Asked<'_> {
    /// The bytes of a request of these members.
    pub(super) fn write(self, members: Vec<(&'static str, Option<Value>)>) -> Vec<u8> {
        let members = members.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
        let mut body: Map<String, Value> = members.collect();
        for (key, value) in self.extra {
            if !FIXED.contains(&&**key) || !body.contains_key(key) {
                body.insert(key.clone(), value.clone());
            }
        }
        Value::Object(body).to_string().into_bytes()
    }
}

/// An answer as it builds up: from one body, or from the events of a stream.
pub trait Draft {
    fn begin(frame: &RequestFrame, is_stream: bool) -> Self;

    /// Adds a body or an event; text goes to the sink as it comes. Returns whether nothing can follow.
    fn add(
        &mut self,
        client: &Client,
        value: &Value,
        sink: &mut Option<TokenSink<'_>>,
    ) -> Result<bool, AttemptError>;

    /// Whether there is any reply at all.
    fn has_reply(&self) -> bool;

    /// Whether the server said how the reply ended, after which nothing of it is missing.
    fn has_ended(&self) -> bool;

    /// The reply, or what came in place of one. Either costs what the server says.
    fn finish(self) -> Result<ModelReply, AttemptError>;
}

/// An error under status 200.
pub(crate) fn check_error(client: &Client, value: &Value) -> Result<(), AttemptError> {
    let error = &value["error"];
    match error.is_object() || error.as_str().is_some_and(|text| !text.is_empty()) {
        true => Err(client.explain_error(ServerError::from_json(value, None))),
        false => Ok(()),
    }
}

/// A count of tokens. A float beyond the range of an integer saturates, a negative one becomes zero.
pub(crate) fn read_count(value: &Value) -> u64 {
    value.as_u64().unwrap_or(value.as_f64().unwrap_or_default() as u64)
}
