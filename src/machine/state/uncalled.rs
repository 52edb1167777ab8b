//! Uncalled: what becomes of a step that needs no call. It follows from the plan and what came of earlier steps.

use super::step_run::{LEFT_OUT, StepFailure, StepOutput, StepRun};
use super::steps::Progress;
use crate::contract::{PlanStep, Unresolved};
use crate::spec::{CompiledAgent, CompiledSpec};

/// The result of a step that needs no call: it is the final one, lacks its input, or repeats another.
pub(crate) fn result_without_call(
    progress: &Progress,
    step: u32,
    planned: &PlanStep,
    compiled: &CompiledSpec,
) -> Option<StepRun> {
    if planned.is_final() {
        return Some(StepRun::completed(StepOutput::FinalStep, 1));
    }
    let name = |at: u32| Some(progress.plan.steps.get(at as usize)?.name(at as usize));
    let tells = matches!(compiled.agent(&planned.tool), Some(CompiledAgent::Role(_)));
    if let Some(need) = progress.failed_need(step as usize, tells) {
        let (kind, what) = match progress.steps.get(need as usize)?.is_left_out() {
            true => (LEFT_OUT, "was left out"),
            false => ("dependency", "failed"),
        };
        let message = format!("{} {what}, so this step was not run", name(need)?);
        return Some(StepRun::failed(StepFailure::new(kind, message), 0));
    }
    let unfit = unfit_input(progress, step, planned, compiled).filter(|unfit| !unfit.is_unfilled());
    if let Some(Unresolved { code, error, .. }) = unfit {
        let what = match progress.source(step) {
            Some(source) => format!("what {} returned", name(source)?),
            None => "what the input refers to".to_owned(),
        };
        let message = format!("{what} does not fit {}: {error}", planned.tool);
        return Some(StepRun::failed(StepFailure::new(code, message), 0));
    }
    let twin = progress.twin(step)?;
    let same = match progress.steps.get(twin as usize)? {
        StepRun::Completed { .. } => twin,
        StepRun::Skipped { same_as } => (*same_as)?,
        _ => return None,
    };
    Some(StepRun::Skipped { same_as: Some(same) })
}

/// Why a tool does not take what earlier steps returned for it.
fn unfit_input(
    progress: &Progress,
    step: u32,
    planned: &PlanStep,
    compiled: &CompiledSpec,
) -> Option<Unresolved> {
    if progress.source(step).is_none() && !progress.schedule.links.references.contains_key(&step) {
        return None;
    }
    let tool = compiled.called_tool(&planned.tool)?;
    if let Some(input) = &planned.input
        && let Err(error) = progress.resolve(step, input, &|name| compiled.tool(name))
    {
        return Some(error);
    }
    compiled.plan().check_value(&tool.name, &*progress.input(step)?).err().map(Unresolved::from)
}
