//! Budget: the one place where effects leave the machine, and so where limits are checked.

use super::context::Context;
use super::dispatch;
use super::effect_id::EffectId;
use super::event::Effect;
use super::state::{Counters, ErrorCode, StepRun, Task};
use crate::contract::{ContractError, PlanStep};
use crate::spec::{CompiledSpec, Doer, Orchestrate, RoleName};

/// Asks the model, or ends the run where it may not ask any more. Returns whether it asked.
pub(super) fn ask_model(task: &mut Task, context: &mut Context<'_>, id: EffectId, role: RoleName) -> bool {
    if !may_spend(task, context) || !may_ask(task, context, id, 1) {
        return false;
    }
    task.counters.model_calls += 1;
    context.effects.push(Effect::AskModel { id, role });
    true
}

fn may_ask(task: &Task, context: &mut Context<'_>, id: EffectId, calls: u32) -> bool {
    let most = context.rules.bounds().model_calls;
    if task.counters.model_calls.saturating_add(calls) > most {
        let message = format!("{id} would be model call {} of {most}", task.counters.model_calls + 1);
        context.fail(ErrorCode::MaxModelCallsExceeded, message);
        return false;
    }
    may_move(task, context, 1)
}

/// Every effect is answered by one transition, so what may not be answered is not asked.
fn may_move(task: &Task, context: &mut Context<'_>, wanted: u32) -> bool {
    let most = context.rules.bounds().transitions;
    let needed = task.counters.transitions.saturating_add(wanted);
    if needed > most {
        let message = format!("the run needs {needed} transitions so far, {most} are allowed");
        context.fail(ErrorCode::MaxStepsExceeded, message);
    }
    needed <= most
}

/// Whether tokens and money are left. Looked at where nothing runs beside, so that it never depends
/// on the order in which answers came.
fn may_spend(task: &Task, context: &mut Context<'_>) -> bool {
    let limits = &context.rules.spec().limits;
    let usage = task.counters.usage;
    let tokens = usage.input_tokens.saturating_add(usage.output_tokens);
    if let Some(most) = limits.max_tokens.filter(|most| tokens >= *most) {
        context.fail(ErrorCode::MaxTokensExceeded, format!("{tokens} tokens are spent, {most} are allowed"));
        return false;
    }
    let cost = task.counters.cost;
    if let Some(most) = limits.max_cost.filter(|most| cost >= *most) {
        context.fail(ErrorCode::MaxCostExceeded, format!("{cost} is spent, {most} is allowed"));
        return false;
    }
    true
}

/// What the steps of a plan may need, further tries included.
#[derive(Default)]
struct Need {
    model_calls: u32,
    tool_calls: u32,
    transitions: u32,
}

impl Need {
    fn of<'a>(steps: impl Iterator<Item = &'a PlanStep>, rules: &CompiledSpec) -> Self {
        let mut need = Need::default();
        let (policy, hitl) = (rules.policy(), rules.plan().shape().hitl);
        let mut decisions: u32 = 0;
        for planned in steps.filter(|planned| !planned.is_final()) {
            decisions = decisions.saturating_add(1);
            if rules.needs_permit(&planned.tool) {
                need.transitions = need.transitions.saturating_add(1);
            }
            if hitl && planned.is_hitl() {
                need.transitions = need.transitions.saturating_add(1);
                continue;
            }
            let most = policy.step_tries.tries;
            let tries = if most > 1 && dispatch::must_run_alone(planned, rules) { 1 } else { most };
            let (models, tools, moves) = match rules.doer(&planned.tool) {
                None => (0, 1, 1),
                Some(Doer::Role(_)) => (1, 0, 1),
                Some(Doer::Agent(inner)) => {
                    let bounds = inner.bounds();
                    (bounds.model_calls, bounds.tool_calls, bounds.transitions)
                }
            };
            need.model_calls = need.model_calls.saturating_add(tries.saturating_mul(models));
            need.tool_calls = need.tool_calls.saturating_add(tries.saturating_mul(tools));
            let moves = tries.saturating_mul(moves).saturating_add(tries - 1);
            need.transitions = need.transitions.saturating_add(moves);
        }
        if policy.orchestrate == Orchestrate::EachStep && decisions > 0 {
            // One before the first step and one after each.
            let decisions = decisions.saturating_add(1);
            need.model_calls = need.model_calls.saturating_add(decisions);
            need.transitions = need.transitions.saturating_add(decisions);
        }
        need
    }
}

/// Whether steps that take the place of others can still be carried out.
///
/// # Errors
/// Which limit they would go over.
pub(super) fn leaves_room(spent: &Counters, rules: &CompiledSpec, steps: &[PlanStep]) -> Result<(), String> {
    let need = Need::of(steps.iter(), rules);
    let bounds = rules.bounds();
    let kinds = [
        ("model calls", spent.model_calls, need.model_calls, bounds.model_calls),
        ("tool calls", spent.tool_calls, need.tool_calls, bounds.tool_calls),
        ("transitions", spent.transitions, need.transitions, bounds.transitions),
    ];
    for (kind, spent, needed, most) in kinds {
        let wanted = spent.saturating_add(needed);
        if needed > 0 && wanted > most {
            return Err(format!("the steps may need {wanted} {kind} in all, {most} are allowed"));
        }
    }
    Ok(())
}

/// The same as an answer that is being looked at would leave it: that answer is a transition too.
///
/// # Errors
/// Which limit they would go over, as a problem of the steps.
pub(super) fn leaves_room_after_this(
    task: &Task,
    rules: &CompiledSpec,
    steps: &[PlanStep],
) -> Result<(), ContractError> {
    let mut spent = task.counters;
    spent.transitions = spent.transitions.saturating_add(1);
    leaves_room(&spent, rules, steps).map_err(|problem| ContractError::at("$.steps", problem))
}

/// Whether a whole plan's calls are within the limits. Asked once, before the first step: so no run
/// ends halfway through a plan for want of budget, and what has run by then never depends on the
/// order in which answers came. `answers` are those that come before it.
pub(super) fn allows_plan(task: &mut Task, context: &mut Context<'_>, answers: u32) -> bool {
    let steps = task.progress.iter().flat_map(|progress| progress.plan.steps.iter().zip(&progress.steps));
    let pending = steps.skip(task.first_step()).filter(|(_, run)| matches!(run, StepRun::Pending));
    let need = Need::of(pending.map(|(planned, _)| planned), context.rules);
    let bounds = context.rules.bounds();
    let kinds = [
        (
            "tool",
            task.counters.tool_calls,
            need.tool_calls,
            bounds.tool_calls,
            ErrorCode::MaxToolCallsExceeded,
        ),
        (
            "model",
            task.counters.model_calls,
            need.model_calls,
            bounds.model_calls,
            ErrorCode::MaxModelCallsExceeded,
        ),
    ];
    for (kind, spent, needed, most, code) in kinds {
        let wanted = spent.saturating_add(needed);
        if needed > 0 && wanted > most {
            let message = format!("the plan needs {wanted} {kind} calls in all, {most} are allowed");
            context.fail(code, message);
            return false;
        }
    }
    (need.model_calls == 0 || may_spend(task, context))
        && (need.transitions == 0 || may_move(task, context, need.transitions.saturating_add(answers)))
}

/// Calls a tool.
pub(super) fn call_tool(task: &mut Task, context: &mut Context<'_>, id: EffectId, step: u32) {
    let most = context.rules.bounds().tool_calls;
    if task.counters.tool_calls >= most {
        let message = format!("{id} would be tool call {} of {most}", task.counters.tool_calls + 1);
        return context.fail(ErrorCode::MaxToolCallsExceeded, message);
    }
    if may_move(task, context, 1) {
        task.counters.tool_calls += 1;
        context.effects.push(Effect::CallTool { id, step });
    }
}

/// Asks the role that does a step.
pub(super) fn ask_member(task: &mut Task, context: &mut Context<'_>, id: EffectId) {
    if may_spend_in_a_row(task, context) && may_ask(task, context, id, 1) {
        task.counters.model_calls += 1;
        context.effects.push(Effect::AskModel { id, role: RoleName::Agent });
    }
}

/// Between steps that run one by one, nothing runs beside; between others, tokens were looked at
/// before the first.
fn may_spend_in_a_row(task: &Task, context: &mut Context<'_>) -> bool {
    context.rules.policy().execution.width() > 1 || may_spend(task, context)
}

/// Whether a whole agent may begin a run.
pub(super) fn may_nest(task: &Task, context: &mut Context<'_>, id: EffectId, inner: &CompiledSpec) -> bool {
    let bounds = inner.bounds();
    let most = context.rules.bounds().tool_calls;
    let wanted = task.counters.tool_calls.saturating_add(bounds.tool_calls);
    if bounds.tool_calls > 0 && wanted > most {
        let message = format!("{id} may need {wanted} tool calls in all, {most} are allowed");
        context.fail(ErrorCode::MaxToolCallsExceeded, message);
        return false;
    }
    may_spend_in_a_row(task, context)
        && may_ask(task, context, id, bounds.model_calls)
        && may_move(task, context, bounds.transitions)
}

/// Lets time pass.
pub(super) fn wait(task: &Task, context: &mut Context<'_>, id: EffectId, delay_ms: u64) {
    if may_move(task, context, 1) {
        context.effects.push(Effect::Wait { id, delay_ms });
    }
}

/// Asks a person.
pub(super) fn ask_person(task: &Task, context: &mut Context<'_>, id: EffectId, step: u32) {
    if may_move(task, context, 1) {
        context.effects.push(Effect::AskHuman { id, step });
    }
}
