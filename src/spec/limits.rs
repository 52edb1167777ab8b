//! Limits: every bound of a run has a name here, and every one is finite. Money, too, is counted exactly: in
//! whole billionths, so that sums do not depend on their order.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

/// Most replans, repairs, iterations, added steps or tries a run may be allowed.
pub(super) const MAX_TRIES: u32 = 1_000;

/// The bounds of a run. An optional limit that is not set follows from the others, see [`Bounds`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// How many new plans one run may try. Zero means the first plan is final. Default: 2.
    pub max_replans: u32,
    /// How often a reply that breaks its contract may be asked for again. Default: 1.
    pub max_repairs: u32,
    /// How often PLAN may be entered. Needed under `horizon = "next"`, refused elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u32>,
    /// How many steps an orchestrator may add to a run. Default: 4.
    #[serde(skip_serializing_if = "is_four")]
    pub max_added_steps: u32,
    /// Most tokens of a run, read and written together. Checked before each model call that runs
    /// alone. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Most money of a run, by the spec's prices. Checked like `max_tokens`. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<Money>,
    /// Most model calls of a run, repairs included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_model_calls: Option<u32>,
    /// Most tool calls of a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tool_calls: Option<u32>,
    /// About how many calls people may be asked in a run; what is beyond is refused. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_questions: Option<u32>,
    /// Most transitions of a run, after which it ends as `MAX_STEPS_EXCEEDED`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_transitions: Option<u32>,
    /// Largest reply that is read, in bytes. Default: 262,144.
    pub max_reply_bytes: u32,
    /// Largest input of a plan step, in bytes. Default: 16,384.
    pub max_input_bytes: u32,
    /// Longest time of a run in seconds, counted anew when it is resumed. The driver ends the run at
    /// the next answer after that. Default: 3,600.
    pub deadline_seconds: u32,
    /// How long a person may take for one answer, in seconds. The machine does not read it: the
    /// driver tells it when the time is over. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_seconds: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_replans: 2,
            max_repairs: 1,
            max_iterations: None,
            max_added_steps: 4,
            max_tokens: None,
            max_cost: None,
            max_model_calls: None,
            max_tool_calls: None,
            max_questions: None,
            max_transitions: None,
            max_reply_bytes: 262_144,
            max_input_bytes: 16_384,
            deadline_seconds: 3_600,
            answer_seconds: None,
        }
    }
}

fn is_four(count: &u32) -> bool {
    *count == 4
}

/// The most that any run can do. Every run whose effects are answered ends within these numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// Most model calls, repairs and those of nested runs included.
    pub model_calls: u32,
    /// Most tool calls, further tries and those of nested runs included.
    pub tool_calls: u32,
    /// Most transitions: one for each answer, the last included.
    pub transitions: u32,
}

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
    /// For a million tokens that the server put into its cache. Default: as `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<Money>,
}

impl Price {
    /// What so many tokens cost, each kind rounded down to a billionth. `cached` and `written` are among `input`.
    pub fn of(&self, input: u64, output: u64, cached: u64, written: u64) -> Money {
        let cost = |tokens: u64, price: Money| {
            let nanos = u128::from(tokens) * u128::from(price.0) / 1_000_000;
            Money(u64::try_from(nanos).unwrap_or(u64::MAX))
        };
        let cached = cached.min(input);
        let written = written.min(input - cached);
        cost(input - cached - written, self.input)
            .plus(cost(written, self.cache_write.unwrap_or(self.input)))
            .plus(cost(cached, self.cached.unwrap_or(self.input)))
            .plus(cost(output, self.output))
    }
}
