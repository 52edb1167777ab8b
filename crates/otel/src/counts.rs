//! What waits to be sent, and what did not arrive.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};

use crate::environment::number;
use crate::export::{Client, Trouble};

/// How much waits to be sent, unless a variable says.
const QUEUE: usize = 2_048;
/// The longest queue. Its room is taken at once.
const MAX_QUEUE: usize = 1 << 20;

/// What waits in a queue, and what did not arrive.
#[derive(Debug)]
pub(crate) struct Counts {
    /// How much waits to be sent or is being sent.
    queued: AtomicUsize,
    /// The most that may.
    most: usize,
    pub dropped: AtomicU64,
    /// Why something was dropped for the first time.
    pub reason: OnceLock<String>,
}

impl Counts {
    /// A queue as long as a variable says.
    pub fn from_env(name: &str, what: &str) -> Result<Arc<Self>, String> {
        let most = number(name, &format!("a number of {what}"))?.unwrap_or(QUEUE);
        if most == 0 || most > MAX_QUEUE {
            let least = if most == 0 { "at least 1" } else { "at most 1048576" };
            return Err(format!("{name}: expected {least} {what}, found {most}"));
        }
        let (queued, dropped, reason) = Default::default();
        Ok(Arc::new(Counts { queued, most, dropped, reason }))
    }

    /// Whether one more has room in the queue; else it is dropped.
    pub fn takes(&self) -> bool {
        let has_room = self.queued.fetch_add(1, Ordering::Relaxed) < self.most;
        if !has_room {
            self.queued.fetch_sub(1, Ordering::Relaxed);
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        has_room
    }

    /// So many have left the queue. The reason of the first that did not arrive is told in the log.
    pub fn left(&self, size: usize, sent: &OTelSdkResult, client: &Client) {
        let trouble = client.trouble();
        let whole = |error: &OTelSdkError| Trouble { reason: error.to_string(), rejected: None };
        if let Some(Trouble { reason, rejected }) = trouble.or_else(|| sent.as_ref().err().map(whole)) {
            let size = size as u64;
            self.dropped.fetch_add(rejected.map_or(size, |count| count.min(size)), Ordering::Relaxed);
            if self.reason.set(reason.clone()).is_ok() {
                tracing::error!(reason, "the collector does not take what is sent");
            }
        }
        let less = |queued: usize| Some(queued.saturating_sub(size));
        let _ = self.queued.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// Gives up what still waits, and gives how much did not arrive in all.
    pub fn give_up(&self) -> u64 {
        let left = self.queued.swap(0, Ordering::Relaxed) as u64;
        self.dropped.fetch_add(left, Ordering::Relaxed) + left
    }
}
