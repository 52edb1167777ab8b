//! Outstanding: the effects whose answers a run waits for. They follow from the state alone, so a
//! run read from a journal knows what to ask for again.

use super::effect_id::{EffectId, EffectKind};
use super::event::Effect;
use super::nested::{self, local};
use super::refusal::{asks_a_role, is_outstanding};
use super::state::{ExecuteStage, Phase, PlanStage, State, StepRun, Task, WriteReason};
use crate::spec::{CompiledSpec, RoleName};

/// The effects whose answers the run waits for, lowest step first. Empty in DONE and ERROR only.
///
/// ```
/// use planwright::machine::{Input, outstanding, start};
///
/// let rules = planwright::agents::shipped("validated").unwrap().check()?;
/// let begun = start(&rules, Input::question("Why?"));
/// assert_eq!(outstanding(&rules, &begun.state), begun.effects.to_vec());
/// # Ok::<(), planwright::spec::SpecError>(())
/// ```
pub fn outstanding(rules: &CompiledSpec, state: &State) -> Vec<Effect> {
    let task = &state.task;
    let draft = task.draft;
    let one = |kind: EffectKind| vec![effect(rules, state, kind)];
    match &state.phase {
        Phase::Plan(PlanStage::Screening(asking)) => one(EffectKind::Scope { ask: asking.ask }),
        Phase::Plan(PlanStage::Recalling(asking)) => one(EffectKind::PreviousContext { ask: asking.ask }),
        Phase::Plan(PlanStage::Classifying(asking)) => one(EffectKind::Intent { ask: asking.ask }),
        Phase::Plan(PlanStage::Drafting(asking)) => one(EffectKind::Plan { draft, ask: asking.ask }),
        Phase::Plan(PlanStage::AwaitingApproval) => one(EffectKind::Approve { draft }),
        Phase::Validate(asking) => one(EffectKind::Validate { draft, ask: asking.ask }),
        Phase::Write(writing) => one(EffectKind::Write { draft, ask: writing.asking.ask }),
        Phase::Execute(ExecuteStage::Orchestrating(asking)) => {
            let nth = task.drafts.last().map_or(0, |draft| draft.decision_asks.len() as u32) + 1;
            one(EffectKind::Orchestrate { draft, nth, ask: asking.ask })
        }
        Phase::Execute(ExecuteStage::AwaitingHuman { step }) => one(EffectKind::Human { draft, step: *step }),
        Phase::Execute(ExecuteStage::AwaitingPermit { step }) => {
            one(EffectKind::Permit { draft, step: *step })
        }
        Phase::Execute(ExecuteStage::Running) => running(rules, state),
        Phase::Done | Phase::Error => Vec::new(),
    }
}

fn running(rules: &CompiledSpec, state: &State) -> Vec<Effect> {
    let draft = state.task.draft;
    let steps = state.task.progress.iter().flat_map(|progress| progress.steps.iter().enumerate());
    let kinds = steps.filter_map(|(at, run)| {
        let step = at as u32;
        match run {
            StepRun::Running { attempt } => Some(EffectKind::Step { draft, step, attempt: *attempt }),
            StepRun::Waiting { attempt } => Some(EffectKind::Wait { draft, step, attempt: *attempt }),
            _ => None,
        }
    });
    let mut found: Vec<Effect> = kinds.map(|kind| effect(rules, state, kind)).collect();
    nested::outstanding(rules, state, &mut found);
    found.sort_by_key(|effect| effect.id().step());
    found
}

/// The effect of an id that the run waits for; `None` where it does not. Costs the same however
/// many it waits for.
pub fn awaited(rules: &CompiledSpec, state: &State, id: EffectId) -> Option<Effect> {
    let here = local(rules, state, id)?;
    is_outstanding(here.state, here.id.kind).then(|| effect(here.rules, here.state, here.id.kind).under(id))
}

fn effect(rules: &CompiledSpec, state: &State, kind: EffectKind) -> Effect {
    let id = kind.into();
    let ask = |role: RoleName| Effect::AskModel { id, role };
    match kind {
        EffectKind::Scope { .. } => ask(RoleName::Scope),
        EffectKind::PreviousContext { .. } => ask(RoleName::PreviousContext),
        EffectKind::Intent { .. } => ask(RoleName::Intent),
        EffectKind::Plan { .. } => ask(drafter(&state.task, rules)),
        EffectKind::Orchestrate { .. } => ask(RoleName::Orchestrator),
        EffectKind::Validate { .. } => ask(RoleName::Validator),
        EffectKind::Write { .. } => ask(match &state.phase {
            Phase::Write(writing) => author(writing.gate, rules),
            _ => RoleName::Writer,
        }),
        EffectKind::Step { step, .. } if asks_a_role(rules, &state.task, step) => ask(RoleName::Agent),
        EffectKind::Step { step, .. } => Effect::CallTool { id, step },
        EffectKind::Approve { .. } => Effect::AskHuman { id, step: state.task.first_step() as u32 },
        EffectKind::Human { step, .. } | EffectKind::Permit { step, .. } => Effect::AskHuman { id, step },
        EffectKind::Wait { attempt, .. } => {
            Effect::Wait { id, delay_ms: rules.policy().step_tries.wait_before(attempt) }
        }
    }
}

/// The role that drafts: the re-planner only where there is a hint to follow.
pub(super) fn drafter(task: &Task, rules: &CompiledSpec) -> RoleName {
    let hint = task.feedback.as_ref().is_some_and(|feedback| !feedback.fix_hint.trim().is_empty());
    if hint && rules.has(RoleName::Replanner) { RoleName::Replanner } else { RoleName::Planner }
}

/// The role that writes: another one where no tool was needed, where there is one for that.
pub(super) fn author(gate: WriteReason, rules: &CompiledSpec) -> RoleName {
    let talks = gate == WriteReason::NoToolNeeded && rules.has(RoleName::Conversation);
    if talks { RoleName::Conversation } else { RoleName::Writer }
}
