//! The log: JSON lines on stderr, a line for each request, effect and run.
//!
//! **Invariant:** what comes from outside stands in a line as a JSON text, or not at all: of a path there is its
//! template.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use tracing::level_filters::LevelFilter;
use tracing::{error, info};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::{Layer, SubscriberExt};

use crate::figures::Figures;
use planwright::journal::system::random_id;
use planwright::prompt::TraceContext;
use planwright_otel::LogLayer;

/// How much is logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogLevel {
    /// Nothing.
    #[default]
    Off,
    /// What went wrong here.
    Error,
    /// Each request, effect and run as well.
    Info,
    /// Each phase as well.
    Debug,
}

impl FromStr for LogLevel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(LogLevel::Off),
            "error" => Ok(LogLevel::Error),
            "info" => Ok(LogLevel::Info),
            "debug" => Ok(LogLevel::Debug),
            _ => Err(format!("expected off, error, info or debug, found {text:?}")),
        }
    }
}

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LogLevel::Off => "off",
            LogLevel::Error => "error",
            LogLevel::Info => "info",
            LogLevel::Debug => "debug",
        })
    }
}

/// Begins to log, for as long as the process lives: on stderr, and to a collector, which is sent each request, effect
/// and run at least.
pub(crate) fn begin_log(level: LogLevel, sent: Option<LogLayer>) {
    let most = match level {
        LogLevel::Off if sent.is_none() => return,
        LogLevel::Off => LevelFilter::OFF,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
    };
    let lines = tracing_subscriber::fmt::layer().json().flatten_event(true).with_target(false);
    let lines = lines.with_writer(std::io::stderr).with_filter(most);
    let sent = sent.map(|sent| sent.with_filter(most.max(LevelFilter::INFO)));
    // What a library says may hold what was asked.
    let is_ours = filter_fn(|about| about.target().starts_with("planwright"));
    // A process that has a log already keeps it.
    let logs = tracing_subscriber::registry().with(lines).with(sent).with(is_ours);
    let _ = tracing::subscriber::set_global_default(logs);
}

/// The ids of a trace and of a span in it, as the log has them.
pub(crate) fn span_ids(span: &TraceContext) -> (String, String) {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    (hex(&span.trace_id), hex(&span.span_id))
}

tokio::task_local! {
    /// The id of the request that is answered, and the span that it is of.
    static REQUEST: (String, Option<TraceContext>);
}

/// The id of the request that is answered; empty where something goes on by itself.
pub(crate) fn request_id() -> String {
    REQUEST.try_with(|(id, _)| id.clone()).unwrap_or_default()
}

/// The span of the request that is answered, if it is traced.
pub(crate) fn request_span() -> Option<TraceContext> {
    REQUEST.try_with(|(_, span)| *span).ok().flatten()
}

/// The id of a request and its span, for what is done about it elsewhere.
#[derive(Clone)]
pub(crate) struct RequestName(String, Option<TraceContext>);

impl RequestName {
    /// That of one which came without HTTP.
    pub fn new() -> Self {
        RequestName(format!("{:016x}", random_id()), None)
    }

    /// That of the request that is answered.
    pub fn of_this() -> Self {
        RequestName(request_id(), request_span())
    }
}

/// Does what belongs to a request.
pub(crate) fn under_request<F: Future>(name: RequestName, what: F) -> impl Future<Output = F::Output> {
    REQUEST.scope((name.0, name.1), what)
}

const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// The id that a request names, if it is one: at most 128 characters of visible ASCII.
fn named(headers: &HeaderMap) -> Option<String> {
    let id = headers.get(&HEADER)?.to_str().ok()?;
    let is_id = (1..=128).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic());
    is_id.then(|| id.to_owned())
}

/// Logs and counts a request, and sends its id back.
pub(crate) async fn note(State(figures): State<Arc<Figures>>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let id = named(request.headers()).unwrap_or_else(|| format!("{:016x}", random_id()));
    // What does not read is as none, and so is more than one.
    let mut spans = request.headers().get_all("traceparent").iter();
    let span = spans.next().filter(|_| spans.next().is_none());
    let span = span.and_then(|span| span.to_str().ok()?.trim().parse().ok());
    let path = request.extensions().get::<MatchedPath>().map_or("other", MatchedPath::as_str).to_owned();
    let method = match request.method().as_str() {
        known @ ("GET" | "POST" | "DELETE" | "HEAD" | "OPTIONS") => known.to_owned(),
        _ => "other".to_owned(),
    };
    let mut response = REQUEST.scope((id.clone(), span), next.run(request)).await;
    let (status, duration) = (response.status().as_u16(), began.elapsed());
    figures.count_request(&method, &path, status, duration);
    let duration_ms = duration.as_secs_f64() * 1000.0;
    let (trace_id, span_id) = span.as_ref().map(span_ids).unzip();
    match status {
        500.. => error!(request_id = id, method, path, status, duration_ms, trace_id, span_id, "request"),
        _ => info!(request_id = id, method, path, status, duration_ms, trace_id, span_id, "request"),
    }
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(HEADER, id);
    }
    response
}
