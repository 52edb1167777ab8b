//! Explore: walks every state that a spec can reach, by feeding every kind of event and every kind of
//! reply to the real transition function.
//!
//! States are told apart by an abstraction that keeps every input of a branch and drops the words and the
//! call counters. From the walk come the proof of the invariants ([`Check`]), the longest run
//! ([`Report::longest`]) and the picture ([`mermaid`]), so that picture, proof and code cannot disagree.

mod channel;
mod check;
mod claims;
mod drafts;
mod key;
mod letters;
mod replies;
mod report;
mod sample;
mod seen;
mod spent;
mod walk;

pub use channel::Channel;
#[doc(hidden)]
pub use check::Machine;
#[doc(hidden)]
pub use key::{Key, key};
pub(crate) use report::taken;
pub use report::{Check, Report, mermaid};
#[doc(hidden)]
pub use report::{Taken, arrows, dot};
#[doc(hidden)]
pub use sample::{CANARY, EARLIER_ANSWER};

use std::collections::BTreeSet;

use self::walk::walk;
use crate::contract::{FinalStep, StepField};
use crate::spec::{CompiledSpec, Execution, Horizon, Orchestrate, Role, RoleName, Spec};

/// The states after which a walk is given up by default.
#[doc(hidden)]
pub const MOST_STATES: usize = 50_000;

/// Replies are explored as if the limit were this, so that one over it stays small.
const MOST_REPLY_BYTES: u32 = 4_096;

/// The machine that this crate runs.
#[doc(hidden)]
pub struct Real;

impl Machine for Real {}

/// Walks every state that a spec can reach, and gives up after 50,000: see [`Report::undecided`].
///
/// ```
/// use planwright::{agents, machine::explore};
///
/// let compiled = agents::shipped("plan-then-execute").unwrap().check()?;
/// let report = explore::explore(&compiled);
/// assert!(report.holds());
/// assert_eq!(report.longest.unwrap().model_calls, 2);
/// # Ok::<(), planwright::spec::SpecError>(())
/// ```
pub fn explore(compiled: &CompiledSpec) -> Report {
    explore_with(&Real, compiled, MOST_STATES)
}

/// Walks any machine, and gives up if there are more states than this. Then nothing is
/// [decided](Report::undecided), unless what was walked violates an invariant.
#[doc(hidden)]
pub fn explore_with(machine: &dyn Machine, compiled: &CompiledSpec, most_states: usize) -> Report {
    let mut explored_as = Vec::new();
    let mut small = reduced(compiled.spec().clone(), &mut explored_as);
    sample::widen_inputs(&mut small, &mut explored_as);
    let small = compile(small);
    let mut report = walk(machine, &small, most_states, true);
    if let Some(nesting) = nesting(compiled.spec()) {
        report.add(walk(machine, &compile(nesting), most_states, true));
    }
    let channel = Channel::of(compiled);
    Report { explored_as, bounds: compiled.bounds(), channel, ..report }
}

/// A spec with the smallest numbers in which whole agents do steps in runs of their own; those that do steps
/// of theirs are one call each.
fn nesting(spec: &Spec) -> Option<Spec> {
    let mut small = smallest(spec.clone());
    small.policy.plan.max_steps = small.policy.plan.max_steps.min(2);
    small.policy.plan.min_steps = small.policy.plan.min_steps.min(2);
    for (agent, whole) in small.agents.iter_mut().zip(&spec.agents) {
        if let Some(inner) = &whole.spec {
            (agent.role, agent.spec) = (None, Some(Box::new(smallest((**inner).clone()))));
        }
    }
    small.agents.iter().any(|agent| agent.spec.is_some()).then_some(small)
}

/// Walks a spec, checking nothing, with the smallest numbers that have every edge of the phase graph.
#[doc(hidden)]
pub fn sketch(compiled: &CompiledSpec) -> Report {
    walk(&Real, &compile(smallest(compiled.spec().clone())), usize::MAX, false)
}

fn compile(mut small: Spec) -> CompiledSpec {
    sample::widen_inputs(&mut small, &mut Vec::new());
    small.check().expect("a spec that checks still does with smaller numbers")
}

/// Lists every edge that a run can take. Which edges there are does not depend on how many steps or
/// replans there may be, so the walk is small.
pub fn reachable(compiled: &CompiledSpec) -> BTreeSet<Taken> {
    let mut taken = sketch(compiled).taken;
    // The machine takes an expiry whenever it comes; a driver gives one only if there is a time.
    if compiled.spec().limits.answer_seconds.is_none() {
        taken.retain(|edge| !matches!(edge, Taken::Inside(_, what) if what.starts_with(report::EXPIRED)));
    }
    taken
}

/// Makes the numbers of a spec small enough for it to be walked whole, and notes which. Larger numbers add
/// states of the same kinds. A whole agent that
/// does steps is walked as one call that returns or fails.
#[doc(hidden)]
pub fn reduced(mut spec: Spec, notes: &mut Vec<String>) -> Spec {
    let most_steps = most_steps(&spec);
    let Spec { policy, limits, .. } = &mut spec;
    let mut numbers = vec![
        (&mut policy.plan.max_steps, most_steps, "max_steps"),
        (&mut limits.max_replans, 3, "max_replans"),
        (&mut limits.max_repairs, 2, "max_repairs"),
        (&mut policy.step_tries.tries, 3, "tries"),
    ];
    if policy.plan.fields.contains(&StepField::Holes) {
        numbers.push((&mut policy.plan.max_holes, 1, "max_holes"));
    }
    numbers.extend(limits.max_iterations.as_mut().map(|most| (most, 3, "max_iterations")));
    if policy.orchestrate == Orchestrate::EachStep {
        numbers.push((&mut limits.max_added_steps, 2, "max_added_steps"));
    }
    let required = policy.required_calls.iter_mut();
    numbers.extend(required.map(|required| (&mut required.least, 2, "required calls")));
    if let Execution::Parallel { width } = &mut policy.execution {
        numbers.push((width, 3, "width"));
    }
    for (value, most, name) in numbers.into_iter().filter(|(value, most, _)| **value > *most) {
        notes.push(format!("{name} {value} explored as {most}"));
        *value = most;
    }
    policy.plan.min_steps = policy.plan.min_steps.min(policy.plan.max_steps);
    limits.max_reply_bytes = limits.max_reply_bytes.min(MOST_REPLY_BYTES);
    fit_required_calls(&mut spec, notes);
    for agent in &mut spec.agents {
        if let Some(inner) = agent.spec.take() {
            let name = &agent.name;
            notes
                .push(format!("the agent {name} explored as one call, and nested with the smallest numbers"));
            // A role that does a step is not asked again, and has no plan to fall back on.
            let planner = inner.roles.get(&RoleName::Planner).cloned().unwrap_or_default();
            agent.role = Some(Role { on_failure: None, ..planner });
        }
    }
    let budgets = [
        ("max_model_calls", spec.limits.max_model_calls),
        ("max_tool_calls", spec.limits.max_tool_calls),
        ("max_transitions", spec.limits.max_transitions),
    ];
    let beyond = "the walk goes on beyond it, and checks in every state that a run does not";
    for (name, budget) in budgets {
        notes.extend(budget.map(|most| format!("{name} {most}: {beyond}")));
    }
    spec
}

/// Drops required calls for which a plan that was made smaller has no room.
fn fit_required_calls(spec: &mut Spec, notes: &mut Vec<String>) {
    let mut room = spec.most_calls_before_answer().0.min(spec.limits.max_tool_calls.unwrap_or(u32::MAX));
    spec.policy.required_calls.retain_mut(|required| {
        let least = required.least.min(room);
        room -= least;
        if least < required.least {
            notes.push(format!("{} required calls of {} explored as {least}", required.least, required.tool));
            required.least = least;
        }
        required.least > 0 || required.per_line.is_some()
    });
}

/// How many steps a plan is walked with: fewer if steps differ more, or plans follow one another.
fn most_steps(spec: &Spec) -> u32 {
    let policy = &spec.policy;
    let (next, orchestrated) = (policy.horizon == Horizon::Next, policy.orchestrate == Orchestrate::EachStep);
    if next && orchestrated {
        1
    } else if next || orchestrated {
        2
    } else if policy.step_tries.tries > 1 || policy.execution != Execution::Sequential {
        4 + u32::from(policy.plan.final_step == FinalStep::Required)
    } else {
        6
    }
}

/// Makes the numbers of a spec the smallest with which it still has every edge.
fn smallest(spec: Spec) -> Spec {
    let mut spec = reduced(spec, &mut Vec::new());
    let plan = &mut spec.policy.plan;
    plan.max_steps = plan.max_steps.min(2 + u32::from(plan.final_step == FinalStep::Required));
    plan.min_steps = plan.min_steps.min(plan.max_steps);
    let limits = &mut spec.limits;
    // A limit that nothing reads stays as it is: another number would contradict the policy.
    if spec.policy.can_replan() {
        limits.max_replans = limits.max_replans.min(1);
    }
    if spec.policy.orchestrate == Orchestrate::EachStep {
        limits.max_added_steps = limits.max_added_steps.min(1);
    }
    limits.max_repairs = limits.max_repairs.min(1);
    limits.max_iterations = limits.max_iterations.map(|most| most.min(2));
    // The spec's own budgets were made for larger numbers.
    (limits.max_model_calls, limits.max_tool_calls, limits.max_transitions) = (None, None, None);
    fit_required_calls(&mut spec, &mut Vec::new());
    spec
}
