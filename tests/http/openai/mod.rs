//! The OpenAI-compatible client against real servers on loopback.

mod calls;
mod conversation;
mod failures;
mod forms;
mod recorded;
mod requests;
mod secrets;
mod streams;
mod tls;

use planwright::machine::ModelReply;
use planwright::ports::ModelError;
use planwright_http::OpenAi;
use serde_json::{Value, json};

use super::asker::{config, failed, frame, plain, request, unanswered, with_schema};
use super::support::{self, Answer};

type Asker = super::asker::Asker<OpenAi>;

/// Asks a server that answers with this message.
#[track_caller]
fn ask_for(message: Value, finish: impl Into<Value>) -> Result<ModelReply, ModelError> {
    let choice = json!({"index": 0, "finish_reason": finish.into(), "message": message});
    let asker = Asker::answering([Answer::json(200, &json!({"choices": [choice]}))]);
    let outcome = asker.ask();
    assert_eq!(asker.server().count(), 1, "an answer is an answer");
    outcome
}
