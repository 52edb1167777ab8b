//! Human: a step that a person does, and what follows from what a person says wherever one is asked.
//! Nothing else moves until they have answered.

use super::budget;
use super::context::Context;
use super::effect_id::EffectKind;
use super::event::{Event, HumanAnswer};
use super::execute::{self, slot};
use super::route::Exit;
use super::state::{ErrorCode, ExecuteStage, Feedback, State, StepRun, Task};
use super::trace::{Concern, TraceLine};
use crate::contract::plan::{Before, Links};
use crate::contract::{ContractError, PlanStep};
use crate::spec::{CompiledSpec, OnExpiry, OnRejection, Policy};

/// What an edited step is recorded as.
pub(super) const EDITED: &str = "(the remaining steps were edited)";

/// What a step is recorded as that a person approved without a word.
pub(super) const APPROVED: &str = "approved";

/// The reason of a no that nobody gave.
const EXPIRED: &str = "nobody answered in time";

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
    let name = step_name(task, step);
    match heard(&name, Concern::Step, task, context) {
        Some(Heard::Said(answer)) => answered(stage, step, answer, task, context),
        Some(Heard::No(no)) => rejected(step, &name, no, 1, task, context),
        None => {}
    }
}

fn answered(
    stage: &mut ExecuteStage,
    step: u32,
    answer: HumanAnswer,
    task: &mut Task,
    context: &mut Context<'_>,
) {
    let first_step = task.first_step();
    let said = match answer {
        HumanAnswer::Respond { text } => text,
        HumanAnswer::Edit { steps } => {
            let Some(progress) = task.progress.as_mut() else { return };
            progress.steps[step as usize] = StepRun::completed(EDITED);
            // It passed this very check before it was taken.
            if let Ok(links) = check(context.rules, progress, first_step, &steps) {
                progress.replace_pending(steps, links, context.rules);
            }
            EDITED.to_owned()
        }
        _ => APPROVED.to_owned(),
    };
    execute::finished(stage, step, StepRun::completed(said), task, context);
}

/// What asking a person led to.
pub(super) enum Heard {
    /// An answer that is no "no".
    Said(HumanAnswer),
    No(No),
}

/// A no, in words or by silence.
pub(super) struct No {
    pub reason: String,
    expired: bool,
}

impl No {
    /// How the run ends by it, where the policy says that it does.
    pub fn ends_the_run(&self, policy: &Policy) -> Option<ErrorCode> {
        match (self.expired && policy.on_expiry == OnExpiry::Stop, policy.on_rejection) {
            (true, _) => Some(ErrorCode::Expired),
            (false, OnRejection::Stop) => Some(ErrorCode::Rejected),
            (false, OnRejection::Replan) => None,
        }
    }

    /// What a step is recorded as that is not to be done.
    pub fn output(&self) -> String {
        format!("ERROR: rejected: {}", self.reason)
    }

    /// What the planner is told.
    pub fn feedback(self, what: &str) -> Feedback {
        let reason = match self.expired {
            false => format!("a person rejected {what}: {}", self.reason),
            true => format!("{what}: {}", self.reason),
        };
        Feedback { reason, fix_hint: self.reason, ..Feedback::default() }
    }
}

/// Takes what a person said, or that they said nothing in time, and leaves its line.
pub(super) fn heard(name: &str, about: Concern, task: &mut Task, context: &mut Context<'_>) -> Option<Heard> {
    let step = name.to_owned();
    match context.event.take()? {
        Event::HumanAnswered { answer, .. } => {
            task.trace.push(TraceLine::Human { step, about, answer: answer.clone() });
            Some(match answer {
                HumanAnswer::Reject { reason } => Heard::No(No { reason, expired: false }),
                answer => Heard::Said(answer),
            })
        }
        Event::Expired { .. } => {
            task.trace.push(TraceLine::Expired { step, about });
            Some(Heard::No(No { reason: EXPIRED.to_owned(), expired: true }))
        }
        other => {
            context.event = Some(other);
            None
        }
    }
}

/// The name of a step of the plan under way.
pub(super) fn step_name(task: &Task, step: u32) -> String {
    let at = step as usize;
    let planned = task.progress.as_ref().and_then(|progress| progress.plan.steps.get(at));
    planned.map(|planned| planned.name(at)).unwrap_or_default()
}

/// A step that is not to be done, after so many tries.
pub(super) fn rejected(
    step: u32,
    name: &str,
    no: No,
    attempts: u32,
    task: &mut Task,
    context: &mut Context<'_>,
) {
    if let Some(progress) = task.progress.as_mut() {
        progress.schedule.running = progress.schedule.running.saturating_sub(1);
        progress.schedule.alone = false;
        progress.finish(step, StepRun::Failed { output: no.output(), attempts, nested: None });
    }
    if let Some(code) = no.ends_the_run(context.rules.policy()) {
        return context.fail(code, format!("{name}: {}", no.reason));
    }
    execute::trace(task, false, None);
    task.feedback = Some(no.feedback(name));
    context.leave(Exit::Declined);
}

/// Whether these steps may follow what has begun: they pass the same checks as a planner's.
///
/// # Errors
/// The first thing that does not fit, with its JSON path.
pub(super) fn check_edit(
    rules: &CompiledSpec,
    state: &State,
    steps: &[PlanStep],
) -> Result<(), ContractError> {
    let Some(progress) = &state.task.progress else {
        return Err(ContractError::at("$", "there is no plan to edit"));
    };
    check(rules, progress, state.task.first_step(), steps)?;
    budget::leaves_room_after_this(&state.task, rules, steps)
}

fn check(
    rules: &CompiledSpec,
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
