//! One way of writing a JSON value, so that equal inputs are equal texts.

use serde_json::Value;

/// The value as JSON with the keys of every object in alphabetical order.
///
/// ```
/// use planwright::contract::canonical;
/// use serde_json::json;
///
/// assert_eq!(canonical(&json!({"b": 2, "a": 1})), r#"{"a":1,"b":2}"#);
/// ```
pub fn canonical(value: &Value) -> String {
    sorted(value).to_string()
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut pairs: Vec<(&String, &Value)> = fields.iter().collect();
            pairs.sort_by_key(|(name, _)| *name);
            Value::Object(pairs.into_iter().map(|(name, value)| (name.clone(), sorted(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}
