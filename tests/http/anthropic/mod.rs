//! The client of Anthropic's Messages against real servers on loopback.

mod caching;
mod recorded;
mod replies;
mod requests;

use planwright::contract::{ToolContract, ToolEffect};
use planwright::machine::ModelReply;
use planwright::ports::ModelError;
use planwright::prompt::{Call, Message, ModelRequest};
use planwright::spec::{RequestFrame, RoleName};
use planwright_http::Anthropic;
use serde_json::{Value, json};

use super::asker::{config, failed, frame, request, unanswered, with_schema};
use super::support::{Answer, Server};

type Asker = super::asker::Asker<Anthropic>;

/// A message as the server would put it.
fn message(content: Value, stop: &str) -> Value {
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m-20260101", "content": content,
        "stop_reason": stop, "stop_sequence": null,
        "usage": {
            "input_tokens": 11, "cache_creation_input_tokens": 300, "cache_read_input_tokens": 2_000,
            "output_tokens": 5, "service_tier": "standard",
        },
    })
}

fn words(text: &str) -> Answer {
    Answer::json(200, &message(json!([{"type": "text", "text": text}]), "end_turn"))
}

/// The events of a stream, with their names.
fn events(events: impl IntoIterator<Item = Value>) -> Answer {
    let event = |event: Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    Answer::chunks(events.into_iter().map(event).collect::<Vec<_>>())
}

fn tools() -> Vec<ToolContract> {
    let mut weather = ToolContract::text("weather", "날씨를 본다.", ToolEffect::Read);
    weather.input = json!({
        "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
    });
    vec![ToolContract::text("wiki", "Searches an encyclopedia.", ToolEffect::Read), weather]
}

/// A request that offers two tools, after this conversation.
fn native(conversation: Vec<Message>) -> ModelRequest {
    let request =
        request(RequestFrame { role: RoleName::Planner, tools: tools(), native_calls: true, ..frame() });
    ModelRequest { conversation, ..request }
}

fn call(id: &str, name: &str, arguments: Value) -> Call {
    Call { id: id.to_owned(), name: name.to_owned(), arguments }
}

fn asks(text: &str, calls: Vec<Call>, reasoning: Vec<Value>) -> Message {
    Message::Assistant { text: text.to_owned(), calls, reasoning }
}

fn result(id: &str, content: &str) -> Message {
    Message::Tool { id: id.to_owned(), name: "wiki".to_owned(), content: content.to_owned() }
}

/// What is sent for a request.
fn sent(request: &ModelRequest) -> Value {
    sent_with(request, json!({}))
}

/// What is sent for a request with these members in each.
fn sent_with(request: &ModelRequest, extra: Value) -> Value {
    let server = Server::answering([words("a")]);
    let extra = extra.as_object().unwrap().clone();
    Asker::with(&server, |config| config.extra = extra).ask_with(request).unwrap();
    server.seen()[0].json()
}

/// What a request for plain words gets of this answer, which is the only one.
#[track_caller]
fn ask_once(answer: Answer) -> Result<ModelReply, ModelError> {
    let asker = Asker::answering([answer]);
    let outcome = asker.ask();
    assert_eq!(asker.server().count(), 1, "an answer is an answer");
    outcome
}
