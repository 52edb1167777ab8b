//! Who chose a value: the roles of a tool's arguments, the trust of its output's fields, and the labels of what is put
//! into a call. What is not declared is the careful choice.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Whether what a tool returns may steer the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// Anyone may have written it. Reading it taints the run.
    #[default]
    Untrusted,
    /// Written by the tool itself out of nothing but its input, or assigned by its system: an id, a balance, an
    /// authenticated sender. `system` says the same.
    #[serde(alias = "system")]
    Trusted,
}

/// What an argument of a write decides, from the least to the most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgumentRole {
    /// What is put there: a body, a subject, a description.
    Content,
    /// How much, when or which way: an amount, a date, a flag.
    Value,
    /// Whom or what it acts on: a recipient, an account, a channel, the id of a record. What is not declared is one.
    #[default]
    Target,
}

/// What a field of an output, or what is found in a text, looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FieldType {
    /// Anything.
    #[default]
    Text,
    /// A name in some system: a whole number, or a word of at most 200 characters.
    Id,
    /// `ann@example.com`.
    Email,
    /// An address that begins with `http://`, `https://` or `www.`.
    Url,
    /// An international bank account number whose check digits are right.
    Iban,
    /// A decimal number, with or without commas between thousands.
    Number,
    /// `2026-05-17`, with or without a time.
    Date,
    /// A number beside a currency.
    Amount,
}

/// Who chose a field of an output, and what it looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OutputField {
    /// Whether a text of someone else may stand in it. Default: `untrusted`.
    pub trust: Trust,
    /// What it looks like. A value that does not is not taken. Default: `text`.
    #[serde(rename = "type")]
    pub kind: FieldType,
}

impl OutputField {
    /// Whether a text of someone else may stand in it.
    pub(crate) fn is_untrusted(&self) -> bool {
        self.trust == Trust::Untrusted
    }
}

/// How a text becomes data, if a tool gives no data of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputFormat {
    /// The text is JSON.
    Json,
    /// A list of the text's lines that are not empty.
    Lines,
}

/// Who chose a value that is put into a call, from the best to the worst. What is made of several values has the label
/// of the worst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Label {
    /// It stands in the frozen plan, or a person wrote it.
    #[default]
    Literal,
    /// Taken from trusted fields only.
    System,
    /// A trusted field of the one record that a literal names in an untrusted field.
    Located,
    /// An untrusted field with a declared type, of a record that was located.
    Typed,
    /// A copy of an untrusted field, or chosen by one.
    Copied,
    /// Found in an untrusted text.
    Extracted,
    /// Put together or calculated from untrusted fields. No model took part.
    Computed,
    /// A model wrote it after something untrusted was read.
    Filled,
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl fmt::Display for ArgumentRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl Label {
    /// Whether a value with this label may stand in an argument of a write that the frozen plan names, without a
    /// person. `grave`: whether the write is; `strict`: whether the policy is.
    ///
    /// ```
    /// use planwright::contract::{ArgumentRole, Label};
    ///
    /// assert!(Label::Copied.may_fill(ArgumentRole::Content, false, false));
    /// assert!(!Label::Copied.may_fill(ArgumentRole::Target, false, false));
    /// assert!(Label::Located.may_fill(ArgumentRole::Target, true, true));
    /// ```
    pub fn may_fill(self, role: ArgumentRole, grave: bool, strict: bool) -> bool {
        self <= Label::most_that_fills(role, grave, strict)
    }

    /// The worst label that [`may_fill`](Label::may_fill) takes.
    pub(crate) fn most_that_fills(role: ArgumentRole, grave: bool, strict: bool) -> Self {
        match role {
            ArgumentRole::Content | ArgumentRole::Value if !grave => Label::Computed,
            ArgumentRole::Target if !strict && !grave => Label::Typed,
            _ => Label::Located,
        }
    }

    /// Whether a value with this label may leave for a place that it names itself, without a person.
    pub fn may_leave(self, strict: bool) -> bool {
        self <= Label::most_that_leaves(strict)
    }

    /// The worst label that [`may_leave`](Label::may_leave) takes.
    pub(crate) fn most_that_leaves(strict: bool) -> Self {
        if strict { Label::Located } else { Label::Extracted }
    }
}

/// How a declared place stands to another, if they have anything in common.
#[derive(Clone, Copy, PartialEq)]
enum Standing {
    /// It is the other, or holds it: so many segments deep.
    Holds(usize),
    /// It is inside the other.
    Inside,
}

/// The segments of a JSON pointer.
pub(in crate::contract) fn segments(pointer: &str) -> impl Iterator<Item = Cow<'_, str>> {
    pointer.split('/').skip(1).map(|name| match name.contains('~') {
        true => Cow::Owned(name.replace("~1", "/").replace("~0", "~")),
        false => Cow::Borrowed(name),
    })
}

/// How a declared place stands to another; `*` in either stands for every item or field.
fn compare(declared: &str, place: &str) -> Option<Standing> {
    let (mut declared, mut place, mut depth) = (segments(declared), segments(place), 0);
    loop {
        match (declared.next(), place.next()) {
            (None, _) => return Some(Standing::Holds(depth)),
            (Some(_), None) => return Some(Standing::Inside),
            (Some(a), Some(b)) if a == b || a == "*" || b == "*" => depth += 1,
            _ => return None,
        }
    }
}

/// What is declared of a place: what the nearest declaration that holds it says, the worst of those equally near.
pub(in crate::contract) fn nearest<T, O: Ord>(
    declared: &BTreeMap<String, T>,
    place: &str,
    careful: impl Fn(&T) -> O,
) -> Option<O> {
    let near = declared.iter().filter_map(|(pointer, says)| match compare(pointer, place)? {
        Standing::Holds(depth) => Some((depth, careful(says))),
        Standing::Inside => None,
    });
    near.max().map(|(_, says)| says)
}

/// What is declared inside a place: the worst of it.
pub(in crate::contract) fn inside<T, O: Ord>(
    declared: &BTreeMap<String, T>,
    place: &str,
    careful: impl Fn(&T) -> O,
) -> Option<O> {
    let within = |(pointer, _): &(&String, &T)| compare(pointer, place) == Some(Standing::Inside);
    declared.iter().filter(within).map(|(_, says)| careful(says)).max()
}

/// Whether two places have anything in common.
pub(in crate::contract) fn overlaps(declared: &str, place: &str) -> bool {
    compare(declared, place).is_some()
}

/// What is declared of exactly a place.
pub(in crate::contract) fn exact<'a, T>(declared: &'a BTreeMap<String, T>, place: &str) -> Option<&'a T> {
    let depth = segments(place).count();
    declared
        .iter()
        .find(|(pointer, _)| compare(pointer, place) == Some(Standing::Holds(depth)))
        .map(|(_, says)| says)
}
