//! JSON schema: what a declaration may say, and whether a value conforms to it.
//!
//! The keywords are those of drafts 7 to 2020-12 but for dynamic references: `keywords.rs` lists them. References
//! point into the schema itself; nothing is ever fetched. What the drafts call annotations (`format` too) asserts
//! nothing. A schema that uses something which is not checked here is refused when it is loaded, so nothing is ever
//! half checked.
//!
//! **Invariant:** a check ends soon, whatever schema and value say: references and patterns are counted, and a
//! pattern takes time in proportion to its text.

mod check;
mod keywords;
mod pattern;
mod refer;
mod unevaluated;

use serde_json::{Map, Value, json};

pub use keywords::Schema;
pub(super) use refer::{has_references, moved_to, resolve};

/// An object as strict-mode servers take it: every property is required, none may be added.
pub(crate) fn strict_object(properties: Value) -> Value {
    let required: Vec<&String> = properties.as_object().into_iter().flat_map(|known| known.keys()).collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// Whether strict-mode servers take a schema as it is: its objects are closed, all their properties are required,
/// and it uses no keyword that such servers refuse.
pub fn is_strict(schema: &Value) -> bool {
    let Value::Object(keywords) = schema else { return false };
    let names: Option<&Map<String, Value>> = keywords.get("properties").and_then(Value::as_object);
    let is_object = names.is_some() || keywords.get("type").is_some_and(|kind| kind == "object");
    let required = keywords.get("required").and_then(Value::as_array);
    let all_required = names.is_none_or(|names| {
        required.is_some_and(|required| names.keys().all(|name| required.iter().any(|one| one == name)))
    });
    let closed = keywords.get("additionalProperties") == Some(&Value::Bool(false));
    let inside = |value: &Value| match value {
        Value::Object(map) => map.values().all(is_strict),
        _ => false,
    };
    (!is_object || closed && all_required)
        && keywords.iter().all(|(keyword, value)| match keyword.as_str() {
            "properties" | "$defs" => inside(value),
            "anyOf" => value.as_array().is_some_and(|choices| choices.iter().all(is_strict)),
            "items" => is_strict(value),
            "additionalProperties" | "$ref" | "pattern" => true,
            keyword => keywords::is_plain(keyword),
        })
}
