//! A server behind an address: streamable HTTP over the one client, each message a POST whose answer is one message
//! or a stream of them. A stream that breaks off before its answer fails that call; it is not taken up again, because
//! nothing says whether the call would be made twice.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use planwright_http::{Bare, BareResponse};
use rmcp::RoleClient;
use rmcp::model::{ErrorData, GetExtensions, RequestId, ServerResult};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::{Semaphore, mpsc, oneshot};

type Received = RxJsonRpcMessage<RoleClient>;

/// How many messages wait to be read before the server is held up.
const MOST_UNREAD: usize = 64;
/// How many messages may be under way to a server. Each has a thread.
const MOST_POSTS: usize = 64;
/// The longest time of a request without a [`Deadline`], such as the first of a session.
const REQUEST_TIME: Duration = Duration::from_secs(60);
/// The longest time of a message that has no answer.
const NOTIFICATION_TIME: Duration = Duration::from_secs(5);
/// How long the end of a session may take.
const FAREWELL: Duration = Duration::from_secs(1);
const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";

/// Until when the answer of a request is waited for: an extension of the request, which is not sent.
#[derive(Clone, Copy)]
pub(crate) struct Deadline(pub Instant);

/// Why a message was not taken.
#[derive(Debug)]
pub(crate) struct HttpError {
    message: String,
    pub may_have_arrived: bool,
}

impl std::fmt::Display for HttpError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for HttpError {}

/// A session, as the transport of the protocol.
pub(crate) struct Session {
    shared: Arc<Shared>,
    received: mpsc::Receiver<Received>,
}

struct Shared {
    server: Bare,
    inbox: mpsc::Sender<Received>,
    /// The headers that the server gave: the name of the session, and the version of the protocol.
    session: Mutex<(Option<String>, Option<String>)>,
    /// Whether the server has forgotten the session.
    is_gone: Arc<AtomicBool>,
    posts: Arc<Semaphore>,
}

impl Session {
    pub fn new(server: Bare, is_gone: Arc<AtomicBool>) -> Self {
        let (inbox, received) = mpsc::channel(MOST_UNREAD);
        let posts = Arc::new(Semaphore::new(MOST_POSTS));
        let shared = Shared { server, inbox, session: Mutex::default(), is_gone, posts };
        Session { shared: Arc::new(shared), received }
    }
}

impl Transport<RoleClient> for Session {
    type Error = HttpError;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), HttpError>> + Send + 'static {
        let (shared, (taken, is_taken)) = (Arc::clone(&self.shared), oneshot::channel());
        let lost = |message: String, may_have_arrived| HttpError { message, may_have_arrived };
        let place = Arc::clone(&self.shared.posts).try_acquire_owned();
        let spawned = match place {
            Ok(place) => std::thread::Builder::new()
                .name("planwright-mcp-post".to_owned())
                .spawn(move || {
                    shared.post(&message, taken);
                    drop(place);
                })
                .map_err(|error| lost(format!("no thread for the request: {error}"), false)),
            Err(_) => Err(lost(format!("{MOST_POSTS} messages to it are under way already"), false)),
        };
        async move {
            spawned?;
            is_taken.await.unwrap_or_else(|_| Err(lost("the request broke off".to_owned(), true)))
        }
    }

    async fn receive(&mut self) -> Option<Received> {
        if self.shared.is_gone.load(Ordering::Relaxed) { None } else { self.received.recv().await }
    }

    /// Tells the server that the session is over. Whether it heard does not matter.
    async fn close(&mut self) -> Result<(), HttpError> {
        let (shared, (told, is_told)) = (Arc::clone(&self.shared), oneshot::channel());
        let _ = std::thread::Builder::new().spawn(move || {
            let headers = shared.headers();
            if headers.iter().any(|(name, _)| *name == SESSION) {
                let headers: Vec<(&str, &str)> =
                    headers.iter().map(|(name, value)| (*name, &**value)).collect();
                let _ = shared.server.send("DELETE", &headers, None, FAREWELL);
            }
            let _ = told.send(());
        });
        let _ = tokio::time::timeout(FAREWELL, is_told).await;
        Ok(())
    }
}

impl Shared {
    fn headers(&self) -> Vec<(&'static str, String)> {
        let (session, version) = self.session.lock().unwrap_or_else(PoisonError::into_inner).clone();
        [(SESSION, session), (VERSION, version)]
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect()
    }

    /// Posts a message, and hands on what comes back. `taken` hears whether the server took it.
    fn post(&self, message: &TxJsonRpcMessage<RoleClient>, taken: oneshot::Sender<Result<(), HttpError>>) {
        let (asked, time) = match message {
            TxJsonRpcMessage::<RoleClient>::Request(request) => {
                let deadline = request.request.extensions().get::<Deadline>();
                let left = |deadline: &Deadline| deadline.0.saturating_duration_since(Instant::now());
                (Some(request.id.clone()), deadline.map_or(REQUEST_TIME, left))
            }
            _ => (None, NOTIFICATION_TIME),
        };
        let mut headers = self.headers();
        headers.push(("accept", "application/json, text/event-stream".to_owned()));
        headers.push(("content-type", "application/json".to_owned()));
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, &**value)).collect();
        let body = serde_json::to_vec(message).unwrap_or_default();
        let sent = self.server.send("POST", &headers, Some(body), time);
        let answer = sent
            .map_err(|error| HttpError { message: error.message, may_have_arrived: error.may_have_arrived });
        let answer = match answer.and_then(|response| self.check_status(response)) {
            Ok(response) => response,
            Err(error) => return drop(taken.send(Err(error))),
        };
        if let Some(session) = answer.header(SESSION) {
            let mut known = self.session.lock().unwrap_or_else(PoisonError::into_inner);
            known.0 = Some(session.to_owned());
        }
        let _ = taken.send(Ok(()));
        let is_stream =
            answer.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"));
        let asked_id = asked.as_ref();
        let read =
            if is_stream { self.read_stream(answer, asked_id) } else { self.read_one(answer, asked_id) };
        let problem = match read {
            Ok(true) => return,
            Ok(false) => "the server ended its answer before the result",
            Err(_) => "the server's answer broke off or is none",
        };
        if asked.is_some() {
            let error = ErrorData::internal_error(problem, None);
            let _ = self.inbox.blocking_send(Received::error(error, asked));
        }
    }

    /// Refuses a response that is no success.
    fn check_status(&self, response: BareResponse) -> Result<BareResponse, HttpError> {
        let status = response.status;
        if (200..300).contains(&status) {
            return Ok(response);
        }
        let refused = |message, may_have_arrived| HttpError { message, may_have_arrived };
        if status == 404 && self.headers().iter().any(|(name, _)| *name == SESSION) {
            self.is_gone.store(true, Ordering::Relaxed);
            return Err(refused("the server has forgotten the session".to_owned(), false));
        }
        let said = response.read_all().unwrap_or_default();
        let said = self.server.redact(String::from_utf8_lossy(&said).trim());
        let said = planwright::contract::excerpt(&planwright::contract::sanitize(&said), 300);
        let said = if said.is_empty() { said } else { format!(": {said}") };
        let hint =
            if matches!(status, 401 | 403) { " (is `bearer_token_env` or `headers` right?)" } else { "" };
        // A server that answers so did not take the request.
        let is_refusal = matches!(status, 400 | 401 | 403..=406 | 413 | 415 | 422 | 429);
        Err(refused(format!("the server answered with status {status}{hint}{said}"), !is_refusal))
    }

    /// Reads one message. Returns whether it was the answer.
    fn read_one(&self, answer: BareResponse, asked: Option<&RequestId>) -> io::Result<bool> {
        let bytes = answer.read_all()?;
        Ok(!bytes.trim_ascii().is_empty() && self.hand_on(&bytes, asked)?)
    }

    /// Reads events to the answer, or to the end. Returns whether the answer was among them.
    fn read_stream(&self, mut answer: BareResponse, asked: Option<&RequestId>) -> io::Result<bool> {
        let mut data = Vec::new();
        while let Some(line) = answer.read_line()? {
            let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&line).trim_ascii_end();
            if let Some(piece) = line.strip_prefix(b"data:") {
                data.extend_from_slice(piece);
                data.push(b'\n');
            } else if line.is_empty()
                && !data.trim_ascii().is_empty()
                && self.hand_on(&std::mem::take(&mut data), asked)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Hands a message on. Returns whether it answers the request.
    fn hand_on(&self, bytes: &[u8], asked: Option<&RequestId>) -> io::Result<bool> {
        let message: Received = serde_json::from_slice(bytes)?;
        let answered = match &message {
            Received::Response(response) => {
                if let ServerResult::InitializeResult(begun) = &response.result {
                    let mut known = self.session.lock().unwrap_or_else(PoisonError::into_inner);
                    known.1 = Some(begun.protocol_version.to_string());
                }
                Some(response.id.clone())
            }
            Received::Error(error) => error.id.clone(),
            _ => None,
        };
        self.inbox.blocking_send(message).map_err(io::Error::other)?;
        Ok(answered.is_some() && answered.as_ref() == asked)
    }
}
