//! What a planner is offered: schemas under which every value of an input may be an expression instead.

use serde_json::{Value, json};

use super::expression::{CALC, EXTRACTED, FILL, FROM, TEMPLATE, TYPE, VIEW, WITH};
use crate::contract::schema::strict_object;

/// The name under `$defs` of what may stand in the place of a value. No tool can have it.
pub(in crate::contract::plan) const DEFINITION: &str = "$value";

/// What may stand in the place of a value. `holes`: whether a model may be asked to write it.
pub(in crate::contract::plan) fn define(holes: bool) -> Value {
    let (text, pointer) = (json!({"type": "string"}), json!({"type": ["string", "null"]}));
    let scalar = json!({"type": ["string", "number", "boolean", "null"]});
    let kinds = EXTRACTED.iter().map(|(name, _)| Value::from(*name)).chain([Value::Null]);
    let reference = strict_object(json!({
        FROM: text,
        "in": pointer,
        "where": {"type": ["array", "null"], "items": {"type": "array", "items": scalar}},
        "order_by": pointer,
        "first": {"enum": ["largest", "smallest", null]},
        "take": pointer,
        "extract": {"enum": kinds.collect::<Vec<Value>>()},
    }));
    let with = json!({"type": "array", "items": place()});
    let template = strict_object(json!({TEMPLATE: text, WITH: with}));
    let calc = strict_object(json!({CALC: text, WITH: with}));
    let shown = json!({"type": "array", "minItems": 1, "items": {"anyOf": [text, reference]}});
    let hole = strict_object(json!({FILL: text, TYPE: {"type": "object"}, VIEW: shown}));
    let choices = [reference, template, calc].into_iter().chain(holes.then_some(hole));
    json!({"anyOf": choices.collect::<Vec<Value>>()})
}

fn place() -> Value {
    json!({"$ref": format!("#/$defs/{DEFINITION}")})
}

/// An input's schema under which every value may be an expression instead. Where it refers to its own parts it has
/// been moved to its place.
pub(in crate::contract::plan) fn open_input(schema: &Value) -> Value {
    if schema.get("properties").is_some() { open(schema) } else { either(schema) }
}

fn open(schema: &Value) -> Value {
    let mut inner = schema.clone();
    let Some(keywords) = inner.as_object_mut() else { return inner };
    for (keyword, part) in keywords.iter_mut() {
        match (keyword.as_str(), part) {
            ("properties", Value::Object(properties)) => {
                properties.values_mut().for_each(|property| *property = either(property));
            }
            ("items", items) if items.is_object() => *items = either(items),
            ("$defs" | "definitions", Value::Object(parts)) => {
                parts.values_mut().for_each(|part| *part = open(part));
            }
            ("anyOf" | "oneOf" | "allOf", Value::Array(choices)) => {
                choices.iter_mut().for_each(|choice| *choice = open(choice));
            }
            _ => {}
        }
    }
    inner
}

fn either(schema: &Value) -> Value {
    json!({"anyOf": [open(schema), place()]})
}
