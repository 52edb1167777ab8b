//! When to try again, and after how long.

use std::time::Duration;

use planwright::ports::{Cause, ModelError};

/// The first wait where the server asks for none; each further one is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(500);

/// Answers that cannot be read are mostly a wrong base URL, so they get one more try and no more.
const MAX_BAD_RESPONSES: u32 = 2;

/// The tries of one question.
pub(super) struct Tries {
    made: u32,
    bad_responses: u32,
    max: u32,
    max_wait: Duration,
}

impl Tries {
    pub(super) fn new(max: u32, max_wait: Duration) -> Self {
        Tries { made: 0, bad_responses: 0, max: max.max(1), max_wait }
    }

    /// How many tries were made.
    pub(super) fn made(&self) -> u32 {
        self.made
    }

    /// Counts a failed try. Returns how long to wait before the next, or `None` where there is none:
    /// the failure will not pass, the tries are used up, or the server asks to wait too long.
    pub(super) fn wait_after(&mut self, error: &ModelError, passing: bool) -> Option<Duration> {
        self.made += 1;
        let ModelError::Unanswered(unanswered) = error else { return None };
        if unanswered.cause == Cause::BadResponse {
            self.bad_responses += 1;
        }
        if !passing || self.made >= self.max || self.bad_responses >= MAX_BAD_RESPONSES {
            return None;
        }
        match unanswered.retry_after.filter(|delay| !delay.is_zero()) {
            Some(delay) => (delay <= self.max_wait).then_some(delay),
            None => Some(self.backoff()),
        }
    }

    /// Between half and the whole of the doubled wait, so that clients that failed together do not
    /// come back together.
    fn backoff(&self) -> Duration {
        let doublings = self.made.saturating_sub(1).min(16);
        let longest = (FIRST_WAIT * 2_u32.pow(doublings)).min(self.max_wait);
        longest.mul_f64(0.5 + fastrand::f64() / 2.0)
    }
}
