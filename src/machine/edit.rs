//! Edit: the checks of what a person writes in the place of steps or of an input. They are made when
//! the answer is admitted, and once more when it is taken, for the links between the steps.

use serde_json::Value;

use super::need::leaves_room_after_this;
use super::state::{StepRun, Task};
use crate::contract::{Before, Links};
use crate::contract::{ContractError, Plan, PlanStep};
use crate::spec::{CompiledSpec, Horizon};

/// Checks the steps that take the place of those of the plan that is asked about.
pub(super) fn check_plan_edit(
    rules: &CompiledSpec,
    task: &Task,
    steps: &[PlanStep],
) -> Result<(), ContractError> {
    link_plan_edit(rules, task, steps)?;
    check_required_calls(rules, task, "", Some(steps))?;
    leaves_room_after_this(task, rules, steps)
}

/// Links the steps that take the place of those of the plan that is asked about.
pub(super) fn link_plan_edit(
    rules: &CompiledSpec,
    task: &Task,
    steps: &[PlanStep],
) -> Result<Links, ContractError> {
    let progress = task.progress.as_ref().ok_or_else(no_plan)?;
    if steps.is_empty() {
        return Err(ContractError::at("$.steps", "expected at least 1 step, found none"));
    }
    let done = |at: usize| progress.is_done(at);
    let before = progress.plan.steps.get(..task.first_step()).unwrap_or_default();
    let Plan { goal, reasoning, strategy, .. } = &*progress.plan;
    let (goal, reasoning, strategy) = (goal.clone(), reasoning.clone(), strategy.clone());
    let plan = Plan { goal, reasoning, strategy, steps: steps.to_vec() };
    rules.plan().check(Before { steps: before, done: &done }, &plan)
}

/// Checks the steps that are to follow the one that a person is asked about.
pub(super) fn check_rest_edit(
    rules: &CompiledSpec,
    task: &Task,
    steps: &[PlanStep],
) -> Result<(), ContractError> {
    link_rest_edit(rules, task, steps)?;
    leaves_room_after_this(task, rules, steps)
}

/// Links the steps that are to follow the one that a person is asked about.
pub(super) fn link_rest_edit(
    rules: &CompiledSpec,
    task: &Task,
    steps: &[PlanStep],
) -> Result<Links, ContractError> {
    let progress = task.progress.as_ref().ok_or_else(no_plan)?;
    let begun = progress.begun();
    // The step that is being answered counts as done: later ones may be shown its answer.
    let done = |at: usize| progress.is_done(at) || progress.steps.get(at) == Some(&StepRun::WaitingHuman);
    let before = Before { steps: &progress.plan.steps[..begun], done: &done };
    rules.plan().check_edit(before, begun - task.first_step().min(begun), steps)
}

fn no_plan() -> ContractError {
    ContractError::at("$", "there is no plan to edit")
}

/// Checks the input that a person gives the call of a step.
pub(super) fn check_input(
    rules: &CompiledSpec,
    task: &Task,
    step: u32,
    input: &Value,
) -> Result<(), ContractError> {
    let planned = task.planned(step).ok_or_else(|| ContractError::at("$", "there is no such step"))?;
    rules.plan().check_input(&planned.tool, input)
}

/// Where a reply leads to an answer, the calls that must come before one must have been made, or be
/// part of the plan.
pub(super) fn check_required_calls(
    rules: &CompiledSpec,
    task: &Task,
    said: &str,
    planned: Option<&[PlanStep]>,
) -> Result<(), ContractError> {
    let policy = rules.policy();
    if planned.is_some() && policy.horizon == Horizon::Next {
        return Ok(());
    }
    for required in &policy.required_calls {
        let made = task.progress.iter().flat_map(|progress| progress.plan.steps.iter().zip(&progress.steps));
        let made = made.filter(|(step, run)| step.tool == required.tool && run.counts_as_made()).count();
        let planned = planned.into_iter().flatten().filter(|step| step.tool == required.tool);
        let count = made + planned.count();
        let lines = required.per_line.as_ref().map_or(0, |begins| {
            said.lines().filter(|line| line.trim_start().starts_with(begins.as_str())).count()
        });
        let wanted = (required.least as usize).max(lines);
        if count < wanted {
            let times = if wanted == 1 { "once".to_owned() } else { format!("{wanted} times") };
            let problem = format!(
                "{:?} must be called {times} before the answer; so far it was called {count} times",
                required.tool
            );
            return Err(ContractError::at("$", problem));
        }
    }
    Ok(())
}
