//! Effects: what a run asks of the world, and the ids that tie an answer to what was asked.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smallvec::{SmallVec, smallvec};

use crate::spec::{MAX_NESTING, RoleName};

/// What a run asks of the world. It is small: [`Request::of`](crate::prompt::Request::of) renders the
/// request from the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Effect {
    /// Ask the model in one of its roles.
    AskModel {
        /// The id its answer must carry.
        id: EffectId,
        /// The role to ask.
        role: RoleName,
    },
    /// Call a tool once. Whether to try again is decided by the machine, never by the driver.
    CallTool {
        /// The id its answer must carry.
        id: EffectId,
        /// The step's position in the plan, from 0.
        step: u32,
    },
    /// Ask a person to do a step, to approve its call, or to approve a plan.
    AskHuman {
        /// The id its answer must carry.
        id: EffectId,
        /// The position of the step, or of the first step of the plan, from 0.
        step: u32,
    },
    /// Let time pass before another try.
    Wait {
        /// The id its answer must carry.
        id: EffectId,
        /// How long, in milliseconds.
        delay_ms: u64,
    },
}

/// Who answers an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answerer {
    Model,
    Tool,
    Person,
    Time,
}

impl Effect {
    pub(in crate::machine) fn answerer(&self) -> Answerer {
        match self {
            Effect::AskModel { .. } => Answerer::Model,
            Effect::CallTool { .. } => Answerer::Tool,
            Effect::AskHuman { .. } => Answerer::Person,
            Effect::Wait { .. } => Answerer::Time,
        }
    }

    /// The id that the answer must carry.
    pub fn id(&self) -> EffectId {
        match self {
            Effect::AskModel { id, .. }
            | Effect::CallTool { id, .. }
            | Effect::AskHuman { id, .. }
            | Effect::Wait { id, .. } => *id,
        }
    }

    /// The effect under another id.
    pub(in crate::machine) fn under(mut self, other: EffectId) -> Self {
        match &mut self {
            Effect::AskModel { id, .. }
            | Effect::CallTool { id, .. }
            | Effect::AskHuman { id, .. }
            | Effect::Wait { id, .. } => *id = other,
        }
        self
    }
}

/// The id of one effect. It derives from what is asked (which draft, which step, which try) and not
/// from a counter, so nothing depends on the order of arrival. Written `plan.1.1`, `step.1.3.1`,
/// `write.1.1`, all numbers from 1; what a nested run asks stands after the step it runs for:
/// `step.1.2.1/plan.1.1`.
///
/// ```
/// use planwright::machine::EffectId;
///
/// let id: EffectId = "step.1.2.1/plan.1.1".parse()?;
/// assert_eq!(id.step(), Some(1));
/// assert_eq!(id.to_string(), "step.1.2.1/plan.1.1");
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EffectId {
    #[doc(hidden)]
    pub path: Path,
    #[doc(hidden)]
    pub kind: EffectKind,
}

/// What an effect asks, in the run that asks it. Numbers count from 1, positions of steps from 0; `ask` is
/// which asking for the same reply (later ones are repairs), `attempt` which try of the step, `nth` which
/// decision in the draft.
// A tag of its own word: in half of one, beside a half number, each comparison waits for the write before it.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[repr(u32)]
pub enum EffectKind {
    /// Asking whether the question is in scope.
    Scope { ask: u32 },
    /// Asking whether the answer needs earlier turns.
    PreviousContext { ask: u32 },
    /// Asking what the user wants.
    Intent { ask: u32 },
    /// Asking which writes the question calls for.
    Grant { ask: u32 },
    /// Asking for a plan.
    Plan { draft: u32, ask: u32 },
    /// Calling the tool of a step, or asking the agent that does it.
    Step { draft: u32, step: u32, attempt: u32 },
    /// Asking for a value that the input of a step leaves open: which of them, from 0. There are few, and ids are kept
    /// small.
    Fill { draft: u32, step: u32, hole: u16, ask: u16 },
    /// Waiting before another try of a step: the try that is waited for, from 2.
    Wait { draft: u32, step: u32, attempt: u32 },
    /// Asking a person about a step.
    Human { draft: u32, step: u32 },
    /// Asking a person to approve a plan.
    ApprovePlan { draft: u32 },
    /// Asking a person to approve the call of a step.
    ApproveCall { draft: u32, step: u32 },
    /// Asking a person which of several values a step is to take: the question of so many of the step, from 1.
    Pick { draft: u32, step: u32, nth: u32 },
    /// Asking what becomes of the rest of the plan.
    Orchestrate { draft: u32, nth: u32, ask: u32 },
    /// Asking for a verdict on what the draft found.
    Validate { draft: u32, ask: u32 },
    /// Asking for the answer.
    Write { draft: u32, ask: u32 },
}

impl EffectKind {
    /// Its name and its numbers, each from 1.
    pub(in crate::machine) fn parts(self) -> (&'static str, SmallVec<[u32; 3]>) {
        let at = |step: u32| step.saturating_add(1);
        match self {
            Self::Scope { ask } => ("scope", smallvec![ask]),
            Self::PreviousContext { ask } => ("previous_context", smallvec![ask]),
            Self::Intent { ask } => ("intent", smallvec![ask]),
            Self::Grant { ask } => ("grant", smallvec![ask]),
            Self::Plan { draft, ask } => ("plan", smallvec![draft, ask]),
            Self::Step { draft, step, attempt } => ("step", smallvec![draft, at(step), attempt]),
            Self::Fill { draft, step, hole, ask } => {
                ("fill", smallvec![draft, at(step), at(hole.into()), ask.into()])
            }
            Self::Wait { draft, step, attempt } => ("wait", smallvec![draft, at(step), attempt]),
            Self::Human { draft, step } => ("human", smallvec![draft, at(step)]),
            Self::ApprovePlan { draft } => ("approve", smallvec![draft]),
            Self::ApproveCall { draft, step } => ("permit", smallvec![draft, at(step)]),
            Self::Pick { draft, step, nth } => ("pick", smallvec![draft, at(step), nth]),
            Self::Orchestrate { draft, nth, ask } => ("orchestrate", smallvec![draft, nth, ask]),
            Self::Validate { draft, ask } => ("validate", smallvec![draft, ask]),
            Self::Write { draft, ask } => ("write", smallvec![draft, ask]),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let name = parts.next()?;
        let numbers: Option<SmallVec<[u32; 3]>> =
            parts.map(|part| part.parse().ok().filter(|&number| number > 0)).collect();
        Some(match (name, numbers?.as_slice()) {
            ("scope", &[ask]) => Self::Scope { ask },
            ("previous_context", &[ask]) => Self::PreviousContext { ask },
            ("intent", &[ask]) => Self::Intent { ask },
            ("grant", &[ask]) => Self::Grant { ask },
            ("plan", &[draft, ask]) => Self::Plan { draft, ask },
            ("step", &[draft, step, attempt]) => Self::Step { draft, step: step - 1, attempt },
            ("fill", &[draft, step, hole, ask]) => {
                let (hole, ask) = (u16::try_from(hole - 1).ok()?, u16::try_from(ask).ok()?);
                Self::Fill { draft, step: step - 1, hole, ask }
            }
            ("wait", &[draft, step, attempt]) => Self::Wait { draft, step: step - 1, attempt },
            ("human", &[draft, step]) => Self::Human { draft, step: step - 1 },
            ("approve", &[draft]) => Self::ApprovePlan { draft },
            ("permit", &[draft, step]) => Self::ApproveCall { draft, step: step - 1 },
            ("pick", &[draft, step, nth]) => Self::Pick { draft, step: step - 1, nth },
            ("orchestrate", &[draft, nth, ask]) => Self::Orchestrate { draft, nth, ask },
            ("validate", &[draft, ask]) => Self::Validate { draft, ask },
            ("write", &[draft, ask]) => Self::Write { draft, ask },
            _ => return None,
        })
    }

    /// Whether a person is asked.
    pub fn asks_a_person(self) -> bool {
        matches!(
            self,
            EffectKind::Human { .. }
                | EffectKind::ApprovePlan { .. }
                | EffectKind::ApproveCall { .. }
                | EffectKind::Pick { .. }
        )
    }

    /// The step that this is about, if any.
    pub(in crate::machine) fn step(self) -> Option<u32> {
        match self {
            EffectKind::Step { step, .. }
            | EffectKind::Fill { step, .. }
            | EffectKind::Wait { step, .. }
            | EffectKind::Human { step, .. }
            | EffectKind::ApproveCall { step, .. }
            | EffectKind::Pick { step, .. } => Some(step),
            _ => None,
        }
    }
}

static DIGITS: [&str; 10] = [".0", ".1", ".2", ".3", ".4", ".5", ".6", ".7", ".8", ".9"];

impl fmt::Display for EffectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, numbers) = self.parts();
        f.write_str(name)?;
        numbers.into_iter().try_for_each(|number| {
            // Most are of one digit, and ids are written at every step.
            match DIGITS.get(number as usize) {
                Some(digit) => f.write_str(digit),
                None => write!(f, ".{number}"),
            }
        })
    }
}

impl From<EffectKind> for EffectId {
    fn from(kind: EffectKind) -> Self {
        EffectId { path: Path::default(), kind }
    }
}

/// One try of one step: of which draft (from 1), at which position (from 0), which try (from 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    pub draft: u32,
    pub step: u32,
    pub attempt: u32,
}

/// The steps that an effect is nested in, outermost first; empty for what the run itself asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path([Option<Place>; MAX_NESTING]);

impl Path {
    pub(crate) fn places(&self) -> impl Iterator<Item = Place> + '_ {
        self.0.iter().copied().flatten()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0[0].is_none()
    }
}

impl EffectId {
    /// The id as the outer run knows it; `None` if that is too deep.
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

    /// Its step's first try, or itself.
    #[must_use]
    pub fn first_try(mut self) -> Self {
        if let EffectKind::Step { attempt, .. } = &mut self.kind {
            *attempt = 1;
        }
        self
    }

    /// Whether a nested run asks for it.
    pub fn is_nested(&self) -> bool {
        !self.path.is_empty()
    }

    /// The position, from 0, of the outermost run's step that this is about, if any.
    pub fn step(&self) -> Option<u32> {
        self.path.0[0].map_or_else(|| self.kind.step(), |place| Some(place.step))
    }
}

impl fmt::Display for EffectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Place { draft, step, attempt } in self.path.places() {
            write!(f, "{}/", EffectKind::Step { draft, step, attempt })?;
        }
        self.kind.fmt(f)
    }
}

impl FromStr for EffectId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unknown = || format!("expected an effect id like \"plan.1.1\", found {text:?}");
        let mut parts = text.rsplit('/').map(EffectKind::parse);
        let mut id = EffectId::from(parts.next().flatten().ok_or_else(unknown)?);
        for part in parts {
            let Some(EffectKind::Step { draft, step, attempt }) = part else { return Err(unknown()) };
            id = id.inside(Place { draft, step, attempt }).ok_or_else(unknown)?;
        }
        // One text per id: "plan.01.1" is refused, as it would not be written back the same.
        if id.to_string() == text { Ok(id) } else { Err(format!("expected \"{id}\", found {text:?}")) }
    }
}

impl Serialize for EffectId {
    fn serialize<S: Serializer>(&self, sink: S) -> Result<S::Ok, S::Error> {
        sink.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for EffectId {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        String::deserialize(source)?.parse().map_err(serde::de::Error::custom)
    }
}
