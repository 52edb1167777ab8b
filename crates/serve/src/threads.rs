//! A thread as a resource: shown, gone on with, ended, forked, deleted.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::caller::Caller;
use crate::describe::{Changes, Reads, Runs};
use crate::input::{Body, Given, Thread, whole_number};
use crate::pool::read;
use crate::problem::{Kind, Problem, RESOLVE, Result};
use crate::service::{Service, Shared, Under};
use planwright::driver::Resolution;
use planwright::journal::ThreadId;
use planwright_app::shapes::ThreadName;
use planwright_app::{ShownThread, ShownTurn, StoredThread};

#[derive(Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ShowParameters {
    /// Whether each record is shown as well.
    #[param(required = false)]
    records: bool,
}

/// A thread with its turns.
#[utoipa::path(
    get, path = "/threads/{thread_id}", tag = "threads",
    params(("thread_id" = ThreadName, Path, description = "The thread"), ShowParameters),
    responses((status = 200, body = ShownThread), Reads)
)]
pub(crate) async fn show_thread(
    State(service): State<Shared>,
    Thread(thread): Thread,
    Given(parameters): Given<ShowParameters>,
) -> Result<Json<ShownThread>> {
    read(move || {
        let chars = parameters.records.then_some(usize::MAX);
        Ok(Json(ShownThread::load(&service.known_thread(thread)?, None, chars)?))
    })
    .await
}

/// Goes on with a turn that was stopped.
#[utoipa::path(
    post, path = "/threads/{thread_id}/resume", tag = "threads",
    params(("thread_id" = ThreadName, Path, description = "The thread")),
    responses((status = 200, body = ShownTurn), Runs)
)]
pub(crate) async fn resume_thread(
    State(service): State<Shared>,
    Thread(thread): Thread,
) -> Result<Json<ShownTurn>> {
    let go = |service: &Service, stored: &StoredThread, under: &Under<'_>| {
        service.go_on(stored, under, |handle, agent| handle.resume(agent))
    };
    service.perform(thread, Box::new(go)).await.map(Json)
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
    post, path = "/threads/{thread_id}/cancel", tag = "threads", request_body = CancelRequest,
    params(("thread_id" = ThreadName, Path, description = "The thread")),
    responses((status = 200, body = ShownTurn), Changes)
)]
pub(crate) async fn cancel_thread(
    State(service): State<Shared>,
    Thread(thread): Thread,
    Body(request): Body<CancelRequest>,
) -> Result<Json<ShownTurn>> {
    read(move || end_turn(&service, thread, None, request.reason).map(Json)).await
}

/// Ends the last turn of a thread: whatever it waits for, or only while it waits for what has this `token`.
pub(crate) fn end_turn(
    service: &Service,
    thread: ThreadId,
    token: Option<&str>,
    reason: String,
) -> Result<ShownTurn> {
    let stored = service.known_thread(thread)?;
    let open = service.last_turn(&stored)?.open;
    if token.is_some_and(|token| open.as_ref().is_none_or(|open| open.token != token)) {
        return Err(Problem::new(Kind::Answer, "the thread waits for something else"));
    }
    if let Some(doubt) = open.filter(planwright_app::Pending::is_doubt) {
        return Err(Problem::new(Kind::InDoubt, doubt.text()).hint(RESOLVE).of_thread(&stored.thread));
    }
    let cancelled = stored.threads.at(&stored.thread).cancel(reason, &service.keys);
    cancelled.map_err(|stopped| Problem::from(stopped).of_thread(&stored.thread))?;
    service.last_turn(&stored)
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

impl ResolveRequest {
    /// The token of what is resolved, and how.
    pub fn resolution(self) -> Result<(String, Resolution)> {
        let resolution = match (self.happened, self.did_not_happen, self.stop) {
            (Some(output), false, None) => Resolution::Happened { output },
            (None, true, None) => Resolution::DidNotHappen,
            (None, false, Some(reason)) => Resolution::Stop { reason },
            _ => {
                let problem = "$: expected one of happened, did_not_happen and stop";
                return Err(Problem::new(Kind::Input, problem));
            }
        };
        Ok((self.token, resolution))
    }
}

/// Says what became of a write in doubt, and goes on.
#[utoipa::path(
    post, path = "/threads/{thread_id}/resolve", tag = "threads", request_body = ResolveRequest,
    params(("thread_id" = ThreadName, Path, description = "The thread")),
    responses((status = 200, body = ShownTurn), Runs)
)]
pub(crate) async fn resolve_write(
    State(service): State<Shared>,
    Thread(thread): Thread,
    Body(request): Body<ResolveRequest>,
) -> Result<Json<ShownTurn>> {
    let (token, resolution) = request.resolution()?;
    let go = move |service: &Service, stored: &StoredThread, under: &Under<'_>| {
        service.go_on(stored, under, |handle, agent| handle.token(token).resolve(agent, resolution))
    };
    service.perform(thread, Box::new(go)).await.map(Json)
}

/// How much of a thread a new one begins with.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForkRequest {
    /// The name of the new thread.
    #[schema(value_type = ThreadName, example = "demo-again")]
    to: String,
    /// The last turn that is copied, from 1; the last there is where none is named.
    #[serde(default, deserialize_with = "whole_number")]
    #[schema(minimum = 1)]
    turn: Option<u64>,
    /// How many of its records are copied; all where no number is named.
    #[serde(default, deserialize_with = "whole_number")]
    #[schema(minimum = 1)]
    records: Option<u64>,
}

/// A thread that was begun with what another held.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ForkReply {
    #[schema(value_type = ThreadName)]
    thread: ThreadId,
    turn: ShownTurn,
}

/// Begins a thread with what another held.
#[utoipa::path(
    post, path = "/threads/{thread_id}/fork", tag = "threads", request_body = ForkRequest,
    params(("thread_id" = ThreadName, Path, description = "The thread")),
    responses((status = 201, body = ForkReply), Changes)
)]
pub(crate) async fn fork_thread(
    State(service): State<Shared>,
    caller: Caller,
    Thread(thread): Thread,
    Body(request): Body<ForkRequest>,
) -> Result<(StatusCode, Json<ForkReply>)> {
    let to = caller.thread("$.to", &request.to)?;
    read(move || {
        let stored = service.known_thread(thread)?;
        let store = service.threads().store();
        let turn = match request.turn {
            Some(turn) => u32::try_from(turn).unwrap_or(u32::MAX),
            None => store.turns(&stored.thread)?,
        };
        let records = request.records;
        let held = store.records(&stored.thread, turn.saturating_sub(1))?.len() as u64;
        if let Some(records) = records.filter(|records| *records > held) {
            let problem = format!("records: expected 1 to {held}, found {records}");
            return Err(Problem::new(Kind::NoTurn, problem));
        }
        service.threads().fork(&stored.thread, Some(turn.saturating_sub(1)), records, &to)?;
        let fork = service.known_thread(to)?;
        let turn = service.last_turn(&fork)?;
        Ok((StatusCode::CREATED, Json(ForkReply { thread: fork.thread, turn })))
    })
    .await
}

/// Deletes a thread with all its turns.
#[utoipa::path(
    delete, path = "/threads/{thread_id}", tag = "threads",
    params(("thread_id" = ThreadName, Path, description = "The thread")),
    responses((status = 204, description = "It is gone"), Changes)
)]
pub(crate) async fn delete_thread(
    State(service): State<Shared>,
    Thread(thread): Thread,
) -> Result<StatusCode> {
    read(move || {
        let stored = service.known_thread(thread)?;
        service.threads().delete(&stored.thread)?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}
