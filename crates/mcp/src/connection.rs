//! One connection to a server, on a thread of its own: a server that floods or hangs holds up no other. The runtime of
//! the protocol never leaves the thread; requests come in by a channel and end by an answer, a limit or a stop.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use planwright::ports::{ToolError, ToolErrorKind};
use planwright::spec::McpTool;
use planwright_http::Bare;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientRequest, ErrorCode, GetExtensions, Implementation,
    ProtocolVersion, ServerResult,
};
use rmcp::service::{
    NotificationContext, Peer, PeerRequestOptions, RoleClient, RunningService, ServiceError,
};
use rmcp::transport::Transport;
use rmcp::{ClientHandler, serve_client};
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tracing::subscriber::NoSubscriber;

use crate::http::{Deadline, HttpError, Session};
use crate::log::Log;
use crate::program::Program;

/// How often a wait looks whether it is to end.
pub(crate) const SLICE: Duration = Duration::from_millis(20);
/// How long a list of tools is believed.
const MINUTE: Duration = Duration::from_secs(60);
/// The longest time of one request over a transport.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// How much longer a transport waits than the call: the call ends first.
const SPARE: Duration = Duration::from_secs(1);
/// How long the end of a connection may take.
const FAREWELL: Duration = Duration::from_secs(4);

/// Where a server is.
#[derive(Clone)]
pub(crate) enum Target {
    Program(Program),
    Address(Box<Bare>),
}

/// A connection that was begun. It ends with this value, and the server's program with it.
pub(crate) struct Connection {
    runtime: Handle,
    peer: Peer<RoleClient>,
    signs: Arc<Signs>,
    log: Arc<Log>,
    listed: Mutex<Option<Listed>>,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What a server lets its client know by the way.
#[derive(Default)]
struct Signs {
    /// How often it said that it lists other tools than before.
    changes: AtomicUsize,
    /// It has forgotten the session.
    is_gone: Arc<AtomicBool>,
}

/// What a server listed.
struct Listed {
    tools: Arc<Vec<McpTool>>,
    at: Instant,
    /// How many changes it had told before it was asked.
    changes: usize,
}

/// What we are to a server: a client that offers nothing. Requests of a server are refused.
struct Client {
    signs: Arc<Signs>,
    log: Arc<Log>,
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let info = Implementation::new("planwright", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), info)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.signs.changes.fetch_add(1, Ordering::Relaxed);
    }

    #[expect(deprecated, reason = "servers send it all the same")]
    async fn on_logging_message(
        &self,
        said: rmcp::model::LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let text = said.data.as_str().map_or_else(|| Cow::Owned(said.data.to_string()), Cow::Borrowed);
        self.log.add(&text);
    }
}

/// A running service, and what ends it.
type Service = RunningService<RoleClient, Client>;

impl Connection {
    /// Connects to a server, within so long and no longer than until `stop` says so.
    ///
    /// # Errors
    /// Where it does not start, or is no server. Nothing was called then.
    pub fn open(
        target: &Target,
        log: &Arc<Log>,
        time: Duration,
        stop: &dyn Fn() -> bool,
    ) -> Result<Self, ToolError> {
        let (begun, is_begun) = channel();
        let (end, mut is_over) = oneshot::channel();
        let (signs, target, told) = (Arc::new(Signs::default()), target.clone(), Arc::clone(log));
        let client = Client { signs: Arc::clone(&signs), log: Arc::clone(log) };
        let thread = std::thread::Builder::new().name("planwright-mcp".to_owned());
        let thread = thread.spawn(move || {
            // What the library would log of messages may hold anything.
            let _quiet = tracing::subscriber::set_default(NoSubscriber::new());
            let runtime = match Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime,
                Err(error) => return drop(begun.send(Err(error.to_string()))),
            };
            runtime.block_on(async {
                let beginning = tokio::time::timeout(time, begin(&target, client, &told));
                let service = tokio::select! {
                    beginning = beginning => beginning,
                    _ = &mut is_over => return,
                };
                let service = match service {
                    Ok(Ok(service)) => service,
                    Ok(Err(problem)) => return drop(begun.send(Err(problem))),
                    Err(_) => {
                        let problem = format!("it did not begin within {} s", time.as_secs_f32());
                        return drop(begun.send(Err(problem)));
                    }
                };
                let _ = begun.send(Ok((Handle::current(), service.peer().clone())));
                serve(service, is_over).await;
            });
            runtime.shutdown_background();
        });
        let problem = |problem: String| {
            let message = format!("the server cannot be used: {}{}", log.clean(&problem), log.last_words());
            ToolError::new(ToolErrorKind::Connection, message).did_not_happen()
        };
        let thread = thread.map_err(|error| problem(format!("no thread for it: {error}")))?;
        let begun = loop {
            match is_begun.recv_timeout(SLICE) {
                Ok(begun) => break begun,
                Err(RecvTimeoutError::Disconnected) => break Err("its thread ended".to_owned()),
                // What was begun ends with `end`.
                Err(RecvTimeoutError::Timeout) if stop() => return Err(Connection::stopped()),
                Err(RecvTimeoutError::Timeout) => {}
            }
        };
        let (runtime, peer) = begun.map_err(problem)?;
        let (log, listed) = (Arc::clone(log), Mutex::default());
        Ok(Connection { runtime, peer, signs, log, listed, end: Some(end), thread: Some(thread) })
    }

    /// The error of a call that was given up before there was a connection.
    pub fn stopped() -> ToolError {
        let message = "the server was still starting when the call was given up";
        ToolError::new(ToolErrorKind::Timeout, message).did_not_happen()
    }

    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Whether nothing can be asked any more.
    pub fn is_closed(&self) -> bool {
        self.peer.is_transport_closed() || self.signs.is_gone.load(Ordering::Relaxed)
    }

    /// How often the server has said that its tools have changed.
    pub fn count_changes(&self) -> usize {
        self.signs.changes.load(Ordering::Relaxed)
    }

    fn listed(&self) -> MutexGuard<'_, Option<Listed>> {
        self.listed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the server listed within a minute, unless it has told of a change since.
    pub fn known_list(&self) -> Option<Arc<Vec<McpTool>>> {
        let listed = self.listed();
        let known = listed.as_ref().filter(|listed| listed.at.elapsed() < MINUTE);
        Some(Arc::clone(&known.filter(|listed| listed.changes == self.count_changes())?.tools))
    }

    /// Keeps what the server listed. `changes` are those that were told before it was asked.
    pub fn keep_list(&self, tools: &Arc<Vec<McpTool>>, changes: usize) {
        *self.listed() = Some(Listed { tools: Arc::clone(tools), at: Instant::now(), changes });
    }

    /// Asks, and waits for the answer: so long, and no longer than until `stop` says so. The server is told that an
    /// answer is no longer waited for.
    ///
    /// # Errors
    /// Where there is no answer, or it is an error.
    pub fn ask(
        &self,
        mut request: ClientRequest,
        time: Duration,
        stop: &dyn Fn() -> bool,
    ) -> Result<ServerResult, ToolError> {
        if self.is_closed() {
            return Err(self.explain(ServiceError::TransportClosed).did_not_happen());
        }
        request.extensions_mut().insert(Deadline(Instant::now() + time.min(LONGEST) + SPARE));
        let ((answer, answered), (cancel, is_cancelled)) = (channel(), oneshot::channel::<()>());
        let peer = self.peer.clone();
        self.runtime.spawn(async move {
            let asked = peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await;
            let mut asked = match asked {
                Ok(asked) => asked,
                Err(error) => return drop(answer.send(Err(error))),
            };
            tokio::select! {
                came = &mut asked.rx => drop(answer.send(came.unwrap_or(Err(ServiceError::TransportClosed)))),
                _ = is_cancelled => drop(asked.cancel(Some("no longer waited for".to_owned())).await),
            }
        });
        let begun = Instant::now();
        loop {
            let left = time.saturating_sub(begun.elapsed());
            match answered.recv_timeout(left.min(SLICE)) {
                Ok(came) => return came.map_err(|error| self.explain(error)),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(self.explain(ServiceError::TransportClosed));
                }
                Err(RecvTimeoutError::Timeout) if left.is_zero() || stop() => {
                    let _ = cancel.send(());
                    let message = format!("no answer within {} ms", begun.elapsed().as_millis());
                    return Err(ToolError::new(ToolErrorKind::Timeout, message));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn explain(&self, error: ServiceError) -> ToolError {
        match error {
            ServiceError::McpError(error) => {
                let message =
                    format!("the server refused: {} ({})", self.log.clean(&error.message), error.code.0);
                // These say that there was nothing to perform.
                match error.code {
                    ErrorCode::METHOD_NOT_FOUND => {
                        ToolError::new(ToolErrorKind::NotFound, message).did_not_happen()
                    }
                    ErrorCode::INVALID_PARAMS | ErrorCode::INVALID_REQUEST => ToolError::input(message),
                    _ => ToolError::new(ToolErrorKind::Response, message),
                }
            }
            ServiceError::TransportSend(error) => {
                let message =
                    format!("the server cannot be reached: {}", self.log.clean(&error.error.to_string()));
                let failed = ToolError::new(ToolErrorKind::Connection, message);
                match error.error.downcast_ref::<HttpError>() {
                    Some(error) if !error.may_have_arrived => failed.did_not_happen(),
                    _ => failed,
                }
            }
            ServiceError::TransportClosed => {
                let message = format!("the server ended{}", self.log.last_words());
                ToolError::new(ToolErrorKind::Connection, message)
            }
            other => ToolError::new(ToolErrorKind::Response, self.log.clean(&other.to_string())),
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn begin(target: &Target, client: Client, log: &Arc<Log>) -> Result<Service, String> {
    match target {
        Target::Program(program) => {
            let started = program.start(log);
            shake_hands(client, started.map_err(|error| format!("{}: {error}", program.command))?).await
        }
        Target::Address(server) => {
            let is_gone = Arc::clone(&client.signs.is_gone);
            shake_hands(client, Session::new((**server).clone(), is_gone)).await
        }
    }
}

async fn shake_hands<T: Transport<RoleClient> + 'static>(
    client: Client,
    transport: T,
) -> Result<Service, String> {
    serve_client(client, transport).await.map_err(|error| error.to_string())
}

/// Lets a connection live until it is over, from either side.
async fn serve(mut service: Service, is_over: oneshot::Receiver<()>) {
    let peer = service.peer().clone();
    let closed = async {
        while !peer.is_transport_closed() {
            tokio::time::sleep(SLICE * 5).await;
        }
    };
    tokio::select! {
        _ = is_over => {}
        () = closed => {}
    }
    let _ = service.close_with_timeout(FAREWELL).await;
}
