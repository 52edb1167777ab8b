//! `unevaluatedProperties` and `unevaluatedItems`: the parts of a value that no other schema for it has spoken of.

use serde_json::Value;

use super::check::{Check, Checker, fields, keyword, list};
use super::refer::resolve;
use crate::contract::ContractError;

/// A part of a value.
#[derive(Clone, Copy)]
enum Part<'a> {
    Field(&'a str),
    Item(usize),
}

impl Checker<'_> {
    /// What no schema for this value has spoken of.
    pub(super) fn check_unevaluated(&self, schema: &Value, value: &Value, depth: usize) -> Check {
        match (value, keyword(schema, "unevaluatedProperties"), keyword(schema, "unevaluatedItems")) {
            (Value::Object(found), Some(rest), _) => {
                for (name, field) in
                    found.iter().filter(|(name, _)| !self.evaluates(schema, value, Part::Field(name), depth))
                {
                    let unexpected = |_| ContractError::at(format!("$.{name}"), "unexpected field");
                    self.check_value(rest, field, depth + 1).map_err(unexpected)?;
                }
            }
            (Value::Array(items), _, Some(rest)) => {
                for (at, item) in items
                    .iter()
                    .enumerate()
                    .filter(|(at, _)| !self.evaluates(schema, value, Part::Item(*at), depth))
                {
                    let unexpected = |_| ContractError::at(format!("$[{at}]"), "unexpected item");
                    self.check_value(rest, item, depth + 1).map_err(unexpected)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether a schema that a value conforms to, or one that it leads to, speaks of a part of the value.
    fn evaluates(&self, schema: &Value, value: &Value, part: Part<'_>, depth: usize) -> bool {
        if !self.take(1) {
            return true;
        }
        let has = |name| keyword(schema, name).is_some();
        let speaks = match part {
            Part::Field(name) => {
                fields(schema, "properties").is_some_and(|known| known.contains_key(name))
                    || has("additionalProperties")
                    || fields(schema, "patternProperties")
                        .is_some_and(|all| all.keys().any(|pattern| self.matches(pattern, name)))
            }
            Part::Item(at) => {
                let first = list(schema, "prefixItems").or(list(schema, "items"));
                first.is_some_and(|first| at < first.len())
                    || keyword(schema, "items").is_some_and(|items| !items.is_array())
                    || has("additionalItems")
                    || keyword(schema, "contains").is_some_and(|form| self.fits(form, &value[at], depth))
            }
        };
        let nested = match part {
            Part::Field(_) => "unevaluatedProperties",
            Part::Item(_) => "unevaluatedItems",
        };
        let follow = |to: &Value| {
            self.fits(to, value, depth)
                && (keyword(to, nested).is_some() || self.evaluates(to, value, part, depth + 1))
        };
        let found = value.as_object();
        let referred =
            keyword(schema, "$ref").and_then(Value::as_str).and_then(|to| resolve(&self.schema.root, to));
        let condition = keyword(schema, "if");
        let choices = ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|name| list(schema, name)).flatten();
        let dependents = found.into_iter().flat_map(|found| self.dependents(schema, found)).map(|(_, to)| to);
        let branch = || self.branch(schema, value, depth).is_some_and(follow);
        speaks
            || referred
                .into_iter()
                .chain(condition)
                .chain(choices)
                .chain(dependents.filter(|to| !to.is_array()))
                .any(follow)
            || branch()
    }
}
