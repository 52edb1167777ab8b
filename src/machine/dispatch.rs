//! Start: sets one step going, in the way its doer wants it: a tool is called, a role is asked, an
//! agent begins a run of its own. And tries it again, where the policy says so.

use super::context::Context;
use super::effect_id::EffectKind;
use super::execute::slot;
use super::state::{Progress, StepRun, Task};
use super::{FINAL_STEP_OUTPUT, budget, nested};
use crate::contract::{PlanStep, ToolContract, schema};
use crate::spec::{CompiledSpec, Doer, Role};

/// The first try of a step.
pub(super) fn first(task: &mut Task, context: &mut Context<'_>, step: u32) {
    attempt(task, context, step, 1);
}

/// A further try of a step, when its time has come.
pub(super) fn again(task: &mut Task, context: &mut Context<'_>, step: u32, number: u32) {
    attempt(task, context, step, number);
}

fn attempt(task: &mut Task, context: &mut Context<'_>, step: u32, attempt: u32) {
    let Some(planned) = task.progress.as_ref().and_then(|progress| progress.plan.steps.get(step as usize))
    else {
        return;
    };
    match context.rules.doer(&planned.tool) {
        Some(Doer::Agent(_)) => nested::start(task, context, step, attempt),
        doer => {
            let asks = doer.is_some();
            if let Some(slot) = slot(&mut task.progress, step) {
                *slot = StepRun::Running { attempt };
            }
            let id = EffectKind::Step { draft: task.draft, step, attempt }.into();
            match asks {
                true => budget::ask_member(task, context, id),
                false => budget::call_tool(task, context, id, step),
            }
        }
    }
}

/// Whether a failed try is followed by another: then the wait for it has begun.
pub(super) fn tries_again(task: &mut Task, context: &mut Context<'_>, step: u32, attempt: u32) -> bool {
    let tries = context.rules.policy().step_tries;
    if attempt >= tries.tries {
        return false;
    }
    let planned = task.progress.as_ref().and_then(|progress| progress.plan.steps.get(step as usize));
    if planned.is_none_or(|planned| happens_once(planned, context.rules)) {
        return false;
    }
    let attempt = attempt + 1;
    if let Some(slot) = slot(&mut task.progress, step) {
        *slot = StepRun::Waiting { attempt };
    }
    let id = EffectKind::Wait { draft: task.draft, step, attempt }.into();
    budget::wait(task, context, id, tries.wait_before(attempt));
    true
}

/// The result of a step that needs no call: the final step, one whose input will never come, one that
/// repeats another.
pub(super) fn without_a_call(
    progress: &Progress,
    step: u32,
    planned: &PlanStep,
    rules: &CompiledSpec,
) -> Option<StepRun> {
    if planned.is_final() {
        return Some(StepRun::completed(FINAL_STEP_OUTPUT));
    }
    if let Some(need) = progress.failed_need(step as usize) {
        let name = progress.plan.steps.get(need as usize)?.name(need as usize);
        let output = format!("ERROR: dependency: {name} failed, so this step was not run");
        return Some(StepRun::Failed { output, attempts: 0, nested: None });
    }
    if let Some(run) = unfit_input(progress, step, planned, rules) {
        return Some(run);
    }
    let twin = progress.schedule.twins.get(step as usize).copied().flatten()?;
    match progress.steps.get(twin as usize)? {
        StepRun::Completed { .. } => Some(StepRun::Skipped { same_as: Some(twin) }),
        StepRun::Skipped { same_as: Some(same) } => Some(StepRun::Skipped { same_as: Some(*same) }),
        _ => None,
    }
}

/// The failure of a step whose tool does not take what an earlier step returned.
fn unfit_input(progress: &Progress, step: u32, planned: &PlanStep, rules: &CompiledSpec) -> Option<StepRun> {
    let source = progress.schedule.links.inputs.get(step as usize).copied().flatten()?;
    let tool = rules.tool(&planned.tool).filter(|_| rules.doer(&planned.tool).is_none())?;
    let input = serde_json::Value::from(progress.output(source)?);
    let error = schema::check(&tool.input, &input).err()?;
    let name = progress.plan.steps.get(source as usize)?.name(source as usize);
    let output = format!("ERROR: input: what {name} returned does not fit {}: {error}", planned.tool);
    Some(StepRun::Failed { output, attempts: 0, nested: None })
}

/// A write that may not happen twice never runs beside another step.
pub(super) fn must_run_alone(planned: &PlanStep, rules: &CompiledSpec) -> bool {
    happens_once(planned, rules)
}

fn happens_once(planned: &PlanStep, rules: &CompiledSpec) -> bool {
    let tool = rules.tool(&planned.tool);
    tool.is_some_and(ToolContract::happens_once)
}

/// The role that does the steps of this name, where one does.
pub(super) fn member<'a>(rules: &'a CompiledSpec, name: &str) -> Option<&'a Role> {
    rules.spec().agents.iter().find(|member| member.name == name)?.role.as_ref()
}
