//! `/mcp`: streamable HTTP. Clients of the newest protocol send each request by itself; those before it have sessions,
//! each for one key.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{
    SessionManager, StreamableHttpServerConfig, StreamableHttpService,
};

use crate::caller::Caller;
use crate::describe::McpProblems;
use crate::log::RequestName;
use crate::mcp::server::McpServer;
use crate::options::Options;
use crate::problem::{Kind, Problem};
use crate::service::Shared;
use planwright_app::shapes::DataEvent;

/// The header that names a session.
const SESSION: &str = "mcp-session-id";
/// How many sessions a key has at most. Another one ends that which was used longest ago.
const MOST_SESSIONS: usize = 32;
/// How long a session may say nothing.
const SILENCE: Duration = Duration::from_secs(3600);
/// How long calls may take to say what they came to, once nothing runs any more.
const LAST_WORDS: Duration = Duration::from_millis(250);

/// The door of `/mcp`.
pub(crate) struct Door {
    http: StreamableHttpService<McpServer, LocalSessionManager>,
    manager: Arc<LocalSessionManager>,
    /// The id of each session and the name of its key; that which was used last comes last.
    sessions: Mutex<VecDeque<(String, String)>>,
}

impl Door {
    /// A door to the service. Hosts, origins and keys are looked at before it.
    pub fn new(service: &Shared, options: &Options) -> Arc<Self> {
        let config = StreamableHttpServerConfig::default().disable_allowed_hosts();
        let config = config.with_max_request_body_bytes(options.max_body_bytes);
        let mut manager = LocalSessionManager::default();
        manager.session_config.keep_alive = Some(SILENCE);
        let (manager, known, ends) =
            (Arc::new(manager), Arc::clone(service), config.cancellation_token.clone());
        let server = move || Ok(McpServer::remote(Arc::clone(&known)));
        let http = StreamableHttpService::new(server, Arc::clone(&manager), config);
        let service = Arc::clone(service);
        tokio::spawn(async move {
            service.live.stopped().await;
            tokio::time::sleep(LAST_WORDS).await;
            ends.cancel();
        });
        Arc::new(Door { http, manager, sessions: Mutex::default() })
    }

    async fn answer(&self, caller: &Caller, mut request: Request) -> Response {
        let session = session_of(request.headers());
        let content_type = request.headers().get(header::CONTENT_TYPE);
        let brings_json = content_type.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
        if session.as_ref().is_some_and(|session| !self.knows(session, caller.name())) {
            return Problem::new(Kind::NoSession, "the session has ended, or is of another key")
                .hint("begin one with `initialize`")
                .into_response();
        }
        request.extensions_mut().insert(RequestName::of_this());
        let response = self.http.handle(request).await;
        if let (None, Some(opened)) = (session, session_of(response.headers())) {
            self.open(opened, caller.name()).await;
        }
        let (parts, body) = response.into_parts();
        let is_json = parts.headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
        if is_json || parts.status.is_success() {
            return Response::from_parts(parts, Body::new(body));
        }
        let text = axum::body::to_bytes(Body::new(body), usize::MAX).await.unwrap_or_default();
        let mut refused = problem_of(parts.status, brings_json, &text).into_response();
        let allowed = parts.headers.get(header::ALLOW).cloned();
        refused.headers_mut().extend(allowed.map(|methods| (header::ALLOW, methods)));
        refused
    }

    async fn end(&self, caller: &Caller, request: Request) -> Response {
        let session = session_of(request.headers());
        let response = self.answer(caller, request).await;
        if !response.status().is_success() {
            return response;
        }
        self.sessions().retain(|(id, _)| Some(id) != session.as_ref());
        StatusCode::NO_CONTENT.into_response()
    }

    fn sessions(&self) -> MutexGuard<'_, VecDeque<(String, String)>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a session is of this key, which uses it now.
    fn knows(&self, session: &str, key: &str) -> bool {
        let mut sessions = self.sessions();
        let at = sessions.iter().position(|(id, of)| id == session && of == key);
        let used = at.and_then(|at| sessions.remove(at));
        let is_known = used.is_some();
        sessions.extend(used);
        is_known
    }

    async fn open(&self, session: String, key: &str) {
        let oldest = {
            let mut sessions = self.sessions();
            sessions.push_back((session, key.to_owned()));
            let mut own = sessions.iter().enumerate().filter(|(_, (_, of))| of == key).map(|(at, _)| at);
            let (oldest, others) = (own.next(), own.count());
            oldest.filter(|_| others >= MOST_SESSIONS).and_then(|at| sessions.remove(at))
        };
        if let Some((oldest, _)) = oldest {
            let _ = self.manager.close_session(&oldest.into()).await;
        }
    }
}

fn session_of(headers: &HeaderMap) -> Option<String> {
    Some(headers.get(SESSION)?.to_str().ok()?.to_owned())
}

/// What the protocol refuses in words of its own.
fn problem_of(status: StatusCode, brings_json: bool, text: &Bytes) -> Problem {
    let kind = match status {
        StatusCode::UNSUPPORTED_MEDIA_TYPE if brings_json => Kind::Message,
        StatusCode::NOT_FOUND => Kind::NoSession,
        StatusCode::METHOD_NOT_ALLOWED => Kind::NoMethod,
        StatusCode::NOT_ACCEPTABLE => Kind::NotAcceptable,
        StatusCode::PAYLOAD_TOO_LARGE => Kind::TooLarge,
        StatusCode::UNSUPPORTED_MEDIA_TYPE => Kind::MediaType,
        status if status.is_server_error() => Kind::Store,
        _ => Kind::Message,
    };
    Problem::new(kind, String::from_utf8_lossy(text))
}

/// Takes a message of the Model Context Protocol. Each agent is a tool; `answer` answers what a run waits for.
#[utoipa::path(
    post, path = "/mcp", tag = "mcp", request_body = Object,
    responses(
        (status = 200, content((Object = "application/json"), (DataEvent = "text/event-stream"))),
        (status = 202, description = "It is taken, and has no answer"), McpProblems
    )
)]
pub(crate) async fn take_message(
    Extension(door): Extension<Arc<Door>>,
    caller: Caller,
    request: Request,
) -> Response {
    door.answer(&caller, request).await
}

/// Listens to what a session is told besides its answers.
#[utoipa::path(
    get, path = "/mcp", tag = "mcp", responses((status = 200, body = DataEvent, content_type = "text/event-stream"), McpProblems)
)]
pub(crate) async fn listen(
    Extension(door): Extension<Arc<Door>>,
    caller: Caller,
    request: Request,
) -> Response {
    door.answer(&caller, request).await
}

/// Ends a session.
#[utoipa::path(delete, path = "/mcp", tag = "mcp", responses((status = 204, description = "It has ended"), McpProblems))]
pub(crate) async fn end_session(
    Extension(door): Extension<Arc<Door>>,
    caller: Caller,
    request: Request,
) -> Response {
    door.end(&caller, request).await
}
