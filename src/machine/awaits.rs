//! Awaits: which effect which stage waits for, as one table. What a run asks, what is outstanding and
//! which answer fits are read from it; so a run read from a journal knows what to ask for again.

use super::state::{ExecuteStage, Phase, PlanStage, State, StepRun, Task};
use super::vocabulary::{Answerer, Effect, EffectId, EffectKind, Place, WriteReason};
use crate::spec::{CompiledAgent, CompiledSpec, MAX_NESTING, RoleName};

/// The table: the one effect that a stage waits for. While steps run, each of them waits for its own:
/// see [`step_awaits`].
pub(super) fn stage_awaits(phase: &Phase, task: &Task, compiled: &CompiledSpec) -> Option<Effect> {
    let (draft, ask) = (task.draft, phase.asking().map_or(1, |asking| asking.ask));
    let person = |kind: EffectKind, step| Some(Effect::AskHuman { id: kind.into(), step });
    let (kind, role) = match phase {
        Phase::Plan(PlanStage::Screening(_)) => (EffectKind::Scope { ask }, RoleName::Scope),
        Phase::Plan(PlanStage::Recalling(_)) => {
            (EffectKind::PreviousContext { ask }, RoleName::PreviousContext)
        }
        Phase::Plan(PlanStage::Classifying(_)) => (EffectKind::Intent { ask }, RoleName::Intent),
        Phase::Plan(PlanStage::Granting(_)) => (EffectKind::Grant { ask }, RoleName::Grant),
        Phase::Plan(PlanStage::Drafting(_)) => (EffectKind::Plan { draft, ask }, drafter(task, compiled)),
        Phase::Plan(PlanStage::AwaitingApproval) => {
            return person(EffectKind::ApprovePlan { draft }, task.first_step() as u32);
        }
        Phase::Execute(ExecuteStage::Running) | Phase::Done | Phase::Error => return None,
        &Phase::Execute(ExecuteStage::AwaitingHuman { step }) => {
            return person(EffectKind::Human { draft, step }, step);
        }
        &Phase::Execute(ExecuteStage::AwaitingCallApproval { step }) => {
            return person(EffectKind::ApproveCall { draft, step }, step);
        }
        &Phase::Execute(ExecuteStage::AwaitingPick { step, nth }) => {
            return person(EffectKind::Pick { draft, step, nth }, step);
        }
        Phase::Execute(ExecuteStage::Orchestrating(_)) => {
            let decided = task.drafts.last().map_or(0, |draft| draft.decisions);
            let nth = decided.saturating_add(1);
            (EffectKind::Orchestrate { draft, nth, ask }, RoleName::Orchestrator)
        }
        &Phase::Execute(ExecuteStage::Filling { step, .. }) => {
            let filled = task.progress.as_ref().map_or(0, |progress| progress.filled(step).len());
            let (hole, ask) = (filled as u16, ask as u16);
            (EffectKind::Fill { draft, step, hole, ask }, RoleName::Executor)
        }
        Phase::Validate(_) => (EffectKind::Validate { draft, ask }, RoleName::Validator),
        Phase::Write(writing) => (EffectKind::Write { draft, ask }, writer(writing.gate, compiled)),
    };
    Some(Effect::AskModel { id: kind.into(), role })
}

pub(super) fn step_awaits(run: &StepRun, step: u32, task: &Task, compiled: &CompiledSpec) -> Option<Effect> {
    let draft = task.draft;
    match *run {
        StepRun::Running { attempt } => {
            let id = EffectKind::Step { draft, step, attempt }.into();
            Some(match is_models(step, task, compiled) {
                true => Effect::AskModel { id, role: RoleName::Agent },
                false => Effect::CallTool { id, step },
            })
        }
        StepRun::Waiting { attempt } => {
            let id = EffectKind::Wait { draft, step, attempt }.into();
            Some(Effect::Wait { id, delay_ms: compiled.policy().step_tries.wait_before(attempt) })
        }
        _ => None,
    }
}

/// The effect of this kind that a run itself waits for. Costs the same however many it waits for.
fn awaited_here(compiled: &CompiledSpec, state: &State, kind: EffectKind) -> Option<Effect> {
    let task = &state.task;
    let found = if let Phase::Execute(ExecuteStage::Running) = state.phase {
        let step = kind.step()?;
        step_awaits(task.progress.as_ref()?.steps.get(step as usize)?, step, task, compiled)
    } else {
        stage_awaits(&state.phase, task, compiled)
    };
    found.filter(|effect| effect.id().kind == kind)
}

/// Who answers the effect of this kind that a run itself waits for. Said without making the effect: every event is
/// asked about.
pub(super) fn answerer(compiled: &CompiledSpec, state: &State, kind: EffectKind) -> Option<Answerer> {
    let task = &*state.task;
    let Phase::Execute(ExecuteStage::Running) = state.phase else {
        return awaited_here(compiled, state, kind).map(|effect| effect.answerer());
    };
    let now = task.progress.as_ref()?.steps.get(kind.step()? as usize)?;
    match (now, kind) {
        (StepRun::Running { attempt: now }, EffectKind::Step { draft, step, attempt }) => {
            let is_models = is_models(step, task, compiled);
            let answerer = if is_models { Answerer::Model } else { Answerer::Tool };
            (draft == task.draft && attempt == *now).then_some(answerer)
        }
        (StepRun::Waiting { attempt: now }, EffectKind::Wait { draft, attempt, .. }) => {
            (draft == task.draft && attempt == *now).then_some(Answerer::Time)
        }
        _ => None,
    }
}

/// Whether the agent of a step is asked itself, and no tool called.
fn is_models(step: u32, task: &Task, compiled: &CompiledSpec) -> bool {
    let agent = task.planned(step).and_then(|planned| compiled.agent(&planned.tool));
    matches!(agent, Some(CompiledAgent::Role(_)))
}

/// The effect of an id that the run waits for; `None` where it does not.
pub fn awaited(compiled: &CompiledSpec, state: &State, id: EffectId) -> Option<Effect> {
    let here = local(compiled, state, id)?;
    awaited_here(here.compiled, here.state, here.id.kind).map(|effect| effect.under(id))
}

/// The effects whose answers the run waits for, lowest step first. Empty in DONE and ERROR only.
pub fn outstanding(compiled: &CompiledSpec, state: &State) -> Vec<Effect> {
    let task = &*state.task;
    if state.phase != Phase::Execute(ExecuteStage::Running) {
        return stage_awaits(&state.phase, task, compiled).into_iter().collect();
    }
    let runs = task.progress.iter().flat_map(|progress| progress.steps.iter().zip(0..));
    let mut found = Vec::new();
    for (run, step) in runs {
        if let StepRun::Nested { attempt } = *run
            && let Some((inner, compiled)) = task.nested.get(&step).zip(nested_spec(compiled, task, step))
        {
            let place = Place { draft: task.draft, step, attempt };
            found.extend(outstanding(compiled, inner).into_iter().filter_map(|effect| nest(effect, place)));
        }
        found.extend(step_awaits(run, step, task, compiled));
    }
    found
}

/// The effect as the outer run knows it.
pub(super) fn nest(effect: Effect, place: Place) -> Option<Effect> {
    Some(effect.under(effect.id().inside(place)?))
}

/// The run that an effect belongs to: its rules, its state, and the effect as that run knows it.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Local<'r, 's> {
    pub compiled: &'r CompiledSpec,
    pub state: &'s State,
    pub id: EffectId,
    /// The agents that do the steps that it is nested in, outermost first.
    pub agents: [Option<&'s str>; MAX_NESTING],
}

/// Finds the run that an effect belongs to: the run itself, or one nested in its steps. `None` where
/// there is no such run now.
pub fn local<'r, 's>(compiled: &'r CompiledSpec, state: &'s State, id: EffectId) -> Option<Local<'r, 's>> {
    let mut found = Local { compiled, state, id, agents: [None; MAX_NESTING] };
    let mut depth = 0;
    while let Some((place, inner)) = found.id.outside() {
        let task = &found.state.task;
        let run = task.progress.as_ref()?.steps.get(place.step as usize)?;
        if place.draft != task.draft || *run != (StepRun::Nested { attempt: place.attempt }) {
            return None;
        }
        found.agents[depth] = Some(&task.planned(place.step)?.tool);
        depth += 1;
        found.compiled = nested_spec(found.compiled, task, place.step)?;
        found.state = found.state.task.nested.get(&place.step)?;
        found.id = inner;
    }
    Some(found)
}

/// The rules that the run of a step goes by, where a whole agent does the step.
pub(super) fn nested_spec<'r>(
    compiled: &'r CompiledSpec,
    task: &Task,
    step: u32,
) -> Option<&'r CompiledSpec> {
    match compiled.agent(&task.planned(step)?.tool)? {
        CompiledAgent::Spec(inner) => Some(inner),
        CompiledAgent::Role(_) => None,
    }
}

/// The role that drafts: the re-planner only where there is a hint to follow. A verdict in the closed form is one.
pub(super) fn drafter(task: &Task, compiled: &CompiledSpec) -> RoleName {
    let closed = task.is_closed(compiled.policy());
    let hint = task
        .feedback
        .as_ref()
        .is_some_and(|feedback| closed && feedback.judged.is_some() || !feedback.fix_hint.trim().is_empty());
    if hint && compiled.has(RoleName::Replanner) { RoleName::Replanner } else { RoleName::Planner }
}

/// The role that writes: another may talk where no tool was needed.
pub(super) fn writer(gate: WriteReason, compiled: &CompiledSpec) -> RoleName {
    let talks = gate == WriteReason::NoToolNeeded && compiled.has(RoleName::Conversation);
    if talks { RoleName::Conversation } else { RoleName::Writer }
}
