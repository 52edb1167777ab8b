//! One connection to a server, on a thread of its own: a server that floods or hangs holds up no other. The runtime of
//! the protocol never leaves the thread; requests come in by a channel and end by an answer, a limit or a stop.

use std::borrow::Cow;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use planwright::ports::{ToolError, ToolErrorKind};
use planwright::spec::McpTool;
use planwright_http::Bare;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientRequest, GetExtensions, Implementation, ProtocolVersion,
    ServerResult,
};
use rmcp::service::{
    NotificationContext, Peer, PeerRequestOptions, RoleClient, RunningService, ServiceError,
};
use rmcp::transport::Transport;
use rmcp::{ClientHandler, serve_client};
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tracing::subscriber::NoSubscriber;

use crate::ending::Ending;
use crate::explain::{TOO_LARGE, explain_beginning, explain_request};
use crate::http::{Deadline, Session};
use crate::log::Log;
use crate::notices::Notices;
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
    notices: Arc<Notices>,
    log: Arc<Log>,
    listed: Mutex<Option<Listed>>,
    ending: Arc<Ending>,
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
    notices: Arc<Notices>,
    log: Arc<Log>,
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let info = Implementation::new("planwright", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), info)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.notices.tool_changes.fetch_add(1, Ordering::Relaxed);
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
        let (notices, target, told) = (Arc::new(Notices::default()), target.clone(), Arc::clone(log));
        let client = Client { notices: Arc::clone(&notices), log: Arc::clone(log) };
        let problem = |problem: String| {
            let message = format!("the server cannot be used: {}{}", log.clean(&problem), log.last_words());
            ToolError::new(ToolErrorKind::Connection, message).did_not_happen()
        };
        let ending = Ending::start_thread(move |ending| {
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
                    () = ending.begun() => return drop(begun.send(Err("it was given up".to_owned()))),
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
                serve(service, ending).await;
            });
            runtime.shutdown_background();
        });
        let ending = ending.map_err(problem)?;
        let begun = loop {
            match is_begun.recv_timeout(SLICE) {
                Ok(begun) => break begun,
                Err(RecvTimeoutError::Disconnected) => break Err("its thread ended".to_owned()),
                Err(RecvTimeoutError::Timeout) if stop() => {
                    ending.begin();
                    return Err(Connection::stopped());
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        };
        let (runtime, peer) = begun.map_err(problem)?;
        let (log, listed) = (Arc::clone(log), Mutex::default());
        Ok(Connection { runtime, peer, notices, log, listed, ending })
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
        self.peer.is_transport_closed() || self.notices.has_forgotten.load(Ordering::Relaxed)
    }

    /// How often the server has said that its tools have changed.
    pub fn count_changes(&self) -> usize {
        self.notices.tool_changes.load(Ordering::Relaxed)
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
            return Err(explain_request(ServiceError::TransportClosed, &self.log).did_not_happen());
        }
        request.extensions_mut().insert(Deadline(Instant::now() + time.min(LONGEST) + SPARE));
        let ((answer, answered), (cancel, is_cancelled)) = (channel(), oneshot::channel::<()>());
        let (peer, mut ending) = (self.peer.clone(), self.ending.follow());
        self.runtime.spawn(async move {
            let asked = peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await;
            let mut asked = match asked {
                Ok(asked) => asked,
                Err(error) => return drop(answer.send(Err(error))),
            };
            let why = tokio::select! {
                came = &mut asked.rx => {
                    return drop(answer.send(came.unwrap_or(Err(ServiceError::TransportClosed))));
                }
                _ = is_cancelled => "no longer waited for",
                _ = ending.wait_for(|is_over| *is_over) => "the client ends",
            };
            let _ = asked.cancel(Some(why.to_owned())).await;
            // The end waits for those that follow it.
            drop(ending);
        });
        let came = self.wait(&answered, time, stop);
        if came.is_err() {
            let _ = cancel.send(());
        }
        came
    }

    /// Waits for the answer of a request.
    fn wait(
        &self,
        answered: &Receiver<Result<ServerResult, ServiceError>>,
        time: Duration,
        stop: &dyn Fn() -> bool,
    ) -> Result<ServerResult, ToolError> {
        let (begun, dropped) = (Instant::now(), self.count_dropped());
        loop {
            let left = time.saturating_sub(begun.elapsed());
            match answered.recv_timeout(left.min(SLICE)) {
                Ok(came) => return came.map_err(|error| explain_request(error, &self.log)),
                Err(RecvTimeoutError::Disconnected) if self.ending.has_begun() => {
                    let message = "the call was given up, because planwright is ending";
                    return Err(ToolError::new(ToolErrorKind::Connection, message));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(explain_request(ServiceError::TransportClosed, &self.log));
                }
                Err(RecvTimeoutError::Timeout) if left.is_zero() || stop() => {
                    let dropped = self.count_dropped() > dropped;
                    let dropped = if dropped { format!("; {TOO_LARGE}") } else { String::new() };
                    let message = format!("no answer within {} ms{dropped}", begun.elapsed().as_millis());
                    return Err(ToolError::new(ToolErrorKind::Timeout, message));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn count_dropped(&self) -> usize {
        self.notices.dropped.load(Ordering::Relaxed)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.ending.begin();
        self.ending.wait();
    }
}

async fn begin(target: &Target, client: Client, log: &Arc<Log>) -> Result<Service, String> {
    match target {
        Target::Program(program) => {
            let started = program.start(log, &client.notices);
            shake_hands(client, started.map_err(|error| format!("{}: {error}", program.command))?).await
        }
        Target::Address(server) => {
            let notices = Arc::clone(&client.notices);
            shake_hands(client, Session::new((**server).clone(), notices)).await
        }
    }
}

async fn shake_hands<T: Transport<RoleClient> + 'static>(
    client: Client,
    transport: T,
) -> Result<Service, String> {
    serve_client(client, transport).await.map_err(explain_beginning)
}

/// Lets a connection live until it is over, from either side.
async fn serve(mut service: Service, ending: &Ending) {
    let peer = service.peer().clone();
    let closed = async {
        while !peer.is_transport_closed() {
            tokio::time::sleep(SLICE * 5).await;
        }
    };
    tokio::select! {
        () = ending.begun() => ending.calls_cancelled().await,
        () = closed => {}
    }
    let _ = service.close_with_timeout(FAREWELL).await;
}
