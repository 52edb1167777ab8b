//! The clock, read once at the start of a run, and letting time pass between two tries of a step.

use std::time::{Duration, Instant};

/// The time now with its time zone, to the second, as models are shown it: RFC 9557, such as
/// `2026-11-20T09:30:00+09:00[Asia/Seoul]`. The zone is the machine's.
pub fn now() -> String {
    let now = jiff::Zoned::now();
    let to_the_second = jiff::ZonedRound::new().smallest(jiff::Unit::Second).mode(jiff::RoundMode::Trunc);
    now.round(to_the_second).unwrap_or(now).to_string()
}

/// The day alone, for agents whose replies are cached: their requests of one day are the same.
pub fn today() -> String {
    let now = jiff::Zoned::now();
    let zone = now.time_zone().iana_name().map_or_else(String::new, |name| format!("[{name}]"));
    format!("{}{zone}", now.date())
}

/// What the models of an agent are told of the time.
pub fn time_for(policy: &crate::spec::Policy) -> String {
    if policy.enable_cache { today() } else { now() }
}

/// Lets time pass where a run waits before another try. A test puts in one that writes down how long
/// it was to be, and returns at once.
///
/// ```
/// use std::sync::Mutex;
/// use std::time::Duration;
/// use planwright::driver::Sleeper;
///
/// #[derive(Default)]
/// struct Diary(Mutex<Vec<Duration>>);
///
/// impl Sleeper for Diary {
///     fn sleep(&self, delay: Duration, _: &dyn Fn() -> bool) {
///         self.0.lock().unwrap().push(delay);
///     }
/// }
/// ```
pub trait Sleeper: Send + Sync {
    /// Sleeps for `delay`, or less where `stop` says so meanwhile.
    fn sleep(&self, delay: Duration, stop: &dyn Fn() -> bool);
}

/// The wall clock: says when a person was asked, and whether they had time enough. A test puts in one
/// that it moves itself.
///
/// ```
/// use planwright::driver::Clock;
///
/// struct NextWeek;
///
/// impl Clock for NextWeek {
///     fn now_ms(&self) -> u64 {
///         planwright::driver::SystemClock.now_ms() + 7 * 24 * 3_600_000
///     }
/// }
/// ```
pub trait Clock: Send + Sync {
    /// Milliseconds since 1970.
    fn now_ms(&self) -> u64;
}

/// The system's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}

/// How often a sleeper looks up, at the least.
const SLICE: Duration = Duration::from_millis(20);

/// Sleeps as long as it says.
pub(super) struct RealTime;

impl Sleeper for RealTime {
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
