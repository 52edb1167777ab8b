//! References of a schema into itself.

use serde_json::Value;

/// The schema for another place of a larger schema: its references begin with `place` (`#/$defs/book`).
pub(crate) fn moved_to(schema: &Value, place: &str) -> Value {
    match schema {
        Value::Object(fields) => {
            let moved = fields.iter().map(|(key, value)| match (key.as_str(), value) {
                ("$ref", Value::String(to)) => (key.clone(), to.replacen('#', place, 1).into()),
                _ => (key.clone(), moved_to(value, place)),
            });
            moved.collect()
        }
        Value::Array(items) => items.iter().map(|item| moved_to(item, place)).collect(),
        other => other.clone(),
    }
}

/// Whether a schema refers to parts of itself, which tie it to its place.
pub(crate) fn has_references(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            fields.get("$ref").is_some_and(Value::is_string) || fields.values().any(has_references)
        }
        Value::Array(items) => items.iter().any(has_references),
        _ => false,
    }
}

/// The part of a schema that a reference (`#/$defs/city`) names.
pub(super) fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let pointer = reference.strip_prefix('#')?;
    if !pointer.contains('%') {
        return root.pointer(pointer);
    }
    let mut bytes = Vec::with_capacity(pointer.len());
    let mut rest = pointer.bytes();
    while let Some(byte) = rest.next() {
        let mut digit = || char::from(rest.next()?).to_digit(16);
        bytes.push(if byte == b'%' { u8::try_from(digit()? * 16 + digit()?).ok()? } else { byte });
    }
    root.pointer(std::str::from_utf8(&bytes).ok()?)
}
