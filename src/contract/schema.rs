//! JSON schema, as far as tools and contracts need it: the keywords that strict-mode servers take.
//!
//! Supported: `type` (one name or a list), `properties`, `required`, `additionalProperties` (a
//! boolean), `items`, `enum`, `const`, `anyOf`, `minItems`, `maxItems`, `minLength`, `maxLength`,
//! `minimum`, `maximum`, and the annotations `title`, `description`, `default`, `examples`,
//! `format`. A declaration that uses another keyword is refused when it is loaded, so nothing is
//! ever half checked. Meaning of the keywords: JSON Schema 2020-12, validation vocabulary.

use serde_json::{Value, json};

use super::ContractError;

/// Schemas may nest this deep.
const MAX_DEPTH: usize = 32;

const CHECKED: [&str; 14] = [
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "anyOf",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
];
const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "array", "object", "null"];
const ANNOTATIONS: [&str; 5] = ["title", "description", "default", "examples", "format"];

/// An object as strict-mode servers take it: every property is required, none may be added.
pub(crate) fn strict_object(properties: Value) -> Value {
    let required: Vec<&String> = properties.as_object().into_iter().flat_map(|known| known.keys()).collect();
    let required = Value::from_iter(required.into_iter().map(String::as_str));
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// Refuses a schema that uses something [`check`] does not check.
///
/// # Errors
/// Names the keyword, with its path in the schema.
pub fn check_supported(schema: &Value) -> Result<(), ContractError> {
    supported(schema, "$", 0)
}

fn supported(schema: &Value, path: &str, depth: usize) -> Result<(), ContractError> {
    if depth > MAX_DEPTH {
        return Err(ContractError::at(path, format!("nested deeper than {MAX_DEPTH} levels")));
    }
    let Some(keywords) = schema.as_object() else {
        return Err(ContractError::at(path, "expected a JSON schema (an object)"));
    };
    for (keyword, value) in keywords {
        let here = format!("{path}.{keyword}");
        let well_formed = match keyword.as_str() {
            "type" => type_names(value).is_some_and(|names| names.iter().all(|name| TYPES.contains(name))),
            "required" => texts(value).is_some(),
            "additionalProperties" => value.is_boolean(),
            "enum" => value.as_array().is_some_and(|values| !values.is_empty()),
            "minItems" | "maxItems" | "minLength" | "maxLength" => value.is_u64(),
            "minimum" | "maximum" => value.is_number(),
            "const" => true,
            "properties" => {
                let Some(properties) = value.as_object() else {
                    return Err(ContractError::at(here, "expected an object"));
                };
                for (name, property) in properties {
                    supported(property, &format!("{here}.{name}"), depth + 1)?;
                }
                true
            }
            "items" => {
                supported(value, &here, depth + 1)?;
                true
            }
            "anyOf" => {
                let Some(choices) = value.as_array().filter(|choices| !choices.is_empty()) else {
                    return Err(ContractError::at(here, "expected a list of schemas"));
                };
                for (at, choice) in choices.iter().enumerate() {
                    supported(choice, &format!("{here}[{at}]"), depth + 1)?;
                }
                true
            }
            annotation if ANNOTATIONS.contains(&annotation) => true,
            _ => {
                let problem = format!("unsupported keyword (supported: {})", CHECKED.join(", "));
                return Err(ContractError::at(here, problem));
            }
        };
        if !well_formed {
            return Err(ContractError::at(here, format!("ill-formed value {value}")));
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

/// A small value that conforms to a schema, where a simple one does: exploring feeds it as a tool's
/// input.
pub fn sample(schema: &Value) -> Value {
    let first = |keyword: &str| schema.get(keyword).and_then(Value::as_array).and_then(|list| list.first());
    if let Some(constant) = schema.get("const") {
        return constant.clone();
    }
    if let Some(choice) = first("enum") {
        return choice.clone();
    }
    if let Some(choice) = first("anyOf") {
        return sample(choice);
    }
    let bound = |keyword: &str| schema.get(keyword).and_then(Value::as_u64).unwrap_or(0);
    let kinds = schema.get("type").and_then(type_names).unwrap_or_else(|| vec!["object"]);
    match kinds.first().copied().unwrap_or("null") {
        "string" => Value::from("x".repeat(usize::try_from(bound("minLength").clamp(1, 4_096)).unwrap_or(1))),
        "boolean" => Value::Bool(true),
        "integer" | "number" => {
            schema.get("minimum").or(schema.get("maximum")).cloned().unwrap_or(Value::from(1))
        }
        "array" => {
            let item = schema.get("items").map_or(Value::Null, sample);
            Value::Array(vec![item; usize::try_from(bound("minItems").min(64)).unwrap_or(0)])
        }
        "object" => {
            let known = schema.get("properties").and_then(Value::as_object);
            let required = schema.get("required").and_then(texts).unwrap_or_default();
            let field = |name: &str| {
                let property = known.and_then(|known| known.get(name));
                (name.to_owned(), property.map_or(Value::Null, sample))
            };
            Value::Object(required.into_iter().map(field).collect())
        }
        _ => Value::Null,
    }
}

/// Checks a value against a schema.
///
/// ```
/// use planwright::contract::schema;
/// use serde_json::json;
///
/// let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
/// assert!(schema::check(&schema, &json!({"city": "서울"})).is_ok());
/// let error = schema::check(&schema, &json!({"city": 7})).unwrap_err();
/// assert_eq!(error.to_string(), "$.city: expected string, found 7");
/// ```
///
/// # Errors
/// The first mismatch, with its JSON path.
pub fn check(schema: &Value, value: &Value) -> Result<(), ContractError> {
    conforms(schema, value, "$")
}

/// A keyword of a schema. A schema has few of them: going through them is quicker than hashing.
fn keyword<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    schema.as_object()?.iter().find(|(known, _)| known.as_str() == name).map(|(_, value)| value)
}

fn conforms(schema: &Value, value: &Value, path: &str) -> Result<(), ContractError> {
    let fail = |expected: String| {
        let found = super::read::excerpt(&value.to_string(), 60);
        Err(ContractError::at(path, format!("expected {expected}, found {found}")))
    };
    if let Some(kind) = keyword(schema, "type")
        && !is_one_of(value, kind)
    {
        return fail(type_names(kind).unwrap_or_default().join(" or "));
    }
    if let Some(choices) = keyword(schema, "enum").and_then(Value::as_array)
        && !choices.contains(value)
    {
        let names: Vec<String> = choices.iter().map(Value::to_string).collect();
        return fail(format!("one of {}", names.join(", ")));
    }
    if let Some(constant) = keyword(schema, "const")
        && constant != value
    {
        return fail(constant.to_string());
    }
    if let Some(choices) = keyword(schema, "anyOf").and_then(Value::as_array)
        && !choices.iter().any(|choice| conforms(choice, value, path).is_ok())
    {
        return fail(format!("one of {} forms", choices.len()));
    }
    match value {
        Value::String(text) if surely_fits(schema, text.len() as u64) => Ok(()),
        Value::String(text) => {
            let len = text.chars().count() as u64;
            in_range(schema, "minLength", "maxLength", len, "characters", path)
        }
        Value::Array(items) => {
            in_range(schema, "minItems", "maxItems", items.len() as u64, "items", path)?;
            let Some(each) = keyword(schema, "items") else { return Ok(()) };
            items.iter().enumerate().try_for_each(|(at, item)| conforms(each, item, &format!("{path}[{at}]")))
        }
        Value::Object(_) => fields(schema, value, path),
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

fn is_one_of(value: &Value, kind: &Value) -> bool {
    match kind {
        Value::String(name) => is_a(value, name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(|name| is_a(value, name)),
        _ => false,
    }
}

fn is_a(value: &Value, name: &str) -> bool {
    match name {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => false,
    }
}

/// Whether a text of so many bytes has neither too few nor too many characters, whichever they are: a
/// character takes one byte to four. Counting them takes longer than all the rest.
fn surely_fits(schema: &Value, bytes: u64) -> bool {
    let bound = |name| keyword(schema, name).and_then(Value::as_u64);
    bound("minLength").is_none_or(|least| least <= bytes.div_ceil(4))
        && bound("maxLength").is_none_or(|most| bytes <= most)
}

fn in_range(
    schema: &Value,
    least: &str,
    most: &str,
    len: u64,
    unit: &str,
    path: &str,
) -> Result<(), ContractError> {
    let bound = |name| keyword(schema, name).and_then(Value::as_u64);
    let expected = match (bound(least), bound(most)) {
        (Some(least), _) if len < least => format!("at least {least}"),
        (_, Some(most)) if len > most => format!("at most {most}"),
        _ => return Ok(()),
    };
    Err(ContractError::at(path, format!("expected {expected} {unit}, found {len}")))
}

fn fields(schema: &Value, value: &Value, path: &str) -> Result<(), ContractError> {
    let Some(found) = value.as_object() else { return Ok(()) };
    for name in keyword(schema, "required").and_then(texts).unwrap_or_default() {
        if !found.contains_key(name) {
            return Err(ContractError::at(path, format!("expected a field {name:?}, found none")));
        }
    }
    let known = keyword(schema, "properties").and_then(Value::as_object);
    for (name, field) in found {
        match known.and_then(|known| known.get(name)) {
            Some(property) => conforms(property, field, &format!("{path}.{name}"))?,
            None if keyword(schema, "additionalProperties") == Some(&Value::Bool(false)) => {
                return Err(ContractError::at(format!("{path}.{name}"), "unexpected field"));
            }
            None => {}
        }
    }
    Ok(())
}
