//! The door of clients that speak OpenAI's protocol: `/v1/models`, each agent a model, and `/v1/chat/completions`.
//!
//! **Invariant:** what is sent as content, put together, is what the turn's message is in the end; a client of this
//! protocol can take nothing back.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use utoipa::ToSchema;

use crate::agents::Named;
use crate::caller::Caller;
use crate::chat::ask;
use crate::completion::{CompletionMetadata, CompletionReply};
use crate::describe::{Completes, ListsModels, ReadsModel};
use crate::events::{Outlet, stream_told};
use crate::feed::{Begin, Item, perform_followed};
use crate::input::Body;
use crate::message::{Message, split};
use crate::openai_error::error_of;
use crate::pool::read;
use crate::problem::{Kind, Problem, Result};
use crate::service::{Service, Shared, Under};
use crate::words::Words;
use planwright::journal::system::now_ms;
use planwright_app::StoredThread;
use planwright_app::shapes::{AgentName, DataEvent};

/// An agent, as a model.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Model {
    #[schema(example = json!(planwright::agents::DEFAULT))]
    id: String,
    #[schema(example = "model")]
    object: &'static str,
    /// Always 0: an agent is not made at a time.
    created: u64,
    owned_by: &'static str,
}

/// The agents, as models.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Models {
    #[schema(example = "list")]
    object: &'static str,
    data: Vec<Model>,
}

impl Model {
    fn of(name: String) -> Self {
        Model { id: name, object: "model", created: 0, owned_by: "planwright" }
    }
}

/// The agents, as models. The one that answers where none is named comes first.
#[utoipa::path(get, path = "/v1/models", tag = "openai", responses((status = 200, body = Models), ListsModels))]
pub(crate) async fn list_models(State(service): State<Shared>) -> Json<Models> {
    let mut names = service.agent_names();
    names.sort_by_key(|name| *name != service.default_agent);
    Json(Models { object: "list", data: names.into_iter().map(Model::of).collect() })
}

/// An agent, as a model.
#[utoipa::path(
    get, path = "/v1/models/{name}", tag = "openai",
    params(("name" = AgentName, Path, description = "The agent")),
    responses((status = 200, body = Model), ReadsModel)
)]
pub(crate) async fn show_model(State(service): State<Shared>, agent: Named) -> Result<Json<Model>> {
    agent.name(&service).map(|name| Json(Model::of(name.to_owned())))
}

/// What is asked. Other fields of the protocol (`temperature`, `max_tokens`, `stop`, …) change nothing: the agent has
/// settings of its own.
#[derive(Deserialize, ToSchema)]
pub(crate) struct CompletionRequest {
    /// The agent.
    #[schema(example = json!(planwright::agents::DEFAULT))]
    model: String,
    /// What was said, with the question last. The messages of the user and the assistant before it are the history
    /// of a thread that begins with it. Those of a system are left out.
    messages: Vec<Message>,
    /// Whether the answer is streamed.
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    stream_options: Option<StreamOptions>,
    #[serde(default)]
    metadata: Option<CompletionMetadata>,
    /// How many answers: one.
    #[serde(default)]
    n: Option<u64>,
    /// None: the agent has tools of its own, and calls none of a client.
    #[serde(default)]
    #[schema(value_type = Option<Vec<Object>>)]
    tools: Option<Vec<Value>>,
    /// `text`: the agent decides on the form of the answer.
    #[serde(default)]
    response_format: Option<ResponseFormat>,
}

#[derive(Default, Deserialize, ToSchema)]
pub(crate) struct StreamOptions {
    /// Whether a last chunk says what was spent.
    #[serde(default)]
    include_usage: Option<bool>,
}

#[derive(Deserialize, ToSchema)]
pub(crate) struct ResponseFormat {
    r#type: String,
}

impl CompletionRequest {
    /// Refuses what would be misunderstood if it were left out.
    fn check(&self) -> Result<()> {
        let refuse =
            |place: &str, problem: &str| Err(Problem::new(Kind::Input, format!("$.{place}: {problem}")));
        if self.n.is_some_and(|count| count != 1) {
            return refuse("n", "expected 1: a turn has one answer");
        }
        if self.tools.as_ref().is_some_and(|tools| !tools.is_empty()) {
            return refuse(
                "tools",
                "expected none: an agent has tools of its own, and calls none of a client",
            );
        }
        if self.response_format.as_ref().is_some_and(|format| format.r#type != "text") {
            return refuse("response_format", "expected text: an agent decides on the form of its answer");
        }
        Ok(())
    }
}

/// Asks an agent. A run that waits for a person says so in the message, with what to do.
#[utoipa::path(
    post, path = "/v1/chat/completions", tag = "openai", request_body = CompletionRequest,
    responses(
        (status = 200, content((CompletionReply = "application/json"), (DataEvent = "text/event-stream"))), Completes
    )
)]
pub(crate) async fn complete(
    State(service): State<Shared>,
    caller: Caller,
    Body(request): Body<CompletionRequest>,
) -> Result<Response> {
    request.check()?;
    let (question, history) = split(&request.messages)?;
    service.check_length("$.messages", &question)?;
    let thread = match &request.metadata.unwrap_or_default().thread_id {
        Some(name) => caller.thread("$.metadata.thread_id", name)?,
        None => caller.new_thread()?,
    };
    let shown = caller.show(&thread);
    let (known, name, agent) = (service.clone(), request.model.clone(), request.model.clone());
    let words = read(move || Ok(Words::of(known.agent(Some(&name))?.agent.compiled().spec()))).await?;
    let (model, stored) = (request.model, Arc::new(service.thread(thread.clone())));
    let work = move |service: &Service, stored: &StoredThread, under: &Under<'_>| {
        ask(service, stored, under, None, Some(&model), &question, history)
    };
    if !request.stream.unwrap_or_default() {
        let turn = service.perform(thread, Box::new(work)).await?.turn;
        let reply = move || Ok(Json(CompletionReply::of(&service, &stored, &shown, turn)?).into_response());
        return read(reply).await;
    }
    let (from, items) = perform_followed(&service, thread, Begin::NextTurn, Box::new(work)).await?;
    let wants_usage = request.stream_options.unwrap_or_default().include_usage.unwrap_or_default();
    Ok(stream_told(service.patience, move |outlet| {
        let begun = json!({
            "id": format!("chatcmpl-{shown}-{}", from.turn), "object": "chat.completion.chunk",
            "created": now_ms() / 1_000, "model": agent, "metadata": {"thread_id": shown},
        });
        Chunks { service, caller, stored, shown, begun, words, wants_usage, outlet }.tell(items)
    }))
}

/// A completion on its way.
struct Chunks {
    service: Shared,
    caller: Caller,
    stored: Arc<StoredThread>,
    shown: String,
    /// What every chunk begins with.
    begun: Value,
    words: Words,
    wants_usage: bool,
    outlet: Outlet,
}

impl Chunks {
    async fn tell(mut self, mut items: mpsc::Receiver<Item>) -> Option<()> {
        self.send(json!({"role": "assistant", "content": ""}), Value::Null).await?;
        loop {
            match items.recv().await? {
                Item::Event(..) => {}
                Item::Passing(progress) => {
                    if let Some(words) = self.words.hear(&progress) {
                        self.send(json!({"content": words}), Value::Null).await?;
                    }
                }
                Item::Cut(problem) => return self.fail(&problem).await,
                Item::End(_, told) => return self.end(told.turn).await,
            }
        }
    }

    async fn end(mut self, turn: u32) -> Option<()> {
        let (service, stored, shown) = (self.service.clone(), Arc::clone(&self.stored), self.shown.clone());
        let reply = match read(move || CompletionReply::of(&service, &stored, &shown, turn)).await {
            Ok(reply) => reply,
            Err(problem) => return self.fail(&problem).await,
        };
        match self.words.end(&reply.choices[0].message.content) {
            Some(rest) if rest.is_empty() => {}
            Some(rest) => self.send(json!({"content": rest}), Value::Null).await?,
            None => {
                let other = "the answer became another while it was written".to_owned();
                let problem = Problem::new(Kind::NoAnswer, reply.error.unwrap_or(other));
                return self.fail(&problem.hint("GET /threads/{thread_id} shows the turn")).await;
            }
        }
        self.send(json!({}), json!("stop")).await?;
        if self.wants_usage {
            (self.begun["choices"], self.begun["usage"]) = (json!([]), json!(reply.usage));
            self.outlet.send(&self.begun).await?;
        }
        self.outlet.send("[DONE]").await
    }

    async fn fail(&self, problem: &Problem) -> Option<()> {
        self.outlet.send(error_of(&self.caller.tell(json!(problem)))).await
    }

    async fn send(&self, delta: Value, finish_reason: Value) -> Option<()> {
        let mut chunk = self.begun.clone();
        chunk["choices"] = json!([{"index": 0, "delta": delta, "finish_reason": finish_reason}]);
        self.outlet.send(chunk).await
    }
}
