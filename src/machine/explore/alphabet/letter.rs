//! The letters of the alphabet.

use serde_json::Value;

use crate::machine::{Event, ModelReply};

/// One kind of event, by name.
#[derive(Clone, Debug)]
pub struct Letter {
    pub name: String,
    pub event: Event,
    /// Whether it answers something outstanding, or may come at any time.
    pub fits: bool,
    /// Whether it fits only where the budgets leave room for it.
    pub needs_room: bool,
}

/// A letter that fits, or does not, whatever the budgets.
pub(super) fn letter(name: impl Into<String>, event: Event, fits: bool) -> Letter {
    Letter { name: name.into(), event, fits, needs_room: false }
}

/// Kinds of replies, by name.
pub(super) type Replies = Vec<(String, ModelReply)>;

/// A reply that is text.
pub(super) fn text(name: &str, reply: impl Into<String>) -> (String, ModelReply) {
    (name.into(), ModelReply::text(reply))
}

/// A small value that fits a schema, if a simple one does.
pub(super) fn sample(schema: &Value) -> Value {
    let first = |keyword: &str| schema.get(keyword).and_then(Value::as_array).and_then(|list| list.first());
    if let Some(value) = schema.get("const").or_else(|| first("enum")) {
        return value.clone();
    }
    if let Some(choice) = first("anyOf") {
        return sample(choice);
    }
    let bound = |keyword: &str| schema.get(keyword).and_then(Value::as_u64).unwrap_or(0) as usize;
    let kind = schema.get("type").and_then(Value::as_str).or_else(|| first("type")?.as_str());
    match kind.unwrap_or("object") {
        "string" => Value::from("x".repeat(bound("minLength").clamp(1, 4_096))),
        "boolean" => Value::Bool(true),
        "integer" | "number" => {
            schema.get("minimum").or(schema.get("maximum")).cloned().unwrap_or(Value::from(1))
        }
        "array" => vec![schema.get("items").map_or(Value::Null, sample); bound("minItems").min(64)].into(),
        "object" => {
            let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
            let field = |name: &str| (name.to_owned(), sample(&schema["properties"][name]));
            required.filter_map(Value::as_str).map(field).collect()
        }
        _ => Value::Null,
    }
}
