//! Seen: one step from outside, for the claims: what was fed in, and what came out. It reads states as they
//! stand and asks no rule of the machine.

use serde_json::Value;

use crate::machine::state::StepRun;
use crate::machine::{
    Effect, EffectId, EffectKind, Event, Exit, Phase, PhaseName, Place, Progress, State, Step, Task,
    TraceLine,
};
use crate::spec::{CompiledSpec, OnFailure, RoleName};

/// Whether a claim holds, and how it does not.
pub(super) type Claimed = Result<(), String>;

/// Says how a claim does not hold.
pub(super) fn ensure(holds: bool, violation: impl FnOnce() -> String) -> Claimed {
    if holds { Ok(()) } else { Err(violation()) }
}

/// One step: what was fed to which state, and what came of it.
pub(super) struct Seen<'a> {
    pub compiled: &'a CompiledSpec,
    pub before: &'a State,
    pub event: &'a Event,
    pub step: &'a Step,
    /// What was waited for before.
    pub waited: &'a [Effect],
}

impl<'a> Seen<'a> {
    pub fn after(&self) -> &'a Task {
        &self.step.state.task
    }

    /// Whether the run has ended.
    pub fn has_ended(&self) -> bool {
        self.step.state.phase.name().is_terminal()
    }

    /// The lines that the step left.
    pub fn lines(&self) -> &'a [TraceLine] {
        self.after().trace.get(self.before.task.trace.len()..).unwrap_or_default()
    }

    /// What the event answers, if the run itself had asked it.
    pub fn answered(&self) -> Option<Effect> {
        let id = self.event.effect().filter(|id| id.path.is_empty())?;
        self.waited.iter().find(|effect| effect.id() == id).copied()
    }

    /// The role that the event is the answer of.
    pub fn role(&self) -> Option<RoleName> {
        match self.answered()? {
            Effect::AskModel { role, .. } => Some(role),
            _ => None,
        }
    }

    /// The step that the event is for, if that is done by a run of its own.
    pub fn nested_step(&self) -> Option<u32> {
        let id = self.event.effect()?;
        id.path.places().next().map(|place| place.step)
    }

    /// How the phase was left that waited, if it was.
    pub fn exit(&self) -> Option<Exit> {
        self.step.moves.first().map(|taken| taken.exit)
    }

    pub fn goes_back_to_plan(&self) -> bool {
        self.step.moves.iter().any(|taken| taken.to == PhaseName::Plan)
    }

    /// What a role said, or what the spec gives in the place of a reply that cannot be read so.
    pub fn said<T>(&self, role: RoleName, read: impl Fn(&Value) -> Option<T>) -> Option<T> {
        let read = |text: &str| read(&serde_json::from_str(text).ok()?);
        let fed = match self.event {
            Event::ModelReplied { reply, .. } => read(&reply.text),
            Event::ModelFailed { .. } => None,
            _ => return None,
        };
        fed.or_else(|| match self.compiled.on_failure(role) {
            OnFailure::Fallback(text) => read(text),
            OnFailure::Fail | OnFailure::Repair => None,
        })
    }

    /// The plan that was worked on, as it stands now.
    pub fn plan(&self) -> Option<&'a Progress> {
        let after = self.after();
        match after.draft == self.before.task.draft || self.compiled.policy().keeps_steps() {
            true => after.progress.as_ref(),
            false => after.artifacts.past.last(),
        }
    }

    /// Where the draft that was worked on begins in its plan.
    pub fn first_step(&self) -> usize {
        let nth = self.before.task.draft.saturating_sub(1) as usize;
        self.after().drafts.get(nth).map_or(0, |draft| draft.first_step as usize)
    }

    /// How far a step is that was worked on.
    pub fn slot(&self, step: u32) -> Option<&'a StepRun> {
        self.plan()?.steps.get(step as usize)
    }

    /// The steps that were begun, and in which try each: called, asked of an agent, or begun as a run.
    pub fn begun(&self) -> Vec<(u32, u32)> {
        let runs = |step: u32, attempt: u32| {
            let runs = self.before.task.progress.as_ref().and_then(|plan| plan.steps.get(step as usize));
            runs == Some(&StepRun::Nested { attempt }) && self.before.task.nested.contains_key(&step)
        };
        let begun = |id: EffectId| match (id.path.places().next(), id.kind) {
            (None, EffectKind::Step { step, attempt, .. }) => Some((step, attempt)),
            (None, _) => None,
            (Some(place), _) => {
                Some((place.step, place.attempt)).filter(|&(step, attempt)| !runs(step, attempt))
            }
        };
        let mut begun: Vec<_> = self.step.effects.iter().filter_map(|effect| begun(effect.id())).collect();
        begun.dedup();
        begun
    }

    /// Whether the run that did the nested step has ended, or another has begun in its place.
    pub fn nested_run_ended(&self) -> bool {
        let place = self.event.effect().and_then(|id| id.path.places().next());
        place.is_some_and(|Place { step, attempt, .. }| self.slot(step) != Some(&StepRun::Nested { attempt }))
    }
}

/// Whether a person must approve the plan that a phase waits with.
pub(super) fn awaits_approval(phase: &Phase) -> bool {
    matches!(phase, Phase::Plan(crate::machine::state::PlanStage::AwaitingApproval))
}
