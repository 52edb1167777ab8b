//! The turns of a thread as resources: each with its records, its trace and as a fixture; and what all have spent.

use std::num::NonZeroU32;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use crate::caller::Caller;
use crate::describe::{Reads, Replays};
use crate::input::{Given, Thread, TurnOf, no_thread};
use crate::pool::read;
use crate::problem::Result;
use crate::service::Shared;
use planwright::journal::ThreadId;
use planwright_app::shapes::{Fixture, ThreadName, TraceLine};
use planwright_app::{
    Comparison, RecordLine, RunView, ShownThread, ShownTurn, SpendingBy, SpendingReport, compare,
    compare_replay, make_fixture_of, split_turn, trace_line_json, with_tools_of,
};

/// The turns of a thread.
#[utoipa::path(
    get, path = "/threads/{thread_id}/turns", tag = "turns",
    params(("thread_id" = ThreadName, Path, description = "The thread")),
    responses((status = 200, body = ShownThread), Reads)
)]
pub(crate) async fn list_turns(
    State(service): State<Shared>,
    Thread(thread): Thread,
) -> Result<Json<ShownThread>> {
    read(move || Ok(Json(ShownThread::load(&service.known_thread(thread)?, None, None)?))).await
}

/// A turn.
#[utoipa::path(
    get, path = "/threads/{thread_id}/turns/{turn}", tag = "turns", params(TurnOf),
    responses((status = 200, body = ShownTurn), Reads)
)]
pub(crate) async fn show_turn(State(service): State<Shared>, of: TurnOf) -> Result<Json<ShownTurn>> {
    read(move || Ok(Json(of.load(&service, None)?))).await
}

/// The records of a turn.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RecordsReply {
    records: Vec<RecordLine>,
}

/// The records of a turn, a line each.
#[utoipa::path(
    get, path = "/threads/{thread_id}/turns/{turn}/records", tag = "turns", params(TurnOf),
    responses((status = 200, body = RecordsReply), Reads)
)]
pub(crate) async fn show_records(State(service): State<Shared>, of: TurnOf) -> Result<Json<RecordsReply>> {
    read(move || {
        let records = of.load(&service, Some(usize::MAX))?.records.unwrap_or_default();
        Ok(Json(RecordsReply { records }))
    })
    .await
}

/// The trace of a turn.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TraceReply {
    #[schema(value_type = Vec<TraceLine>)]
    trace: Vec<Value>,
}

/// The transitions of a turn, a line each.
#[utoipa::path(
    get, path = "/threads/{thread_id}/turns/{turn}/trace", tag = "turns", params(TurnOf),
    responses((status = 200, body = TraceReply), Reads)
)]
pub(crate) async fn show_trace(State(service): State<Shared>, of: TurnOf) -> Result<Json<TraceReply>> {
    read(move || {
        let state = of.fold(&service)?.state;
        let trace = state.trace().iter().map(|line| trace_line_json(line, state.intent())).collect();
        Ok(Json(TraceReply { trace }))
    })
    .await
}

/// A turn as a fixture, without the value of any key: `planwright replay` takes it.
#[utoipa::path(
    get, path = "/threads/{thread_id}/turns/{turn}/fixture", tag = "turns", params(TurnOf),
    responses((status = 200, body = Fixture), Reads)
)]
pub(crate) async fn make_fixture(State(service): State<Shared>, of: TurnOf) -> Result<Json<Value>> {
    read(move || {
        of.fold(&service)?;
        let stored = service.known_thread(of.thread)?;
        Ok(Json(json!(make_fixture_of(&stored, Some(of.turn), service.keys.clone())?)))
    })
    .await
}

#[derive(Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ViewParameters {
    /// After how many records the turn is shown; after all where nothing else is named.
    #[param(required = false, value_type = u64, minimum = 1, maximum = 4294967295_u32)]
    records: Option<NonZeroU32>,
}

/// A turn as a page draws it: its plan, its timeline with each request and answer, its phase graph.
#[utoipa::path(
    get, path = "/threads/{thread_id}/turns/{turn}/view", tag = "turns", params(TurnOf, ViewParameters),
    responses((status = 200, body = RunView), Reads)
)]
pub(crate) async fn view_turn(
    State(service): State<Shared>,
    of: TurnOf,
    Given(parameters): Given<ViewParameters>,
) -> Result<Json<RunView>> {
    read(move || Ok(Json(of.view(&service, parameters.records.map(|records| records.get() as usize))?))).await
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct CompareParameters {
    /// The one: a thread and its turn, as `THREAD:TURN`; the last turn where none is named.
    #[param(example = "demo:1")]
    a: String,
    /// The other.
    #[param(example = "demo:2")]
    b: String,
}

/// Two turns side by side: what belongs together, where they part, how they differ.
#[utoipa::path(
    get, path = "/compare", tag = "turns", params(CompareParameters),
    responses((status = 200, body = Comparison), Reads)
)]
pub(crate) async fn compare_turns(
    State(service): State<Shared>,
    caller: Caller,
    Given(CompareParameters { a, b }): Given<CompareParameters>,
) -> Result<Json<Comparison>> {
    let named = |place: &str, text: &str| -> Result<_> {
        let (thread, turn) = split_turn(text);
        Ok((caller.thread(place, thread).map_err(no_thread)?, turn))
    };
    let turns = [named("a", &a)?, named("b", &b)?];
    read(move || {
        let load = |(thread, turn): (ThreadId, Option<u32>)| -> Result<RunView> {
            let stored = service.known_thread(thread)?;
            let turn = turn.map_or_else(|| stored.threads.store().turns(&stored.thread), Ok)?;
            Ok(RunView::load(&stored, turn, None)?)
        };
        let [a, b] = turns.map(load);
        Ok(Json(compare(&a?, &b?)))
    })
    .await
}

/// A turn beside its replay.
#[derive(Serialize, ToSchema)]
pub(crate) struct ReplayReply {
    /// The turn, and its replay, side by side.
    comparison: Comparison,
    /// The replay as a page draws it.
    view: RunView,
}

/// A turn beside its replay under its agent as it is now. Nothing is asked of the world, and nothing is stored.
#[utoipa::path(
    get, path = "/threads/{thread_id}/turns/{turn}/replay", tag = "turns", params(TurnOf),
    responses((status = 200, body = ReplayReply), Replays)
)]
pub(crate) async fn compare_replay_of(
    State(service): State<Shared>,
    of: TurnOf,
) -> Result<Json<ReplayReply>> {
    read(move || {
        let shown = of.view(&service, None)?;
        let stored = service.known_thread(of.thread)?;
        let fixture = make_fixture_of(&stored, Some(of.turn), service.keys.clone())?;
        let name = &fixture.spec.name;
        if !service.agent_names().contains(name) {
            return Err(service.no_such_agent(name));
        }
        let spec = with_tools_of(service.spec_of(name)?, &fixture.spec, None);
        let currency = shown.currency.clone();
        let (_, view, comparison) = compare_replay(&fixture, Some(shown), spec)?;
        Ok(Json(ReplayReply { comparison, view: RunView { currency, ..view } }))
    })
    .await
}

/// What a line adds up.
#[derive(Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SpentParameters {
    /// What a line adds up.
    #[param(value_type = SpendingBy, inline, required = false)]
    by: Option<SpendingBy>,
}

/// What the turns of a thread have spent, by role where nothing else is named.
#[utoipa::path(
    get, path = "/threads/{thread_id}/spent", tag = "threads",
    params(("thread_id" = ThreadName, Path, description = "The thread"), SpentParameters),
    responses((status = 200, body = SpendingReport), Reads)
)]
pub(crate) async fn show_spent(
    State(service): State<Shared>,
    Thread(thread): Thread,
    Given(parameters): Given<SpentParameters>,
) -> Result<Json<SpendingReport>> {
    read(move || {
        let stored = service.known_thread(thread)?;
        Ok(Json(service.spent(&stored, parameters.by.unwrap_or(SpendingBy::Role))?))
    })
    .await
}
