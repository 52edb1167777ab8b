//! Worker: an agent and a store, where Restate calls them.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use planwright::driver::{Agent, Threads};
use restate_sdk::prelude::{Endpoint, HttpServer};
use restate_sdk::service::{IntoServiceDefinition, ServiceDefinition};
use tokio::net::TcpListener;

use crate::object::Thread;

/// How much longer than an effect may take Restate waits before it takes a silent worker for dead.
const MARGIN: Duration = Duration::from_secs(60);

/// What Restate calls: one agent, and the store that all its workers share. Cheap to clone.
#[derive(Clone)]
pub struct Worker {
    pub(crate) agent: Agent,
    pub(crate) threads: Threads,
}

impl Worker {
    /// A worker with an agent, which answers its questions through Restate: a [`Human`](planwright::ports::Human) of
    /// the agent is not asked. The store has to be one that the other workers share, such as a Postgres database.
    pub fn new(agent: Agent, threads: Threads) -> Self {
        Worker { agent, threads }
    }

    /// The service, for an endpoint of one's own. Its time-outs are longer than the longest effect of the agent, so that
    /// an effect under way is not taken for a dead one. Its invocations leave nothing behind: the store has the runs.
    pub fn service(&self) -> ServiceDefinition {
        let longest = self.longest_effect() + MARGIN;
        let options = restate_sdk::prelude::ServiceOptions::new()
            .inactivity_timeout(longest)
            .abort_timeout(longest)
            .journal_retention(Duration::ZERO);
        let Worker { agent, threads } = self.clone();
        Thread { agent, threads }.into_service_definition().options(options)
    }

    /// The longest time that one effect may take: what is left of a run's time, or the time-out of a call that is
    /// waited for beyond that.
    fn longest_effect(&self) -> Duration {
        let spec = self.agent.compiled().spec();
        let calls = spec.tools.iter().filter_map(|tool| tool.timeout_ms).map(Duration::from_millis);
        let run = Duration::from_secs(u64::from(spec.limits.deadline_seconds));
        run + calls.max().unwrap_or_default()
    }

    /// Serves Restate until a future is ready. Inside a tokio runtime.
    pub async fn serve(self, listener: TcpListener, until: impl Future) {
        // Answers are written in pieces, which would wait for one another's acknowledgement. Connections inherit this.
        let _ = socket2::SockRef::from(&listener).set_tcp_nodelay(true);
        let endpoint = Endpoint::builder().bind(self.service()).build();
        HttpServer::new(endpoint).serve_with_cancel(listener, until).await;
    }

    /// Serves Restate at an address, in a runtime of its own, until the process is told to end (SIGTERM, Ctrl-C). What
    /// is under way then is gone on with by another worker.
    ///
    /// # Errors
    /// If the address cannot be listened at.
    pub fn listen(self, address: SocketAddr) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        runtime.block_on(async {
            let listener = TcpListener::bind(address).await?;
            let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
            let mut interrupt = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt())?;
            let until = std::future::poll_fn(move |cx| {
                match (terminate.poll_recv(cx).is_ready(), interrupt.poll_recv(cx).is_ready()) {
                    (false, false) => std::task::Poll::Pending,
                    _ => std::task::Poll::Ready(()),
                }
            });
            self.serve(listener, until).await;
            Ok(())
        })
    }
}
