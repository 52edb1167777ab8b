//! Days and times as texts say them. Nothing here asks what time it is.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};

/// Longest text that is read as a time, in bytes.
const MAX_TIME: usize = 64;

/// A time with its offset, or as a calendar shows it. Those of one kind have an order.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Time {
    Absolute(Timestamp),
    Civil(DateTime),
}

impl Time {
    /// Parses `2026-05-17`, `2026-05-17T10:00` or `2026-05-17T10:00:00+09:00`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.len() > MAX_TIME || !text.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let absolute = text.parse().map(Time::Absolute);
        absolute.or_else(|_| text.parse().map(Time::Civil)).ok()
    }

    /// Whether it is later than another, of the same kind.
    pub fn is_later(self, other: Self) -> Option<bool> {
        match (self, other) {
            (Time::Absolute(own), Time::Absolute(other)) => Some(own > other),
            (Time::Civil(own), Time::Civil(other)) => Some(own > other),
            _ => None,
        }
    }
}

/// Whether a text is a day as `2026-05-17`.
pub(super) fn is_day(text: &str) -> bool {
    let is_written_so = text.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    text.len() == 10 && is_written_so && text.parse::<Date>().is_ok()
}
