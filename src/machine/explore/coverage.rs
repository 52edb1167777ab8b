//! Coverage: which edges a run takes, coarse enough to be listed: those of the phase graph, and what
//! happens inside a phase.

use std::fmt;

use crate::machine::{Concern, Effect, HumanAnswer, Move, PhaseName, Step, TraceLine};

/// One edge: from one phase to the next, or something that happens inside a phase.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Taken {
    Move(Move),
    Inside(PhaseName, String),
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
pub(crate) fn taken(step: &Step, lines_before: usize) -> impl Iterator<Item = Taken> + '_ {
    let moves = step.moves.iter().copied().map(Taken::Move);
    let lines = step.state.task.trace.iter().skip(lines_before).filter_map(inside);
    let again = step.effects.iter().any(|effect| matches!(effect, Effect::Wait { .. }));
    let again = again.then(|| Taken::Inside(PhaseName::Execute, "a step is tried again".to_owned()));
    moves.chain(lines).chain(again)
}

pub(super) const EXPIRED: &str = "nobody answered in time";

fn inside(line: &TraceLine) -> Option<Taken> {
    let planning = |what: &str| (PhaseName::Plan, what.to_owned());
    let executing = |what: &str| (PhaseName::Execute, what.to_owned());
    let (phase, what) = match line {
        TraceLine::Scope { in_scope } => planning(if *in_scope { "in scope" } else { "out of scope" }),
        TraceLine::PreviousContext { needed: true } => planning("earlier turns needed"),
        TraceLine::PreviousContext { needed: false } => planning("earlier turns not needed"),
        TraceLine::Intent { needs_tool: true, .. } => planning("intent to be planned"),
        TraceLine::Intent { needs_tool: false, .. } => planning("intent answered at once"),
        TraceLine::Skip { .. } => executing("a repeated call is skipped"),
        TraceLine::Decision { fallback: Some(_), .. } => executing("decision falls back"),
        TraceLine::Decision { decision, .. } => executing(&format!("decision {}", decision.action)),
        TraceLine::Human { about, answer, .. } => {
            let answered = match (answer, about) {
                (HumanAnswer::Approve, _) => "approved",
                (HumanAnswer::Respond { .. }, Concern::Call) => "answered in the place of",
                (HumanAnswer::Respond { .. }, _) => "responded",
                (HumanAnswer::Reject { .. }, _) => "rejected",
                (HumanAnswer::Edit { .. }, Concern::Plan) => "edited",
                (HumanAnswer::Edit { .. }, _) => "edited the rest",
                (HumanAnswer::EditInput { .. }, _) => "edited the input of",
            };
            let (phase, what) = asked_about(*about);
            (phase, format!("a person {answered}{what}"))
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

/// Where a person is asked, and what about unless it is a step of theirs.
fn asked_about(about: Concern) -> (PhaseName, &'static str) {
    match about {
        Concern::Step => (PhaseName::Execute, ""),
        Concern::Plan => (PhaseName::Plan, " the plan"),
        Concern::Call => (PhaseName::Execute, " a call"),
    }
}
