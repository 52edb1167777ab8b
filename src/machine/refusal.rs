//! Refusals: whether an event fits a state, decided before anything moves.

use std::fmt;

use super::effect_id::{EffectId, EffectKind};
use super::event::{Event, HumanAnswer};
use super::nested::{Local, local};
use super::state::{Asking, ExecuteStage, Phase, PlanStage, State, StepRun, Task};
use super::{approve, human, tool_approval};
use crate::contract::ContractError;
use crate::spec::{CompiledSpec, Doer};

/// Why an event does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The run has ended.
    Ended,
    /// The effect was answered before.
    AlreadyAnswered(EffectId),
    /// The run never asked for this.
    NeverAsked(EffectId),
    /// The effect is outstanding, and this kind of event does not answer it.
    WrongKind(EffectId),
    /// The steps that a person wrote do not pass the checks of a plan. The question stands.
    BadEdit(Box<ContractError>),
    /// The input that a person wrote is none that the tool takes. The question stands.
    BadInput(Box<ContractError>),
    /// This is asked, and a person cannot answer it so. The question stands.
    WrongAnswer {
        /// What is asked.
        effect: EffectId,
        /// The kind of the answer.
        answer: &'static str,
        /// What would answer it.
        expected: &'static str,
    },
    /// No phase handles this event. A state that was made by hand can get here; a run cannot.
    Unhandled,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Ended => f.write_str("the run has ended"),
            Refusal::AlreadyAnswered(id) => write!(f, "{id} was answered before"),
            Refusal::NeverAsked(id) => write!(f, "the run has not asked for {id}"),
            Refusal::WrongKind(id) => write!(f, "this kind of event does not answer {id}"),
            Refusal::BadEdit(error) => write!(f, "the edited steps do not fit: {error}"),
            Refusal::BadInput(error) => write!(f, "the edited input does not fit: {error}"),
            Refusal::WrongAnswer { effect, answer, expected } => {
                write!(f, "{effect} is answered by {expected}, not by `{answer}`")
            }
            Refusal::Unhandled => f.write_str("no phase handles it"),
        }
    }
}

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
    if id.path.is_empty() {
        return admit_here(rules, state, id.kind, event).unwrap_or_else(|| Err(unasked(rules, state, *id)));
    }
    let admitted = local(rules, state, *id)
        .and_then(|Local { rules, state, id, .. }| admit_here(rules, state, id.kind, event));
    admitted.unwrap_or_else(|| Err(unasked(rules, state, *id)))
}

/// Whether the answer to what a run itself asks fits; `None` where it does not wait for that.
fn admit_here(
    rules: &CompiledSpec,
    state: &State,
    kind: EffectKind,
    event: &Event,
) -> Option<Result<(), Refusal>> {
    if !is_outstanding(state, kind) {
        return None;
    }
    Some(match event {
        event if !fits(rules, state, kind, event) => Err(Refusal::WrongKind(event.effect()?)),
        Event::HumanAnswered { answer, effect } => says_what_is_asked(rules, state, kind, answer, *effect),
        _ => Ok(()),
    })
}

fn unasked(rules: &CompiledSpec, state: &State, id: EffectId) -> Refusal {
    match was_asked(rules, state, id) {
        true => Refusal::AlreadyAnswered(id),
        false => Refusal::NeverAsked(id),
    }
}

/// Whether a person may answer so, and whether what they wrote passes the checks of what it replaces.
fn says_what_is_asked(
    rules: &CompiledSpec,
    state: &State,
    kind: EffectKind,
    answer: &HumanAnswer,
    effect: EffectId,
) -> Result<(), Refusal> {
    let bad_edit = |error| Refusal::BadEdit(Box::new(error));
    let expected = match (kind, answer) {
        (EffectKind::Approve { .. }, HumanAnswer::Edit { steps }) => {
            return approve::check_edit(rules, state, steps).map_err(bad_edit);
        }
        (EffectKind::Permit { step, .. }, HumanAnswer::EditInput { input }) => {
            let checked = tool_approval::check_input(rules, state, step, input);
            return checked.map_err(|error| Refusal::BadInput(Box::new(error)));
        }
        (EffectKind::Human { .. }, HumanAnswer::Edit { steps }) => {
            return human::check_edit(rules, state, steps).map_err(bad_edit);
        }
        (EffectKind::Approve { .. }, HumanAnswer::Respond { .. } | HumanAnswer::EditInput { .. }) => {
            "`approve`, `reject` or `edit`"
        }
        (EffectKind::Permit { .. }, HumanAnswer::Edit { .. }) => {
            "`approve`, `reject`, `edit_input` or `respond`"
        }
        (EffectKind::Human { .. }, HumanAnswer::EditInput { .. }) => {
            "`respond`, `approve`, `reject` or `edit`"
        }
        _ => return Ok(()),
    };
    Err(Refusal::WrongAnswer { effect, answer: answer.kind(), expected })
}

/// Whether this kind of event answers what is asked.
fn fits(rules: &CompiledSpec, state: &State, kind: EffectKind, event: &Event) -> bool {
    let by_model = match kind {
        EffectKind::Step { step, .. } => asks_a_role(rules, &state.task, step),
        kind => !(matches!(kind, EffectKind::Wait { .. }) || kind.asks_a_person()),
    };
    match event {
        Event::ModelReplied { .. } | Event::ModelFailed { .. } => by_model,
        Event::ToolReturned { .. } => matches!(kind, EffectKind::Step { .. }) && !by_model,
        Event::HumanAnswered { .. } | Event::Expired { .. } => kind.asks_a_person(),
        Event::TimePassed { .. } => matches!(kind, EffectKind::Wait { .. }),
        Event::Cancelled { .. } | Event::DeadlinePassed => true,
    }
}

/// Whether a role does this step.
pub(super) fn asks_a_role(rules: &CompiledSpec, task: &Task, step: u32) -> bool {
    let planned = task.progress.as_ref().and_then(|progress| progress.plan.steps.get(step as usize));
    planned.is_some_and(|planned| matches!(rules.doer(&planned.tool), Some(Doer::Role(_))))
}

pub(super) fn is_outstanding(state: &State, kind: EffectKind) -> bool {
    let task = &state.task;
    let current = task.draft;
    match (&state.phase, kind) {
        (Phase::Plan(PlanStage::Screening(asking)), EffectKind::Scope { ask })
        | (Phase::Plan(PlanStage::Recalling(asking)), EffectKind::PreviousContext { ask })
        | (Phase::Plan(PlanStage::Classifying(asking)), EffectKind::Intent { ask }) => ask == asking.ask,
        (Phase::Plan(PlanStage::Drafting(asking)), EffectKind::Plan { draft, ask })
        | (Phase::Validate(asking), EffectKind::Validate { draft, ask }) => {
            (draft, ask) == (current, asking.ask)
        }
        (Phase::Write(writing), EffectKind::Write { draft, ask }) => {
            (draft, ask) == (current, writing.asking.ask)
        }
        (
            Phase::Execute(ExecuteStage::Orchestrating(asking)),
            EffectKind::Orchestrate { draft, nth, ask },
        ) => {
            let decided = task.drafts.last().map_or(0, |draft| draft.decision_asks.len() as u32);
            (draft, nth, ask) == (current, decided + 1, asking.ask)
        }
        (Phase::Execute(ExecuteStage::AwaitingHuman { step: asked }), EffectKind::Human { draft, step }) => {
            (draft, step) == (current, *asked)
        }
        (
            Phase::Execute(ExecuteStage::AwaitingPermit { step: asked }),
            EffectKind::Permit { draft, step },
        ) => (draft, step) == (current, *asked),
        (Phase::Plan(PlanStage::AwaitingApproval), EffectKind::Approve { draft }) => draft == current,
        (Phase::Execute(ExecuteStage::Running), EffectKind::Step { draft, step, attempt }) => {
            draft == current
                && matches!(slot(task, step), Some(StepRun::Running { attempt: now }) if *now == attempt)
        }
        (Phase::Execute(ExecuteStage::Running), EffectKind::Wait { draft, step, attempt }) => {
            draft == current
                && matches!(slot(task, step), Some(StepRun::Waiting { attempt: next }) if *next == attempt)
        }
        _ => false,
    }
}

fn slot(task: &Task, step: u32) -> Option<&StepRun> {
    task.progress.as_ref()?.steps.get(step as usize)
}

/// Whether an effect that is not outstanding was once. A phase is left only when all it asked for
/// was answered, and what each draft asked for is kept.
fn was_asked(rules: &CompiledSpec, state: &State, id: EffectId) -> bool {
    let Some((place, inner)) = id.outside() else { return asked_here(state, id.kind) };
    let Some(run) = run_of(&state.task, place.draft, place.step) else { return false };
    match run {
        StepRun::Nested { attempt, run } if *attempt == place.attempt => {
            let inner_rules = super::nested::rules_of(rules, &state.task, place.step);
            inner_rules.is_some_and(|rules| was_asked(rules, run, inner))
        }
        StepRun::Nested { attempt, .. } | StepRun::Waiting { attempt } => {
            let runs = super::nested::rules_of(rules, &state.task, place.step).is_some();
            runs && (1..*attempt).contains(&place.attempt)
        }
        // What a run that is over had asked is not kept; that it ran is.
        StepRun::Completed { nested: Some(_), .. } | StepRun::Failed { nested: Some(_), .. } => {
            (1..=run.attempts()).contains(&place.attempt)
        }
        _ => false,
    }
}

fn asked_here(state: &State, kind: EffectKind) -> bool {
    let task = &state.task;
    let earlier = |asking: &Asking, ask: u32| (1..asking.ask).contains(&ask);
    match (&state.phase, kind) {
        (Phase::Plan(PlanStage::Screening(asking)), EffectKind::Scope { ask })
        | (Phase::Plan(PlanStage::Recalling(asking)), EffectKind::PreviousContext { ask })
        | (Phase::Plan(PlanStage::Classifying(asking)), EffectKind::Intent { ask }) => earlier(asking, ask),
        (Phase::Plan(PlanStage::Drafting(asking)), EffectKind::Plan { draft, ask })
        | (Phase::Validate(asking), EffectKind::Validate { draft, ask })
            if draft == task.draft =>
        {
            earlier(asking, ask)
        }
        (Phase::Write(writing), EffectKind::Write { draft, ask }) if draft == task.draft => {
            earlier(&writing.asking, ask)
        }
        (
            Phase::Execute(ExecuteStage::Orchestrating(asking)),
            EffectKind::Orchestrate { draft, nth, ask },
        ) if draft == task.draft && nth as usize == decisions(task, draft).len() + 1 => earlier(asking, ask),
        (_, kind) => asked_before(task, kind),
    }
}

fn decisions(task: &Task, draft: u32) -> &[u32] {
    task.drafts.get(draft as usize - 1).map_or(&[], |draft| draft.decision_asks.as_slice())
}

fn asked_before(task: &Task, kind: EffectKind) -> bool {
    let draft = |number: u32| task.drafts.get((number as usize).wrapping_sub(1));
    match kind {
        EffectKind::Scope { ask } => (1..=task.understanding.asks[0]).contains(&ask),
        EffectKind::PreviousContext { ask } => (1..=task.understanding.asks[1]).contains(&ask),
        EffectKind::Intent { ask } => (1..=task.understanding.asks[2]).contains(&ask),
        EffectKind::Plan { draft: number, ask } => {
            draft(number).is_some_and(|draft| (1..=draft.plan_asks).contains(&ask))
        }
        EffectKind::Validate { draft: number, ask } => {
            draft(number).is_some_and(|draft| (1..=draft.verdict_asks).contains(&ask))
        }
        EffectKind::Write { draft: number, ask } => {
            draft(number).is_some_and(|draft| (1..=draft.write_asks).contains(&ask))
        }
        EffectKind::Orchestrate { draft: number, nth, ask } => draft(number).is_some_and(|draft| {
            let asks = draft.decision_asks.get((nth as usize).wrapping_sub(1));
            asks.is_some_and(|asks| (1..=*asks).contains(&ask))
        }),
        EffectKind::Step { draft, step, attempt } => run_of(task, draft, step).is_some_and(|run| match run {
            StepRun::Completed { .. } | StepRun::Failed { .. } => {
                (1..=run.attempts()).contains(&attempt) && was_called(task, draft, step)
            }
            _ => (1..run.attempts()).contains(&attempt) || waits_after(run, attempt),
        }),
        EffectKind::Wait { draft, step, attempt } => {
            run_of(task, draft, step).is_some_and(|run| (2..=run.attempts()).contains(&attempt))
        }
        EffectKind::Approve { draft: number } => draft(number).is_some_and(|draft| draft.approval_asked),
        EffectKind::Permit { draft: number, step } => {
            draft(number).is_some_and(|draft| draft.permits_asked.contains(&step))
        }
        EffectKind::Human { draft, step } => {
            run_of(task, draft, step).is_some_and(StepRun::is_finished) && is_hitl(task, draft, step)
        }
    }
}

/// A step that waits for another try has had the ones before.
fn waits_after(run: &StepRun, attempt: u32) -> bool {
    matches!(run, StepRun::Waiting { attempt: next } if (1..*next).contains(&attempt))
}

/// The progress of a draft: the current one, or one in the audit trail.
fn progress_of(task: &Task, draft: u32) -> Option<&super::state::Progress> {
    let current = task.progress.as_ref().filter(|progress| (progress.draft..=task.draft).contains(&draft));
    current.or_else(|| task.artifacts.past.iter().find(|past| past.draft == draft))
}

/// A step of a draft, as far as it is. Where steps are kept, each belongs to the draft that planned
/// it.
fn run_of(task: &Task, draft: u32, step: u32) -> Option<&StepRun> {
    let run = progress_of(task, draft)?.steps.get(step as usize)?;
    let number = draft as usize;
    let first = task.drafts.get(number.wrapping_sub(1))?.first_step;
    let next = task.drafts.get(number).map(|next| next.first_step).filter(|&next| next > 0);
    (first <= step && next.is_none_or(|next| step < next)).then_some(run)
}

fn is_hitl(task: &Task, draft: u32, step: u32) -> bool {
    let planned = progress_of(task, draft).and_then(|progress| progress.plan.steps.get(step as usize));
    planned.is_some_and(crate::contract::PlanStep::is_hitl)
}

/// Whether a finished step was ever called: not the final one, a person's, or one whose input never
/// came.
fn was_called(task: &Task, draft: u32, step: u32) -> bool {
    let planned = progress_of(task, draft).and_then(|progress| progress.plan.steps.get(step as usize));
    planned.is_some_and(|planned| !planned.is_final() && !planned.is_hitl())
}
