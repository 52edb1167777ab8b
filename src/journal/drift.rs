//! Drift: how a replay differs from its recording, told apart by what a person would do about it.

use std::fmt;

use serde_json::Value;

use crate::machine::EffectId;

/// Where two texts or JSON values first differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The JSON path of the difference.
    pub path: String,
    /// What was recorded there, around the first differing character.
    pub recorded: String,
    /// What is there now.
    pub now: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {}\n  - recorded: {}\n  + now:      {}", self.path, self.recorded, self.now)
    }
}

/// One way in which a replay differs from its recording. Exchanges are counted from 1.
#[derive(Clone, PartialEq, Eq)]
pub enum Drift {
    /// The words of a request changed: a prompt, a schema, a model setting, the payload.
    Request {
        /// The effect whose request is new.
        effect: EffectId,
        /// The role or tool that is asked.
        asked: String,
        /// The recording nearest to it.
        nearest: EffectId,
        /// Where the two first differ.
        difference: Difference,
    },
    /// The machine took another path: it asks somebody else, or leaves another trace line.
    Transition {
        /// What it did, against what the recording says.
        what: String,
        /// The trace lines, where these tell.
        difference: Option<Difference>,
    },
    /// A recorded reply is now read differently: it does not fit its contract any more, or does.
    Contract {
        /// The position of the trace line, from 1.
        line: usize,
        /// The difference.
        difference: Difference,
    },
    /// The same was asked in another order.
    Order {
        /// The position of the exchange, from 1.
        exchange: usize,
        /// What the recording has there.
        recorded: EffectId,
        /// What was asked there.
        now: EffectId,
    },
    /// Recordings at the end were never asked for.
    Unused {
        /// How many.
        count: usize,
        /// The position of the first, from 1.
        exchange: usize,
        /// Who is asked there.
        asked: String,
    },
}

impl Drift {
    /// The kind, in one word: `request`, `transition`, `contract`, `order` or `unused`.
    pub fn kind(&self) -> &'static str {
        match self {
            Drift::Request { .. } => "request",
            Drift::Transition { .. } => "transition",
            Drift::Contract { .. } => "contract",
            Drift::Order { .. } => "order",
            Drift::Unused { .. } => "unused",
        }
    }

    /// Where recording and replay first differ, where that can be shown.
    pub fn difference(&self) -> Option<&Difference> {
        match self {
            Drift::Request { difference, .. } | Drift::Contract { difference, .. } => Some(difference),
            Drift::Transition { difference, .. } => difference.as_ref(),
            Drift::Order { .. } | Drift::Unused { .. } => None,
        }
    }
}

impl fmt::Debug for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} drift: ", self.kind())?;
        match self {
            Drift::Request { effect, asked, nearest, difference } => {
                write!(
                    f,
                    "{effect} asks {asked} something that was not recorded; nearest is {nearest}, {difference}"
                )
            }
            Drift::Transition { what, difference: Some(difference) } => write!(f, "{what}, {difference}"),
            Drift::Transition { what, difference: None } => f.write_str(what),
            Drift::Contract { line, difference } => {
                write!(f, "a recorded reply is read differently now: trace line {line}, {difference}")
            }
            Drift::Order { exchange, recorded, now } => {
                write!(f, "exchange {exchange} is {recorded} in the recording and {now} in the replay")
            }
            Drift::Unused { count, exchange, asked } => {
                write!(
                    f,
                    "{count} recorded exchanges were never asked for, the first is exchange {exchange} ({asked})"
                )
            }
        }
    }
}

impl std::error::Error for Drift {}

/// The first place where two JSON values differ; `None` where they are equal.
///
/// ```
/// use planwright::journal::first_difference;
/// use serde_json::json;
///
/// let difference = first_difference(&json!({"a": ["x", "y"]}), &json!({"a": ["x", "z"]})).unwrap();
/// assert_eq!(difference.path, "$.a[1]");
/// ```
pub fn first_difference(recorded: &Value, now: &Value) -> Option<Difference> {
    differ(recorded, now, "$")
}

fn differ(recorded: &Value, now: &Value, path: &str) -> Option<Difference> {
    match (recorded, now) {
        _ if recorded == now && !reordered(recorded, now) => None,
        (Value::Object(old), Value::Object(new)) => {
            let mut names: Vec<&String> = old.keys().collect();
            names.extend(new.keys().filter(|name| !old.contains_key(*name)));
            let inner = names.into_iter().find_map(|name| {
                let here = format!("{path}.{name}");
                match (old.get(name), new.get(name)) {
                    (Some(old), Some(new)) => differ(old, new, &here),
                    (old, new) => Some(Difference { path: here, recorded: shown(old), now: shown(new) }),
                }
            });
            let order = |value: &serde_json::Map<String, Value>| {
                let names: Vec<&str> = value.keys().map(String::as_str).collect();
                format!("keys {}", names.join(", "))
            };
            inner
                .or_else(|| Some(Difference { path: path.to_owned(), recorded: order(old), now: order(new) }))
        }
        (Value::Array(old), Value::Array(new)) => {
            let longest = old.len().max(new.len());
            (0..longest).find_map(|at| {
                let here = format!("{path}[{at}]");
                match (old.get(at), new.get(at)) {
                    (Some(old), Some(new)) => differ(old, new, &here),
                    (old, new) => Some(Difference { path: here, recorded: shown(old), now: shown(new) }),
                }
            })
        }
        (Value::String(old), Value::String(new)) => {
            let (recorded, now) = around(old, new);
            Some(Difference { path: path.to_owned(), recorded, now })
        }
        _ => {
            Some(Difference { path: path.to_owned(), recorded: shown(Some(recorded)), now: shown(Some(now)) })
        }
    }
}

/// Equal values may still be written in another key order, which is another request.
fn reordered(recorded: &Value, now: &Value) -> bool {
    match (recorded, now) {
        (Value::Object(old), Value::Object(new)) => {
            old.keys().ne(new.keys()) || old.values().zip(new.values()).any(|(old, new)| reordered(old, new))
        }
        (Value::Array(old), Value::Array(new)) => old.iter().zip(new).any(|(old, new)| reordered(old, new)),
        _ => false,
    }
}

fn shown(value: Option<&Value>) -> String {
    value.map_or_else(
        || "(nothing)".to_owned(),
        |value| crate::contract::read::excerpt(&value.to_string(), 120),
    )
}

/// Two texts, cut to the neighbourhood of the first character in which they differ.
fn around(old: &str, new: &str) -> (String, String) {
    const BEFORE: usize = 30;
    const SHOWN: usize = 90;
    let same = old.chars().zip(new.chars()).take_while(|(left, right)| left == right).count();
    let skip = same.saturating_sub(BEFORE);
    let cut = |text: &str| {
        let ellipsis = if skip > 0 { "…" } else { "" };
        let rest: String = text.chars().skip(skip).collect();
        format!("{:?}", format!("{ellipsis}{}", crate::contract::read::excerpt(&rest, SHOWN)))
    };
    (cut(old), cut(new))
}
