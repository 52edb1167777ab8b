//! References of a schema into itself.

use std::borrow::Cow;

use serde_json::Value;

/// The keywords under which values stand, and not schemas.
const VALUES: [&str; 4] = ["const", "enum", "default", "examples"];

/// The schema for another place of a larger schema: its references begin with `place` (`#/$defs/book`).
pub(crate) fn moved_to(schema: &Value, place: &str) -> Value {
    match schema {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(key, _)| *key != "$id");
            let moved = fields.map(|(key, value)| match (key.as_str(), value) {
                (key, _) if VALUES.contains(&key) => (key.to_owned(), value.clone()),
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
            let mut schemas = fields.iter().filter(|(key, _)| !VALUES.contains(&key.as_str()));
            fields.get("$ref").is_some_and(Value::is_string)
                || schemas.any(|(_, schema)| has_references(schema))
        }
        Value::Array(items) => items.iter().any(has_references),
        _ => false,
    }
}

/// The part of a schema that a reference (`#/$defs/city`) names.
pub(in crate::contract) fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    root.pointer(&pointer(reference)?)
}

/// The JSON pointer that a reference holds, without the `%` of addresses.
pub(super) fn pointer(reference: &str) -> Option<Cow<'_, str>> {
    let pointer = reference.strip_prefix('#')?;
    if !pointer.contains('%') {
        return Some(Cow::Borrowed(pointer));
    }
    let mut bytes = Vec::with_capacity(pointer.len());
    let mut rest = pointer.bytes();
    while let Some(byte) = rest.next() {
        let mut digit = || char::from(rest.next()?).to_digit(16);
        bytes.push(if byte == b'%' { u8::try_from(digit()? * 16 + digit()?).ok()? } else { byte });
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}
