//! Money: what model calls cost, counted in whole billionths so that sums do not depend on their order.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

/// An amount of the currency that the prices are in, exact to a billionth. Written as a decimal text
/// (`"0.0125"`), read from a text or a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "Amount")]
pub struct Money(u64);

const NANOS: u64 = 1_000_000_000;

impl Money {
    /// An amount in billionths.
    pub fn of_nanos(nanos: u64) -> Self {
        Money(nanos)
    }

    /// The amount in billionths.
    pub fn nanos(self) -> u64 {
        self.0
    }

    /// Adds, up to the greatest amount there is.
    #[must_use]
    pub fn plus(self, other: Money) -> Self {
        Money(self.0.saturating_add(other.0))
    }

    /// Subtracts, down to zero.
    #[must_use]
    pub fn less(self, other: Money) -> Self {
        Money(self.0.saturating_sub(other.0))
    }

    /// Whether the amount is zero.
    pub fn is_zero(&self) -> bool {
        self.0 == 0
    }

    fn parse(text: &str) -> Option<Self> {
        let (whole, part) = text.trim().split_once('.').unwrap_or((text.trim(), ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !digits(whole) || !digits(part) || part.len() > 9 {
            return None;
        }
        let whole: u64 = whole.parse().ok()?;
        let part: u64 = format!("{part:0<9}").parse().ok()?;
        Some(Money(whole.checked_mul(NANOS)?.checked_add(part)?))
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:09}", self.0 / NANOS, self.0 % NANOS);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl Serialize for Money {
    fn serialize<S: Serializer>(&self, sink: S) -> Result<S::Ok, S::Error> {
        sink.collect_str(self)
    }
}

/// A [`Money`] as it is written.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected an amount such as \"2.50\"")]
enum Amount {
    Text(String),
    Number(f64),
}

impl TryFrom<Amount> for Money {
    type Error = String;

    fn try_from(amount: Amount) -> Result<Self, String> {
        let text = match amount {
            Amount::Text(text) => text,
            Amount::Number(number) => number.to_string(),
        };
        let problem = "expected an amount such as \"2.50\" with at most nine decimal places";
        Money::parse(&text).ok_or_else(|| format!("{problem}, found {text:?}"))
    }
}

/// What one model costs, for a million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// For a million tokens read.
    pub input: Money,
    /// For a million tokens written.
    pub output: Money,
    /// For a million tokens that the server read from its cache. Default: as `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<Money>,
}

impl Price {
    /// What so many tokens cost, each kind rounded down to a billionth. `cached` are among `input`.
    pub fn of(&self, input: u64, output: u64, cached: u64) -> Money {
        let cost = |tokens: u64, price: Money| {
            let nanos = u128::from(tokens) * u128::from(price.0) / 1_000_000;
            Money(u64::try_from(nanos).unwrap_or(u64::MAX))
        };
        let cached = cached.min(input);
        cost(input - cached, self.input)
            .plus(cost(cached, self.cached.unwrap_or(self.input)))
            .plus(cost(output, self.output))
    }
}
