//! Explore: walks every state that the rules of a spec can reach, by feeding every kind of event
//! and every kind of reply to the real transition function.
//!
//! States are told apart by an abstraction ([`Key`]) that keeps every input of a branch and
//! drops the words and the call counters. From the walk come the proof of the invariants
//! ([`Check`]), the longest run ([`Report::longest`]) and the picture ([`diagram`]), so that
//! picture, proof and code cannot disagree.
//!
//! The walk is over the [`Machine`] trait, so that a test can hand it a broken machine and see it
//! caught.

mod abstraction;
mod alphabet;
mod check;
pub mod coverage;
pub mod diagram;
mod walk;

pub use abstraction::{Key, key};
pub use check::Check;
pub use walk::{Edge, Report};

/// The phase graph of some rules, walked just far enough to draw it: every edge, few states.
pub fn sketch(rules: &CompiledSpec) -> Report {
    coverage::small(&Real, rules)
}

use super::{Event, Input, Refusal, Refused, State, Step};
use crate::spec::{CompiledSpec, Execution, Horizon, Orchestrate, Spec};

/// Plans of more steps than this are explored as plans of this many.
pub const MOST_STEPS: u32 = 6;
/// More replans than this are explored as this many.
pub const MOST_REPLANS: u32 = 3;
/// More repairs than this are explored as this many.
pub const MOST_REPAIRS: u32 = 2;
/// More iterations than this are explored as this many.
pub const MOST_ITERATIONS: u32 = 3;
/// More steps that an orchestrator may add are explored as this many.
pub const MOST_ADDED: u32 = 2;
/// More tries of a step are explored as this many.
pub const MOST_TRIES: u32 = 3;
/// More calls that must come before an answer are explored as this many.
pub const MOST_REQUIRED: u32 = 2;
/// A walk that nobody bounds otherwise is given up after as many states.
pub const MOST_STATES: usize = 50_000;
/// Replies are explored as if the limit were this, so that one over it stays small.
pub const MOST_REPLY_BYTES: u32 = 32_768;
/// Wider execution than this is explored as this wide.
pub const MOST_WIDTH: u32 = 3;

/// The three functions that are walked.
pub trait Machine {
    /// See [`start`](super::start).
    fn start(&self, rules: &CompiledSpec, input: Input) -> Step {
        super::start(rules, input)
    }

    /// See [`admit`](super::admit()).
    ///
    /// # Errors
    /// Why the event does not fit.
    fn admit(&self, rules: &CompiledSpec, state: &State, event: &Event) -> Result<(), Refusal> {
        super::admit(rules, state, event)
    }

    /// See [`transition`](super::transition).
    ///
    /// # Errors
    /// The event, refused.
    fn transition(&self, rules: &CompiledSpec, state: State, event: Event) -> Result<Step, Box<Refused>> {
        super::transition(rules, state, event)
    }
}

/// The machine that this crate runs.
#[derive(Clone, Copy, Debug)]
pub struct Real;

impl Machine for Real {}

/// Walks the rules of a spec.
///
/// ```
/// use planwright::{agents, machine::explore};
///
/// let rules = agents::shipped("plan-then-execute").unwrap().check()?;
/// let report = explore::explore(&rules);
/// assert!(report.holds());
/// assert_eq!(report.longest.model_calls, 2);
/// # Ok::<(), planwright::spec::SpecError>(())
/// ```
pub fn explore(rules: &CompiledSpec) -> Report {
    explore_with(&Real, rules)
}

/// Walks a machine of your own under the rules of a spec.
pub fn explore_with(machine: &dyn Machine, rules: &CompiledSpec) -> Report {
    walked(machine, rules, usize::MAX)
}

/// Walks the rules of a spec, and gives up where there are more states than this. Then nothing is
/// [decided](Report::undecided), unless what was walked violates an invariant.
pub fn explore_within(rules: &CompiledSpec, most_states: usize) -> Report {
    walked(&Real, rules, most_states)
}

fn walked(machine: &dyn Machine, rules: &CompiledSpec, most_states: usize) -> Report {
    let mut explored_as = Vec::new();
    let small = reduced(rules.spec().clone(), &mut explored_as);
    let small = small.check().expect("a spec that checks still does with smaller numbers");
    walk::walk(
        machine,
        &small,
        rules.bounds(),
        explored_as,
        walk::Extent { care: walk::Care::Full, most_states },
    )
}

/// The same spec with numbers small enough to be walked whole. Larger ones add states of the same
/// kinds; the bounds of the spec itself are worked out from it directly. A whole agent that does steps
/// is walked as one call that returns or fails: its own runs are walked under its own spec.
pub fn reduced(mut spec: Spec, said: &mut Vec<String>) -> Spec {
    let most_steps = most_steps(&spec);
    let mut cap = |value: &mut u32, most: u32, name: &str| {
        if *value > most {
            said.push(format!("{name} {value} explored as {most}"));
            *value = most;
        }
    };
    cap(&mut spec.policy.plan.max_steps, most_steps, "max_steps");
    spec.policy.plan.min_steps = spec.policy.plan.min_steps.min(spec.policy.plan.max_steps);
    cap(&mut spec.limits.max_replans, MOST_REPLANS, "max_replans");
    cap(&mut spec.limits.max_repairs, MOST_REPAIRS, "max_repairs");
    if let Some(iterations) = &mut spec.limits.max_iterations {
        cap(iterations, MOST_ITERATIONS, "max_iterations");
    }
    if spec.policy.orchestrate == Orchestrate::EachStep {
        cap(&mut spec.limits.max_added_steps, MOST_ADDED, "max_added_steps");
    }
    cap(&mut spec.policy.step_tries.tries, MOST_TRIES, "tries");
    for required in &mut spec.policy.required_calls {
        cap(&mut required.least, MOST_REQUIRED, "required calls");
    }
    spec.limits.max_reply_bytes = spec.limits.max_reply_bytes.min(MOST_REPLY_BYTES);
    if let Execution::Parallel { width } = &mut spec.policy.execution {
        cap(width, MOST_WIDTH, "width");
    }
    fit_required_calls(&mut spec, said);
    for member in &mut spec.agents {
        if let Some(inner) = member.spec.take() {
            said.push(format!("the agent {} explored as one call; its own runs on their own", member.name));
            // A role that does a step is not asked again, and has no plan to fall back on.
            member.role = Some(crate::spec::Role { on_failure: None, ..inner.roles.planner });
        }
    }
    let budgets = [
        ("max_model_calls", spec.limits.max_model_calls),
        ("max_tool_calls", spec.limits.max_tool_calls),
        ("max_transitions", spec.limits.max_transitions),
    ];
    for (name, budget) in budgets {
        said.extend(budget.map(|most| {
            format!(
                "{name} {most}: the walk goes on beyond it, and checks in every state that a run does not"
            )
        }));
    }
    spec
}

/// A plan that was made smaller may have no room for every call that is required; then those it has no
/// room for are not.
fn fit_required_calls(spec: &mut Spec, said: &mut Vec<String>) {
    let mut room = spec.most_calls_before_the_answer();
    let tools = spec.limits.max_tool_calls.unwrap_or(u32::MAX);
    room = room.min(tools);
    spec.policy.required_calls.retain_mut(|required| {
        let least = required.least.min(room);
        room -= least;
        if least < required.least {
            said.push(format!("{} required calls of {} explored as {least}", required.least, required.tool));
            required.least = least;
        }
        required.least > 0 || required.per_line.is_some()
    });
}

/// How many steps a plan is walked with. Fewer where each step can be in more ways, or where there are
/// many plans in a row.
fn most_steps(spec: &Spec) -> u32 {
    let policy = &spec.policy;
    let finished = policy.plan.final_step == crate::contract::FinalStep::Required;
    let few = policy.horizon == Horizon::Next || policy.orchestrate == Orchestrate::EachStep;
    let some = policy.step_tries.tries > 1 || policy.execution != Execution::Sequential;
    match (few, some) {
        (true, _) if policy.horizon == Horizon::Next && policy.orchestrate == Orchestrate::EachStep => 1,
        (true, _) => 2,
        (false, true) => 4 + u32::from(finished),
        (false, false) => MOST_STEPS,
    }
}
