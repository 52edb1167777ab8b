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

use std::sync::Arc;
use std::time::Duration;

use planwright::machine::{FailureClass, ModelReply};
use planwright::ports::{Cause, Model, ModelError, Unanswered};
use planwright::prompt::ModelRequest;
use planwright::spec::{Digest, RequestFrame, RoleName};
use planwright_http::{OpenAi, OpenAiConfig};
use serde_json::{Value, json};

use super::Waits;
use super::support::{self, Answer, Server};

/// A client whose waits are counted and not waited.
struct Asker {
    client: OpenAi,
    waits: Waits,
    /// The server, where it is the client's alone.
    server: Option<Server>,
}

impl Asker {
    fn new(mut config: OpenAiConfig) -> Self {
        let (retry, waits) = super::noting();
        config.retry.sleep = retry.sleep;
        let client = OpenAi::new(config).expect("the settings are sound");
        Asker { client, waits, server: None }
    }

    fn of(server: &Server) -> Self {
        Asker::new(config(server))
    }

    fn with(server: &Server, change: impl FnOnce(&mut OpenAiConfig)) -> Self {
        let mut config = config(server);
        change(&mut config);
        Asker::new(config)
    }

    /// A client of a server that gives these answers.
    fn answering(answers: impl IntoIterator<Item = Answer>) -> Self {
        let server = Server::answering(answers);
        let asker = Asker::of(&server);
        Asker { server: Some(server), ..asker }
    }

    fn server(&self) -> &Server {
        self.server.as_ref().expect("made with `answering`")
    }

    fn ask(&self) -> Result<ModelReply, ModelError> {
        self.client.ask(&plain(), None)
    }

    fn ask_with(&self, request: &ModelRequest) -> Result<ModelReply, ModelError> {
        self.client.ask(request, None)
    }

    /// Asks for a stream. Returns its pieces beside the outcome.
    fn stream(&self) -> (Vec<String>, Result<ModelReply, ModelError>) {
        let mut pieces = Vec::new();
        let outcome = self.client.ask(&plain(), Some(&mut |piece: &str| pieces.push(piece.to_owned())));
        (pieces, outcome)
    }

    fn waits(&self) -> Vec<Duration> {
        self.waits.lock().unwrap().clone()
    }
}

fn config(server: &Server) -> OpenAiConfig {
    OpenAiConfig::new(server.url(), "m")
}

fn frame() -> RequestFrame {
    RequestFrame {
        role: RoleName::Writer,
        agent: None,
        model: None,
        system: "Answer.".to_owned(),
        tools: Vec::new(),
        native_calls: false,
        schema: None,
        temperature: None,
        max_tokens: None,
        digest: Digest::of([]),
        asked: "writer".to_owned(),
    }
}

fn request(frame: RequestFrame) -> ModelRequest {
    let payload = r#"{"user_question":"왜?"}"#.to_owned();
    ModelRequest { frame: Arc::new(frame), payload, conversation: Vec::new() }
}

/// A request for plain text.
fn plain() -> ModelRequest {
    request(frame())
}

/// A request for a verdict.
fn with_schema() -> ModelRequest {
    let schema = json!({
        "type": "object",
        "properties": {"ok": {"type": "boolean"}},
        "required": ["ok"],
        "additionalProperties": false,
    });
    request(RequestFrame { role: RoleName::Validator, schema: Some(schema), ..frame() })
}

/// Asks a server that answers with this message.
#[track_caller]
fn ask_for(message: Value, finish: impl Into<Value>) -> Result<ModelReply, ModelError> {
    let choice = json!({"index": 0, "finish_reason": finish.into(), "message": message});
    let asker = Asker::answering([Answer::json(200, &json!({"choices": [choice]}))]);
    let outcome = asker.ask();
    assert_eq!(asker.server().count(), 1, "an answer is an answer");
    outcome
}

#[track_caller]
fn unanswered(outcome: Result<ModelReply, ModelError>, cause: Cause) -> Unanswered {
    match outcome {
        Err(ModelError::Unanswered(error)) if error.cause == cause => error,
        other => panic!("expected no answer because of {cause}, found {other:?}"),
    }
}

#[track_caller]
fn failed(outcome: Result<ModelReply, ModelError>, class: FailureClass) -> String {
    match outcome {
        Err(ModelError::Failed(failure)) if failure.class == class => failure.message,
        other => panic!("expected a failure of class {class}, found {other:?}"),
    }
}
