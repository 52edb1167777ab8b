//! References: values of a step's input that are taken from what earlier steps returned. What a reference takes is
//! checked against the two declarations when the plan is read, and the whole input against its tool's before the call.

use serde_json::{Map, Value, json};

use crate::contract::schema::{Schema, resolve as resolve_reference, strict_object};
use crate::contract::{ContractError, excerpt};

const FROM: &str = "$from";
const TAKE: &str = "take";
/// Most references in one input: each may stand for a whole output.
const MAX_REFERENCES: usize = 32;

/// A value of an input that is taken from an earlier step: `{"$from": "step_1", "take": "/total"}`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reference<'a> {
    /// The step's id.
    pub from: &'a str,
    /// Which part of its data: a JSON pointer (RFC 6901), empty for the whole.
    pub take: &'a str,
}

/// What an earlier step returned.
#[derive(Clone, Copy)]
pub(crate) struct Returned<'a> {
    pub text: &'a str,
    pub data: Option<&'a Value>,
}

impl<'a> Reference<'a> {
    /// Parses a value that says it is a reference. `None` for any other.
    fn parse(value: &'a Value) -> Option<Result<Self, ContractError>> {
        let fields = value.as_object().filter(|fields| fields.contains_key(FROM))?;
        let fail = |path: String, problem: &str| Some(Err(ContractError::at(path, problem)));
        if let Some(name) = fields.keys().find(|name| *name != FROM && *name != TAKE) {
            return fail(format!("$.{name}"), "unexpected field of a reference");
        }
        let take = match fields.get(TAKE) {
            None | Some(Value::Null) => "",
            Some(Value::String(pointer)) if pointer.is_empty() || pointer.starts_with('/') => pointer,
            Some(_) => return fail(format!("$.{TAKE}"), "expected a JSON pointer such as \"/total\""),
        };
        match fields[FROM].as_str() {
            Some(from) => Some(Ok(Reference { from, take })),
            None => fail(format!("$.{FROM}"), "expected the id of an earlier step"),
        }
    }

    /// The value that it stands for.
    fn resolve(self, returned: Returned<'_>) -> Result<Value, ContractError> {
        match (returned.data, self.take) {
            (None, "") => Ok(Value::from(returned.text)),
            (None, _) => Err(ContractError::at("$", format!("{} returned no data", self.from))),
            (Some(data), take) => data.pointer(take).cloned().ok_or_else(|| {
                ContractError::at("$", format!("{} returned nothing at {}", self.from, excerpt(take, 60)))
            }),
        }
    }

    /// The schema of what it takes, as far as the step's tool declares one.
    fn declared(self, output: Option<&Value>) -> Result<Value, ContractError> {
        let Some(output) = output else {
            let problem = format!("{} returns a text; expected no `{TAKE}`", self.from);
            let is_whole = self.take.is_empty();
            return is_whole
                .then(|| json!({"type": "string"}))
                .ok_or_else(|| ContractError::at("$", problem));
        };
        let mut found = follow(output, output);
        for name in self.take.split('/').skip(1).map(|name| name.replace("~1", "/").replace("~0", "~")) {
            let known = found.get("properties").and_then(Value::as_object);
            let inner = match (known, found.get("items")) {
                (Some(known), _) => known.get(&name),
                (None, Some(items)) if name.parse::<usize>().is_ok() => Some(items),
                // What is not declared in so many words is seen when it is there.
                (None, _) => return Ok(json!({})),
            };
            let problem = || format!("{} declares nothing at {}", self.from, excerpt(self.take, 60));
            found = follow(output, inner.ok_or_else(|| ContractError::at("$", problem()))?);
        }
        Ok(found.clone())
    }
}

/// What a schema stands for, if it is a reference into the same document.
fn follow<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let target = |schema: &Value| resolve_reference(root, schema.get("$ref")?.as_str()?);
    (0..8).fold(schema, |schema, _| target(schema).unwrap_or(schema))
}

/// The references in an input.
pub(super) fn find(input: &Value) -> Result<Vec<Reference<'_>>, ContractError> {
    let mut found = Vec::new();
    collect(input, &mut found)?;
    if found.len() > MAX_REFERENCES {
        let problem = format!("expected at most {MAX_REFERENCES} references, found {}", found.len());
        return Err(ContractError::at("$", problem));
    }
    Ok(found)
}

fn collect<'a>(value: &'a Value, found: &mut Vec<Reference<'a>>) -> Result<(), ContractError> {
    if let Some(reference) = Reference::parse(value) {
        found.push(reference?);
        return Ok(());
    }
    each(value, &mut |_, inner| collect(inner, found))
}

/// Is told of a value inside another, and of its name where that is an object.
type Visit<'f, 'a> = dyn FnMut(Option<&str>, &'a Value) -> Result<(), ContractError> + 'f;

/// Visits what a value holds, and says of an error where that stands.
fn each<'a>(value: &'a Value, visit: &mut Visit<'_, 'a>) -> Result<(), ContractError> {
    match value {
        Value::Array(items) => items
            .iter()
            .enumerate()
            .try_for_each(|(at, item)| visit(None, item).map_err(|error| error.under(&format!("$[{at}]")))),
        Value::Object(fields) => fields.iter().try_for_each(|(name, field)| {
            visit(Some(name), field).map_err(|error| error.under(&format!("$.{name}")))
        }),
        _ => Ok(()),
    }
}

/// Puts what earlier steps returned in the place of the references.
pub(crate) fn resolve<'a>(
    input: &Value,
    returned: &dyn Fn(&str) -> Option<Returned<'a>>,
) -> Result<Value, ContractError> {
    if let Some(reference) = Reference::parse(input) {
        let reference = reference?;
        let missing = || ContractError::at("$", format!("{} has no output", reference.from));
        return reference.resolve(returned(reference.from).ok_or_else(missing)?);
    }
    let inside = |place: String, inner: &Value| {
        resolve(inner, returned).map_err(|error| error.under(&format!("${place}")))
    };
    match input {
        Value::Array(items) => {
            items.iter().enumerate().map(|(at, item)| inside(format!("[{at}]"), item)).collect()
        }
        Value::Object(fields) => {
            let resolved =
                |(name, field): (&String, &Value)| Ok((name.clone(), inside(format!(".{name}"), field)?));
            fields.iter().map(resolved).collect::<Result<Map<String, Value>, _>>().map(Value::Object)
        }
        value => Ok(value.clone()),
    }
}

/// Checks an input with references against a tool's schema, as far as that can be done before they are resolved.
/// `output` gives the declared output of a step.
pub(super) fn check<'a>(
    schema: &Schema,
    input: &Value,
    output: &dyn Fn(&str) -> Option<&'a Value>,
) -> Result<(), ContractError> {
    check_part(schema, schema.as_value(), input, output)
}

fn check_part<'a>(
    whole: &Schema,
    part: &Value,
    input: &Value,
    output: &dyn Fn(&str) -> Option<&'a Value>,
) -> Result<(), ContractError> {
    let schema = follow(whole.as_value(), part);
    if let Some(reference) = Reference::parse(input) {
        let reference = reference?;
        let declared = reference.declared(output(reference.from))?;
        return check_types(schema, &declared);
    }
    if find(input)?.is_empty() {
        return whole.check_part(schema, input);
    }
    if let Value::Object(fields) = input {
        // What is missing or not expected is so whatever the references stand for.
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        let mut required = required.filter_map(Value::as_str);
        if let Some(name) = required.find(|name| !fields.contains_key(*name)) {
            return Err(ContractError::at("$", format!("expected a field {name:?}, found none")));
        }
    }
    let (known, closed) =
        (schema.get("properties"), schema.get("additionalProperties") == Some(&json!(false)));
    each(input, &mut |name, inner| match name {
        None => schema.get("items").map_or(Ok(()), |items| check_part(whole, items, inner, output)),
        Some(name) => match known.and_then(|known| known.get(name)) {
            Some(property) => check_part(whole, property, inner, output),
            None if closed => Err(ContractError::at("$", "unexpected field")),
            None => Ok(()),
        },
    })
}

/// Refuses a reference to what cannot be of a type that is wanted.
fn check_types(wanted: &Value, found: &Value) -> Result<(), ContractError> {
    let (Some(wanted), Some(found)) = (types(wanted), types(found)) else { return Ok(()) };
    let number = |kind: &str| kind == "integer" || kind == "number";
    let fits = |found: &&str| wanted.iter().any(|kind| kind == found || (number(kind) && number(found)));
    if found.iter().any(fits) {
        return Ok(());
    }
    let problem = format!("expected {}, found a reference to {}", wanted.join(" or "), found.join(" or "));
    Err(ContractError::at("$", problem))
}

fn types(schema: &Value) -> Option<Vec<&str>> {
    match schema.get("type")? {
        Value::Array(names) => names.iter().map(Value::as_str).collect(),
        name => Some(vec![name.as_str()?]),
    }
}

/// A schema under which every value may be a reference instead.
pub(super) fn referable(schema: &Value) -> Value {
    let reference = strict_object(json!({FROM: {"type": "string"}, TAKE: {"type": ["string", "null"]}}));
    let mut inner = schema.clone();
    if let Some(Value::Object(properties)) = inner.get_mut("properties") {
        properties.values_mut().for_each(|property| *property = referable(property));
    } else if let Some(items) = inner.get_mut("items") {
        *items = referable(items);
    } else {
        return json!({"anyOf": [inner, reference]});
    }
    inner
}
