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

macro_rules! number_doc {
    (ask) => {
        "Which asking, from 1; later ones are repairs."
    };
    (draft) => {
        "The draft of the plan, from 1."
    };
    (step) => {
        "The step's position in the plan, from 0 (written from 1)."
    };
    (attempt) => {
        "Which try of the step, from 1."
    };
    (nth) => {
        "Which decision in this draft, from 1."
    };
}

/// How far from 0 a number starts in the machine, where it is written from 1.
macro_rules! written_more {
    (step) => {
        1
    };
    ($other:ident) => {
        0
    };
}

/// The table of effect kinds: each with its name and its numbers, in the order they are written.
macro_rules! effect_kinds {
    ($($(#[$doc:meta])+ $kind:ident = $name:literal { $($number:ident),+ })+) => {
        /// What an effect asks, in the run that asks it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum EffectKind {
            $($(#[$doc])+ $kind { $(#[doc = number_doc!($number)] $number: u32),+ },)+
        }

        impl EffectKind {
            /// Its name and its numbers, each from 1.
            fn parts(self) -> (&'static str, SmallVec<[u64; 3]>) {
                match self {
                    $(EffectKind::$kind { $($number),+ } => {
                        ($name, SmallVec::from_iter([$(u64::from($number) + written_more!($number)),+]))
                    })+
                }
            }

            fn from_parts(name: &str, numbers: &[u32]) -> Option<Self> {
                match name {
                    $($name => match *numbers {
                        [$($number),+] => {
                            Some(EffectKind::$kind { $($number: $number - written_more!($number)),+ })
                        }
                        _ => None,
                    },)+
                    _ => None,
                }
            }
        }
    };
}

effect_kinds! {
    /// Asking whether the question is in scope.
    Scope = "scope" { ask }
    /// Asking whether the answer needs earlier turns.
    PreviousContext = "previous_context" { ask }
    /// Asking what the user wants.
    Intent = "intent" { ask }
    /// Asking for a plan.
    Plan = "plan" { draft, ask }
    /// Calling the tool of a step, or asking the agent that does it.
    Step = "step" { draft, step, attempt }
    /// Waiting before another try of a step: the try that is waited for, from 2.
    Wait = "wait" { draft, step, attempt }
    /// Asking a person about a step.
    Human = "human" { draft, step }
    /// Asking a person to approve a plan.
    ApprovePlan = "approve" { draft }
    /// Asking a person to approve the call of a step.
    ApproveCall = "permit" { draft, step }
    /// Asking what becomes of the rest of the plan.
    Orchestrate = "orchestrate" { draft, nth, ask }
    /// Asking for a verdict on what the draft found.
    Validate = "validate" { draft, ask }
    /// Asking for the answer.
    Write = "write" { draft, ask }
}

impl EffectKind {
    /// Whether a person is asked.
    pub fn asks_a_person(self) -> bool {
        matches!(
            self,
            EffectKind::Human { .. } | EffectKind::ApprovePlan { .. } | EffectKind::ApproveCall { .. }
        )
    }

    /// The step that this is about, where it is about one.
    pub(in crate::machine) fn step(self) -> Option<u32> {
        match self {
            EffectKind::Step { step, .. }
            | EffectKind::Wait { step, .. }
            | EffectKind::Human { step, .. }
            | EffectKind::ApproveCall { step, .. } => Some(step),
            _ => None,
        }
    }

    /// Which asking this is, where a reply is asked for.
    pub(in crate::machine) fn ask(mut self) -> Option<u32> {
        self.ask_mut().copied()
    }

    /// Makes it the `nth` asking for the same reply.
    pub(in crate::machine) fn asked(mut self, nth: u32) -> Self {
        if let Some(ask) = self.ask_mut() {
            *ask = nth;
        }
        self
    }

    fn ask_mut(&mut self) -> Option<&mut u32> {
        match self {
            EffectKind::Scope { ask }
            | EffectKind::PreviousContext { ask }
            | EffectKind::Intent { ask }
            | EffectKind::Plan { ask, .. }
            | EffectKind::Orchestrate { ask, .. }
            | EffectKind::Validate { ask, .. }
            | EffectKind::Write { ask, .. } => Some(ask),
            _ => None,
        }
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

/// The steps that an effect is nested in, outermost first.
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
    /// The id as the outer run knows it; `None` where that is too deep.
    pub(in crate::machine) fn inside(self, place: Place) -> Option<Self> {
        if self.path.0[MAX_NESTING - 1].is_some() {
            return None;
        }
        let mut path = Path::default();
        path.0[0] = Some(place);
        path.0[1..].copy_from_slice(&self.path.0[..MAX_NESTING - 1]);
        Some(EffectId { path, kind: self.kind })
    }

    /// The outermost step it is nested in, and the id as the run there knows it.
    pub(in crate::machine) fn outside(self) -> Option<(Place, Self)> {
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
        self.path.0[0].map_or_else(|| self.kind.step(), |place| Some(place.step))
    }
}

impl EffectKind {
    /// Writes it without the standard library's formatting, which is felt: every record has one.
    fn write(self, text: &mut Text) {
        let (name, numbers) = self.parts();
        text.extend_from_slice(name.as_bytes());
        for number in numbers {
            text.push(b'.');
            write_number(text, number);
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

fn parse_kind(text: &str) -> Option<EffectKind> {
    let mut parts = text.split('.');
    let name = parts.next()?;
    let numbers: Option<SmallVec<[u32; 3]>> =
        parts.map(|part| part.parse().ok().filter(|&number| number > 0)).collect();
    EffectKind::from_parts(name, &numbers?)
}

impl FromStr for EffectId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unknown = || format!("expected an effect id like \"plan.1.1\", found {text:?}");
        let mut parts: Vec<&str> = text.split('/').collect();
        let kind = parts.pop().and_then(parse_kind).ok_or_else(unknown)?;
        let mut id = EffectId::from(kind);
        for part in parts.into_iter().rev() {
            let Some(EffectKind::Step { draft, step, attempt }) = parse_kind(part) else {
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
