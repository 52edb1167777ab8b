//! Threads over HTTP: `planwright serve`.
//!
//! A thin shell over the driver's threads. It decides nothing that the machine decides, and keeps nothing that the
//! store does not keep: a server that ends amid a run is started again, and the run goes on.
//!
//! **Invariant:** no run holds a thread of the runtime; nothing outside this crate knows that there is one. What a
//! request names never becomes the name of a file.

mod accept;
mod agents;
mod agui;
mod agui_run;
mod caller;
mod chat;
mod completion;
mod describe;
mod events;
mod feed;
mod figures;
mod going_on;
mod guard;
mod input;
mod keys;
mod limits;
mod lists;
mod live;
mod log;
mod mcp;
mod message;
mod once;
mod openai;
mod openai_error;
mod options;
mod page;
mod pool;
mod problem;
mod reply;
mod service;
mod shared;
mod stopped;
mod threads;
mod turns;
mod watch;
mod words;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{DefaultBodyLimit, State};
use axum::response::IntoResponse;
use axum::{Extension, Json, Router, middleware};
use serde::Serialize;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use utoipa::{OpenApi, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::describe::{Description, Document, Lives, Readiness};
use crate::guard::Guard;
pub use crate::keys::{Key, KeyFile, Right};
pub use crate::log::LogLevel;
pub use crate::options::{Options, Setup};
use crate::pool::{Pool, read};
pub use crate::problem::in_path;
use crate::problem::{Kind, Problem};
use crate::service::{Service, Shared};
use planwright_app::{Error, Result};
use planwright_otel::Telemetry;

/// How long replies may take to be sent once nothing runs any more.
const FAREWELL: Duration = Duration::from_secs(5);

/// Hears what a person at the terminal should know.
pub trait Announce {
    /// The service is ready at this address.
    fn ready(&self, address: SocketAddr);
    /// Something worth a line.
    fn note(&self, note: &str);
}

/// Serves threads until the process is told to stop (SIGTERM, Ctrl-C): then no new work is taken, what runs is
/// brought to its next record, and this returns.
///
/// # Errors
/// Where the store, the agent, the model or the address cannot be used.
pub fn serve(options: &Options, setup: Setup, announce: &dyn Announce) -> Result<()> {
    let guard = Arc::new(Guard::new(options)?);
    let (service, runtime) = begin(options, setup, announce)?;
    let served = runtime.block_on(async {
        let listener = TcpListener::bind(options.listen).await;
        let listener = listener.map_err(|error| {
            Error::caused(format!("--listen: {} cannot be used", options.listen), error)
                .hint("name another address, such as --listen 127.0.0.1:0 for a free port")
        })?;
        let address =
            listener.local_addr().map_err(|error| Error::caused("the address is not known", error))?;
        if options.resume {
            let left = going_on::go_on_with_left(&service).await?;
            if left > 0 {
                announce.note(&format!("{left} stopped before their end, and go on"));
            }
        }
        shared::listen(&service, options.resume).await?;
        let app = router(&service, options, &guard);
        tracing::info!(address = address.to_string(), "ready");
        announce.ready(address);
        let (stops, (has_stopped, may_end)) = (Arc::clone(&service), tokio::sync::oneshot::channel());
        let grace = options.grace;
        let stopped = async move {
            told_to_stop().await;
            stops.pool.stop(grace, grace).await;
            stops.live.stop();
            let _ = has_stopped.send(());
        };
        // A client that never ends its request does not hold the process.
        let farewell = async {
            let _ = may_end.await;
            tokio::time::sleep(FAREWELL).await;
        };
        tokio::select! {
            () = accept::accept(listener, app, options, stopped) => Ok(()),
            () = farewell => Ok(()),
        }
    });
    // A thread that a stop left behind in a call does not hold the process.
    end(&service, runtime, announce);
    served
}

/// Serves the client that has started this process: it speaks MCP over stdin and stdout. This returns when stdin is
/// closed or the process is told to stop, once what runs is brought to its next record.
///
/// # Errors
/// Where the store, the agent or the model cannot be used, or the client does not speak the protocol.
pub fn serve_mcp(options: &Options, setup: Setup, announce: &dyn Announce) -> Result<()> {
    let (service, runtime) = begin(options, setup, announce)?;
    let served = runtime.block_on(mcp::answer_stdin(&service, options, told_to_stop()));
    end(&service, runtime, announce);
    served
}

/// Ends what the service's runs went on in, and sends the rest of what they are traced with.
fn end(service: &Shared, runtime: Runtime, announce: &dyn Announce) {
    runtime.shutdown_background();
    if let Some(losses) = service.watch.telemetry.as_ref().and_then(Telemetry::shut_down) {
        let losses = losses.to_string();
        tracing::error!(losses, "telemetry that no collector took");
        announce.note(&losses);
    }
}

/// The service, and what its runs go on in.
fn begin(options: &Options, setup: Setup, announce: &dyn Announce) -> Result<(Shared, Runtime)> {
    let opened = Telemetry::from_env().and_then(|telemetry| {
        let sent = telemetry.as_ref().map(Telemetry::log_layer).transpose()?;
        Ok((telemetry, sent.flatten()))
    });
    let (opened, problem) =
        opened.map_or_else(|problem| ((None, None), Some(problem)), |opened| (opened, None));
    let (telemetry, sent) = opened;
    log::begin_log(options.log, sent);
    let pool = Pool::new(options.max_runs, options.max_waiting);
    if let Some(problem) = problem {
        tracing::error!(problem, "telemetry is off");
        announce.note(&format!("telemetry is off: {problem}"));
    }
    let service = Arc::new(Service::new(setup, pool, options, telemetry)?);
    let (warnings, notes) = service.notes();
    warnings.iter().chain(&notes).for_each(|note| {
        tracing::info!(note, "note");
        announce.note(note);
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| Error::caused("the service cannot begin", error))?;
    runtime.spawn(going_on::go_on_with_stopped(Arc::clone(&service)));
    Ok((service, runtime))
}

fn router(service: &Shared, options: &Options, guard: &Arc<Guard>) -> Router {
    let (router, description) = OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(chat::chat))
        .routes(routes!(chat::answer))
        .routes(routes!(chat::show_plan))
        .routes(routes!(lists::show_key))
        .routes(routes!(lists::list_threads))
        .routes(routes!(lists::list_waiting))
        .routes(routes!(lists::list_running))
        .routes(routes!(threads::show_thread, threads::delete_thread))
        .routes(routes!(turns::list_turns))
        .routes(routes!(turns::show_turn))
        .routes(routes!(turns::show_records))
        .routes(routes!(turns::show_trace))
        .routes(routes!(turns::view_turn))
        .routes(routes!(turns::compare_turns))
        .routes(routes!(turns::compare_replay_of))
        .routes(routes!(turns::make_fixture))
        .routes(routes!(turns::show_spent))
        .routes(routes!(threads::resume_thread))
        .routes(routes!(threads::cancel_thread))
        .routes(routes!(threads::resolve_write))
        .routes(routes!(threads::fork_thread))
        .routes(routes!(events::stream_events))
        .routes(routes!(agents::list_agents))
        .routes(routes!(agents::show_agent))
        .routes(routes!(agents::show_agent_toml))
        .routes(routes!(agents::draw_agent))
        .routes(routes!(agents::show_agent_bounds))
        .routes(routes!(agui::run_agent))
        .routes(routes!(mcp::take_message, mcp::listen, mcp::end_session))
        .routes(routes!(openai::list_models))
        .routes(routes!(openai::show_model))
        .routes(routes!(openai::complete))
        .routes(routes!(lives))
        .routes(routes!(is_ready))
        .routes(routes!(lists::show_metrics))
        .routes(routes!(describe::describe_interface))
        .split_for_parts();
    let router = router
        .merge(page::routes())
        .fallback(no_such_path)
        .method_not_allowed_fallback(no_such_method)
        .layer(middleware::from_fn_with_state(Arc::clone(guard), guard::admit))
        .layer(DefaultBodyLimit::max(options.max_body_bytes))
        .layer(Extension(Document::of(&description)))
        .layer(Extension(mcp::Door::new(service, options)))
        .layer(middleware::from_fn(openai_error::write_errors))
        .with_state(Arc::clone(service));
    let router = match guard.cors() {
        Some(cors) => router.layer(cors),
        None => router,
    };
    router.layer(middleware::from_fn_with_state(Arc::clone(&service.watch.figures), log::note))
}

/// That the service lives, or is ready.
#[derive(Serialize, ToSchema)]
struct HealthReply {
    /// `ok`.
    #[schema(example = "ok")]
    status: &'static str,
}

/// Whether the process lives.
#[utoipa::path(get, path = "/healthz", tag = "health", responses((status = 200, body = HealthReply), Lives))]
async fn lives() -> Json<HealthReply> {
    Json(HealthReply { status: "ok" })
}

/// Whether the store can be written, the keys can be read, and the model is configured.
#[utoipa::path(get, path = "/readyz", tag = "health", responses((status = 200, body = HealthReply), Readiness))]
async fn is_ready(State(service): State<Shared>) -> problem::Result<Json<HealthReply>> {
    read(move || service.check_store().map(|()| Json(HealthReply { status: "ok" }))).await
}

async fn no_such_path() -> impl IntoResponse {
    Problem::new(Kind::NoPath, "there is nothing under this path")
        .hint("GET /openapi.json lists what there is")
}

async fn no_such_method() -> impl IntoResponse {
    Problem::new(Kind::NoMethod, "the path does not take this method")
        .hint("GET /openapi.json lists what there is")
}

async fn told_to_stop() {
    let interrupted = async {
        let _ = tokio::signal::ctrl_c().await;
    };
    #[cfg(unix)]
    let terminated = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => drop(signal.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    #[cfg(not(unix))]
    let terminated = std::future::pending::<()>();
    tokio::select! {
        () = interrupted => {}
        () = terminated => {}
    }
}
