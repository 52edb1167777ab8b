//! Outstanding: the effects whose answers a run waits for. They follow from the state alone, so a
//! run read from a journal knows what to ask for again.

use super::effect_id::{EffectId, EffectKind};
use super::event::Effect;
use super::refusal::is_outstanding;
use super::state::{ExecuteStage, Phase, PlanStage, State, StepRun, Task};
use crate::spec::{RoleName, Rules};

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
pub fn outstanding(rules: &Rules, state: &State) -> Vec<Effect> {
    let draft = state.task.draft;
    let ids: Vec<EffectKind> = match &state.phase {
        Phase::Plan(PlanStage::Drafting(asking)) => vec![EffectKind::Plan { draft, ask: asking.ask }],
        Phase::Validate(asking) => vec![EffectKind::Validate { draft, ask: asking.ask }],
        Phase::Write(writing) => vec![EffectKind::Write { draft, ask: writing.asking.ask }],
        Phase::Execute(ExecuteStage::Running) => {
            let steps = state.task.progress.iter().flat_map(|progress| progress.steps.iter().enumerate());
            let running = steps.filter_map(|(at, run)| match run {
                StepRun::Running { attempt } => Some((at as u32, *attempt)),
                StepRun::Pending | StepRun::Completed { .. } | StepRun::Failed { .. } => None,
            });
            running.map(|(step, attempt)| EffectKind::Step { draft, step, attempt }).collect()
        }
        Phase::Done | Phase::Error => Vec::new(),
    };
    ids.into_iter().map(|id| effect(rules, state, id.into())).collect()
}

/// The effect of an id that the run waits for; `None` where it does not. Costs the same however
/// many it waits for.
pub fn awaited(rules: &Rules, state: &State, id: EffectId) -> Option<Effect> {
    is_outstanding(state, id).then(|| effect(rules, state, id))
}

fn effect(rules: &Rules, state: &State, id: EffectId) -> Effect {
    match id.kind {
        EffectKind::Plan { .. } => Effect::AskModel { id, role: drafter(&state.task, rules) },
        EffectKind::Validate { .. } => Effect::AskModel { id, role: RoleName::Validator },
        EffectKind::Write { .. } => Effect::AskModel { id, role: RoleName::Writer },
        EffectKind::Step { step, .. } => Effect::CallTool { id, step },
        _ => Effect::AskModel { id, role: RoleName::Planner },
    }
}

/// The role that drafts: the re-planner only where there is a hint to follow.
pub(super) fn drafter(task: &Task, rules: &Rules) -> RoleName {
    let hint = task.feedback.as_ref().is_some_and(|feedback| !feedback.fix_hint.trim().is_empty());
    if hint && rules.has(RoleName::Replanner) { RoleName::Replanner } else { RoleName::Planner }
}
