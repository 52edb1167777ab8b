//! A server behind an address: streamable HTTP over the one client, each message a POST whose answer is one message
//! or a stream of them. A stream that breaks off before its answer fails that call; it is not taken up again, because
//! nothing says whether the call would be made twice.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use planwright_http::{Bare, BareError, BareResponse, show_address};
use rmcp::RoleClient;
use rmcp::model::{GetExtensions, RequestId, ServerResult};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::explain::{HttpError, TOO_LARGE, replace_answer};
use crate::notices::Notices;

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
    notices: Arc<Notices>,
    posts: Arc<Semaphore>,
}

impl Session {
    pub fn new(server: Bare, notices: Arc<Notices>) -> Self {
        let (inbox, received) = mpsc::channel(MOST_UNREAD);
        let posts = Arc::new(Semaphore::new(MOST_POSTS));
        let shared = Shared { server, inbox, session: Mutex::default(), notices, posts };
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
        let place = Arc::clone(&self.shared.posts).try_acquire_owned();
        let spawned = match place {
            Ok(place) => std::thread::Builder::new()
                .name("planwright-mcp-post".to_owned())
                .spawn(move || {
                    shared.post(&message, taken);
                    drop(place);
                })
                .map_err(|error| HttpError::lost(format!("no thread for the request: {error}"), false)),
            Err(_) => {
                Err(HttpError::lost(format!("{MOST_POSTS} messages to it are under way already"), false))
            }
        };
        async move {
            spawned?;
            is_taken.await.unwrap_or_else(|_| Err(HttpError::lost("the request broke off".to_owned(), true)))
        }
    }

    async fn receive(&mut self) -> Option<Received> {
        if self.shared.notices.has_forgotten.load(Ordering::Relaxed) {
            None
        } else {
            self.received.recv().await
        }
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
        let answer = sent.map_err(|error| HttpError::lost(error.message, error.may_have_arrived));
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
            Err(BareError { is_too_large: true, .. }) => TOO_LARGE,
            Err(_) => "the server's answer broke off or is none",
        };
        if let Some(id) = asked {
            let _ = self.inbox.blocking_send(replace_answer(problem, id));
        }
    }

    /// Refuses a response that is no success.
    fn check_status(&self, response: BareResponse) -> Result<BareResponse, HttpError> {
        let status = response.status();
        if (200..300).contains(&status) {
            return Ok(response);
        }
        if status == 404 && self.headers().iter().any(|(name, _)| *name == SESSION) {
            self.notices.has_forgotten.store(true, Ordering::Relaxed);
            return Err(HttpError::lost("the server has forgotten the session".to_owned(), false));
        }
        let location = response.header("location").map(show_address);
        let hint = match (status, location) {
            (401 | 403, _) => " (is `bearer_token_env` or `headers` right?)".to_owned(),
            (300..=399, Some(place)) => format!(", a redirect to {place}: set `url` to where the server is"),
            _ => String::new(),
        };
        let said = response.read_all().unwrap_or_default();
        let said = self.server.redact(String::from_utf8_lossy(&said).trim());
        let said = planwright::contract::excerpt(&planwright::contract::sanitize(&said), 300);
        let said = if said.is_empty() { said } else { format!(": {said}") };
        // A server that answers so did not take the request.
        let is_refusal = matches!(status, 307 | 308 | 400 | 401 | 403..=406 | 413 | 415 | 422 | 429);
        let message = self.server.redact(&format!("the server answered with status {status}{hint}")) + &said;
        Err(HttpError { message, is_status: true, may_have_arrived: !is_refusal })
    }

    /// Reads one message. Returns whether it was the answer.
    fn read_one(&self, answer: BareResponse, asked: Option<&RequestId>) -> Result<bool, BareError> {
        let bytes = answer.read_all()?;
        if bytes.trim_ascii().is_empty() {
            return Ok(false);
        }
        self.hand_on(serde_json::from_slice(&bytes).map_err(BareError::unreadable)?, asked)
    }

    /// Reads events to the answer, or to the end. Returns whether the answer was among them.
    fn read_stream(&self, mut answer: BareResponse, asked: Option<&RequestId>) -> Result<bool, BareError> {
        while let Some(message) = answer.next_event()? {
            if self.hand_on(message, asked)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Hands a message on. Returns whether it answers the request.
    fn hand_on(&self, message: Value, asked: Option<&RequestId>) -> Result<bool, BareError> {
        let message: Received = serde_json::from_value(message).map_err(BareError::unreadable)?;
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
        self.inbox.blocking_send(message).map_err(BareError::unreadable)?;
        Ok(answered.is_some() && answered.as_ref() == asked)
    }
}
