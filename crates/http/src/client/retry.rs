//! Whether and when to try again. This knows no protocol: only how often something failed, what the
//! server asked for and how much time is left.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use ureq::http::HeaderMap;

use super::error::AttemptError;
use planwright::ports::Cause;

/// Answers that cannot be read are mostly a wrong address, so they get one more try and no more.
const MAX_BAD_RESPONSES: u32 = 2;

/// How often a request is tried, and how long is waited in between.
///
/// The waits double from the first to the longest, each shortened by chance to at least its half, so
/// that many clients do not come back at once. Where the server says how long to wait, that holds
/// instead; a server that asks for more than the longest wait is not tried again.
///
/// ```
/// use std::time::Duration;
/// use planwright_http::{OpenAiConfig, Retry};
///
/// let patient = Retry::default().tries(9).waits(Duration::from_secs(1), Duration::from_secs(60));
/// let config = OpenAiConfig::new("http://localhost:8080/v1", "qwen3").retry(patient);
/// ```
#[derive(Clone)]
pub struct Retry {
    tries: u32,
    first: Duration,
    longest: Duration,
    sleep: Arc<dyn Fn(Duration) + Send + Sync>,
}

impl Default for Retry {
    /// Six tries, waits from half a second to twenty seconds.
    fn default() -> Self {
        let (first, longest) = (Duration::from_millis(500), Duration::from_secs(20));
        Retry { tries: 6, first, longest, sleep: Arc::new(std::thread::sleep) }
    }
}

impl Retry {
    /// Sets how often a request is made in all, at least once.
    #[must_use]
    pub fn tries(mut self, tries: u32) -> Self {
        self.tries = tries.max(1);
        self
    }

    /// Sets the first wait and the longest.
    #[must_use]
    pub fn waits(mut self, first: Duration, longest: Duration) -> Self {
        (self.first, self.longest) = (first, longest);
        self
    }

    /// Waits with `sleep` instead of the thread's own, so that a test can count the waits and a
    /// program can cut them short.
    #[must_use]
    pub fn sleep_with(mut self, sleep: impl Fn(Duration) + Send + Sync + 'static) -> Self {
        self.sleep = Arc::new(sleep);
        self
    }

    /// Tries until there is an answer or no further try is allowed. Each attempt is told how much of
    /// `budget` is left.
    pub(crate) fn run<T>(
        &self,
        budget: Duration,
        mut attempt: impl FnMut(Duration) -> Result<T, AttemptError>,
    ) -> Result<T, AttemptError> {
        let begun = Instant::now();
        let (mut tries, mut bad_responses) = (0, 0);
        loop {
            let outcome = attempt(budget.saturating_sub(begun.elapsed()));
            let Err(mut error) = outcome else { return outcome };
            tries += 1;
            error.tries = tries;
            bad_responses += u32::from(error.cause == Cause::BadResponse);
            let left = budget.saturating_sub(begun.elapsed());
            let wait = self.delay(tries, error.retry_after, left);
            match wait.filter(|_| error.transient && bad_responses < MAX_BAD_RESPONSES) {
                Some(wait) => (self.sleep)(wait),
                None => return Err(error),
            }
        }
    }

    /// The wait before the next try, where there is one.
    fn delay(&self, failed: u32, asked: Option<Duration>, left: Duration) -> Option<Duration> {
        let wait = asked.filter(|asked| !asked.is_zero()).unwrap_or_else(|| {
            let doubled = self.first.saturating_mul(1_u32.checked_shl(failed - 1).unwrap_or(u32::MAX));
            doubled.min(self.longest).mul_f64(0.5 + fastrand::f64() / 2.0)
        });
        (failed < self.tries && wait <= self.longest && wait < left).then_some(wait)
    }
}

impl fmt::Debug for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Retry { tries, first, longest, sleep: _ } = self;
        write!(f, "{tries} tries, waits of {first:?} to {longest:?}")
    }
}

/// How long the server asks to wait: `retry-after-ms`, or `Retry-After` in seconds or as a date.
pub(super) fn parse_retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let seconds = |text: &str| {
        let seconds: f64 = text.parse().ok().filter(|_| text.starts_with(|c: char| c.is_ascii_digit()))?;
        Some(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
    };
    if let Some(delay) = text("retry-after-ms").and_then(seconds) {
        return Some(delay / 1000);
    }
    let asked = text("retry-after")?;
    seconds(asked).or_else(|| {
        let date = httpdate::parse_http_date(asked).ok()?;
        Some(date.duration_since(now).unwrap_or_default())
    })
}
