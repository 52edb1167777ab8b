//! The check of the whole plan: what an expression takes is declared, and is of a type that its place takes.

use serde_json::{Value, json};

use super::expression::{Condition, Expression, Reference, Select, Test, each, fail, find};
use crate::contract::schema::{Schema, resolve};
use crate::contract::trust::{FieldType, segments};
use crate::contract::{ContractError, ToolContract, excerpt};

/// Gives the tool that does a step, by the step's id.
type Tools<'f, 'a> = &'f dyn Fn(&str) -> Option<&'a ToolContract>;

/// Checks an input with expressions against a tool's schema, as far as that can be done before they are evaluated.
pub(in crate::contract::plan) fn check<'a>(
    schema: &Schema,
    input: &Value,
    tools: Tools<'_, 'a>,
) -> Result<(), ContractError> {
    check_part(schema, schema.as_value(), input, tools)
}

fn check_part(
    whole: &Schema,
    part: &Value,
    input: &Value,
    tools: Tools<'_, '_>,
) -> Result<(), ContractError> {
    let schema = follow(whole.as_value(), part);
    if let Some(expression) = Expression::parse(input) {
        return check_types(schema, &expression?.declared(tools)?);
    }
    if find(input)?.is_empty() {
        return whole.check_part(schema, input);
    }
    if let Some(choice) = find_choice(whole.as_value(), schema, input) {
        return check_part(whole, choice, input, tools);
    }
    if let Value::Object(fields) = input {
        // What is missing or not expected is so whatever the expressions stand for.
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        let mut required = required.filter_map(Value::as_str);
        if let Some(name) = required.find(|name| !fields.contains_key(*name)) {
            return fail("$", format!("expected a field {name:?}, found none"));
        }
    }
    let (known, closed) =
        (schema.get("properties"), schema.get("additionalProperties") == Some(&json!(false)));
    each(input, &mut |name, inner| match name {
        None => schema.get("items").map_or(Ok(()), |items| check_part(whole, items, inner, tools)),
        Some(name) => match known.and_then(|known| known.get(name)) {
            Some(property) => check_part(whole, property, inner, tools),
            None if closed => fail("$", "unexpected field"),
            None => Ok(()),
        },
    })
}

/// The one choice of a schema that an object or a list can be: `anyOf` with `null` beside it.
fn find_choice<'s>(root: &'s Value, schema: &'s Value, input: &Value) -> Option<&'s Value> {
    let choices = schema.get("anyOf").or_else(|| schema.get("oneOf"))?.as_array()?;
    let kind = if input.is_array() { "array" } else { "object" };
    let mut fits =
        choices.iter().filter(|choice| types(follow(root, choice)).is_none_or(|types| types.contains(&kind)));
    let first = fits.next()?;
    fits.next().is_none().then_some(first)
}

/// What a schema stands for, if it is a reference into the same document.
fn follow<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let target = |schema: &Value| resolve(root, schema.get("$ref")?.as_str()?);
    (0..8).fold(schema, |schema, _| target(schema).unwrap_or(schema))
}

impl Expression<'_> {
    /// The schema of what it stands for, as far as that is declared.
    fn declared(&self, tools: Tools<'_, '_>) -> Result<Value, ContractError> {
        let inside = |with: &[Expression<'_>], wanted: &[&str]| {
            with.iter().enumerate().try_for_each(|(at, inner)| {
                let checked =
                    inner.declared(tools).and_then(|found| check_types(&json!({"type": wanted}), &found));
                checked.map_err(|error| error.under(&format!("$.with[{at}]")))
            })
        };
        match self {
            Expression::Reference(reference) => reference.declared(tools(reference.from)),
            Expression::Template { with, .. } => {
                inside(with, &["string", "number", "boolean"]).map(|()| json!({"type": "string"}))
            }
            Expression::Calc { with, .. } => {
                inside(with, &["number", "string"]).map(|()| json!({"type": "number"}))
            }
            Expression::Hole(hole) => {
                Schema::new(hole.schema).map_err(|error| error.under("$.type"))?;
                for (at, shown) in hole.from.iter().enumerate() {
                    shown
                        .declared(tools(shown.from))
                        .map_err(|error| error.under(&format!("$.from[{at}]")))?;
                }
                Ok(hole.schema.clone())
            }
        }
    }
}

impl Reference<'_> {
    fn declared(&self, tool: Option<&ToolContract>) -> Result<Value, ContractError> {
        let output = tool.and_then(|tool| Some((tool, tool.output.as_ref()?)));
        let found = match (output, &self.select) {
            (None, None) if self.take.is_empty() => json!({"type": "string"}),
            (None, select) => {
                let more = if select.is_some() { "where" } else { "take" };
                return fail("$", format!("{} returns a text; expected no `{more}`", self.from));
            }
            (Some((_, output)), None) => self.walk(output, output, self.take)?.clone(),
            (Some((tool, output)), Some(select)) => {
                let list = self.walk(output, output, select.list)?;
                check_types(&json!({"type": "array"}), list)
                    .map_err(|_| ContractError::at("$.in", format!("expected a list of {}", self.from)))?;
                let record = list.get("items").map_or(&Value::Null, |items| follow(output, items));
                self.check_select(select, tool, output, record)?;
                self.walk(output, record, self.take)?.clone()
            }
        };
        let Some(kind) = self.extract else { return Ok(found) };
        check_types(&json!({"type": "string"}), &found)?;
        let is_number = matches!(kind, FieldType::Number | FieldType::Amount);
        Ok(json!({"type": if is_number { "number" } else { "string" }}))
    }

    /// Checks that what records are found by is declared, and can be what it is compared with.
    fn check_select(
        &self,
        select: &Select<'_>,
        tool: &ToolContract,
        output: &Value,
        record: &Value,
    ) -> Result<(), ContractError> {
        for (at, Condition { field, test, literal }) in select.conditions.iter().enumerate() {
            let found = self.walk(output, record, field);
            let wanted = match (test, literal) {
                (Test::Contains, _) => vec!["string", "array"],
                (_, Value::String(_)) => vec!["string"],
                (_, Value::Number(_)) => vec!["number"],
                (_, Value::Bool(_)) => vec!["boolean"],
                _ => vec!["null"],
            };
            let checked = found.and_then(|found| check_types(&json!({"type": wanted}), found));
            checked.map_err(|error| error.under(&format!("$.where[{at}]")))?;
        }
        let Some(order) = &select.order else { return Ok(()) };
        let field = self.walk(output, record, order.field).map_err(|error| error.under("$.order_by"))?;
        let format = field.get("format").and_then(Value::as_str);
        let is_number = types(field).is_some_and(|types| types.iter().all(|kind| is_numeric(kind)));
        let declared = tool.type_at(&format!("{}/*{}", select.list, order.field));
        let has_order = matches!(declared, Some(FieldType::Number | FieldType::Date | FieldType::Amount));
        if has_order || is_number || matches!(format, Some("date" | "date-time")) {
            return Ok(());
        }
        let place = excerpt(order.field, 60);
        fail(
            "$.order_by",
            format!("expected a field of numbers or dates, and {} declares none at {place}", self.from),
        )
    }

    /// The schema of a place in what another describes. What is not declared in so many words is seen when it is
    /// there.
    fn walk<'s>(
        &self,
        root: &'s Value,
        schema: &'s Value,
        pointer: &str,
    ) -> Result<&'s Value, ContractError> {
        let mut found = follow(root, schema);
        for name in segments(pointer) {
            let known = found.get("properties").and_then(Value::as_object);
            let inner = match (known, found.get("items")) {
                (Some(known), _) => known.get(name.as_ref()),
                (None, Some(items)) if name.parse::<usize>().is_ok() => Some(items),
                (None, _) => return Ok(&Value::Null),
            };
            let Some(inner) = inner else {
                return fail("$", format!("{} declares nothing at {}", self.from, excerpt(pointer, 60)));
            };
            found = follow(root, inner);
        }
        Ok(found)
    }
}

fn is_numeric(kind: &str) -> bool {
    kind == "integer" || kind == "number"
}

/// Refuses an expression for what cannot be of a type that is wanted.
fn check_types(wanted: &Value, found: &Value) -> Result<(), ContractError> {
    let (Some(wanted), Some(found)) = (types(wanted), types(found)) else { return Ok(()) };
    let fits =
        |found: &&str| wanted.iter().any(|kind| kind == found || (is_numeric(kind) && is_numeric(found)));
    if found.iter().any(fits) {
        return Ok(());
    }
    let problem = format!("expected {}, found a reference to {}", wanted.join(" or "), found.join(" or "));
    fail("$", problem)
}

/// The types that a schema names; those of its `enum` or `const` if it names none.
fn types(schema: &Value) -> Option<Vec<&str>> {
    match schema.get("type") {
        Some(Value::Array(names)) => names.iter().map(Value::as_str).collect(),
        Some(name) => Some(vec![name.as_str()?]),
        None => {
            let one = schema.get("const").map(std::slice::from_ref);
            let values = schema.get("enum").and_then(Value::as_array).map(Vec::as_slice).or(one)?;
            Some(values.iter().map(kind).collect())
        }
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
