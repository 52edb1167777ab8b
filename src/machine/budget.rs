//! Budget: the one place where effects leave the machine, and so where limits are checked.

use super::context::Context;
use super::effect_id::{EffectId, EffectKind};
use super::event::Effect;
use super::state::{ErrorCode, Task};
use crate::spec::RoleName;

/// Asks the model, or ends the run where it may not ask any more. Returns whether it asked.
pub(super) fn ask_model(task: &mut Task, context: &mut Context<'_>, id: EffectId, role: RoleName) -> bool {
    let bounds = context.rules.bounds();
    if task.counters.model_calls >= bounds.model_calls {
        let message =
            format!("{id} would be model call {} of {}", bounds.model_calls + 1, bounds.model_calls);
        context.fail(ErrorCode::MaxModelCallsExceeded, message);
        return false;
    }
    if let Some(message) = transitions_short(task, context, 1) {
        context.fail(ErrorCode::MaxStepsExceeded, message);
        return false;
    }
    task.counters.model_calls += 1;
    context.effects.push(Effect::AskModel { id, role });
    true
}

/// Whether a whole plan's tool calls are within the limits. Asked once, before the first step: so
/// no run ends halfway through a plan for want of budget, and what has run by then never depends on
/// the order in which answers came.
pub(super) fn allows_plan(task: &mut Task, context: &mut Context<'_>, tool_steps: u32) -> bool {
    let most = context.rules.bounds().tool_calls;
    let wanted = task.counters.tool_calls.saturating_add(tool_steps);
    if wanted > most {
        let message = format!("the plan needs {wanted} tool calls in all, {most} are allowed");
        context.fail(ErrorCode::MaxToolCallsExceeded, message);
        return false;
    }
    if let Some(message) = transitions_short(task, context, tool_steps) {
        context.fail(ErrorCode::MaxStepsExceeded, message);
        return false;
    }
    true
}

/// Calls a tool. [`allows_plan`] has seen to the limits.
pub(super) fn call_tool(task: &mut Task, context: &mut Context<'_>, step: u32, attempt: u32) {
    task.counters.tool_calls += 1;
    let id = EffectKind::Step { draft: task.draft, step, attempt }.into();
    context.effects.push(Effect::CallTool { id, step });
}

/// Every effect is answered by one transition, so what may not be answered is not asked.
fn transitions_short(task: &Task, context: &Context<'_>, wanted: u32) -> Option<String> {
    let most = context.rules.bounds().transitions;
    let needed = task.counters.transitions.saturating_add(wanted);
    (needed > most).then(|| format!("the run needs {needed} transitions so far, {most} are allowed"))
}
