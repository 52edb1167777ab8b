//! Days and times as texts say them. Nothing here asks what time it is.

/// A time with its offset, or as a calendar shows it: nanoseconds since 1970. Those of one kind have an order.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Time {
    Absolute(i128),
    Civil(i128),
}

impl Time {
    /// Parses `2026-05-17`, `2026-05-17T10:00` or `2026-05-17 10:00:00.5+09:00`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let seconds = i128::from(parse_day(text.get(..10)?)?) * 86_400;
        let Some(rest) = text[10..].strip_prefix(['T', 't', ' ']) else {
            return text[10..].is_empty().then_some(Time::Civil(seconds * 1_000_000_000));
        };
        let (time, offset) = match rest.find(['Z', 'z', '+', '-']) {
            Some(at) => (&rest[..at], Some(parse_offset(&rest[at..])?)),
            None => (rest, None),
        };
        let (time, part) = time.split_once('.').unwrap_or((time, "0"));
        let nanoseconds: i128 = format!("{:0<9}", digits(part, 1..=9)?).parse().ok()?;
        let mut parts = time.split(':');
        let mut number = |most| Some(i128::from(parse_number(parts.next().unwrap_or("00"), most)?));
        let seconds = seconds + number(23)? * 3_600 + number(59)? * 60 + number(59)?;
        let clock = seconds * 1_000_000_000 + nanoseconds;
        if parts.next().is_some() || time.len() < 5 {
            return None;
        }
        Some(match offset {
            Some(offset) => Time::Absolute(clock - i128::from(offset) * 1_000_000_000),
            None => Time::Civil(clock),
        })
    }

    /// Whether it is later than another, of the same kind.
    pub fn is_later(self, other: Self) -> Option<bool> {
        match (self, other) {
            (Time::Absolute(own), Time::Absolute(other)) | (Time::Civil(own), Time::Civil(other)) => {
                Some(own > other)
            }
            _ => None,
        }
    }
}

/// The days from 1970 to a day as `2026-05-17`, if there is such a day.
pub(super) fn parse_day(text: &str) -> Option<i64> {
    let mut parts = text.split('-');
    let year: i64 = digits(parts.next()?, 4..=4)?.parse().ok()?;
    let (month, day) = (parse_number(parts.next()?, 12)?, parse_number(parts.next()?, 31)?);
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let longest = [31, 28 + i64::from(is_leap), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let (before, own) = longest.split_at_checked(usize::try_from(month).ok()?.checked_sub(1)?)?;
    if parts.next().is_some() || day == 0 || day > *own.first()? {
        return None;
    }
    let leaps = |years: i64| years / 4 - years / 100 + years / 400;
    let years = (year - 1970) * 365 + leaps((year - 1).max(0)) - leaps(1969);
    Some(years + before.iter().sum::<i64>() + day - 1)
}

/// The seconds of `Z`, `+09:00` or `+0900`.
fn parse_offset(text: &str) -> Option<i64> {
    if text.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let (sign, rest) = text.split_at_checked(1)?;
    let rest = rest.replace(':', "");
    let (hours, minutes) = rest.split_at_checked(2)?;
    let minutes = if minutes.is_empty() { 0 } else { parse_number(minutes, 59)? };
    let seconds = parse_number(hours, 23)? * 3_600 + minutes * 60;
    Some(if sign == "-" { -seconds } else { seconds })
}

/// Two digits, at most so much.
fn parse_number(text: &str, most: i64) -> Option<i64> {
    digits(text, 2..=2)?.parse().ok().filter(|number| *number <= most)
}

fn digits(text: &str, length: std::ops::RangeInclusive<usize>) -> Option<&str> {
    let fits = length.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    fits.then_some(text)
}
