//! Time: the clock, letting time pass between two tries of a step, and what ends a run from outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::journal::system;
use crate::machine::Event;
use crate::spec::{CompiledSpec, Policy};

/// How often a sleeping run looks whether it is to stop.
const SLICE: Duration = Duration::from_millis(20);

/// What an agent's models are told of the time, with the machine's time zone (RFC 9557). To the second, such
/// as `2026-11-20T09:30:00+09:00[Asia/Seoul]`; the day alone if replies are cached, so that the requests of
/// one day are equal.
pub fn time_for(policy: &Policy) -> String {
    let now = jiff::Zoned::now();
    if policy.enable_cache {
        let zone = now.time_zone().iana_name().map_or_else(String::new, |name| format!("[{name}]"));
        return format!("{}{zone}", now.date());
    }
    let to_the_second = jiff::ZonedRound::new().smallest(jiff::Unit::Second).mode(jiff::RoundMode::Trunc);
    now.round(to_the_second).unwrap_or(now).to_string()
}

/// The clock of an agent; the system's unless a test sets another. A method that is left out is the system's.
pub trait Clock: Send + Sync {
    /// Milliseconds since 1970: when a person was asked, and whether they had time enough.
    fn now_ms(&self) -> u64 {
        system::now_ms()
    }

    /// Lets time pass before another try of a step. Returns early once `stop` says so.
    fn sleep(&self, delay: Duration, stop: &dyn Fn() -> bool) {
        let began = Instant::now();
        while !stop() {
            let left = delay.saturating_sub(began.elapsed());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(SLICE));
        }
    }
}

/// The system's clock.
pub(super) struct SystemClock;

impl Clock for SystemClock {}

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
    /// The time that people took, in milliseconds. It does not count.
    paused: AtomicU64,
}

impl Deadline {
    /// Begins now.
    pub fn new(compiled: &CompiledSpec, cancel: CancelToken) -> Self {
        let limit = Duration::from_secs(u64::from(compiled.spec().limits.deadline_seconds));
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

    /// Leaves time out of the count. Never called while anything else waits for time to pass.
    pub fn pause(&self, time: Duration) {
        let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.paused.fetch_add(millis.min(u64::MAX / 4), Ordering::Relaxed);
    }
}
