//! Human: a step that a person does. Nothing else moves until they have answered.

use super::budget;
use super::context::Context;
use super::effect_id::EffectKind;
use super::event::{Event, HumanAnswer};
use super::execute::{self, slot};
use super::route::Exit;
use super::state::{ErrorCode, ExecuteStage, Feedback, State, StepRun, Task};
use super::trace::TraceLine;
use crate::contract::plan::{Before, Links};
use crate::contract::{ContractError, PlanStep};
use crate::spec::{OnRejection, Rules};

/// What an edited step is recorded as.
pub(super) const EDITED: &str = "(the remaining steps were edited)";

/// Asks a person about a step.
pub(super) fn ask(stage: &mut ExecuteStage, task: &mut Task, context: &mut Context<'_>, step: u32) {
    if let Some(slot) = slot(&mut task.progress, step) {
        *slot = StepRun::WaitingHuman;
    }
    *stage = ExecuteStage::AwaitingHuman { step };
    let id = EffectKind::Human { draft: task.draft, step }.into();
    budget::ask_person(task, context, id, step);
}

pub(super) fn on_event(stage: &mut ExecuteStage, step: u32, task: &mut Task, context: &mut Context<'_>) {
    let Some(Event::HumanAnswered { answer, .. }) = context.event.take() else { return };
    let first_step = task.first_step();
    let Some(progress) = task.progress.as_mut() else { return };
    let at = step as usize;
    let name = progress.plan.steps.get(at).map(|planned| planned.name(at)).unwrap_or_default();
    task.trace.push(TraceLine::Human { step: name.clone(), answer: answer.clone() });
    match answer {
        HumanAnswer::Respond { text } => {
            execute::finished(stage, step, StepRun::completed(text), task, context);
        }
        HumanAnswer::Edit { steps } => {
            progress.steps[at] = StepRun::completed(EDITED);
            // It passed this very check before it was taken.
            if let Ok(links) = check(context.rules, progress, first_step, &steps) {
                progress.replace_pending(steps, links, context.rules);
            }
            execute::finished(stage, step, StepRun::completed(EDITED), task, context);
        }
        HumanAnswer::Reject { reason } => rejected(step, &name, reason, task, context),
    }
}

fn rejected(step: u32, name: &str, reason: String, task: &mut Task, context: &mut Context<'_>) {
    if let Some(progress) = task.progress.as_mut() {
        progress.schedule.running = progress.schedule.running.saturating_sub(1);
        progress.schedule.alone = false;
        let output = format!("ERROR: rejected: {reason}");
        progress.finish(step, StepRun::Failed { output, attempts: 1, nested: None });
    }
    if context.rules.policy().on_rejection == OnRejection::Stop {
        return context.fail(ErrorCode::Rejected, format!("{name}: {reason}"));
    }
    execute::trace(task, false, None);
    let said = format!("a person rejected {name}: {reason}");
    task.feedback = Some(Feedback { reason: said, fix_hint: reason, ..Feedback::default() });
    context.leave(Exit::Declined);
}

/// Whether these steps may follow what has begun: they pass the same checks as a planner's.
///
/// # Errors
/// The first thing that does not fit, with its JSON path.
pub(super) fn check_edit(rules: &Rules, state: &State, steps: &[PlanStep]) -> Result<(), ContractError> {
    let Some(progress) = &state.task.progress else {
        return Err(ContractError::at("$", "there is no plan to edit"));
    };
    check(rules, progress, state.task.first_step(), steps)?;
    // The answer itself is a transition.
    let mut spent = state.task.counters;
    spent.transitions = spent.transitions.saturating_add(1);
    budget::leaves_room(&spent, rules, steps).map_err(|problem| ContractError::at("$.steps", problem))
}

fn check(
    rules: &Rules,
    progress: &super::state::Progress,
    first_step: usize,
    steps: &[PlanStep],
) -> Result<Links, ContractError> {
    let begun = progress.begun();
    // The step that is being answered counts as done: later ones may be shown its answer.
    let done = |at: usize| progress.is_done(at) || progress.steps.get(at) == Some(&StepRun::WaitingHuman);
    let before = Before { steps: &progress.plan.steps[..begun], done: &done };
    rules.plan().check_edit(before, begun - first_step.min(begun), steps)
}
