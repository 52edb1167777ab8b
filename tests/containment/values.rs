//! References as a person would work them out by hand: the measure of what the engine makes of them.

use std::collections::BTreeMap;

use serde_json::Value;

/// What steps returned, by their ids.
pub type Outputs = BTreeMap<String, Value>;

/// The value that an input stands for. `None` as long as it refers to what is not there.
pub fn evaluate(input: &Value, outputs: &Outputs) -> Option<Value> {
    if let Some(from) = input.get("$from") {
        let take = input.get("take").and_then(Value::as_str).unwrap_or_default();
        return outputs.get(from.as_str()?)?.pointer(take).cloned();
    }
    match input {
        Value::Array(items) => items.iter().map(|item| evaluate(item, outputs)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, field)| Some((name.clone(), evaluate(field, outputs)?))).collect()
        }
        value => Some(value.clone()),
    }
}

/// An input whose references name steps otherwise.
pub fn rename(input: &Value, names: &BTreeMap<String, String>) -> Value {
    match input {
        Value::Array(items) => items.iter().map(|item| rename(item, names)).collect(),
        Value::Object(fields) => {
            let renamed = fields.iter().map(|(field, value)| match value.as_str() {
                Some(id) if field == "$from" => {
                    (field.clone(), names.get(id).map_or(id, String::as_str).into())
                }
                _ => (field.clone(), rename(value, names)),
            });
            renamed.collect()
        }
        value => value.clone(),
    }
}
