//! Labels: who chose a value that is put into a call. A label follows from the plan and the contracts alone, and never
//! from what was returned, so whoever writes an output cannot make its label better.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::expression::{Expression, Reference, each, name};
use crate::contract::trust::Label;
use crate::contract::{ContractError, ToolContract, excerpt};

/// Where the output of a step comes from.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// The tool that returned it. None if a person or an agent did the step.
    pub tool: Option<&'a ToolContract>,
    /// The worst label of what was put into the call. An output is never better than that.
    pub label: Label,
}

/// A part of an input that is taken from elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelledPart {
    /// Where it stands in the input: a JSON pointer.
    pub place: String,
    /// Who chose it.
    pub label: Label,
    /// Where it comes from: `s1 /email`; `$fill ← s1 /body` if a model wrote it after reading that; `plan 2 after
    /// untrusted text` if the whole plan was made after reading such, with what the plan takes it from behind `: `.
    pub origin: String,
}

/// How the origin of a value begins that a model wrote for a hole.
const WRITTEN: &str = "$fill ← ";
/// How the origin of a value begins that a plan chose which was made after untrusted text was read.
const PLANNED: &str = "plan ";
const AFTER: &str = " after untrusted text";

impl LabelledPart {
    /// The parts of a whole input in the order of their places, of which these are known: what no step before gave is as
    /// the plan has it.
    pub fn of_whole(input: &Value, parts: Vec<Self>) -> Vec<Self> {
        let fields = input.as_object().filter(|fields| !fields.is_empty());
        let places: Vec<String> = match fields {
            Some(fields) => {
                fields.keys().map(|name| format!("/{}", name.replace('~', "~0").replace('/', "~1"))).collect()
            }
            None => vec![String::new()],
        };
        let covers = |part: &LabelledPart, place: &str| {
            part.place.is_empty() || part.place == place || part.place.starts_with(&format!("{place}/"))
        };
        let literal = places.into_iter().filter(|place| !parts.iter().any(|part| covers(part, place)));
        let literal =
            literal.map(|place| LabelledPart { place, label: Label::Literal, origin: "plan".to_owned() });
        let mut all: Vec<Self> = literal.chain(parts.iter().cloned()).collect();
        all.sort_by(|one, other| one.place.cmp(&other.place));
        all
    }

    /// The part as a model chose it that had read untrusted text when it made the plan of this draft.
    pub(crate) fn planned_in(self, draft: usize) -> Self {
        let from = if self.origin == "plan" { String::new() } else { format!(": {}", self.origin) };
        Self { label: Label::Filled, origin: format!("{PLANNED}{draft}{AFTER}{from}"), ..self }
    }

    /// The draft that chose it after untrusted text was read, and what that takes it from; `None` if none did.
    pub fn planned_after(&self) -> Option<(&str, &str)> {
        let (draft, from) = self.origin.strip_prefix(PLANNED)?.split_once(AFTER)?;
        Some((draft, from.strip_prefix(": ").unwrap_or(from)))
    }

    /// What a model had read that wrote the value where the plan left it open; `None` if none did.
    pub fn written_after(&self) -> Option<&str> {
        self.origin.strip_prefix(WRITTEN)
    }

    /// Where it comes from and who chose it, for people: `s1 /email (typed)`.
    pub fn tell(&self) -> String {
        match (self.written_after(), self.planned_after()) {
            (Some(read), _) => format!("written by a model after reading {read} ({})", self.label),
            (_, Some((draft, from))) => {
                let from = if from.is_empty() { String::new() } else { format!(": {from}") };
                format!("planned after untrusted text was read (plan {draft}, {}){from}", self.label)
            }
            _ => format!("{} ({})", self.origin, self.label),
        }
    }
}

/// The parts of an input that are not literals, with their labels. `origin` gives a step's by its id; an unknown step
/// counts as the worst.
///
/// # Errors
/// Where an expression is none, as the check of the whole plan says.
pub fn label_input<'a>(
    input: &Value,
    origin: &dyn Fn(&str) -> Option<Origin<'a>>,
) -> Result<Vec<LabelledPart>, ContractError> {
    let mut parts = Vec::new();
    collect(input, String::new(), origin, &mut parts)?;
    Ok(parts)
}

fn collect<'a>(
    value: &Value,
    place: String,
    origin: &dyn Fn(&str) -> Option<Origin<'a>>,
    parts: &mut Vec<LabelledPart>,
) -> Result<(), ContractError> {
    if let Some(expression) = Expression::parse(value) {
        let expression = expression?;
        parts.push(LabelledPart { place, label: label(&expression, origin), origin: describe(&expression) });
        return Ok(());
    }
    let mut at = 0;
    each(value, &mut |name, inner| {
        let name = name.map_or_else(|| at.to_string(), |name| name.replace('~', "~0").replace('/', "~1"));
        at += 1;
        collect(inner, format!("{place}/{name}"), origin, parts)
    })
}

fn label<'a>(expression: &Expression<'_>, origin: &dyn Fn(&str) -> Option<Origin<'a>>) -> Label {
    match expression {
        Expression::Reference(reference) => {
            origin(reference.from).map_or(Label::Filled, |origin| reference.label(origin))
        }
        Expression::Template { with, .. } | Expression::Calc { with, .. } => {
            let worst = with.iter().map(|inner| label(inner, origin)).max().unwrap_or_default();
            // What is put together may say what none of its parts says.
            if worst > Label::Located { worst.max(Label::Computed) } else { worst }
        }
        // Whatever it was shown.
        Expression::Hole(_) => Label::Filled,
    }
}

impl Reference<'_> {
    fn label(&self, origin: Origin<'_>) -> Label {
        let declared = |place: &str| origin.tool.map_or(Label::Literal, |tool| tool.label_at(place));
        let is_untrusted = |field: &str| {
            let list = self.select.as_ref().map_or("", |select| select.list);
            declared(&format!("{list}/*{field}")) > Label::System
        };
        let mut label = declared(&self.place());
        let counted = if self.counts() { Label::Located } else { Label::Literal };
        let chosen = match &self.select {
            None => counted,
            Some(select) => {
                let named = select.conditions.iter().any(|one| is_untrusted(one.field));
                match &select.order {
                    // Where an order decides among those that a literal names, another record may be put before.
                    Some(order) if named || is_untrusted(order.field) => Label::Copied,
                    None if named => Label::Located,
                    _ => counted,
                }
            }
        };
        let is_located =
            self.select.as_ref().is_none_or(|select| select.order.is_none()) && counted == Label::Literal;
        if label == Label::Typed && !is_located {
            label = Label::Copied;
        }
        label = label.max(chosen).max(counted);
        if self.extract.is_some() && label > Label::Located {
            label = label.max(Label::Extracted);
        }
        label.max(origin.label)
    }
}

impl Reference<'_> {
    /// Where a value comes from, in no language: `s1 /*/body → url`. The plan itself says all of it.
    pub(super) fn describe(&self) -> String {
        let (place, found) = (self.place(), self.extract.map(name));
        let found = found.map(|kind| format!("→ {kind}")).unwrap_or_default();
        let words = [self.from, &place, &found];
        excerpt(&words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "), 120)
    }
}

/// Where a value comes from: `s1 /a + s2` if it is put together, `s1 /a, s2` if a model wrote it after reading these.
fn describe(expression: &Expression<'_>) -> String {
    let joined = |parts: Vec<String>, by: &str| excerpt(&parts.join(by), 240);
    match expression {
        Expression::Reference(reference) => reference.describe(),
        Expression::Template { with, .. } | Expression::Calc { with, .. } => {
            joined(with.iter().map(describe).collect(), " + ")
        }
        Expression::Hole(hole) => {
            let read = joined(hole.from.iter().map(Reference::describe).collect(), ", ");
            format!("{WRITTEN}{read}")
        }
    }
}
