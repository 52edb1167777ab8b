//! Stopping a run: from outside, or because its time is up.

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

    pub(super) fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// One sitting of a run: what ends it from outside.
pub(super) struct Sitting {
    cancel: CancelToken,
    began: Instant,
    deadline: Duration,
    /// Time that does not count, in milliseconds: a person's.
    paused: AtomicU64,
}

impl Sitting {
    /// Begins now.
    pub fn new(rules: &CompiledSpec, cancel: CancelToken) -> Self {
        let deadline = Duration::from_secs(u64::from(rules.spec().limits.deadline_seconds));
        Sitting { cancel, began: Instant::now(), deadline, paused: AtomicU64::new(0) }
    }

    /// What ends the run, where something does.
    pub fn over(&self) -> Option<Event> {
        if self.cancel.is_cancelled() {
            return Some(Event::Cancelled { reason: "stopped by the user".to_owned() });
        }
        let paused = Duration::from_millis(self.paused.load(Ordering::Relaxed));
        (self.began.elapsed() > self.deadline + paused).then_some(Event::DeadlinePassed)
    }

    /// Whether the run is to end.
    pub fn is_over(&self) -> bool {
        self.over().is_some()
    }

    /// Leaves time out of the count. Never called while something else waits for time to pass.
    pub fn pause(&self, time: Duration) {
        let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.paused.fetch_add(millis.min(u64::MAX / 4), Ordering::Relaxed);
    }
}
