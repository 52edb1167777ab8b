//! Evaluation: puts the values in the place of the expressions. Pure and total: equal inputs and outputs give equal
//! values or equal errors.

use std::slice::Iter;

use serde_json::{Map, Value};

use super::decimal::{Decimal, Wrong, calculate};
use super::expression::{Expression, Hole, Part, Reference, name};
use super::extract::{find_all, is_of};
use crate::contract::trust::{FieldType, segments};
use crate::contract::{ContractError, ToolContract, excerpt};

/// Longest text that a template makes, in bytes.
const MAX_TEXT: usize = 1 << 20;
/// The code of an input in which a model has not written all that it is to write.
const UNFILLED: &str = "unfilled";
/// Most values that are offered where several fit.
const MAX_CANDIDATES: usize = 3;

/// What an earlier step returned.
#[derive(Clone, Copy, Debug)]
pub struct Returned<'a> {
    /// What models are shown.
    pub text: &'a str,
    /// The structured output, if the tool gave any.
    pub data: Option<&'a Value>,
    /// The tool that returned it.
    pub tool: Option<&'a ToolContract>,
}

/// Why an input could not be made out of what earlier steps returned.
#[derive(Clone, Debug, PartialEq)]
pub struct Unresolved {
    /// One word: `input`, `ambiguous`, `reference_type`, or `unfilled` before a model has filled all holes.
    pub code: &'static str,
    /// What was expected and what was found. It holds no value of an output.
    pub error: ContractError,
    /// Some of the values that fit where several do, as the input would hold them.
    pub candidates: Vec<Value>,
    /// Where in the input the expression stands: a JSON pointer.
    pub place: String,
}

impl Unresolved {
    fn new(code: &'static str, problem: impl AsRef<str>) -> Self {
        Unresolved::from(ContractError::at("$", problem)).with_code(code)
    }

    pub(super) fn wrong_type(problem: impl AsRef<str>) -> Self {
        Unresolved::new("reference_type", problem)
    }

    /// Not exactly one value fits.
    pub(super) fn ambiguous<'v>(expected: &str, found: impl IntoIterator<Item = &'v Value>) -> Self {
        let mut found = found.into_iter();
        let candidates: Vec<Value> = found.by_ref().take(MAX_CANDIDATES).cloned().collect();
        let count = candidates.len() + found.count();
        Unresolved {
            candidates,
            ..Unresolved::new("ambiguous", format!("expected {expected}, found {count}"))
        }
    }

    /// Whether nothing is wrong but that a model has not written all that it is to write.
    pub(crate) fn is_unfilled(&self) -> bool {
        self.code == UNFILLED
    }

    fn with_code(self, code: &'static str) -> Self {
        Unresolved { code, ..self }
    }

    fn under(mut self, place: &str) -> Self {
        self.error = self.error.under(place);
        self
    }
}

impl From<ContractError> for Unresolved {
    fn from(error: ContractError) -> Self {
        Unresolved { code: "input", error, candidates: Vec::new(), place: String::new() }
    }
}

type Resolved = Result<Value, Unresolved>;
type Source<'f, 'r> = &'f dyn Fn(&str) -> Option<Returned<'r>>;

/// Puts what earlier steps returned in the place of the expressions. `returned` gives that by a step's id; `filled` holds
/// what a model wrote for the holes so far, in their order.
///
/// # Errors
/// The first value that is not exactly one, is not there, or is of another type than it says. A candidate is what
/// would stand in the place of the expression.
pub fn resolve_input<'r>(input: &Value, returned: Source<'_, 'r>, filled: &[Value]) -> Resolved {
    resolve(input, returned, &mut filled.iter())
}

/// What a model wrote is put in as it is: an expression in it is none.
fn resolve(input: &Value, returned: Source<'_, '_>, filled: &mut Iter<'_, Value>) -> Resolved {
    if let Some(expression) = Expression::parse(input) {
        return match expression? {
            Expression::Hole(hole) => match filled.next() {
                Some(value) => Ok(value.clone()),
                None => {
                    // What is missing in a view is no value of the input.
                    hole.view(returned).map_err(|error| Unresolved { candidates: Vec::new(), ..error })?;
                    Err(Unresolved::new(UNFILLED, "expected a value, found a hole"))
                }
            },
            expression => expression.evaluate(returned),
        };
    }
    let mut inside = |shown: String, name: &str, inner: &Value| {
        resolve(inner, returned, filled).map_err(|error| {
            let place = format!("/{}{}", name.replace('~', "~0").replace('/', "~1"), error.place);
            Unresolved { place, ..error.under(&format!("${shown}")) }
        })
    };
    match input {
        Value::Array(items) => {
            let inside = |(at, item)| inside(format!("[{at}]"), &usize::to_string(&at), item);
            items.iter().enumerate().map(inside).collect()
        }
        Value::Object(fields) => {
            let resolved = |(name, field): (&String, &Value)| {
                Ok((name.clone(), inside(format!(".{name}"), name, field)?))
            };
            fields.iter().map(resolved).collect::<Result<Map<String, Value>, _>>().map(Value::Object)
        }
        value => Ok(value.clone()),
    }
}

impl<'a> Hole<'a> {
    /// What the model that fills it is shown, each with where it comes from: these values and nothing else.
    pub(crate) fn view(&self, returned: Source<'_, '_>) -> Result<Vec<(String, Value)>, Unresolved> {
        let show = |shown: &Reference<'a>| {
            let missing = || Unresolved::new("input", format!("{} has no output", shown.from));
            let value = shown.evaluate(returned(shown.from).ok_or_else(missing)?)?;
            Ok((shown.describe(), value))
        };
        self.from.iter().map(show).collect()
    }
}

impl Expression<'_> {
    fn evaluate(&self, returned: Source<'_, '_>) -> Resolved {
        match self {
            Expression::Reference(reference) => {
                let missing = || Unresolved::new("input", format!("{} has no output", reference.from));
                reference.evaluate(returned(reference.from).ok_or_else(missing)?)
            }
            // It is a leaf of the input and stands in no other expression.
            Expression::Hole(_) => Err(Unresolved::new(UNFILLED, "expected a value, found a hole")),
            Expression::Template { parts, with } => fill_template(parts, &evaluate_all(with, returned)?),
            Expression::Calc { formula, with } => {
                let values = evaluate_all(with, returned)?;
                let numbers = values.iter().map(Decimal::of).collect::<Option<Vec<_>>>();
                let numbers =
                    numbers.ok_or_else(|| Unresolved::wrong_type("expected numbers to calculate with"))?;
                let result = calculate(formula, &numbers).map_err(|wrong| match wrong {
                    Wrong::Formula(problem) => Unresolved::new("input", problem),
                    Wrong::Values(problem) => Unresolved::wrong_type(problem),
                })?;
                result
                    .to_value()
                    .ok_or_else(|| Unresolved::wrong_type("expected a result that JSON holds exactly"))
            }
        }
    }
}

fn evaluate_all(with: &[Expression<'_>], returned: Source<'_, '_>) -> Result<Vec<Value>, Unresolved> {
    let one = |(at, inner): (usize, &Expression<'_>)| {
        inner
            .evaluate(returned)
            .map_err(|error| Unresolved { candidates: Vec::new(), ..error.under(&format!("$.with[{at}]")) })
    };
    with.iter().enumerate().map(one).collect()
}

fn fill_template(parts: &[Part<'_>], values: &[Value]) -> Resolved {
    let texts = values.iter().map(|value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) => Decimal::of(value).map(|number| number.to_string()),
        Value::Bool(says) => Some(says.to_string()),
        _ => None,
    });
    let texts = texts.collect::<Option<Vec<String>>>();
    let texts =
        texts.ok_or_else(|| Unresolved::wrong_type("expected texts, numbers or booleans in a template"))?;
    let piece = |part: &Part<'_>| match *part {
        Part::Text(text) => text.len(),
        Part::Value(at) => texts[at].len(),
    };
    let size: usize = parts.iter().map(piece).sum();
    if size > MAX_TEXT {
        return Err(Unresolved::new(
            "input",
            format!("expected a text of at most {MAX_TEXT} bytes, found {size}"),
        ));
    }
    let pieces = parts.iter().map(|part| match *part {
        Part::Text(text) => text,
        Part::Value(at) => &texts[at],
    });
    Ok(Value::String(pieces.collect()))
}

impl Reference<'_> {
    /// The value that it stands for.
    fn evaluate(&self, returned: Returned<'_>) -> Resolved {
        let taken = match (returned.data, &self.select) {
            (None, None) if self.take.is_empty() => Value::from(returned.text),
            (None, _) => return Err(Unresolved::new("input", format!("{} returned no data", self.from))),
            (Some(data), None) => self.take_from(data)?.clone(),
            (Some(data), Some(select)) => match select.find(self.from, data) {
                Ok(record) => self.take_from(record)?.clone(),
                Err(mut error) => {
                    // What would be taken from each, as far as it is there.
                    let taken =
                        error.candidates.iter().filter_map(|record| record.pointer(self.take).cloned());
                    error.candidates = taken.collect();
                    return Err(error);
                }
            },
        };
        self.check_type(returned.tool, &taken)?;
        match self.extract {
            Some(kind) => extract(self.from, kind, &taken),
            None => Ok(taken),
        }
    }

    fn take_from<'v>(&self, value: &'v Value) -> Result<&'v Value, Unresolved> {
        let missing = || {
            Unresolved::new("input", format!("{} returned nothing at {}", self.from, excerpt(self.take, 60)))
        };
        value.pointer(self.take).ok_or_else(missing)
    }

    /// Refuses a value that does not look as its tool declares.
    fn check_type(&self, tool: Option<&ToolContract>, taken: &Value) -> Result<(), Unresolved> {
        match tool.and_then(|tool| tool.type_at(&self.place())) {
            Some(kind) if !is_of(kind, taken) => {
                let place = excerpt(self.take, 60);
                Err(Unresolved::wrong_type(format!("expected {} at {place} of {}", name(kind), self.from)))
            }
            _ => Ok(()),
        }
    }

    /// Where what it takes stands in the data, with `*` for the record that it selects and for items by position.
    pub(super) fn place(&self) -> String {
        match &self.select {
            Some(select) => format!("{}/*{}", select.list, self.take),
            None => self.take.to_owned(),
        }
    }

    /// Whether it names an item of a list by its position.
    pub(super) fn counts(&self) -> bool {
        let list = self.select.as_ref().map_or("", |select| select.list);
        segments(list).chain(segments(self.take)).any(|name| name.parse::<usize>().is_ok())
    }
}

fn extract(from: &str, kind: FieldType, taken: &Value) -> Resolved {
    let Some(text) = taken.as_str() else {
        return Err(Unresolved::wrong_type(format!("expected a text of {from} to find {} in", name(kind))));
    };
    let unclear =
        || Unresolved::wrong_type(format!("expected numbers such as 1,234.50 in the text of {from}"));
    let mut found = find_all(kind, text).ok_or_else(unclear)?;
    match (found.len(), found.pop()) {
        (1, Some(value)) => Ok(value),
        (_, last) => {
            found.extend(last);
            Err(Unresolved::ambiguous(&format!("one {} in the text of {from}", name(kind)), &found))
        }
    }
}
