//! The state of a run, and whether one that was read from a file is one that a run can be in.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::phase::{ExecuteStage, Phase, PlanStage};
use super::steps::{Progress, StepRun};
use super::task::Task;

/// A run at one moment. It serialises whole: written, read and stepped is the same as stepped. One that
/// is read is checked, so that no file can make the machine panic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct State {
    /// What the run is doing.
    pub phase: Phase,
    /// What the run knows.
    pub task: Box<Task>,
    /// The runs of the agents that do steps, by the steps' positions in the plan.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub nested: BTreeMap<u32, State>,
}

/// A state as it stands in a file.
#[derive(Deserialize)]
struct Unchecked {
    phase: Phase,
    task: Box<Task>,
    #[serde(default)]
    nested: BTreeMap<u32, State>,
}

impl TryFrom<Unchecked> for State {
    type Error = String;

    fn try_from(Unchecked { phase, task, nested }: Unchecked) -> Result<Self, String> {
        let state = State { phase, task, nested };
        match state.contradiction() {
            None => Ok(state),
            Some(problem) => Err(format!("no run can be in this state: {problem}")),
        }
    }
}

impl State {
    /// What contradicts itself in the state, where something does.
    fn contradiction(&self) -> Option<&'static str> {
        let task = &*self.task;
        let runs = task.progress.as_ref().map_or(&[][..], |progress| progress.steps.as_slice());
        let first_steps = || task.drafts.iter().map(|draft| draft.first_step as usize);
        let nested = |at: u32| matches!(runs.get(at as usize), Some(StepRun::Nested { .. }));
        let asked = |at: u32| runs.get(at as usize) == Some(&StepRun::WaitingHuman);
        let fits = match &self.phase {
            Phase::Execute(ExecuteStage::Running) => runs.iter().any(StepRun::is_running),
            Phase::Execute(
                ExecuteStage::AwaitingHuman { step } | ExecuteStage::AwaitingCallApproval { step },
            ) => asked(*step),
            Phase::Execute(ExecuteStage::Orchestrating(_)) | Phase::Plan(PlanStage::AwaitingApproval) => {
                task.progress.is_some() && !runs.iter().any(StepRun::is_running)
            }
            Phase::Plan(_) | Phase::Validate(_) | Phase::Write(_) => !runs.iter().any(StepRun::is_running),
            Phase::Done | Phase::Error => true,
        };
        let claims = [
            (fits, "the phase does not fit the steps"),
            (!task.drafts.is_empty() && task.drafts.len() == task.draft as usize, "drafts are missing"),
            (first_steps().is_sorted(), "a draft begins before the one that it follows"),
            (first_steps().all(|first| first <= runs.len()), "a draft begins behind the plan"),
            (self.nested.keys().all(|at| nested(*at)), "a nested run has no step"),
            (
                self.phase.name().is_terminal()
                    || (0u32..).zip(runs).all(|(at, _)| !nested(at) || self.nested.contains_key(&at)),
                "a step has no nested run",
            ),
        ];
        let plans = task.artifacts.past.iter().chain(&task.progress);
        let broken = claims.into_iter().find(|(holds, _)| !holds).map(|(_, problem)| problem);
        broken.or_else(|| plans.into_iter().find_map(Progress::contradiction))
    }
}
