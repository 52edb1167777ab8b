//! Coverage: which edges a run takes, coarse enough to be listed: the edges of the phase graph, and
//! what happens inside a phase.

use std::fmt;

use serde::Serialize;

use crate::machine::{Concern, Effect, HumanAnswer, Move, PhaseName, Step, TraceLine};

/// One edge.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(into = "String")]
pub enum Taken {
    /// From one phase to the next.
    Move(Move),
    /// Something that happens inside a phase.
    Inside(PhaseName, String),
}

impl From<Taken> for String {
    fn from(taken: Taken) -> String {
        taken.to_string()
    }
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Taken::Move(Move { from, exit, to }) => write!(f, "{from} --{exit}--> {to}"),
            Taken::Inside(phase, what) => write!(f, "{phase}: {what}"),
        }
    }
}

/// The edges that one step takes; `lines_before` is how many trace lines there were before it.
pub fn taken(step: &Step, lines_before: usize) -> impl Iterator<Item = Taken> + '_ {
    let moves = step.moves.iter().copied().map(Taken::Move);
    let lines = step.state.task.trace.iter().skip(lines_before).filter_map(inside);
    let again = step.effects.iter().any(|effect| matches!(effect, Effect::Wait { .. }));
    let again = again.then(|| Taken::Inside(PhaseName::Execute, "a step is tried again".to_owned()));
    moves.chain(lines).chain(again)
}

fn inside(line: &TraceLine) -> Option<Taken> {
    let (phase, what) = match line {
        TraceLine::Scope { in_scope: true } => (PhaseName::Plan, "in scope".to_owned()),
        TraceLine::Scope { in_scope: false } => (PhaseName::Plan, "out of scope".to_owned()),
        TraceLine::PreviousContext { needed: true } => (PhaseName::Plan, "earlier turns needed".to_owned()),
        TraceLine::PreviousContext { needed: false } => {
            (PhaseName::Plan, "earlier turns not needed".to_owned())
        }
        TraceLine::Intent { needs_tool: true, .. } => (PhaseName::Plan, "intent to be planned".to_owned()),
        TraceLine::Intent { needs_tool: false, .. } => {
            (PhaseName::Plan, "intent answered at once".to_owned())
        }
        TraceLine::Skip { .. } => (PhaseName::Execute, "a repeated call is skipped".to_owned()),
        TraceLine::Decision { fallback: Some(_), .. } => {
            (PhaseName::Execute, "decision falls back".to_owned())
        }
        TraceLine::Decision { decision, .. } => (PhaseName::Execute, format!("decision {}", decision.action)),
        TraceLine::Human { about, answer, .. } => {
            let said = match (answer, about) {
                (HumanAnswer::Approve, _) => "approved",
                (HumanAnswer::Respond { .. }, Concern::Call) => "answered in the place of",
                (HumanAnswer::Respond { .. }, _) => "responded",
                (HumanAnswer::Reject { .. }, _) => "rejected",
                (HumanAnswer::Edit { .. }, Concern::Plan) => "edited",
                (HumanAnswer::Edit { .. }, _) => "edited the rest",
                (HumanAnswer::EditInput { .. }, _) => "edited the input of",
            };
            let (phase, what) = asked_about(*about);
            (phase, format!("a person {said}{what}"))
        }
        TraceLine::Expired { about, .. } => {
            let (phase, what) = asked_about(*about);
            (phase, format!("{EXPIRED}{}", what.replacen(' ', " about ", 1)))
        }
        TraceLine::Repair { of, .. } => (*of, "repair".to_owned()),
        _ => return None,
    };
    Some(Taken::Inside(phase, what))
}

pub(super) const EXPIRED: &str = "nobody answered in time";

/// Where a person is asked, and what it is called where it is no step of theirs.
fn asked_about(about: Concern) -> (PhaseName, &'static str) {
    match about {
        Concern::Step => (PhaseName::Execute, ""),
        Concern::Plan => (PhaseName::Plan, " the plan"),
        Concern::Call => (PhaseName::Execute, " a call"),
    }
}
