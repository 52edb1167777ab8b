//! Whether and when to try again. This knows no protocol: only how often something failed, what the
//! server asked for and how much time is left.

use std::fmt;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant, SystemTime};

use planwright::ports::Cause;
use ureq::http::HeaderMap;

use super::error::AttemptError;

/// The longest that a request is given, or a wait told: what is longer than any clock counts is as good as that.
pub(super) const MAX_TIME: Duration = Duration::from_secs(365 * 86_400);
/// How often a wait looks whether it is to end.
const SLICE: Duration = Duration::from_millis(20);

/// Does blocking work on a thread of its own, which is left behind once `stop` says so. A panic of it is the caller's.
pub(crate) fn detach<T: Send + 'static>(
    stop: &dyn Fn() -> bool,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, AttemptError> {
    if stop() {
        return Err(AttemptError::stopped());
    }
    let (sender, receiver) = channel();
    let thread = std::thread::Builder::new().name("planwright-request".to_owned());
    let spawned = thread.spawn(move || {
        let _ = sender.send(work());
    });
    let thread =
        spawned.map_err(|error| AttemptError::set_up(&format!("no thread for the request: {error}")))?;
    wait(&receiver, Duration::MAX, stop).map_err(|error| match error {
        RecvTimeoutError::Timeout => AttemptError::stopped(),
        RecvTimeoutError::Disconnected => match thread.join() {
            Err(panic) => resume_unwind(panic),
            Ok(()) => AttemptError::stopped(),
        },
    })
}

/// Waits for what comes next, so long and no longer than until `stop` says so.
pub(crate) fn wait<T>(
    receiver: &Receiver<T>,
    patience: Duration,
    stop: &dyn Fn() -> bool,
) -> Result<T, RecvTimeoutError> {
    let begun = Instant::now();
    loop {
        let left = patience.saturating_sub(begun.elapsed());
        match receiver.recv_timeout(left.min(SLICE)) {
            Err(RecvTimeoutError::Timeout) if !left.is_zero() && !stop() => {}
            received => return received,
        }
    }
}

/// Answers that cannot be read and hosts that are not there are mostly a wrong address.
const MAX_DOUBTFUL: u32 = 2;
/// How much longer the waits are where a server says that there are too many requests: limits are by the minute.
const RATE_LIMIT_FACTOR: u32 = 8;

/// Lets time pass, and returns early once what it is given says so.
type Sleep = dyn Fn(Duration, &dyn Fn() -> bool) + Send + Sync;

/// How often a request is tried, and how long is waited in between.
///
/// The waits double from the first to the longest, each shortened by chance to at least its half, so that many
/// clients do not come back at once. A rate limit's begin at eight times the first, so that six tries take at least
/// a minute. Where the server says how long to wait, that holds instead; a server that asks for more than the
/// longest wait is not tried again.
#[derive(Clone)]
pub struct Retry {
    /// How often a request is made in all, at least once.
    pub tries: u32,
    /// The first wait.
    pub first_wait: Duration,
    /// The longest wait.
    pub longest_wait: Duration,
    /// Waits, until what it is given says to stop: a test can count the waits.
    pub sleep: Arc<Sleep>,
}

impl Default for Retry {
    /// Six tries, waits from half a second to a minute.
    fn default() -> Self {
        let (first_wait, longest_wait) = (Duration::from_millis(500), Duration::from_secs(60));
        Retry { tries: 6, first_wait, longest_wait, sleep: Arc::new(planwright::driver::sleep) }
    }
}

impl Retry {
    /// Tries until there is an answer, no try is left or `stop` says so. Each attempt is told how much of
    /// `budget` is left; `retrying` is told of each wait, and how many tries there may be.
    pub(crate) fn run<T>(
        &self,
        budget: Duration,
        retrying: impl Fn(&AttemptError, u32, Duration),
        stop: &dyn Fn() -> bool,
        mut attempt: impl FnMut(Duration) -> Result<T, AttemptError>,
    ) -> Result<T, AttemptError> {
        let begun = Instant::now();
        let (mut tries, mut doubtful) = (0, 0);
        loop {
            let outcome = attempt(budget.saturating_sub(begun.elapsed()));
            let Err(mut error) = outcome else { return outcome };
            tries += 1;
            error.tries = tries;
            doubtful += u32::from(error.doubtful);
            let wait = self.delay(tries, &error);
            let may_pass = error.transient && tries < self.tries && doubtful < MAX_DOUBTFUL;
            if !may_pass || wait > self.longest_wait || wait >= budget.saturating_sub(begun.elapsed()) {
                return Err(error);
            }
            if !stop() {
                let most = if error.doubtful { MAX_DOUBTFUL.min(self.tries) } else { self.tries };
                retrying(&error, most, wait);
                (self.sleep)(wait, stop);
            }
            if stop() {
                return Err(error);
            }
        }
    }

    fn delay(&self, failed: u32, error: &AttemptError) -> Duration {
        error.retry_after.filter(|asked| !asked.is_zero()).unwrap_or_else(|| {
            let factor = if error.cause == Cause::RateLimit { RATE_LIMIT_FACTOR } else { 1 };
            let doubled = 2_u32.saturating_pow(failed - 1).saturating_mul(factor);
            let wait = self.first_wait.saturating_mul(doubled).min(self.longest_wait);
            wait.mul_f64(0.5 + fastrand::f64() / 2.0)
        })
    }
}

impl fmt::Debug for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Retry { tries, first_wait, longest_wait, .. } = self;
        write!(f, "{tries} tries, waits of {first_wait:?} to {longest_wait:?}")
    }
}

/// How long the server asks to wait: `retry-after-ms`, or `Retry-After` in seconds or as a date.
pub(super) fn parse_retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let seconds = |text: &str| {
        let seconds: f64 = text.parse().ok().filter(|_| text.starts_with(|c: char| c.is_ascii_digit()))?;
        Some(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
    };
    let date =
        |text: &str| Some(httpdate::parse_http_date(text).ok()?.duration_since(now).unwrap_or_default());
    let millis = text("retry-after-ms").and_then(seconds).map(|delay| delay / 1000);
    let asked =
        millis.or_else(|| text("retry-after").and_then(|asked| seconds(asked).or_else(|| date(asked))));
    asked.map(|delay| delay.min(MAX_TIME))
}
