//! Outstanding: the effects whose answers a run waits for. They follow from the state alone, so a
//! run read from a journal knows what to ask for again.

use super::event::{Effect, EffectId};
use super::plan;
use super::state::{ExecuteStage, Phase, PlanStage, State, StepRun};
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
    match &state.phase {
        Phase::Plan(PlanStage::Drafting(asking)) => {
            let id = EffectId::Plan { draft, ask: asking.ask };
            vec![Effect::AskModel { id, role: plan::role(&state.task, rules) }]
        }
        Phase::Validate(asking) => {
            let id = EffectId::Validate { draft, ask: asking.ask };
            vec![Effect::AskModel { id, role: RoleName::Validator }]
        }
        Phase::Write(writing) => {
            let id = EffectId::Write { draft, ask: writing.asking.ask };
            vec![Effect::AskModel { id, role: RoleName::Writer }]
        }
        Phase::Execute(ExecuteStage::Running) => {
            let steps = state.task.progress.iter().flat_map(|progress| progress.steps.iter().enumerate());
            let running = steps.filter_map(|(at, run)| match run {
                StepRun::Running { attempt } => Some((at as u32, *attempt)),
                StepRun::Pending | StepRun::Completed { .. } | StepRun::Failed { .. } => None,
            });
            running
                .map(|(step, attempt)| Effect::CallTool { id: EffectId::Step { draft, step, attempt }, step })
                .collect()
        }
        Phase::Done | Phase::Error => Vec::new(),
    }
}
