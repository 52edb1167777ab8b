//! Whether and when to try again: the policy alone. It knows no protocol, only how often something
//! has failed, what the other side asked for and how much time is left.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// How often a request is tried, and how long is waited in between.
///
/// The waits double from `first` to `longest`, each shortened by chance to at least its half, so that
/// many clients do not come back at once. Where the server says how long to wait, that holds instead.
#[derive(Clone)]
pub struct Retry {
    tries: u32,
    first: Duration,
    longest: Duration,
    sleep: Arc<dyn Fn(Duration) + Send + Sync>,
}

/// A try that failed.
#[derive(Debug)]
pub struct Failed<E> {
    /// Why.
    pub error: E,
    /// Whether another try could fare better.
    pub again: bool,
    /// How long the other side asked to wait.
    pub after: Option<Duration>,
}

impl<E> Failed<E> {
    /// A failure that another try would only repeat.
    pub fn for_good(error: E) -> Self {
        Failed { error, again: false, after: None }
    }
}

impl Default for Retry {
    /// Six tries, waits from half a second to twenty seconds.
    fn default() -> Self {
        Retry {
            tries: 6,
            first: Duration::from_millis(500),
            longest: Duration::from_secs(20),
            sleep: Arc::new(std::thread::sleep),
        }
    }
}

impl Retry {
    /// How often a request is made in all, at least once.
    #[must_use]
    pub fn tries(mut self, tries: u32) -> Self {
        self.tries = tries.max(1);
        self
    }

    /// The first wait and the longest.
    #[must_use]
    pub fn waits(mut self, first: Duration, longest: Duration) -> Self {
        self.first = first;
        self.longest = longest;
        self
    }

    /// What waits: the thread's sleep unless this says otherwise. For tests.
    #[must_use]
    pub fn sleep_with(mut self, sleep: impl Fn(Duration) + Send + Sync + 'static) -> Self {
        self.sleep = Arc::new(sleep);
        self
    }

    /// How long to wait after this many failed tries, where there may be one more. There is none
    /// where the tries are used up, the other side asks for more than the longest wait, or the wait
    /// would not end in the time that is left.
    pub fn delay(&self, failed: u32, asked: Option<Duration>, left: Duration) -> Option<Duration> {
        if failed >= self.tries {
            return None;
        }
        let wait = asked.unwrap_or_else(|| {
            let doubled = self.first.saturating_mul(1u32.checked_shl(failed - 1).unwrap_or(u32::MAX));
            doubled.min(self.longest).mul_f64(0.5 + 0.5 * fastrand::f64())
        });
        (wait <= self.longest && wait < left).then_some(wait)
    }

    /// Tries until it works or may not be tried again. The try gets the time that is left. Gives the
    /// last failure, and how many tries there were.
    ///
    /// # Errors
    /// The last try's.
    pub fn run<T, E>(
        &self,
        timeout: Duration,
        mut one_try: impl FnMut(Duration) -> Result<T, Failed<E>>,
    ) -> Result<T, (Failed<E>, u32)> {
        let begun = Instant::now();
        let mut failed = 0;
        loop {
            let failure = match one_try(timeout.saturating_sub(begun.elapsed())) {
                Ok(value) => return Ok(value),
                Err(failure) => failure,
            };
            failed += 1;
            let left = timeout.saturating_sub(begun.elapsed());
            match self.delay(failed, failure.after, left).filter(|_| failure.again) {
                Some(wait) => (self.sleep)(wait),
                None => return Err((failure, failed)),
            }
        }
    }
}

/// What a `Retry-After` header asks for: seconds, or a date.
pub fn retry_after(header: &str, now: SystemTime) -> Option<Duration> {
    let header = header.trim();
    if let Ok(seconds) = header.parse::<u32>() {
        return Some(Duration::from_secs(seconds.into()));
    }
    Some(httpdate::parse_http_date(header).ok()?.duration_since(now).unwrap_or_default())
}

impl fmt::Debug for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retry")
            .field("tries", &self.tries)
            .field("first", &self.first)
            .field("longest", &self.longest)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn waits_double_up_to_the_longest_and_vary_by_half() {
        let retry = Retry::default().tries(100).waits(SECOND, 8 * SECOND);
        for (failed, most) in [(1, 1), (2, 2), (3, 4), (4, 8), (5, 8), (99, 8)] {
            let wait = retry.delay(failed, None, 60 * SECOND).unwrap();
            assert!(wait <= most * SECOND && wait >= most * SECOND / 2, "{failed}: {wait:?}");
        }
    }

    #[test]
    fn there_is_no_further_try_where_it_would_be_too_late_or_too_many() {
        let retry = Retry::default().tries(3);
        assert_eq!(retry.delay(1, Some(2 * SECOND), 3 * SECOND), Some(2 * SECOND));
        assert_eq!(retry.delay(3, Some(2 * SECOND), 3 * SECOND), None);
        assert_eq!(retry.delay(1, Some(3 * SECOND), 3 * SECOND), None);
        assert_eq!(retry.delay(1, Some(21 * SECOND), 60 * SECOND), None);
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = httpdate::parse_http_date("Wed, 21 Oct 2015 07:28:00 GMT").unwrap();
        assert_eq!(retry_after(" 7 ", now), Some(7 * SECOND));
        assert_eq!(retry_after("Wed, 21 Oct 2015 07:28:05 GMT", now), Some(5 * SECOND));
        assert_eq!(retry_after("Wed, 21 Oct 2015 07:27:00 GMT", now), Some(Duration::ZERO));
        assert_eq!(retry_after("soon", now), None);
    }
}
