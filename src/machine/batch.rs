//! Batch: which calls a person is asked about together: the one that is due, and every later one about which they would
//! be asked anyway and whose input is there. It follows from the state, so a question is the same whenever it is shown.
//! No step is done before its turn for that: what stands behind a write may rest on it, whether the plan says so or not.

use std::collections::BTreeSet;

use super::authority::{Permission, authorise};
use super::state::{ExecuteStage, Phase, State, Task, result_without_call};
use crate::spec::{CompiledSpec, Orchestrate};

/// Most calls that are asked about together.
const MAX_CALLS: usize = 20;

impl State {
    /// The steps of the plan whose calls a person is asked to approve together, in the order of the question.
    #[doc(hidden)]
    pub fn asked_calls(&self, compiled: &CompiledSpec) -> Vec<u32> {
        asked_calls(compiled, self)
    }
}

/// The steps whose calls a person is asked to approve, in the order of the question.
pub(crate) fn asked_calls(compiled: &CompiledSpec, state: &State) -> Vec<u32> {
    match state.phase {
        Phase::Execute(ExecuteStage::AwaitingCallApproval { step }) => {
            asked_together(compiled, &state.task, step)
        }
        _ => Vec::new(),
    }
}

/// The steps whose calls a person is asked about together, of which the first is due.
pub(super) fn asked_together(compiled: &CompiledSpec, task: &Task, first: u32) -> Vec<u32> {
    let is_filled = |at: &u32| task.progress.as_ref().is_some_and(|it| it.open_hole(*at).is_none());
    std::iter::once(first).chain(asked_with(compiled, task, first).into_iter().filter(is_filled)).collect()
}

/// The step for which a model writes a value next, before a person is asked about a call: so they see all calls whole.
pub(super) fn find_unfilled(compiled: &CompiledSpec, task: &Task, first: u32) -> Option<u32> {
    let progress = task.progress.as_ref()?;
    asked_with(compiled, task, first).into_iter().find(|at| progress.open_hole(*at).is_some())
}

/// The later steps about which a person would be asked as well, and that wait for nothing.
fn asked_with(compiled: &CompiledSpec, task: &Task, first: u32) -> Vec<u32> {
    let Some(progress) = task.progress.as_ref() else { return Vec::new() };
    // What a model or a person says in between may change what follows.
    if compiled.policy().orchestrate == Orchestrate::EachStep {
        return Vec::new();
    }
    let steps = progress.slots().skip(first as usize + 1);
    let until = steps.take_while(|(_, planned, run)| !planned.is_hitl() || run.is_finished());
    let schedule = &progress.schedule;
    let asks = until.filter_map(|(at, planned, _)| {
        let at = at as u32;
        let is_called = schedule.ready.contains(at)
            && !schedule.approved.contains_key(&at)
            && result_without_call(progress, at, planned, compiled).is_none()
            && task.standing_write(compiled, at).is_none();
        let asks =
            || schedule.people.contains(&at) || matches!(authorise(compiled, task, at), Permission::Ask);
        (is_called && asks()).then_some(at)
    });
    // Of two calls that are the same one is made, and stands for the other.
    let known = |at: u32| [task.write_key(compiled, at), task.call_template(at)].into_iter().flatten();
    let mut seen: BTreeSet<String> = known(first).collect();
    let is_new = |at: &u32| known(*at).all(|key| seen.insert(key));
    asks.filter(is_new).take(MAX_CALLS - 1).collect()
}
