//! Threads and agents as resources.

use axum::Json;
use axum::extract::{Path, Query as Parameters, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use crate::chat::parse_thread;
use crate::input::{Body, Thread};
use crate::pool::read;
use crate::problem::{Kind, Problem, Result};
use crate::service::Shared;
use planwright::driver::Resolution;
use planwright::journal::Query;
use planwright_app::{ShownTurn, list_page};

/// Which threads, and which page of them.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ListParameters {
    /// Only those of this status: unfinished, waiting, in_doubt, done or failed.
    status: Option<String>,
    /// Only those whose names begin so.
    prefix: String,
    /// The most threads, from 1 to 1000.
    limit: u16,
    /// The cursor that the page before gave as `next`.
    after: Option<String>,
}

impl Default for ListParameters {
    fn default() -> Self {
        ListParameters { status: None, prefix: String::new(), limit: 50, after: None }
    }
}

/// A page of the threads, the last written to first.
#[utoipa::path(
    get, path = "/threads", tag = "threads", params(ListParameters),
    responses((status = 200, body = Object), (status = 422, body = Problem))
)]
pub(crate) async fn list(
    State(service): State<Shared>,
    parameters: Result<Parameters<ListParameters>, axum::extract::rejection::QueryRejection>,
) -> Result<Json<Value>> {
    let Parameters(parameters) =
        parameters.map_err(|refused| Problem::new(Kind::Input, refused.body_text()))?;
    let ListParameters { status, prefix, limit, after } = parameters;
    let known = ["unfinished", "waiting", "in_doubt", "done", "failed"];
    if let Some(status) = status.as_ref().filter(|status| !known.contains(&status.as_str())) {
        let expected = known.join(", ");
        return Err(Problem::new(
            Kind::Input,
            format!("status: expected one of {expected}, found {status:?}"),
        ));
    }
    if !(1..=1000).contains(&limit) {
        return Err(Problem::new(Kind::Input, format!("limit: expected 1 to 1000, found {limit}")));
    }
    read(move || {
        let query = Query { statuses: status.into_iter().collect(), prefix, ..Query::default() };
        let (listed, next) = list_page(service.threads(), query, after.as_deref(), limit.into())?;
        Ok(Json(json!({"threads": listed, "next": next})))
    })
    .await
}

#[derive(Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ShowParameters {
    /// Whether each record is shown as well.
    records: bool,
}

/// A thread with its turns.
#[utoipa::path(
    get, path = "/threads/{thread_id}", tag = "threads",
    params(("thread_id" = String, Path, description = "The thread"), ShowParameters),
    responses((status = 200, body = Object), (status = 404, body = Problem), (status = 422, body = Problem))
)]
pub(crate) async fn show(
    State(service): State<Shared>,
    Thread(thread): Thread,
    parameters: Result<Parameters<ShowParameters>, axum::extract::rejection::QueryRejection>,
) -> Result<Json<Value>> {
    let Parameters(parameters) =
        parameters.map_err(|refused| Problem::new(Kind::Input, refused.body_text()))?;
    read(move || {
        let stored = service.known_thread(thread)?;
        let (turns, running) = service.turns_of(&stored)?;
        let chars = parameters.records.then_some(usize::MAX);
        let turns =
            (0..turns).map(|turn| ShownTurn::load(&stored, turn, running && turn + 1 == turns, chars));
        let turns: Vec<ShownTurn> = turns.collect::<planwright_app::Result<_>>()?;
        Ok(Json(json!({"thread": stored.thread, "turns": turns})))
    })
    .await
}

/// Goes on with a turn that was stopped.
#[utoipa::path(
    post, path = "/threads/{thread_id}/resume", tag = "threads",
    params(("thread_id" = String, Path, description = "The thread")),
    responses(
        (status = 200, body = Object), (status = 404, body = Problem), (status = 409, body = Problem),
        (status = 422, body = Problem), (status = 429, body = Problem), (status = 503, body = Problem),
    )
)]
pub(crate) async fn resume(State(service): State<Shared>, Thread(thread): Thread) -> Result<Json<Value>> {
    let turn = service.perform(thread, |service, stored, under| {
        service.go_on(stored, under, |handle, agent| handle.resume(agent))
    });
    turn.await.map(|turn| Json(json!(turn)))
}

/// Why a turn is ended.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CancelRequest {
    /// Why.
    #[schema(example = "no longer needed")]
    reason: String,
}

/// Ends the last turn without going on with it.
#[utoipa::path(
    post, path = "/threads/{thread_id}/cancel", tag = "threads",
    params(("thread_id" = String, Path, description = "The thread")),
    responses(
        (status = 200, body = Object), (status = 404, body = Problem), (status = 409, body = Problem),
        (status = 422, body = Problem),
    )
)]
pub(crate) async fn cancel(
    State(service): State<Shared>,
    Thread(thread): Thread,
    Body(request): Body<CancelRequest>,
) -> Result<Json<Value>> {
    read(move || {
        let stored = service.known_thread(thread)?;
        let open = service.last_turn(&stored)?.open;
        if let Some(doubt) = open.filter(planwright_app::Pending::is_doubt) {
            return Err(Problem::new(Kind::InDoubt, doubt.text())
                .hint("POST /threads/{thread_id}/resolve says what became of it"));
        }
        stored.threads.at(&stored.thread).cancel(request.reason, &service.keys)?;
        Ok(Json(json!(service.last_turn(&stored)?)))
    })
    .await
}

/// What became of a write in doubt. One of `happened`, `did_not_happen` and `stop`.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResolveRequest {
    /// What is resolved: its token.
    token: String,
    /// It happened, and the tool would have returned this.
    #[serde(default)]
    happened: Option<String>,
    /// It did not happen, and is done now.
    #[serde(default)]
    did_not_happen: bool,
    /// Whatever happened, the run ends here: why.
    #[serde(default)]
    stop: Option<String>,
}

/// Says what became of a write in doubt, and goes on.
#[utoipa::path(
    post, path = "/threads/{thread_id}/resolve", tag = "threads",
    params(("thread_id" = String, Path, description = "The thread")),
    responses(
        (status = 200, body = Object), (status = 404, body = Problem), (status = 409, body = Problem),
        (status = 422, body = Problem), (status = 429, body = Problem), (status = 503, body = Problem),
    )
)]
pub(crate) async fn resolve(
    State(service): State<Shared>,
    Thread(thread): Thread,
    Body(request): Body<ResolveRequest>,
) -> Result<Json<Value>> {
    let resolution = match (request.happened, request.did_not_happen, request.stop) {
        (Some(output), false, None) => Resolution::Happened { output },
        (None, true, None) => Resolution::DidNotHappen,
        (None, false, Some(reason)) => Resolution::Stop { reason },
        _ => {
            let problem = "$: expected one of happened, did_not_happen and stop";
            return Err(Problem::new(Kind::Input, problem));
        }
    };
    let turn = service.perform(thread, |service, stored, under| {
        service.go_on(stored, under, |handle, agent| handle.token(request.token).resolve(agent, resolution))
    });
    turn.await.map(|turn| Json(json!(turn)))
}

/// How much of a thread a new one begins with.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForkRequest {
    /// The name of the new thread.
    #[schema(example = "demo-again")]
    to: String,
    /// The last turn that is copied, from 1; the last there is where none is named.
    #[serde(default)]
    turn: Option<u32>,
    /// How many of its records are copied; all where no number is named.
    #[serde(default)]
    records: Option<u64>,
}

/// Begins a thread with what another held.
#[utoipa::path(
    post, path = "/threads/{thread_id}/fork", tag = "threads",
    params(("thread_id" = String, Path, description = "The thread")),
    responses((status = 201, body = Object), (status = 404, body = Problem), (status = 422, body = Problem))
)]
pub(crate) async fn fork(
    State(service): State<Shared>,
    Thread(thread): Thread,
    Body(request): Body<ForkRequest>,
) -> Result<(StatusCode, Json<Value>)> {
    let to = parse_thread(&request.to)?;
    read(move || {
        let stored = service.known_thread(thread)?;
        let turn = request.turn.map(|turn| turn.saturating_sub(1));
        service.threads().fork(&stored.thread, turn, request.records, &to)?;
        let fork = service.known_thread(to)?;
        Ok((StatusCode::CREATED, Json(json!({"thread": fork.thread, "turn": service.last_turn(&fork)?}))))
    })
    .await
}

/// Deletes a thread with all its turns.
#[utoipa::path(
    delete, path = "/threads/{thread_id}", tag = "threads",
    params(("thread_id" = String, Path, description = "The thread")),
    responses((status = 204), (status = 404, body = Problem), (status = 409, body = Problem), (status = 422, body = Problem))
)]
pub(crate) async fn delete(State(service): State<Shared>, Thread(thread): Thread) -> Result<StatusCode> {
    read(move || {
        let stored = service.known_thread(thread)?;
        service.threads().delete(&stored.thread)?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}

/// The agents that a question may name.
#[utoipa::path(get, path = "/agents", tag = "agents", responses((status = 200, body = Object)))]
pub(crate) async fn agents(State(service): State<Shared>) -> Result<Json<Value>> {
    read(move || {
        let agents = service.agent_names().into_iter().map(|name| {
            let description = service.spec_of(&name)?.description;
            Ok(json!({"name": name, "description": description, "default": name == service.default_agent}))
        });
        Ok(Json(json!({"agents": agents.collect::<Result<Vec<Value>>>()?})))
    })
    .await
}

/// An agent's spec, whole.
#[utoipa::path(
    get, path = "/agents/{name}", tag = "agents", params(("name" = String, Path, description = "The agent")),
    responses((status = 200, body = Object), (status = 404, body = Problem))
)]
pub(crate) async fn agent(State(service): State<Shared>, Path(name): Path<String>) -> Result<Json<Value>> {
    read(move || {
        if !service.agent_names().contains(&name) {
            let names = service.agent_names().join(", ");
            return Err(Problem::new(
                Kind::NoAgent,
                format!("no agent is called {name:?}; there are {names}"),
            ));
        }
        Ok(Json(json!(service.spec_of(&name)?)))
    })
    .await
}
