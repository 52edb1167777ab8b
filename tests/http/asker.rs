//! A client of a model's server that is asked for one thing or another, and what came of it.

use std::sync::Arc;
use std::time::Duration;

use planwright::machine::{FailureClass, ModelReply};
use planwright::ports::{Cause, Model, ModelError, Unanswered};
use planwright::prompt::ModelRequest;
use planwright::spec::{Digest, RequestFrame, RoleName};
use planwright_http::{Anthropic, ModelConfig, OpenAi, Responses};
use serde_json::json;

use super::Waits;
use super::support::{Answer, Server};

/// A client whose waits are counted and not waited.
pub struct Asker<M> {
    pub client: M,
    waits: Waits,
    /// The server, where it is the client's alone.
    server: Option<Server>,
}

/// A client of a model's server.
pub trait Client: Model + Sized {
    fn open(config: ModelConfig) -> Result<Self, ModelError>;
}

impl Client for OpenAi {
    fn open(config: ModelConfig) -> Result<Self, ModelError> {
        OpenAi::new(config)
    }
}

impl Client for Anthropic {
    fn open(config: ModelConfig) -> Result<Self, ModelError> {
        Anthropic::new(config)
    }
}

impl Client for Responses {
    fn open(config: ModelConfig) -> Result<Self, ModelError> {
        Responses::new(config)
    }
}

impl<M: Client> Asker<M> {
    pub fn new(mut config: ModelConfig) -> Self {
        let (retry, waits) = super::noting();
        config.retry.sleep = retry.sleep;
        let client = M::open(config).expect("the settings are sound");
        Asker { client, waits, server: None }
    }

    pub fn of(server: &Server) -> Self {
        Asker::new(config(server))
    }

    pub fn with(server: &Server, change: impl FnOnce(&mut ModelConfig)) -> Self {
        let mut config = config(server);
        change(&mut config);
        Asker::new(config)
    }

    /// A client of a server that gives these answers.
    pub fn answering(answers: impl IntoIterator<Item = Answer>) -> Self {
        let server = Server::answering(answers);
        let asker = Asker::of(&server);
        Asker { server: Some(server), ..asker }
    }

    pub fn server(&self) -> &Server {
        self.server.as_ref().expect("made with `answering`")
    }

    pub fn ask(&self) -> Result<ModelReply, ModelError> {
        self.client.ask(&plain(), None)
    }

    pub fn ask_with(&self, request: &ModelRequest) -> Result<ModelReply, ModelError> {
        self.client.ask(request, None)
    }

    /// Asks for a stream. Returns its pieces beside the outcome.
    pub fn stream(&self) -> (Vec<String>, Result<ModelReply, ModelError>) {
        let mut pieces = Vec::new();
        let outcome = self.client.ask(&plain(), Some(&mut |piece: &str| pieces.push(piece.to_owned())));
        (pieces, outcome)
    }

    pub fn waits(&self) -> Vec<Duration> {
        self.waits.lock().unwrap().clone()
    }
}

pub fn config(server: &Server) -> ModelConfig {
    ModelConfig::new(server.url(), "m")
}

pub fn frame() -> RequestFrame {
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

pub fn request(frame: RequestFrame) -> ModelRequest {
    let payload = r#"{"user_question":"왜?"}"#.to_owned();
    ModelRequest { frame: Arc::new(frame), payload, conversation: Vec::new(), trace: None }
}

/// A request for plain text.
pub fn plain() -> ModelRequest {
    request(frame())
}

/// A request for a verdict.
pub fn with_schema() -> ModelRequest {
    let schema = json!({
        "type": "object",
        "properties": {"ok": {"type": "boolean"}},
        "required": ["ok"],
        "additionalProperties": false,
    });
    request(RequestFrame { role: RoleName::Validator, schema: Some(schema), ..frame() })
}

#[track_caller]
pub fn unanswered(outcome: Result<ModelReply, ModelError>, cause: Cause) -> Unanswered {
    match outcome {
        Err(ModelError::Unanswered(error)) if error.cause == cause => error,
        other => panic!("expected no answer because of {cause}, found {other:?}"),
    }
}

#[track_caller]
pub fn failed(outcome: Result<ModelReply, ModelError>, class: FailureClass) -> String {
    match outcome {
        Err(ModelError::Failed(failure)) if failure.class == class => failure.message,
        other => panic!("expected a failure of class {class}, found {other:?}"),
    }
}
