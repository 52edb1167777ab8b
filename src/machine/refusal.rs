//! Refusals: whether an event fits a state, decided before anything moves.

use std::fmt;

use super::effect_id::{EffectId, EffectKind};
use super::event::Event;
use super::state::{Asking, ExecuteStage, Phase, PlanStage, Progress, State, StepRun};

/// Why an event does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// The run has ended.
    Ended,
    /// The effect was answered before.
    AlreadyAnswered(EffectId),
    /// The run never asked for this.
    NeverAsked(EffectId),
    /// The effect is outstanding, and this kind of event does not answer it.
    WrongKind(EffectId),
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
pub fn admit(state: &State, event: &Event) -> Result<(), Refusal> {
    if state.phase.name().is_terminal() {
        return Err(Refusal::Ended);
    }
    let Some(id) = event.effect() else { return Ok(()) };
    if !is_outstanding(state, id) {
        let refusal = if was_asked(state, id) { Refusal::AlreadyAnswered } else { Refusal::NeverAsked };
        return Err(refusal(id));
    }
    let fits = match event {
        Event::ModelReplied { .. } | Event::ModelFailed { .. } => !matches!(id.kind, EffectKind::Step { .. }),
        Event::ToolReturned { .. } => matches!(id.kind, EffectKind::Step { .. }),
        _ => true,
    };
    if fits { Ok(()) } else { Err(Refusal::WrongKind(id)) }
}

pub(super) fn is_outstanding(state: &State, id: EffectId) -> bool {
    let current = state.task.draft;
    match (&state.phase, id.kind) {
        (Phase::Plan(PlanStage::Drafting(asking)), EffectKind::Plan { draft, ask })
        | (Phase::Validate(asking), EffectKind::Validate { draft, ask }) => {
            (draft, ask) == (current, asking.ask)
        }
        (Phase::Write(writing), EffectKind::Write { draft, ask }) => {
            (draft, ask) == (current, writing.asking.ask)
        }
        (Phase::Execute(ExecuteStage::Running), EffectKind::Step { draft, step, attempt }) => {
            draft == current && slot(state, step) == Some(&StepRun::Running { attempt })
        }
        _ => false,
    }
}

fn slot(state: &State, step: u32) -> Option<&StepRun> {
    state.task.progress.as_ref()?.steps.get(step as usize)
}

/// Whether an effect that is not outstanding was once. A phase is left only when all it asked for
/// was answered, and what each draft asked for is kept with its progress.
fn was_asked(state: &State, id: EffectId) -> bool {
    let current = state.task.draft;
    let earlier = |asking: &Asking, ask: u32| (1..asking.ask).contains(&ask);
    match (&state.phase, id.kind) {
        (Phase::Plan(PlanStage::Drafting(asking)), EffectKind::Plan { draft, ask })
        | (Phase::Validate(asking), EffectKind::Validate { draft, ask })
            if draft == current =>
        {
            earlier(asking, ask)
        }
        (Phase::Write(writing), EffectKind::Write { draft, ask }) => {
            draft == current && earlier(&writing.asking, ask)
        }
        (_, EffectKind::Write { .. }) => false,
        (_, EffectKind::Plan { draft, ask }) => {
            progress_of(state, draft).is_some_and(|progress| (1..=progress.plan_asks).contains(&ask))
        }
        (_, EffectKind::Validate { draft, ask }) => {
            progress_of(state, draft).is_some_and(|progress| (1..=progress.verdict_asks).contains(&ask))
        }
        (_, EffectKind::Step { draft, step, attempt }) => {
            progress_of(state, draft).is_some_and(|progress| attempt == 1 && progress.was_called(step))
        }
        _ => false,
    }
}

/// The progress of one draft: the current one, or one in the audit trail.
fn progress_of(state: &State, draft: u32) -> Option<&Progress> {
    let task = &state.task;
    if draft == task.draft {
        return task.progress.as_ref();
    }
    let nth = usize::try_from(draft).ok()?.checked_sub(1)?;
    task.artifacts.past.get(nth)
}
