//! JSON schema, as far as tools and contracts need it: the keywords that strict-mode servers take.
//!
//! [`ToolContract::input`](super::ToolContract::input) lists the keywords. A declaration that uses another one
//! is refused when it is loaded, so nothing is ever half checked. Meaning of the keywords: JSON Schema 2020-12,
//! validation vocabulary.

use serde_json::{Map, Value, json};

use super::{ContractError, excerpt};

const MAX_DEPTH: usize = 32;
const CHECKED: &str = "type, properties, required, additionalProperties, items, enum, const, anyOf, minItems, \
    maxItems, minLength, maxLength, minimum, maximum";
const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "array", "object", "null"];

/// An object as strict-mode servers take it: every property is required, none may be added.
pub(crate) fn strict_object(properties: Value) -> Value {
    let required: Vec<&String> = properties.as_object().into_iter().flat_map(|known| known.keys()).collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// Refuses a schema that uses something [`check`] does not check, by its path in the schema.
pub fn check_supported(schema: &Value) -> Result<(), ContractError> {
    check_keywords("$", schema, 0)
}

fn check_keywords(path: &str, schema: &Value, depth: usize) -> Result<(), ContractError> {
    if depth > MAX_DEPTH {
        return Err(ContractError::at(path, format!("nested deeper than {MAX_DEPTH} levels")));
    }
    let keywords = schema.as_object();
    for (keyword, value) in
        keywords.ok_or_else(|| ContractError::at(path, "expected a JSON schema (an object)"))?
    {
        let inside =
            |step: String, inner| check_keywords(&format!("{path}.{keyword}{step}"), inner, depth + 1);
        let is_well_formed = match (keyword.as_str(), value) {
            ("properties", Value::Object(fields)) => {
                fields.iter().try_for_each(|(name, field)| inside(format!(".{name}"), field))?;
                true
            }
            ("anyOf", Value::Array(choices)) => {
                choices.iter().enumerate().try_for_each(|(at, choice)| inside(format!("[{at}]"), choice))?;
                !choices.is_empty()
            }
            ("items", value) => {
                inside(String::new(), value)?;
                true
            }
            ("type", value) => {
                type_names(value).is_some_and(|names| names.iter().all(|name| TYPES.contains(name)))
            }
            ("required", value) => texts(value).is_some(),
            ("additionalProperties", value) => value.is_boolean(),
            ("enum", value) => value.as_array().is_some_and(|values| !values.is_empty()),
            ("minItems" | "maxItems" | "minLength" | "maxLength", value) => value.is_u64(),
            ("minimum" | "maximum", value) => value.is_number(),
            ("const" | "title" | "description" | "default" | "examples" | "format", _) => true,
            ("properties" | "anyOf", _) => false,
            _ => {
                let problem = format!("unsupported keyword (supported: {CHECKED})");
                return Err(ContractError::at(format!("{path}.{keyword}"), problem));
            }
        };
        if !is_well_formed {
            return Err(ContractError::at(format!("{path}.{keyword}"), format!("ill-formed value {value}")));
        }
    }
    Ok(())
}

fn type_names(value: &Value) -> Option<Vec<&str>> {
    value.as_str().map(|name| vec![name]).or_else(|| texts(value))
}

fn texts(value: &Value) -> Option<Vec<&str>> {
    value.as_array()?.iter().map(Value::as_str).collect()
}

/// Checks a value against a schema. The error is the first mismatch, with its JSON path.
pub fn check(schema: &Value, value: &Value) -> Result<(), ContractError> {
    check_value(schema, value).map_err(|error| ContractError::at(error.path(), error.problem()))
}

/// A keyword of a schema. A schema has few of them: going through them is quicker than hashing.
fn keyword<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    schema.as_object()?.iter().find(|(known, _)| known.as_str() == name).map(|(_, value)| value)
}

/// Checks a value on its own: where it stands is said by what it stands in, and only if it does not fit.
fn check_value(schema: &Value, value: &Value) -> Result<(), ContractError> {
    let fail = |expected: String| {
        let found = excerpt(&value.to_string(), 60);
        Err(ContractError::at("$", format!("expected {expected}, found {found}")))
    };
    let list = |name| keyword(schema, name).and_then(Value::as_array);
    if let Some(kind) = keyword(schema, "type").filter(|kind| !has_type(value, kind)) {
        return fail(type_names(kind).unwrap_or_default().join(" or "));
    }
    if let Some(choices) = list("enum").filter(|choices| !choices.contains(value)) {
        let names: Vec<String> = choices.iter().map(Value::to_string).collect();
        return fail(format!("one of {}", names.join(", ")));
    }
    if let Some(constant) = keyword(schema, "const").filter(|constant| *constant != value) {
        return fail(constant.to_string());
    }
    let fits = |choice| check_value(choice, value).is_ok();
    if let Some(choices) = list("anyOf").filter(|choices| !choices.iter().any(fits)) {
        return fail(format!("one of {} forms", choices.len()));
    }
    match value {
        Value::String(text) => {
            // Counting characters takes longer than all the rest, and a character takes one byte to four.
            let (bytes, bound) = (text.len() as u64, |name| keyword(schema, name).and_then(Value::as_u64));
            let surely_fits = bound("minLength").is_none_or(|least| least <= bytes.div_ceil(4))
                && bound("maxLength").is_none_or(|most| bytes <= most);
            let count = if surely_fits { return Ok(()) } else { text.chars().count() };
            check_count(schema, ["minLength", "maxLength", "characters"], count)
        }
        Value::Array(items) => {
            check_count(schema, ["minItems", "maxItems", "items"], items.len())?;
            let Some(each) = keyword(schema, "items") else { return Ok(()) };
            let place = |at: usize| format!("$[{at}]");
            let mut items = items.iter().enumerate();
            items.try_for_each(|(at, item)| check_value(each, item).map_err(|error| error.under(&place(at))))
        }
        Value::Object(fields) => check_fields(schema, fields),
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or(f64::NAN);
            let bound = |name| keyword(schema, name).and_then(Value::as_f64);
            match (bound("minimum"), bound("maximum")) {
                (Some(least), _) if number < least => fail(format!("at least {least}")),
                (_, Some(most)) if number > most => fail(format!("at most {most}")),
                _ => Ok(()),
            }
        }
        Value::Null | Value::Bool(_) => Ok(()),
    }
}

fn has_type(value: &Value, kind: &Value) -> bool {
    let is_a = |name: &str| match name {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => false,
    };
    match kind {
        Value::String(name) => is_a(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(is_a),
        _ => false,
    }
}

fn check_count(schema: &Value, names: [&str; 3], count: usize) -> Result<(), ContractError> {
    let [least, most, unit] = names;
    let bound = |name| keyword(schema, name).and_then(Value::as_u64);
    let expected = match (bound(least), bound(most)) {
        (Some(least), _) if (count as u64) < least => format!("at least {least}"),
        (_, Some(most)) if count as u64 > most => format!("at most {most}"),
        _ => return Ok(()),
    };
    Err(ContractError::at("$", format!("expected {expected} {unit}, found {count}")))
}

fn check_fields(schema: &Value, found: &Map<String, Value>) -> Result<(), ContractError> {
    let mut required = keyword(schema, "required").and_then(Value::as_array).into_iter().flatten();
    if let Some(name) = required.find(|name| name.as_str().is_some_and(|name| !found.contains_key(name))) {
        return Err(ContractError::at("$", format!("expected a field {name}, found none")));
    }
    let known = keyword(schema, "properties").and_then(Value::as_object);
    let closed = keyword(schema, "additionalProperties") == Some(&Value::Bool(false));
    for (name, field) in found {
        let place = || format!("$.{name}");
        match known.and_then(|known| known.get(name)) {
            Some(property) => check_value(property, field).map_err(|error| error.under(&place()))?,
            None if closed => return Err(ContractError::at(place(), "unexpected field")),
            None => {}
        }
    }
    Ok(())
}
