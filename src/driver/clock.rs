//! The clock, read once at the start of a run.

/// The time now with its time zone, to the second, as models are shown it: RFC 9557, such as
/// `2026-11-20T09:30:00+09:00[Asia/Seoul]`. The zone is the machine's.
pub fn now() -> String {
    let now = jiff::Zoned::now();
    let to_the_second = jiff::ZonedRound::new().smallest(jiff::Unit::Second).mode(jiff::RoundMode::Trunc);
    now.round(to_the_second).unwrap_or(now).to_string()
}
