//! Reduce: smaller numbers for a spec, so that it can be walked whole. Larger ones add states of the
//! same kinds.

use crate::contract::FinalStep;
use crate::spec::{Execution, Horizon, Orchestrate, Role, Spec};

/// Plans of more steps than this are explored as plans of this many.
const MOST_STEPS: u32 = 6;
/// More replans than this are explored as this many.
const MOST_REPLANS: u32 = 3;
/// More repairs than this are explored as this many.
const MOST_REPAIRS: u32 = 2;
/// More iterations than this are explored as this many.
const MOST_ITERATIONS: u32 = 3;
/// More steps that an orchestrator may add are explored as this many.
const MOST_ADDED: u32 = 2;
/// More tries of a step are explored as this many.
const MOST_TRIES: u32 = 3;
/// More calls that must come before an answer are explored as this many.
const MOST_REQUIRED: u32 = 2;
/// Replies are explored as if the limit were this, so that one over it stays small.
const MOST_REPLY_BYTES: u32 = 32_768;
/// Wider execution than this is explored as this wide.
const MOST_WIDTH: u32 = 3;

/// Makes the numbers of a spec small enough for it to be walked whole, and says which. Larger ones add states of the same
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
    for agent in &mut spec.agents {
        if let Some(inner) = agent.spec.take() {
            said.push(format!("the agent {} explored as one call; its own runs on their own", agent.name));
            // A role that does a step is not asked again, and has no plan to fall back on.
            agent.role = Some(Role { on_failure: None, ..inner.roles.planner });
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
    let mut room = spec.most_calls_before_answer();
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
    let finished = policy.plan.final_step == FinalStep::Required;
    let few = policy.horizon == Horizon::Next || policy.orchestrate == Orchestrate::EachStep;
    let some = policy.step_tries.tries > 1 || policy.execution != Execution::Sequential;
    match (few, some) {
        (true, _) if policy.horizon == Horizon::Next && policy.orchestrate == Orchestrate::EachStep => 1,
        (true, _) => 2,
        (false, true) => 4 + u32::from(finished),
        (false, false) => MOST_STEPS,
    }
}

/// Makes the numbers of a spec the smallest with which it still has every edge.
pub(super) fn smallest(spec: &Spec, said: &mut Vec<String>) -> Spec {
    let mut spec = reduced(spec.clone(), said);
    let plan = &mut spec.policy.plan;
    plan.max_steps = plan.max_steps.min(2 + u32::from(plan.final_step == FinalStep::Required));
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
    fit_required_calls(&mut spec, said);
    spec
}
