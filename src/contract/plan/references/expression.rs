//! An expression as a plan writes it: parsed strictly, bounded in size and depth.

use serde_json::Value;

use super::decimal;
use crate::contract::trust::FieldType;
use crate::contract::{ContractError, excerpt};

pub(super) const FROM: &str = "$from";
pub(super) const TEMPLATE: &str = "$template";
pub(super) const CALC: &str = "$calc";
pub(super) const WITH: &str = "with";
pub(crate) const FILL: &str = "$fill";
/// What a hole's value must fit, and what the model that fills it is shown.
pub(super) const TYPE: &str = "type";
pub(super) const VIEW: &str = "from";
/// Most references in one input: each may stand for a whole output.
const MAX_REFERENCES: usize = 32;
/// Most expressions inside one another.
pub(super) const MAX_DEPTH: u32 = 4;
/// Most conditions of one reference.
const MAX_CONDITIONS: usize = 8;
/// Longest text of a calculation, in bytes.
const MAX_CALC: usize = 1_000;
/// Longest text that says what a hole is for, in bytes.
const MAX_WANTED: usize = 1_000;

/// A value of an input that is worked out from what earlier steps returned.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expression<'a> {
    /// A part of what one step returned.
    Reference(Reference<'a>),
    /// `{"$template": "Dinner at {1}, {2}", "with": [...]}`: a text with values in it.
    Template { parts: Vec<Part<'a>>, with: Vec<Expression<'a>> },
    /// `{"$calc": "{1} * 1.1", "with": [...]}`: exact arithmetic over numbers.
    Calc { formula: &'a str, with: Vec<Expression<'a>> },
    /// `{"$fill": "when they meet", "type": {"type": "string"}, "from": ["s1"]}`: a model writes it.
    Hole(Hole<'a>),
}

/// A value that a model writes when the step is about to start.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Hole<'a> {
    /// What is wanted, in the planner's words.
    pub wanted: &'a str,
    /// The JSON schema of the value.
    pub schema: &'a Value,
    /// All that the model is shown of what earlier steps returned.
    pub from: Vec<Reference<'a>>,
}

/// A piece of a template: its own text, or the value at a position of `with`, from 0.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Part<'a> {
    Text(&'a str),
    Value(usize),
}

/// `{"$from": "s1", "in": "/events", "where": [["/title", "equals", "Lunch"]], "take": "/id"}`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reference<'a> {
    /// The step's id.
    pub from: &'a str,
    /// How one record of a list is found, if it is taken from one.
    pub select: Option<Select<'a>>,
    /// Which part of the data or of the record: a JSON pointer (RFC 6901), empty for the whole.
    pub take: &'a str,
    /// What is found in the text that was taken.
    pub extract: Option<FieldType>,
}

/// How one record of a list is found.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Select<'a> {
    /// Where the list stands in the data: a JSON pointer, empty if the data is the list.
    pub list: &'a str,
    pub conditions: Vec<Condition<'a>>,
    pub order: Option<Order<'a>>,
}

/// `["/title", "equals", "Lunch"]`, of a record.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Condition<'a> {
    pub field: &'a str,
    pub test: Test,
    pub literal: &'a Value,
}

/// How a field is compared with a literal. Letters compare without case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Test {
    Equals,
    /// A text has it as a part, or a list as an item.
    Contains,
    StartsWith,
}

/// `"order_by": "/amount", "first": "largest"`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Order<'a> {
    pub field: &'a str,
    pub largest: bool,
}

/// The names of extracted types, for errors and for the planner's schema.
pub(super) const EXTRACTED: [(&str, FieldType); 6] = [
    ("email", FieldType::Email),
    ("url", FieldType::Url),
    ("iban", FieldType::Iban),
    ("number", FieldType::Number),
    ("date", FieldType::Date),
    ("amount", FieldType::Amount),
];

/// The name of a type, for people.
pub(super) fn name(kind: FieldType) -> String {
    serde_json::to_value(kind).ok().and_then(|name| Some(name.as_str()?.to_owned())).unwrap_or_default()
}

pub(super) fn fail<T>(path: impl AsRef<str>, problem: impl AsRef<str>) -> Result<T, ContractError> {
    Err(ContractError::at(path, problem))
}

/// The key by which a value says that it is an expression.
fn find_mark(value: &Value) -> Option<&'static str> {
    let fields = value.as_object()?;
    [FROM, TEMPLATE, CALC, FILL].into_iter().find(|mark| fields.contains_key(*mark))
}

/// Whether a value of a plan stands for one that is known later only.
pub(crate) fn is_expression(value: &Value) -> bool {
    find_mark(value).is_some()
}

impl<'a> Expression<'a> {
    /// Parses a value that says it is an expression. `None` for any other.
    pub fn parse(value: &'a Value) -> Option<Result<Self, ContractError>> {
        find_mark(value).map(|mark| Self::parse_marked(mark, value, 1))
    }

    fn parse_marked(mark: &str, value: &'a Value, depth: u32) -> Result<Self, ContractError> {
        if mark == FROM {
            return Reference::parse(value).map(Expression::Reference);
        }
        if mark == FILL {
            return Hole::parse(value).map(Expression::Hole);
        }
        check_names(value, &[mark, WITH], "a template or a calculation")?;
        let Some(text) = value[mark].as_str() else {
            return fail(format!("$.{mark}"), "expected a text with places such as {1}");
        };
        let Some(items) = value.get(WITH).and_then(Value::as_array) else {
            return fail("$.with", "expected a list of references");
        };
        if depth == MAX_DEPTH {
            return fail("$", format!("expected at most {MAX_DEPTH} expressions inside one another"));
        }
        let inner = |(at, item): (usize, &'a Value)| {
            let marked = [FROM, TEMPLATE, CALC].into_iter().find(|mark| item.get(*mark).is_some());
            let parsed = match marked {
                Some(mark) => Expression::parse_marked(mark, item, depth + 1),
                None => fail("$", "expected a reference; what is known stands in the text itself"),
            };
            parsed.map_err(|error| error.under(&format!("$.with[{at}]")))
        };
        let with = items.iter().enumerate().map(inner).collect::<Result<Vec<_>, _>>()?;
        if mark == TEMPLATE {
            let parts = parse_template(text, with.len())?;
            return Ok(Expression::Template { parts, with });
        }
        if text.len() > MAX_CALC {
            return fail("$.$calc", format!("expected at most {MAX_CALC} bytes, found {}", text.len()));
        }
        // With ones in all places: what is left to go wrong depends on the values.
        let ones = vec![decimal::Decimal::ONE; with.len()];
        match decimal::calculate(text, &ones) {
            Err(decimal::Wrong::Formula(problem)) => fail("$.$calc", problem),
            _ => Ok(Expression::Calc { formula: text, with }),
        }
    }

    /// The references in it.
    pub fn references(&self) -> Vec<&Reference<'a>> {
        match self {
            Expression::Reference(reference) => vec![reference],
            Expression::Template { with, .. } | Expression::Calc { with, .. } => {
                with.iter().flat_map(Expression::references).collect()
            }
            Expression::Hole(hole) => hole.from.iter().collect(),
        }
    }
}

impl<'a> Hole<'a> {
    fn parse(value: &'a Value) -> Result<Self, ContractError> {
        check_names(value, &[FILL, TYPE, VIEW], "a value that is to be filled in")?;
        let wanted = value[FILL].as_str().map(str::trim).unwrap_or_default();
        if wanted.is_empty() || wanted.len() > MAX_WANTED {
            return fail("$.$fill", format!("expected what is wanted, in 1 to {MAX_WANTED} bytes"));
        }
        let schema = value.get(TYPE).filter(|schema| schema.is_object());
        let Some(schema) = schema else {
            return fail("$.type", "expected a JSON schema such as {\"type\": \"string\"}");
        };
        let shown = value.get(VIEW).and_then(Value::as_array).filter(|shown| !shown.is_empty());
        let Some(shown) = shown else {
            return fail("$.from", "expected a list of what is to be read: ids of steps, or references");
        };
        let view = |(at, one): (usize, &'a Value)| {
            let parsed = match one {
                Value::String(from) => Ok(Reference { from, select: None, take: "", extract: None }),
                one => Reference::parse(one),
            };
            parsed.map_err(|error| error.under(&format!("$.from[{at}]")))
        };
        let from = shown.iter().enumerate().map(view).collect::<Result<_, _>>()?;
        Ok(Hole { wanted, schema, from })
    }
}

fn check_names(value: &Value, known: &[&str], of: &str) -> Result<(), ContractError> {
    let mut names = value.as_object().into_iter().flat_map(|fields| fields.keys());
    match names.find(|name| !known.contains(&name.as_str())) {
        Some(name) => fail(format!("$.{}", excerpt(name, 60)), format!("unexpected field of {of}")),
        None => Ok(()),
    }
}

/// A text with places: `{1}` is the first value, `{{` and `}}` are braces.
fn parse_template(text: &str, values: usize) -> Result<Vec<Part<'_>>, ContractError> {
    let wrong = |problem: String| fail("$.$template", problem);
    let (mut parts, mut rest) = (Vec::new(), text);
    while let Some(at) = rest.find(['{', '}']) {
        parts.push(Part::Text(&rest[..at]));
        let brace = &rest[at..];
        if brace.starts_with("{{") || brace.starts_with("}}") {
            parts.push(Part::Text(&brace[..1]));
            rest = &brace[2..];
            continue;
        }
        let place = brace.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let Some((number, after)) = place else {
            return wrong("expected a place such as {1}, found a lone brace; write {{ or }}".to_owned());
        };
        match number.parse::<usize>() {
            Ok(number) if (1..=values).contains(&number) => parts.push(Part::Value(number - 1)),
            _ => return wrong(format!("expected {{1}} to {{{values}}}, found {{{}}}", excerpt(number, 20))),
        }
        rest = after;
    }
    parts.push(Part::Text(rest));
    Ok(parts)
}

impl<'a> Reference<'a> {
    fn parse(value: &'a Value) -> Result<Self, ContractError> {
        check_names(value, &[FROM, "in", "where", "order_by", "first", "take", "extract"], "a reference")?;
        let Some(from) = value[FROM].as_str() else {
            return fail("$.$from", "expected the id of an earlier step");
        };
        let field = |name: &str| value.get(name).filter(|value| !value.is_null());
        let pointer = |name: &str| match field(name) {
            None => Ok(None),
            Some(value) => parse_pointer(&format!("$.{name}"), value).map(Some),
        };
        let conditions = match field("where") {
            None => Vec::new(),
            Some(Value::Array(list)) if list.len() <= MAX_CONDITIONS => {
                let parsed = |(at, one)| {
                    Condition::parse(one)
                        .map_err(|error: ContractError| error.under(&format!("$.where[{at}]")))
                };
                list.iter().enumerate().map(parsed).collect::<Result<Vec<_>, _>>()?
            }
            Some(_) => {
                return fail("$.where", format!("expected a list of at most {MAX_CONDITIONS} conditions"));
            }
        };
        let order = match (pointer("order_by")?, field("first").map(Value::as_str)) {
            (None, None) => None,
            (Some(field), Some(Some(first @ ("largest" | "smallest")))) => {
                Some(Order { field, largest: first == "largest" })
            }
            _ => return fail("$.first", "expected \"largest\" or \"smallest\" beside `order_by`"),
        };
        let list = pointer("in")?;
        let selects = !conditions.is_empty() || order.is_some();
        if !selects && (list.is_some_and(|list| !list.is_empty())) {
            return fail(
                "$.in",
                "expected `where` or `order_by` beside it, which find one record of the list",
            );
        }
        let select = selects.then_some(Select { list: list.unwrap_or_default(), conditions, order });
        let extract = match field("extract") {
            None => None,
            Some(kind) => {
                let known = EXTRACTED.iter().find(|(name, _)| kind.as_str() == Some(name));
                let names = EXTRACTED.map(|(name, _)| name).join(", ");
                match known {
                    Some((_, kind)) => Some(*kind),
                    None => return fail("$.extract", format!("expected one of {names}")),
                }
            }
        };
        Ok(Reference { from, select, take: pointer("take")?.unwrap_or_default(), extract })
    }
}

fn parse_pointer<'a>(path: &str, value: &'a Value) -> Result<&'a str, ContractError> {
    match value {
        Value::String(pointer) if pointer.is_empty() || pointer.starts_with('/') => Ok(pointer),
        _ => fail(path, "expected a JSON pointer such as \"/total\""),
    }
}

impl<'a> Condition<'a> {
    fn parse(value: &'a Value) -> Result<Self, ContractError> {
        let Some([field, test, literal]) = value.as_array().map(Vec::as_slice) else {
            return fail("$", "expected [field, test, value] such as [\"/title\", \"equals\", \"Lunch\"]");
        };
        let field = parse_pointer("$[0]", field)?;
        let test = match test.as_str() {
            Some("equals") => Test::Equals,
            Some("contains") => Test::Contains,
            Some("starts_with") => Test::StartsWith,
            _ => return fail("$[1]", "expected equals, contains or starts_with"),
        };
        match literal {
            Value::Array(_) | Value::Object(_) => fail("$[2]", "expected a text, a number or a boolean"),
            Value::String(text) if !text.is_empty() => Ok(Condition { field, test, literal }),
            _ if test == Test::StartsWith || literal.is_string() => {
                fail("$[2]", "expected a text that is not empty")
            }
            _ => Ok(Condition { field, test, literal }),
        }
    }
}

/// The ids of the steps that an input refers to.
pub(in crate::contract::plan) fn find(input: &Value) -> Result<Vec<&str>, ContractError> {
    let mut found = Vec::new();
    collect(input, &mut found)?;
    if found.len() > MAX_REFERENCES {
        let problem = format!("expected at most {MAX_REFERENCES} references, found {}", found.len());
        return fail("$", problem);
    }
    Ok(found)
}

/// The holes of an input, in the order in which they are filled.
pub(in crate::contract::plan) fn find_holes(input: &Value) -> Vec<Hole<'_>> {
    let mut holes = Vec::new();
    collect_holes(input, &mut holes);
    holes
}

fn collect_holes<'a>(value: &'a Value, holes: &mut Vec<Hole<'a>>) {
    match Expression::parse(value) {
        Some(Ok(Expression::Hole(hole))) => holes.push(hole),
        Some(_) => {}
        None => match value {
            Value::Array(items) => items.iter().for_each(|item| collect_holes(item, holes)),
            Value::Object(fields) => fields.values().for_each(|field| collect_holes(field, holes)),
            _ => {}
        },
    }
}

fn collect<'a>(value: &'a Value, found: &mut Vec<&'a str>) -> Result<(), ContractError> {
    if let Some(expression) = Expression::parse(value) {
        found.extend(expression?.references().iter().map(|reference| reference.from));
        return Ok(());
    }
    each(value, &mut |_, inner| collect(inner, found))
}

/// Is told of a value inside another, and of its name where that is an object.
type Visit<'f, 'a> = dyn FnMut(Option<&str>, &'a Value) -> Result<(), ContractError> + 'f;

/// Visits what a value holds, and says of an error where that stands.
pub(super) fn each<'a>(value: &'a Value, visit: &mut Visit<'_, 'a>) -> Result<(), ContractError> {
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
