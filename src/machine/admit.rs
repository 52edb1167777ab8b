//! Admit: whether an event fits a state, decided before anything moves.

use std::fmt;

use super::awaits::{awaited_here, local, nested_rules, stage, stage_awaits};
use super::edit;
use super::state::{Draft, State, StepRun, Task};
use super::vocabulary::{EffectId, EffectKind, Event, HumanAnswer, Refusal};
use crate::contract::PlanStep;
use crate::spec::CompiledSpec;

/// An event that was not taken, with everything as it was before.
#[derive(Clone, Debug, PartialEq)]
pub struct Refused {
    /// The state, unchanged.
    pub state: State,
    /// The event, unchanged.
    pub event: Event,
    /// Why it does not fit.
    pub refusal: Refusal,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} refused in {}: {}", self.event.kind(), self.state.phase.name(), self.refusal)
    }
}

impl std::error::Error for Refused {}

/// Says whether an event fits a state. The driver asks this before it journals an answer, so a
/// refused event never enters a journal.
///
/// # Errors
/// Why it does not fit.
pub fn admit(rules: &CompiledSpec, state: &State, event: &Event) -> Result<(), Refusal> {
    if state.phase.name().is_terminal() {
        return Err(Refusal::Ended);
    }
    let Some(id) = event.answers() else { return Ok(()) };
    // Nearly every id is of the run itself, which need not be searched for.
    let here = match id.path.is_empty() {
        true => Some((rules, state)),
        false => local(rules, state, *id).map(|local| (local.rules, local.state)),
    };
    let awaited = here.and_then(|(rules, state)| Some((rules, state, awaited_here(rules, state, id.kind)?)));
    match (awaited, event) {
        (Some((.., effect)), _) if !effect.is_answered_by(event) => Err(Refusal::WrongKind(*id)),
        (Some((rules, state, _)), Event::HumanAnswered { answer, .. }) => {
            answers_question(rules, &state.task, answer, *id)
        }
        (Some(_), _) => Ok(()),
        (None, _) if was_asked(rules, state, *id) => Err(Refusal::AlreadyAnswered(*id)),
        (None, _) => Err(Refusal::NeverAsked(*id)),
    }
}

/// Whether a person may answer so, and whether what they wrote passes the checks of what it replaces.
fn answers_question(
    rules: &CompiledSpec,
    task: &Task,
    answer: &HumanAnswer,
    effect: EffectId,
) -> Result<(), Refusal> {
    let bad_edit = |error| Refusal::BadEdit(Box::new(error));
    let expected = match (effect.kind, answer) {
        (EffectKind::ApprovePlan { .. }, HumanAnswer::Edit { steps }) => {
            return edit::check_plan_edit(rules, task, steps).map_err(bad_edit);
        }
        (EffectKind::ApproveCall { step, .. }, HumanAnswer::EditInput { input }) => {
            let checked = edit::check_input(rules, task, step, input);
            return checked.map_err(|error| Refusal::BadInput(Box::new(error)));
        }
        (EffectKind::Human { .. }, HumanAnswer::Edit { steps }) => {
            return edit::check_rest_edit(rules, task, steps).map_err(bad_edit);
        }
        (EffectKind::ApprovePlan { .. }, HumanAnswer::Respond { .. } | HumanAnswer::EditInput { .. }) => {
            "`approve`, `reject` or `edit`"
        }
        (EffectKind::ApproveCall { .. }, HumanAnswer::Edit { .. }) => {
            "`approve`, `reject`, `edit_input` or `respond`"
        }
        (EffectKind::Human { .. }, HumanAnswer::EditInput { .. }) => {
            "`respond`, `approve`, `reject` or `edit`"
        }
        _ => return Ok(()),
    };
    Err(Refusal::WrongAnswer { effect, answer: answer.kind(), expected })
}

/// Whether an effect that is not outstanding was once. A phase is left only when all it asked for
/// was answered, and what each draft asked for is kept.
fn was_asked(rules: &CompiledSpec, state: &State, id: EffectId) -> bool {
    let task = &state.task;
    let Some((place, inner)) = id.outside() else {
        return earlier_asking(rules, state, id.kind) || asked_before(task, id.kind);
    };
    let Some((_, run)) = step_of(task, place.draft, place.step) else { return false };
    let rules = nested_rules(rules, task, place.step);
    match run {
        StepRun::Nested { attempt } if *attempt == place.attempt => {
            let nested = state.task.nested.get(&place.step).zip(rules);
            nested.is_some_and(|(run, rules)| was_asked(rules, run, inner))
        }
        StepRun::Nested { attempt } | StepRun::Waiting { attempt } => {
            rules.is_some() && (1..*attempt).contains(&place.attempt)
        }
        // What a run that is over had asked is not kept; that it ran is.
        StepRun::Completed { nested: Some(_), .. } | StepRun::Failed { nested: Some(_), .. } => {
            (1..=run.attempts()).contains(&place.attempt)
        }
        _ => false,
    }
}

/// Whether it is an earlier asking for the reply that the stage waits for.
fn earlier_asking(rules: &CompiledSpec, state: &State, kind: EffectKind) -> bool {
    let now = stage(&state.phase).and_then(|stage| stage_awaits(stage, &state.task, rules));
    let Some((now, nth)) = now.and_then(|effect| Some((effect.id().kind, effect.id().kind.ask()?))) else {
        return false;
    };
    kind.asked(nth) == now && kind.ask().is_some_and(|ask| (1..nth).contains(&ask))
}

fn asked_before(task: &Task, kind: EffectKind) -> bool {
    let upto = |most: u32, asked: u32| (1..=most).contains(&asked);
    let draft = |number: u32| task.drafts.get((number as usize).wrapping_sub(1));
    let asks = |number: u32, asks: fn(&Draft) -> u32| draft(number).map_or(0, asks);
    let [scope, previous_context, intent] = task.understanding.asks;
    match kind {
        EffectKind::Scope { ask } => upto(scope, ask),
        EffectKind::PreviousContext { ask } => upto(previous_context, ask),
        EffectKind::Intent { ask } => upto(intent, ask),
        EffectKind::Plan { draft, ask } => upto(asks(draft, |draft| draft.plan_asks), ask),
        EffectKind::Validate { draft, ask } => upto(asks(draft, |draft| draft.verdict_asks), ask),
        EffectKind::Write { draft, ask } => upto(asks(draft, |draft| draft.write_asks), ask),
        EffectKind::Orchestrate { draft: number, nth, ask } => draft(number).is_some_and(|draft| {
            let most = draft.decision_asks.get((nth as usize).wrapping_sub(1));
            most.is_some_and(|most| upto(*most, ask))
        }),
        EffectKind::ApprovePlan { draft: number } => draft(number).is_some_and(|draft| draft.approval_asked),
        EffectKind::ApproveCall { draft: number, step } => {
            draft(number).is_some_and(|draft| draft.calls_asked.contains(&step))
        }
        EffectKind::Human { draft, step } => {
            step_of(task, draft, step).is_some_and(|(planned, run)| planned.is_hitl() && run.is_finished())
        }
        EffectKind::Wait { draft, step, attempt } => {
            step_of(task, draft, step).is_some_and(|(_, run)| (2..=run.attempts()).contains(&attempt))
        }
        EffectKind::Step { draft, step, attempt } => {
            step_of(task, draft, step).is_some_and(|(planned, run)| match run {
                StepRun::Completed { .. } | StepRun::Failed { .. } => {
                    // The final step and a person's are never called.
                    upto(run.attempts(), attempt) && !planned.is_final() && !planned.is_hitl()
                }
                // A step that waits for another try has had the ones before.
                StepRun::Waiting { .. } => upto(run.attempts(), attempt),
                _ => (1..run.attempts()).contains(&attempt),
            })
        }
    }
}

/// A step of a draft, of the plan under way or of one in the audit trail. Where steps are kept, each
/// belongs to the draft that planned it.
fn step_of(task: &Task, draft: u32, step: u32) -> Option<(&PlanStep, &StepRun)> {
    let current = task.progress.as_ref().filter(|progress| (progress.draft..=task.draft).contains(&draft));
    let progress = current.or_else(|| task.artifacts.past.iter().find(|past| past.draft == draft))?;
    let (planned, run) = (progress.plan.steps.get(step as usize)?, progress.steps.get(step as usize)?);
    let number = draft as usize;
    let first = task.drafts.get(number.wrapping_sub(1))?.first_step;
    let next = task.drafts.get(number).map(|next| next.first_step).filter(|&next| next > 0);
    (first <= step && next.is_none_or(|next| step < next)).then_some((planned, run))
}
