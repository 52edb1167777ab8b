//! Effect ids: what ties an answer to what was asked.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smallvec::SmallVec;

use crate::spec::MAX_NESTING;

/// The id of one effect. It derives from what is asked (which draft, which step, which try) and
/// not from a counter, so nothing depends on the order of arrival. Written `plan.1.1`,
/// `step.1.3.1`, `validate.1.1`, `write.1.1`; all numbers count from 1. What a nested run asks is
/// written after the step it runs for: `step.1.2.1/plan.1.1`.
///
/// ```
/// use planwright::machine::{EffectId, EffectKind};
///
/// let id: EffectId = "step.1.3.1".parse()?;
/// assert_eq!(id.kind, EffectKind::Step { draft: 1, step: 2, attempt: 1 });
/// assert_eq!(id.to_string(), "step.1.3.1");
///
/// let nested: EffectId = "step.1.2.1/plan.1.1".parse()?;
/// assert_eq!(nested.kind, EffectKind::Plan { draft: 1, ask: 1 });
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EffectId {
    /// The steps it is nested in, outermost first; empty for what the run itself asks.
    pub path: Path,
    /// What is asked there.
    pub kind: EffectKind,
}

/// What an effect asks, in the run that asks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EffectKind {
    /// Asking whether the question is in scope.
    Scope {
        /// Which asking, from 1; later ones are repairs.
        ask: u32,
    },
    /// Asking whether the answer needs earlier turns.
    PreviousContext {
        /// Which asking, from 1; later ones are repairs.
        ask: u32,
    },
    /// Asking what the user wants.
    Intent {
        /// Which asking, from 1; later ones are repairs.
        ask: u32,
    },
    /// Asking for a plan.
    Plan {
        /// Which draft of the plan, from 1.
        draft: u32,
        /// Which asking for it, from 1; later ones are repairs.
        ask: u32,
    },
    /// Calling the tool of a step, or asking the role that does it.
    Step {
        /// The draft the step belongs to, from 1.
        draft: u32,
        /// The step's position in the plan, from 0 (written from 1).
        step: u32,
        /// Which try, from 1.
        attempt: u32,
    },
    /// Waiting before another try of a step.
    Wait {
        /// The draft the step belongs to, from 1.
        draft: u32,
        /// The step's position in the plan, from 0 (written from 1).
        step: u32,
        /// The try that is waited for, from 2.
        attempt: u32,
    },
    /// Asking a person about a step.
    Human {
        /// The draft the step belongs to, from 1.
        draft: u32,
        /// The step's position in the plan, from 0 (written from 1).
        step: u32,
    },
    /// Asking a person whether a plan may be carried out.
    Approve {
        /// The draft whose plan it is, from 1.
        draft: u32,
    },
    /// Asking a person whether the tool of a step may be called.
    Permit {
        /// The draft the step belongs to, from 1.
        draft: u32,
        /// The step's position in the plan, from 0 (written from 1).
        step: u32,
    },
    /// Asking what becomes of the rest of the plan.
    Orchestrate {
        /// The draft, from 1.
        draft: u32,
        /// Which decision in this draft, from 1.
        nth: u32,
        /// Which asking for it, from 1; later ones are repairs.
        ask: u32,
    },
    /// Asking for a verdict.
    Validate {
        /// The draft that is judged, from 1.
        draft: u32,
        /// Which asking for it, from 1; later ones are repairs.
        ask: u32,
    },
    /// Asking for the answer.
    Write {
        /// The draft whose results are written up, from 1.
        draft: u32,
        /// Which asking for it, from 1; later ones are repairs.
        ask: u32,
    },
}

impl EffectKind {
    /// Whether a person is asked.
    pub fn asks_a_person(self) -> bool {
        matches!(self, EffectKind::Human { .. } | EffectKind::Approve { .. } | EffectKind::Permit { .. })
    }
}

impl From<EffectKind> for EffectId {
    fn from(kind: EffectKind) -> Self {
        EffectId { path: Path::default(), kind }
    }
}

/// One try of one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The draft the step belongs to, from 1.
    pub draft: u32,
    /// The step's position in the plan, from 0.
    pub step: u32,
    /// Which try, from 1.
    pub attempt: u32,
}

/// The steps that an effect is nested in, outermost first. As long as agents may nest deep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path([Option<Place>; MAX_NESTING]);

impl Path {
    /// The steps, outermost first.
    pub fn places(&self) -> impl Iterator<Item = Place> + '_ {
        self.0.iter().copied().flatten()
    }

    /// Whether the run itself asks.
    pub fn is_empty(&self) -> bool {
        self.0[0].is_none()
    }
}

impl EffectId {
    /// The same id, seen from the run that the nested one hangs in; `None` where that is too deep.
    pub(super) fn inside(self, place: Place) -> Option<Self> {
        if self.path.0[MAX_NESTING - 1].is_some() {
            return None;
        }
        let mut path = Path::default();
        path.0[0] = Some(place);
        path.0[1..].copy_from_slice(&self.path.0[..MAX_NESTING - 1]);
        Some(EffectId { path, kind: self.kind })
    }

    /// The outermost step it is nested in, and the id as the run there knows it.
    pub(super) fn outside(self) -> Option<(Place, Self)> {
        let place = self.path.0[0]?;
        let mut path = Path::default();
        path.0[..MAX_NESTING - 1].copy_from_slice(&self.path.0[1..]);
        Some((place, EffectId { path, kind: self.kind }))
    }

    /// The first try of the step that this is a try of; itself, where it is none.
    #[must_use]
    pub fn first_try(mut self) -> Self {
        if let EffectKind::Step { attempt, .. } = &mut self.kind {
            *attempt = 1;
        }
        self
    }

    /// The step that this is about, where it is about one, as the outermost run counts it.
    pub fn step(&self) -> Option<u32> {
        if let Some(place) = self.path.0[0] {
            return Some(place.step);
        }
        match self.kind {
            EffectKind::Step { step, .. }
            | EffectKind::Wait { step, .. }
            | EffectKind::Human { step, .. }
            | EffectKind::Permit { step, .. } => Some(step),
            _ => None,
        }
    }
}

impl EffectKind {
    /// Its name and its numbers, each from 1. They are written for every record, so this goes without
    /// the standard library's formatting.
    fn parts(self) -> (&'static str, [u64; 3], usize) {
        let three = |name, first: u32, second: u64, third: u32| {
            (name, [u64::from(first), second, u64::from(third)], 3)
        };
        let two = |name, first: u32, second: u64| (name, [u64::from(first), second, 0], 2);
        let one = |name, only: u32| (name, [u64::from(only), 0, 0], 1);
        let from_1 = |step: u32| u64::from(step) + 1;
        match self {
            EffectKind::Scope { ask } => one("scope", ask),
            EffectKind::PreviousContext { ask } => one("previous_context", ask),
            EffectKind::Intent { ask } => one("intent", ask),
            EffectKind::Plan { draft, ask } => two("plan", draft, ask.into()),
            EffectKind::Step { draft, step, attempt } => three("step", draft, from_1(step), attempt),
            EffectKind::Wait { draft, step, attempt } => three("wait", draft, from_1(step), attempt),
            EffectKind::Human { draft, step } => two("human", draft, from_1(step)),
            EffectKind::Approve { draft } => one("approve", draft),
            EffectKind::Permit { draft, step } => two("permit", draft, from_1(step)),
            EffectKind::Orchestrate { draft, nth, ask } => three("orchestrate", draft, nth.into(), ask),
            EffectKind::Validate { draft, ask } => two("validate", draft, ask.into()),
            EffectKind::Write { draft, ask } => two("write", draft, ask.into()),
        }
    }

    fn write(self, text: &mut Text) {
        let (name, numbers, count) = self.parts();
        text.extend_from_slice(name.as_bytes());
        for number in &numbers[..count] {
            text.push(b'.');
            write_number(text, *number);
        }
    }
}

/// The text of an id; most fit here.
type Text = SmallVec<[u8; 64]>;

fn write_number(text: &mut Text, number: u64) {
    if number >= 10 {
        write_number(text, number / 10);
    }
    text.push(b'0' + (number % 10) as u8);
}

impl EffectId {
    /// Hands its text on.
    fn with_text<T>(&self, then: impl FnOnce(&str) -> T) -> T {
        let mut text = Text::new();
        for Place { draft, step, attempt } in self.path.places() {
            EffectKind::Step { draft, step, attempt }.write(&mut text);
            text.push(b'/');
        }
        self.kind.write(&mut text);
        then(std::str::from_utf8(&text).expect("names and digits"))
    }
}

impl fmt::Display for EffectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_text(|text| f.write_str(text))
    }
}

impl fmt::Display for EffectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        EffectId::from(*self).fmt(f)
    }
}

fn read_kind(text: &str) -> Option<EffectKind> {
    let mut parts = text.split('.');
    let name = parts.next()?;
    let numbers: Vec<u32> =
        parts.map(|part| part.parse().ok().filter(|&number| number > 0)).collect::<Option<_>>()?;
    Some(match (name, numbers.as_slice()) {
        ("scope", &[ask]) => EffectKind::Scope { ask },
        ("previous_context", &[ask]) => EffectKind::PreviousContext { ask },
        ("intent", &[ask]) => EffectKind::Intent { ask },
        ("plan", &[draft, ask]) => EffectKind::Plan { draft, ask },
        ("step", &[draft, step, attempt]) => EffectKind::Step { draft, step: step - 1, attempt },
        ("wait", &[draft, step, attempt]) => EffectKind::Wait { draft, step: step - 1, attempt },
        ("human", &[draft, step]) => EffectKind::Human { draft, step: step - 1 },
        ("approve", &[draft]) => EffectKind::Approve { draft },
        ("permit", &[draft, step]) => EffectKind::Permit { draft, step: step - 1 },
        ("orchestrate", &[draft, nth, ask]) => EffectKind::Orchestrate { draft, nth, ask },
        ("validate", &[draft, ask]) => EffectKind::Validate { draft, ask },
        ("write", &[draft, ask]) => EffectKind::Write { draft, ask },
        _ => return None,
    })
}

impl FromStr for EffectId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unknown = || format!("expected an effect id like \"plan.1.1\", found {text:?}");
        let mut parts: Vec<&str> = text.split('/').collect();
        let kind = parts.pop().and_then(read_kind).ok_or_else(unknown)?;
        let mut id = EffectId::from(kind);
        for part in parts.into_iter().rev() {
            let Some(EffectKind::Step { draft, step, attempt }) = read_kind(part) else {
                return Err(unknown());
            };
            id = id.inside(Place { draft, step, attempt }).ok_or_else(unknown)?;
        }
        // One text per id: "plan.01.1" is refused, as it would not be written back the same.
        if id.to_string() == text { Ok(id) } else { Err(format!("expected \"{id}\", found {text:?}")) }
    }
}

impl Serialize for EffectId {
    fn serialize<S: Serializer>(&self, sink: S) -> Result<S::Ok, S::Error> {
        self.with_text(|text| sink.serialize_str(text))
    }
}

impl<'de> Deserialize<'de> for EffectId {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        String::deserialize(source)?.parse().map_err(serde::de::Error::custom)
    }
}
