//! Whether a value conforms to a schema. Meaning of the keywords: JSON Schema 2020-12, validation and applicator
//! vocabularies, and what draft 7 has in their place.

use std::cell::Cell;

use serde_json::{Map, Value};

use super::keywords::{Schema, texts};
use super::refer::resolve;
use crate::contract::{ContractError, canonical, excerpt};

/// How many steps one check may take: a schema for a value is one, and so is each byte that a pattern is matched with.
const MAX_STEPS: usize = 1_000_000;
/// How deep references and choices may lead.
pub(super) const MAX_DEPTH: usize = 300;

pub(super) type Check = Result<(), ContractError>;

impl Schema {
    /// Checks a value. Allocates nothing if it conforms to a schema of plain keywords.
    ///
    /// # Errors
    /// The first mismatch, with its JSON path.
    pub fn check(&self, value: &Value) -> Result<(), ContractError> {
        if self.takes_any_text && value.as_str().is_some_and(|text| !text.is_empty()) {
            return Ok(());
        }
        self.check_part(&self.root, value)
    }

    /// Checks a value against a part of the schema.
    pub(crate) fn check_part(&self, part: &Value, value: &Value) -> Result<(), ContractError> {
        Checker { schema: self, left: Cell::new(MAX_STEPS) }.check(part, value)
    }
}

/// One check of one value.
pub(super) struct Checker<'a> {
    pub(super) schema: &'a Schema,
    /// What is left of [`MAX_STEPS`].
    left: Cell<usize>,
}

/// A keyword of a schema. A schema has few of them: going through them is quicker than hashing.
pub(super) fn keyword<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    schema.as_object()?.iter().find(|(known, _)| known.as_str() == name).map(|(_, value)| value)
}

pub(super) fn list<'a>(schema: &'a Value, name: &str) -> Option<&'a Vec<Value>> {
    keyword(schema, name).and_then(Value::as_array)
}

pub(super) fn fields<'a>(schema: &'a Value, name: &str) -> Option<&'a Map<String, Value>> {
    keyword(schema, name).and_then(Value::as_object)
}

fn expected(expected: impl AsRef<str>, value: &Value) -> Check {
    let found = excerpt(&value.to_string(), 60);
    Err(ContractError::at("$", format!("expected {}, found {found}", expected.as_ref())))
}

impl Checker<'_> {
    fn check(&self, schema: &Value, value: &Value) -> Check {
        let result = self.check_value(schema, value, 0);
        if self.left.get() == 0 {
            let bounds = format!("{MAX_STEPS} steps and {MAX_DEPTH} levels of schemas");
            let problem = format!("expected a value that is checked in {bounds}, found one that takes more");
            return Err(ContractError::at("$", problem));
        }
        result.map_err(|error| ContractError::at(error.path(), error.problem()))
    }

    /// Takes steps. Once none is left, the check has failed, whatever else it finds.
    pub(super) fn take(&self, steps: usize) -> bool {
        self.left.set(self.left.get().saturating_sub(steps));
        self.left.get() > 0
    }

    pub(super) fn matches(&self, pattern: &str, text: &str) -> bool {
        let pattern = self.schema.patterns.get(pattern);
        pattern.is_some_and(|pattern| self.take(pattern.steps(text)) && pattern.is_match(text))
    }

    /// Checks a value on its own: where it stands is said by what it stands in, and only if it does not fit.
    pub(super) fn check_value(&self, schema: &Value, value: &Value, depth: usize) -> Check {
        let choices = list(schema, "enum");
        let steps = 1 + choices.map_or(0, Vec::len);
        if !self.take(if depth > MAX_DEPTH { MAX_STEPS } else { steps }) {
            return expected("less to check", value);
        }
        if let Some(kind) = keyword(schema, "type").filter(|kind| !has_type(value, kind)) {
            let names = kind.as_str().map(|name| vec![name]).or_else(|| texts(kind));
            return expected(names.unwrap_or_default().join(" or "), value);
        }
        if let Some(choices) = choices.filter(|choices| !choices.iter().any(|one| is_equal(one, value))) {
            let names: Vec<String> = choices.iter().map(Value::to_string).collect();
            return expected(format!("one of {}", names.join(", ")), value);
        }
        if let Some(constant) = keyword(schema, "const").filter(|constant| !is_equal(constant, value)) {
            return expected(constant.to_string(), value);
        }
        if let Some(choices) = list(schema, "anyOf") {
            self.check_choice(choices, value, depth)?;
        }
        if self.schema.is_rich {
            self.check_rich(schema, value, depth)?;
        }
        match value {
            Value::String(text) => self.check_text(schema, text),
            Value::Array(items) => self.check_items(schema, items, depth),
            Value::Object(found) => self.check_fields(schema, found, depth),
            Value::Number(number) => check_number(schema, number.as_f64().unwrap_or(f64::NAN), value),
            Value::Null | Value::Bool(_) => Ok(()),
        }?;
        if self.schema.is_rich { self.check_unevaluated(schema, value, depth) } else { Ok(()) }
    }

    pub(super) fn fits(&self, schema: &Value, value: &Value, depth: usize) -> bool {
        self.check_value(schema, value, depth + 1).is_ok()
    }

    /// That a value conforms to one of several schemas. If one of them is meant by a fixed field, such as the tag of
    /// an enum, or all but one refuse it as a whole, what that one says is the error.
    fn check_choice(&self, choices: &[Value], value: &Value, depth: usize) -> Check {
        let (mut inside, mut meant) = (Vec::new(), Vec::new());
        for choice in choices {
            let Err(error) = self.check_value(choice, value, depth + 1) else { return Ok(()) };
            if is_meant(choice, value) {
                meant.push(error);
            } else if error.path() != "$" {
                inside.push(error);
            }
        }
        let told = if meant.is_empty() { inside } else { meant };
        match <[ContractError; 1]>::try_from(told) {
            Ok([error]) => Err(error),
            Err(_) => expected(format!("one of {} forms", choices.len()), value),
        }
    }

    /// The keywords that lead to other schemas for the same value.
    fn check_rich(&self, schema: &Value, value: &Value, depth: usize) -> Check {
        if schema == &Value::Bool(false) {
            return expected("nothing", value);
        }
        if let Some(to) = keyword(schema, "$ref").and_then(Value::as_str) {
            match resolve(&self.schema.root, to) {
                Some(target) => self.check_value(target, value, depth + 1)?,
                None => return expected(to, value),
            }
        }
        for part in list(schema, "allOf").into_iter().flatten() {
            self.check_value(part, value, depth + 1)?;
        }
        if let Some(choices) = list(schema, "oneOf") {
            self.check_choice(choices, value, depth)?;
            if choices.iter().filter(|choice| self.fits(choice, value, depth)).count() > 1 {
                return expected(format!("exactly one of {} forms", choices.len()), value);
            }
        }
        if keyword(schema, "not").is_some_and(|not| self.fits(not, value, depth)) {
            return expected("another value", value);
        }
        if let Some(branch) = self.branch(schema, value, depth) {
            self.check_value(branch, value, depth + 1)?;
        }
        let Value::Object(found) = value else { return Ok(()) };
        for (name, needs) in self.dependents(schema, found) {
            let missing =
                texts(needs).and_then(|needs| needs.into_iter().find(|need| !found.contains_key(*need)));
            if let Some(missing) = missing {
                let problem = format!("expected a field {missing:?} beside {name:?}, found none");
                return Err(ContractError::at("$", problem));
            }
            if !needs.is_array() {
                self.check_value(needs, value, depth + 1)?;
            }
        }
        Ok(())
    }

    /// The branch of `if` that a value takes.
    pub(super) fn branch<'s>(&self, schema: &'s Value, value: &Value, depth: usize) -> Option<&'s Value> {
        let condition = keyword(schema, "if")?;
        keyword(schema, if self.fits(condition, value, depth) { "then" } else { "else" })
    }

    /// What the fields that are there ask for beside them.
    pub(super) fn dependents<'s>(
        &self,
        schema: &'s Value,
        found: &'s Map<String, Value>,
    ) -> impl Iterator<Item = (&'s String, &'s Value)> {
        let keywords = ["dependencies", "dependentRequired", "dependentSchemas"];
        let all = keywords.into_iter().filter_map(|name| fields(schema, name)).flatten();
        all.filter(|(name, _)| found.contains_key(*name))
    }

    fn check_text(&self, schema: &Value, text: &str) -> Check {
        if self.schema.is_rich
            && let Some(pattern) = keyword(schema, "pattern").and_then(Value::as_str)
            && !self.matches(pattern, text)
        {
            return expected(format!("a text that matches {pattern:?}"), &Value::from(excerpt(text, 60)));
        }
        // Counting characters takes longer than all the rest, and a character takes one byte to four.
        let (bytes, bound) = (text.len() as u64, |name| keyword(schema, name).and_then(Value::as_u64));
        let surely_fits = bound("minLength").is_none_or(|least| least <= bytes.div_ceil(4))
            && bound("maxLength").is_none_or(|most| bytes <= most);
        let count = if surely_fits { return Ok(()) } else { text.chars().count() };
        check_count(schema, ["minLength", "maxLength", "characters"], count)
    }

    fn check_items(&self, schema: &Value, items: &[Value], depth: usize) -> Check {
        check_count(schema, ["minItems", "maxItems", "items"], items.len())?;
        let each = keyword(schema, "items");
        let (first, each) = match each {
            Some(Value::Array(first)) => (Some(first), keyword(schema, "additionalItems")),
            each if self.schema.is_rich => (list(schema, "prefixItems"), each),
            each => (None, each),
        };
        for (at, item) in items.iter().enumerate() {
            let Some(schema) = first.and_then(|first| first.get(at)).or(each) else { continue };
            self.check_value(schema, item, depth + 1).map_err(|error| error.under(&format!("$[{at}]")))?;
        }
        if !self.schema.is_rich {
            return Ok(());
        }
        if let Some(contains) = keyword(schema, "contains") {
            let count = items.iter().filter(|item| self.fits(contains, item, depth)).count() as u64;
            let bound = |name| keyword(schema, name).and_then(Value::as_u64);
            let (least, most) = (bound("minContains").unwrap_or(1), bound("maxContains").unwrap_or(u64::MAX));
            if !(least..=most).contains(&count) {
                let problem =
                    format!("expected {least} to {most} items of the form of `contains`, found {count}");
                return Err(ContractError::at("$", problem));
            }
        }
        let unique = keyword(schema, "uniqueItems").filter(|unique| **unique == true);
        if unique.is_some() && !self.take(items.len()) {
            return expected("less to check", &Value::Null);
        }
        let mut seen = std::collections::BTreeSet::new();
        let is_double = |item: &&Value| !seen.insert(canonical(&same_numbers(item)));
        match unique.and_then(|_| items.iter().find(is_double)) {
            Some(double) => expected("each item once", double),
            None => Ok(()),
        }
    }

    fn check_fields(&self, schema: &Value, found: &Map<String, Value>, depth: usize) -> Check {
        let mut required = list(schema, "required").into_iter().flatten();
        if let Some(name) = required.find(|name| name.as_str().is_some_and(|name| !found.contains_key(name)))
        {
            return Err(ContractError::at("$", format!("expected a field {name}, found none")));
        }
        let known = fields(schema, "properties");
        let others = keyword(schema, "additionalProperties");
        let named = fields(schema, "patternProperties").filter(|_| self.schema.is_rich);
        for (name, field) in found {
            let place = |error: ContractError| error.under(&format!("$.{name}"));
            let property = known.and_then(|known| known.get(name));
            if let Some(property) = property {
                self.check_value(property, field, depth + 1).map_err(place)?;
            }
            let mut is_known = property.is_some();
            for (pattern, schema) in named.into_iter().flatten() {
                if self.matches(pattern, name) {
                    is_known = true;
                    self.check_value(schema, field, depth + 1).map_err(place)?;
                }
            }
            match others.filter(|_| !is_known) {
                Some(Value::Bool(false)) => {
                    return Err(place(ContractError::at("$", "unexpected field")));
                }
                Some(other) => self.check_value(other, field, depth + 1).map_err(place)?,
                None => {}
            }
        }
        if !self.schema.is_rich {
            return Ok(());
        }
        check_count(schema, ["minProperties", "maxProperties", "fields"], found.len())?;
        let Some(names) = keyword(schema, "propertyNames") else { return Ok(()) };
        let check = |name: &String| self.check_value(names, &Value::from(name.as_str()), depth + 1);
        found.keys().try_for_each(|name| check(name).map_err(|error| error.under(&format!("$.{name}"))))
    }
}

/// Whether the fixed fields of a form, of which it has some, are those of a value.
fn is_meant(form: &Value, value: &Value) -> bool {
    let is_same = |(name, field): (&String, &Value)| Some(value.get(name) == Some(keyword(field, "const")?));
    let mut same = fields(form, "properties").into_iter().flatten().filter_map(is_same).peekable();
    same.peek().is_some() && same.all(|same| same)
}

fn check_number(schema: &Value, number: f64, value: &Value) -> Check {
    let bound = |name| keyword(schema, name).and_then(Value::as_f64);
    if let Some(least) = bound("minimum").filter(|least| number < *least) {
        return expected(format!("at least {least}"), value);
    }
    if let Some(most) = bound("maximum").filter(|most| number > *most) {
        return expected(format!("at most {most}"), value);
    }
    if let Some(least) = bound("exclusiveMinimum").filter(|least| number <= *least) {
        return expected(format!("more than {least}"), value);
    }
    if let Some(most) = bound("exclusiveMaximum").filter(|most| number >= *most) {
        return expected(format!("less than {most}"), value);
    }
    let is_multiple = |of: &f64| {
        let times = number / of;
        let whole = number.fract() == 0.0 && of.fract() == 0.0;
        if whole { number % of == 0.0 } else { (times - times.round()).abs() <= 1e-9 * times.abs().max(1.0) }
    };
    match bound("multipleOf").filter(|of| !is_multiple(of)) {
        Some(of) => expected(format!("a multiple of {of}"), value),
        None => Ok(()),
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

/// Whether two values are equal as JSON schema has it: `1` is `1.0`.
fn is_equal(one: &Value, other: &Value) -> bool {
    one == other
        || (!other.is_string()
            && one.is_string() == other.is_string()
            && same_numbers(one) == same_numbers(other))
}

/// The value with whole numbers written as such.
fn same_numbers(value: &Value) -> Value {
    match value {
        Value::Number(number) => {
            match number.as_f64().filter(|n| number.is_f64() && n.fract() == 0.0 && n.abs() < 9e18) {
                #[expect(clippy::cast_possible_truncation)]
                Some(whole) => Value::from(whole as i64),
                None => value.clone(),
            }
        }
        Value::Array(items) => items.iter().map(same_numbers).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, field)| (name.clone(), same_numbers(field))).collect()
        }
        other => other.clone(),
    }
}

fn check_count(schema: &Value, names: [&str; 3], count: usize) -> Check {
    let [least, most, unit] = names;
    let bound = |name| keyword(schema, name).and_then(Value::as_u64);
    let expected = match (bound(least), bound(most)) {
        (Some(least), _) if (count as u64) < least => format!("at least {least}"),
        (_, Some(most)) if count as u64 > most => format!("at most {most}"),
        _ => return Ok(()),
    };
    Err(ContractError::at("$", format!("expected {expected} {unit}, found {count}")))
}
