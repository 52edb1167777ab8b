//! Threads in lists: all there are, those that wait for a person, those that run here; and the figures.

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::caller::Caller;
use crate::describe::{Lists, Shows};
use crate::input::Given;
use crate::keys::Right;
use crate::pool::read;
use crate::problem::{Kind, Problem, Result};
use crate::service::Shared;
use crate::watch::RunLine;
use planwright::journal::{Query, RunStatus};
use planwright_app::shapes::{Cursor, ListedStatus};
use planwright_app::{ThreadsPage, WaitingPage, search_page};
use planwright_otel::Telemetry;

/// Which threads, and which page of them.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ListParameters {
    /// Only those of this status: unfinished, waiting, in_doubt, done or failed.
    #[param(value_type = ListedStatus, required = false)]
    status: Option<String>,
    /// Only those whose names begin so.
    #[param(required = false)]
    prefix: String,
    /// Only those that say all of these words: in their names, in the first question and those of the last twenty turns,
    /// in what the last turn came to or waits for, or in what a turn remembers of those before. A page may hold fewer
    /// than `limit` and still have a `next`.
    #[param(required = false)]
    words: String,
    /// Leaves `answer` and `error` empty, which may be long.
    #[param(required = false)]
    brief: bool,
    /// The most threads, from 1 to 1000.
    #[param(minimum = 1, maximum = 1000, default = 50, required = false)]
    limit: u16,
    /// The cursor that the page before gave as `next`.
    #[param(value_type = Cursor, required = false)]
    after: Option<String>,
}

impl Default for ListParameters {
    fn default() -> Self {
        let (prefix, words) = (String::new(), String::new());
        ListParameters { status: None, prefix, words, brief: false, limit: 50, after: None }
    }
}

/// Who asks.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct KeyReply {
    /// The name of the key; nothing where there are none.
    name: Option<String>,
    /// What may be asked with it: `read`, `run`, `answer`.
    may: Vec<&'static str>,
}

/// The key that this is asked with, and what it may do.
#[utoipa::path(get, path = "/key", tag = "threads", responses((status = 200, body = KeyReply), Shows))]
pub(crate) async fn show_key(caller: Caller) -> Json<KeyReply> {
    let name = Some(caller.name().to_owned()).filter(|name| !name.is_empty());
    let rights = [Right::Read, Right::Run, Right::Answer].into_iter().filter(|right| caller.may(*right));
    Json(KeyReply { name, may: rights.map(Right::name).collect() })
}

/// A page of the threads, the last written to first.
#[utoipa::path(
    get, path = "/threads", tag = "threads", params(ListParameters),
    responses((status = 200, body = ThreadsPage), Lists)
)]
pub(crate) async fn list_threads(
    State(service): State<Shared>,
    caller: Caller,
    Given(parameters): Given<ListParameters>,
) -> Result<Json<ThreadsPage>> {
    let ListParameters { status, prefix, words, brief, limit, after } = parameters;
    let known = ["unfinished", "waiting", "in_doubt", "done", "failed"];
    if let Some(status) = status.as_ref().filter(|status| !known.contains(&status.as_str())) {
        let expected = known.join(", ");
        return Err(Problem::new(
            Kind::Input,
            format!("status: expected one of {expected}, found {status:?}"),
        ));
    }
    check_limit(limit)?;
    read(move || {
        let (prefix, after) = (caller.prefix(&prefix), after.map(|after| caller.cursor(&after)));
        let query = Query { statuses: status.into_iter().collect(), prefix, ..Query::default() };
        let (mut threads, next) =
            search_page(service.threads(), &query, &words, after.as_deref(), limit.into())?;
        for listed in threads.iter_mut().filter(|_| brief) {
            if let RunStatus::Done { answer: text } | RunStatus::Failed { error: text, .. } =
                &mut listed.status
            {
                text.clear();
            }
        }
        Ok(Json(ThreadsPage { threads, next }))
    })
    .await
}

fn check_limit(limit: u16) -> Result<()> {
    match limit {
        1..=1000 => Ok(()),
        _ => Err(Problem::new(Kind::Input, format!("limit: expected 1 to 1000, found {limit}"))),
    }
}

/// Which page of those that wait.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PageParameters {
    /// The most runs, from 1 to 1000.
    #[param(minimum = 1, maximum = 1000, default = 50, required = false)]
    limit: u16,
    /// The cursor that the page before gave as `next`.
    #[param(value_type = Cursor, required = false)]
    after: Option<String>,
}

impl Default for PageParameters {
    fn default() -> Self {
        PageParameters { limit: 50, after: None }
    }
}

/// Who is waited for: the runs that a person has to say something about, the one that has waited longest first.
#[utoipa::path(
    get, path = "/waiting", tag = "threads", params(PageParameters),
    responses((status = 200, body = WaitingPage), Lists)
)]
pub(crate) async fn list_waiting(
    State(service): State<Shared>,
    caller: Caller,
    Given(PageParameters { limit, after }): Given<PageParameters>,
) -> Result<Json<WaitingPage>> {
    check_limit(limit)?;
    let after = after.map(|after| caller.cursor(&after));
    read(move || Ok(Json(service.waiting(caller.prefix(""), after.as_deref(), limit.into())?))).await
}

/// What is running in this process.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RunningReply {
    /// The runs under way.
    running: Vec<RunLine>,
    /// How many wait in line.
    in_line: usize,
}

/// What is running here, and how much waits in line.
#[utoipa::path(
    get, path = "/running", tag = "threads",
    responses((status = 200, body = RunningReply), Shows)
)]
pub(crate) async fn list_running(State(service): State<Shared>, caller: Caller) -> Json<RunningReply> {
    let prefix = caller.prefix("");
    let own = |line: RunLine| Some(RunLine { thread: line.thread.strip_prefix(&prefix)?.to_owned(), ..line });
    let running = service.watch.runs.lines().into_iter().filter_map(own).collect();
    Json(RunningReply { running, in_line: service.pool.load().1 })
}

/// What was counted since the start, for Prometheus.
#[utoipa::path(
    get, path = "/metrics", tag = "health",
    responses((status = 200, body = String, content_type = "application/openmetrics-text"), Lists)
)]
pub(crate) async fn show_metrics(State(service): State<Shared>) -> Result<impl IntoResponse> {
    let text = read(move || {
        // A store that cannot be read leaves this figure as it was last.
        let waiting = service.threads_of(&["waiting", "in_doubt"]).ok().map(|waiting| waiting.len());
        let dropped = service.watch.telemetry.as_ref().map_or(0, Telemetry::dropped);
        let figures = &service.watch.figures;
        Ok(figures.text(service.pool.load(), waiting, service.live.streams(), dropped))
    });
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text.await?))
}
