//! How often: requests a minute, and wrong keys.
//!
//! **Invariant:** what is remembered of strangers is bounded.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Most callers that are remembered. Then those are forgotten that have been quiet.
const MOST_CALLERS: usize = 10_000;
const MINUTE: Duration = Duration::from_secs(60);
/// How long the first wrong key waits for its refusal. Each further one of an address waits twice as long, up to 64
/// times that.
const FIRST_DELAY: Duration = Duration::from_millis(50);

/// Wrong keys, by the address that they came from. A minute without one forgives.
#[derive(Default)]
pub(crate) struct Failures(Mutex<HashMap<IpAddr, (u32, Instant)>>);

impl Failures {
    /// Notes a wrong key. Gives how long its refusal takes.
    pub fn note(&self, remote: IpAddr) -> Duration {
        let (mut noted, now) = (self.0.lock().unwrap_or_else(PoisonError::into_inner), Instant::now());
        if noted.len() >= MOST_CALLERS {
            noted.retain(|_, (_, at)| now - *at < MINUTE);
        }
        if noted.len() >= MOST_CALLERS && !noted.contains_key(&remote) {
            return FIRST_DELAY * 64;
        }
        let (times, at) = noted.entry(remote).or_insert((0, now));
        *times = if now - *at < MINUTE { *times + 1 } else { 1 };
        *at = now;
        FIRST_DELAY * (1 << (*times - 1).min(6))
    }
}

/// Requests a minute, by who makes them: as many at once, then one for each that has had its time.
pub(crate) struct Rates {
    most: f64,
    left: Mutex<HashMap<String, (f64, Instant)>>,
}

impl Rates {
    pub fn per_minute(most: u32) -> Self {
        Rates { most: most.into(), left: Mutex::default() }
    }

    /// Takes a request. Where there is no room, gives the seconds until there is.
    pub fn take(&self, who: &str) -> Option<u64> {
        let (mut callers, now) = (self.left.lock().unwrap_or_else(PoisonError::into_inner), Instant::now());
        let each = 60.0 / self.most;
        if callers.len() >= MOST_CALLERS {
            callers.retain(|_, (_, at)| now - *at < MINUTE);
        }
        if callers.len() >= MOST_CALLERS && !callers.contains_key(who) {
            return Some(60);
        }
        let (left, at) = callers.entry(who.to_owned()).or_insert((self.most, now));
        *left = (*left + (now - *at).as_secs_f64() / each).min(self.most);
        *at = now;
        if *left < 1.0 {
            return Some((((1.0 - *left) * each).ceil() as u64).max(1));
        }
        *left -= 1.0;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_keys_wait_longer_each_time_up_to_a_bound() {
        let (failures, here) = (Failures::default(), IpAddr::from([127, 0, 0, 1]));
        let waits: Vec<u32> =
            (0..9).map(|_| failures.note(here).div_duration_f64(FIRST_DELAY) as u32).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 64, 64]);
        assert_eq!(failures.note(IpAddr::from([10, 0, 0, 1])), FIRST_DELAY, "another address is another");
    }

    #[test]
    fn strangers_beyond_number_are_not_remembered() {
        let failures = Failures::default();
        let rates = Rates::per_minute(1);
        for number in 0..MOST_CALLERS as u32 + 5 {
            failures.note(IpAddr::from(number.to_be_bytes()));
            rates.take(&number.to_string());
        }
        assert_eq!(failures.0.lock().unwrap().len(), MOST_CALLERS);
        assert_eq!(rates.left.lock().unwrap().len(), MOST_CALLERS);
        assert_eq!(rates.take("one more"), Some(60));
    }
}
