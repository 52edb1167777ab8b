//! What ends a run from outside: a token, or its time limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::machine::Event;
use crate::spec::CompiledSpec;

/// Stops runs from another thread. The run ends as `CANCELLED` at its next answer.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// A token that stops nothing yet.
    pub fn new() -> Self {
        CancelToken::default()
    }

    /// Stops every run that holds this token.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The time limit of a run in this process, and the token that stops it.
pub(super) struct Deadline {
    cancel: CancelToken,
    began: Instant,
    limit: Duration,
    /// Time that does not count, in milliseconds: a person's.
    paused: AtomicU64,
}

impl Deadline {
    /// Begins now.
    pub fn new(rules: &CompiledSpec, cancel: CancelToken) -> Self {
        let limit = Duration::from_secs(u64::from(rules.spec().limits.deadline_seconds));
        Deadline { cancel, began: Instant::now(), limit, paused: AtomicU64::new(0) }
    }

    /// The event that ends the run, once it is to end.
    pub fn ending_event(&self) -> Option<Event> {
        if self.cancel.0.load(Ordering::Relaxed) {
            return Some(Event::Cancelled { reason: "stopped by the user".to_owned() });
        }
        let paused = Duration::from_millis(self.paused.load(Ordering::Relaxed));
        (self.began.elapsed() > self.limit + paused).then_some(Event::DeadlinePassed)
    }

    /// Whether the run is to end.
    pub fn has_passed(&self) -> bool {
        self.ending_event().is_some()
    }

    /// Leaves time out of the count. Never called while something else waits for time to pass.
    pub fn pause(&self, time: Duration) {
        let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.paused.fetch_add(millis.min(u64::MAX / 4), Ordering::Relaxed);
    }
}
