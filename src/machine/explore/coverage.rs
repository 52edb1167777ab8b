//! Coverage: which edges a run takes, coarse enough to be listed: the edges of the phase graph, and
//! what happens inside a phase.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;

use super::{Machine, Real, reduced, walk};
use crate::machine::{Concern, Effect, HumanAnswer, Move, PhaseName, Step, TraceLine};
use crate::spec::{CompiledSpec, Orchestrate};

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

const EXPIRED: &str = "nobody answered in time";

/// Where a person is asked, and what it is called where it is no step of theirs.
fn asked_about(about: Concern) -> (PhaseName, &'static str) {
    match about {
        Concern::Step => (PhaseName::Execute, ""),
        Concern::Plan => (PhaseName::Plan, " the plan"),
        Concern::Call => (PhaseName::Execute, " a call"),
    }
}

/// Every edge that a run under these rules can take. The walk is small: which edges there are does not
/// depend on how many steps or replans there may be.
pub fn reachable(rules: &CompiledSpec) -> BTreeSet<Taken> {
    let mut taken = small(&Real, rules).taken;
    // The machine takes an expiry whenever it comes; a driver gives one only where there is a time.
    if rules.spec().limits.answer_seconds.is_none() {
        taken.retain(|edge| !matches!(edge, Taken::Inside(_, what) if what.starts_with(EXPIRED)));
    }
    taken
}

/// A walk of the rules with the smallest numbers that have every edge.
pub(super) fn small(machine: &dyn Machine, rules: &CompiledSpec) -> super::Report {
    let mut said = Vec::new();
    let mut spec = reduced(rules.spec().clone(), &mut said);
    let plan = &mut spec.policy.plan;
    plan.max_steps =
        plan.max_steps.min(2 + u32::from(plan.final_step == crate::contract::FinalStep::Required));
    plan.min_steps = plan.min_steps.min(plan.max_steps);
    let limits = &mut spec.limits;
    // What nothing reads stays as it is: a number of its own would contradict the policy.
    if spec.policy.can_replan() {
        limits.max_replans = limits.max_replans.min(1);
    }
    if spec.policy.orchestrate == Orchestrate::EachStep {
        limits.max_added_steps = limits.max_added_steps.min(1);
    }
    limits.max_repairs = limits.max_repairs.min(1);
    limits.max_iterations = limits.max_iterations.map(|most| most.min(2));
    // A budget of the spec's own was made for larger numbers.
    (limits.max_model_calls, limits.max_tool_calls, limits.max_transitions) = (None, None, None);
    super::fit_required_calls(&mut spec, &mut said);
    let small = spec.check().expect("a spec that checks still does with smaller numbers");
    walk::walk(
        machine,
        &small,
        rules.bounds(),
        said,
        walk::Extent { care: walk::Care::Edges, most_states: usize::MAX },
    )
}
