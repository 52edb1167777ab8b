//! Permit: a step whose tool is called only when a person allows it. They see the very input that the
//! tool is called with, and are asked once, however often the step is tried.

use std::sync::Arc;

use serde_json::Value;

use super::context::Context;
use super::effect_id::EffectKind;
use super::event::HumanAnswer;
use super::execute::{self, slot};
use super::human::{self, Heard, heard};
use super::state::{ExecuteStage, Progress, State, StepRun, Task};
use super::trace::Concern;
use super::{budget, dispatch};
use crate::contract::ContractError;
use crate::spec::CompiledSpec;

/// Asks a person whether the tool of a step may be called.
pub(super) fn ask(stage: &mut ExecuteStage, task: &mut Task, context: &mut Context<'_>, step: u32) {
    if let Some(slot) = slot(&mut task.progress, step) {
        *slot = StepRun::WaitingHuman;
    }
    *stage = ExecuteStage::AwaitingPermit { step };
    task.current().permits_asked.push(step);
    let id = EffectKind::Permit { draft: task.draft, step }.into();
    budget::ask_person(task, context, id, step);
}

pub(super) fn on_event(stage: &mut ExecuteStage, step: u32, task: &mut Task, context: &mut Context<'_>) {
    let name = human::step_name(task, step);
    match heard(&name, Concern::Call, task, context) {
        Some(Heard::Said(HumanAnswer::Respond { text })) => {
            execute::finished(stage, step, StepRun::answered(text), task, context);
        }
        Some(Heard::Said(answer)) => {
            if let (HumanAnswer::EditInput { input }, Some(progress)) = (answer, task.progress.as_mut()) {
                progress.replace_input(step, input);
            }
            call(stage, step, task, context);
        }
        Some(Heard::No(no)) => human::rejected(step, &name, no, 0, task, context),
        None => {}
    }
}

/// Calls the tool, and starts what may run beside it.
fn call(stage: &mut ExecuteStage, step: u32, task: &mut Task, context: &mut Context<'_>) {
    let Some(progress) = task.progress.as_mut() else { return };
    let planned = progress.plan.steps.get(step as usize);
    let width = context.rules.policy().execution.width();
    progress.schedule.alone =
        width > 1 && planned.is_some_and(|planned| dispatch::must_run_alone(planned, context.rules));
    progress.schedule.people.remove(&step);
    *stage = ExecuteStage::Running;
    dispatch::first(task, context, step);
    if !context.has_ended() {
        execute::advance(stage, task, context);
    }
}

/// Whether the tool of a step takes this input.
///
/// # Errors
/// What does not fit, with its JSON path.
pub(super) fn check_input(
    rules: &CompiledSpec,
    state: &State,
    step: u32,
    input: &Value,
) -> Result<(), ContractError> {
    let progress = state.task.progress.as_ref();
    let planned = progress.and_then(|progress| progress.plan.steps.get(step as usize));
    let Some(planned) = planned else { return Err(ContractError::at("$", "there is no such step")) };
    rules.plan().check_input(&planned.tool, input)
}

impl Progress {
    /// Puts another input in the place of a step's own, or of the output that it was to be. What was to
    /// repeat the call as it was planned repeats nothing now.
    fn replace_input(&mut self, step: u32, input: Value) {
        let at = step as usize;
        if self.plan.steps.get(at).is_none_or(|planned| planned.input.as_ref() == Some(&input)) {
            return;
        }
        let planned = &mut Arc::make_mut(&mut self.plan).steps[at];
        (planned.input, planned.input_from) = (Some(input), None);
        if let Some(from) = self.schedule.links.inputs.get_mut(at) {
            *from = None;
        }
        self.schedule.twins.iter_mut().filter(|twin| **twin == Some(step)).for_each(|twin| *twin = None);
    }
}
