//! Finding one record of a list: by conditions, by an order, or both.

use std::borrow::Cow;

use serde_json::Value;

use super::dates::Time;
use super::decimal::Decimal;
use super::evaluate::Unresolved;
use super::expression::{Condition, Order, Select, Test};
use crate::contract::excerpt;

/// What records are ordered by. Only those of one kind have an order.
enum Key {
    Number(Decimal),
    Time(Time),
}

impl Select<'_> {
    /// The one record of the data's list that is meant, with where it stands in the list.
    pub(super) fn find<'v>(&self, from: &str, data: &'v Value) -> Result<&'v Value, Unresolved> {
        let place = || format!("{from}{}", excerpt(self.list, 60));
        let Some(records) = data.pointer(self.list).and_then(Value::as_array) else {
            return Err(Unresolved::wrong_type(format!("expected a list at {}, found none", place())));
        };
        let conditions: Vec<(&Condition<'_>, Cow<'_, str>)> = self
            .conditions
            .iter()
            .map(|one| (one, folded(one.literal.as_str().unwrap_or_default())))
            .collect();
        let mut found: Vec<&Value> = records
            .iter()
            .filter(|record| conditions.iter().all(|(one, literal)| one.holds(record, literal)))
            .collect();
        if let Some(order) = &self.order {
            found = order.first(from, found)?;
        }
        match found[..] {
            [record] => Ok(record),
            _ => Err(Unresolved::ambiguous(&format!("one record of {}", place()), found)),
        }
    }
}

impl Condition<'_> {
    /// Whether it holds of a record. `literal`: its text with small letters.
    fn holds(&self, record: &Value, literal: &str) -> bool {
        let Some(value) = follow(record, self.field) else { return false };
        match (self.test, value) {
            (Test::Equals, value) => self.equals(value, literal),
            (Test::Contains, Value::Array(items)) => items.iter().any(|item| self.equals(item, literal)),
            (Test::Contains, Value::String(text)) => {
                self.literal.is_string() && folded(text).contains(literal)
            }
            (Test::StartsWith, Value::String(text)) => folded(text).starts_with(literal),
            _ => false,
        }
    }

    fn equals(&self, value: &Value, literal: &str) -> bool {
        match (value, self.literal) {
            (Value::String(text), Value::String(_)) => {
                text.eq_ignore_ascii_case(literal) || !text.is_ascii() && folded(text) == literal
            }
            (Value::Number(a), Value::Number(b)) => {
                a == b || Decimal::of(value).is_some_and(|a| Some(a) == Decimal::of(self.literal))
            }
            (value, literal) => value == literal,
        }
    }
}

/// What a pointer names in a record. `Value::pointer` copies each name of a path; most paths are one name.
fn follow<'v>(record: &'v Value, path: &str) -> Option<&'v Value> {
    match (record, path.strip_prefix('/')) {
        (Value::Object(fields), Some(name)) if !name.contains(['/', '~']) => fields.get(name),
        _ => record.pointer(path),
    }
}

/// A text with small letters, one by one, so that no letter depends on its neighbours.
fn folded(text: &str) -> Cow<'_, str> {
    match (text.is_ascii(), text.bytes().any(|byte| byte.is_ascii_uppercase())) {
        (true, false) => Cow::Borrowed(text),
        (true, true) => Cow::Owned(text.to_ascii_lowercase()),
        (false, _) => Cow::Owned(text.chars().flat_map(char::to_lowercase).collect()),
    }
}

impl Order<'_> {
    /// Those records that come first: several if they are equal.
    fn first<'v>(&self, from: &str, records: Vec<&'v Value>) -> Result<Vec<&'v Value>, Unresolved> {
        let wrong = |found: &str| {
            let field = excerpt(self.field, 60);
            Unresolved::wrong_type(format!(
                "expected numbers or dates at {field} of each record of {from}, found {found}"
            ))
        };
        let mut best: Vec<(&Value, Key)> = Vec::new();
        for record in records {
            let key = follow(record, self.field).and_then(Key::of).ok_or_else(|| wrong("another value"))?;
            let Some((_, first)) = best.first() else {
                best.push((record, key));
                continue;
            };
            let (above, below) =
                key.compare(first).ok_or_else(|| wrong("both, or times with and without an offset"))?;
            if if self.largest { above } else { below } {
                best.clear();
                best.push((record, key));
            } else if !above && !below {
                best.push((record, key));
            }
        }
        Ok(best.into_iter().map(|(record, _)| record).collect())
    }
}

impl Key {
    fn of(value: &Value) -> Option<Key> {
        let number = Decimal::of(value).map(Key::Number);
        number.or_else(|| Time::parse(value.as_str()?).map(Key::Time))
    }

    /// Whether it is above another, and whether it is below it.
    fn compare(&self, other: &Key) -> Option<(bool, bool)> {
        Some(match (self, other) {
            (Key::Number(own), Key::Number(other)) => (own.is_larger(*other)?, other.is_larger(*own)?),
            (Key::Time(own), Key::Time(other)) => (own.is_later(*other)?, other.is_later(*own)?),
            _ => return None,
        })
    }
}
