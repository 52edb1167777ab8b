//! Admit: whether an event fits a state, decided before anything moves; and the checks of what a person
//! writes in the place of steps or of an input.

use serde_json::Value;
use thiserror::Error;

use super::awaits::{answerer, local};
use super::batch::asked_calls;
use super::run::leaves_room;
use super::state::{State, StepRun, Task};
use super::vocabulary::{AllowedCall, EffectId, EffectKind, Event, HumanAnswer, Refusal};
use crate::contract::{Before, ContractError, Links, Plan, PlanStep};
use crate::spec::{CompiledSpec, Horizon};

/// An event that was not taken, with everything as it was before.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{} refused in {}: {refusal}", event.kind(), state.phase.name())]
pub struct Refused {
    /// The state, unchanged.
    pub state: State,
    /// The event, unchanged.
    pub event: Event,
    /// Why it does not fit.
    pub refusal: Refusal,
}

/// Says whether an event fits a state, before it is journaled.
///
/// # Errors
/// Why it does not fit.
pub fn admit(compiled: &CompiledSpec, state: &State, event: &Event) -> Result<(), Refusal> {
    if state.phase.name().is_terminal() {
        return Err(Refusal::Ended);
    }
    let Some(id) = event.effect() else { return Ok(()) };
    // Nearly every id is of the run itself, which need not be searched for.
    let here = match id.path.is_empty() {
        true => Some((compiled, state)),
        false => local(compiled, state, id).map(|here| (here.compiled, here.state)),
    };
    let Some((compiled, state)) = here else { return Err(Refusal::NotAwaited(id)) };
    let Some(answerer) = answerer(compiled, state, id.kind) else { return Err(Refusal::NotAwaited(id)) };
    match event {
        _ if event.answerer() != Some(answerer) => Err(Refusal::WrongKind(id)),
        Event::HumanAnswered { answer, .. } => check_answer(compiled, state, answer, id),
        _ => Ok(()),
    }
}

fn check_answer(
    compiled: &CompiledSpec,
    state: &State,
    answer: &HumanAnswer,
    effect: EffectId,
) -> Result<(), Refusal> {
    let task = &*state.task;
    let expected = match (effect.kind, answer) {
        (EffectKind::ApprovePlan { .. } | EffectKind::Human { .. }, HumanAnswer::Edit { steps }) => {
            return check_edit(compiled, task, effect.kind, steps)
                .map_err(|error| Refusal::BadEdit(Box::new(error)));
        }
        (EffectKind::ApproveCall { step, .. }, HumanAnswer::EditInput { input }) => {
            return check_input(compiled, task, step, input);
        }
        (EffectKind::ApproveCall { .. }, HumanAnswer::ApproveCalls { calls }) => {
            return check_calls(compiled, state, calls);
        }
        (EffectKind::Pick { step, .. }, HumanAnswer::Respond { text }) => {
            let offered = task.choices(compiled, step);
            let is_offered = offered.iter().any(|choice| choice.text == *text);
            let offered = offered.into_iter().map(|choice| choice.text).collect();
            return if is_offered { Ok(()) } else { Err(Refusal::BadPick { offered }) };
        }
        (EffectKind::Pick { .. }, HumanAnswer::Reject { .. }) => return Ok(()),
        (EffectKind::Pick { .. }, _) => "`respond` or `reject`",
        (
            EffectKind::ApprovePlan { .. },
            HumanAnswer::Respond { .. } | HumanAnswer::EditInput { .. } | HumanAnswer::ApproveCalls { .. },
        ) => "`approve`, `reject` or `edit`",
        (EffectKind::ApproveCall { .. }, HumanAnswer::Edit { .. }) => {
            "`approve`, `reject`, `edit_input` or `respond`"
        }
        (EffectKind::Human { .. }, HumanAnswer::EditInput { .. } | HumanAnswer::ApproveCalls { .. }) => {
            "`respond`, `approve`, `reject` or `edit`"
        }
        _ => return Ok(()),
    };
    Err(Refusal::WrongAnswer { effect, answer: answer.kind(), expected })
}

/// Checks which of the calls that a person was asked about they allow.
fn check_calls(compiled: &CompiledSpec, state: &State, calls: &[AllowedCall]) -> Result<(), Refusal> {
    let asked = asked_calls(compiled, state);
    let are_named = calls.iter().all(|call| (1..=asked.len()).contains(&(call.position() as usize)));
    if !are_named || calls.is_empty() || !calls.is_sorted_by(|one, other| one.position() < other.position()) {
        return Err(Refusal::BadPositions { most: asked.len() });
    }
    let mut edited = calls.iter().filter_map(|call| Some((call.position(), call.input()?)));
    edited.try_for_each(|(at, input)| check_input(compiled, &state.task, asked[at as usize - 1], input))
}

fn check_input(compiled: &CompiledSpec, task: &Task, step: u32, input: &Value) -> Result<(), Refusal> {
    let tool = task.planned(step).map_or("", |planned| &planned.tool);
    let checked = compiled.plan().check_input(tool, input);
    checked.map_err(|error| Refusal::BadInput(Box::new(error)))
}

/// Checks the steps with which a person answers a question like a planner's.
fn check_edit(
    compiled: &CompiledSpec,
    task: &Task,
    asked: EffectKind,
    steps: &[PlanStep],
) -> Result<(), ContractError> {
    link_edit(compiled, task, asked, steps)?;
    if matches!(asked, EffectKind::ApprovePlan { .. }) {
        check_required_calls(compiled, task, "", Some(steps))?;
    }
    // The answer is a transition too.
    let mut spent = task.counters;
    spent.transitions = spent.transitions.saturating_add(1);
    leaves_room(&spent, compiled, steps).map_err(|problem| ContractError::at("$.steps", problem))
}

/// Links the steps with which a person answers a question: all steps of a plan, or those behind a step.
pub(super) fn link_edit(
    compiled: &CompiledSpec,
    task: &Task,
    asked: EffectKind,
    steps: &[PlanStep],
) -> Result<Links, ContractError> {
    let Some(progress) = &task.progress else {
        return Err(ContractError::at("$", "there is no plan to edit"));
    };
    let before = |steps| &progress.plan.steps[..steps];
    if !matches!(asked, EffectKind::ApprovePlan { .. }) {
        let begun = progress.begun();
        // The step that is being answered counts as done: later ones may be shown its answer.
        let done = |at: usize| progress.is_done(at) || progress.steps.get(at) == Some(&StepRun::WaitingHuman);
        let before = Before { steps: before(begun), done: &done };
        return compiled.plan().check_edit(before, begun - task.first_step().min(begun), steps);
    }
    if steps.is_empty() {
        return Err(ContractError::at("$.steps", "expected at least 1 step, found none"));
    }
    let done = |at: usize| progress.is_done(at);
    let Plan { goal, reasoning, strategy, .. } = &*progress.plan;
    let (goal, reasoning, strategy) = (goal.clone(), reasoning.clone(), strategy.clone());
    let plan = Plan { goal, reasoning, strategy, steps: steps.to_vec() };
    compiled.plan().check(Before { steps: before(task.first_step()), done: &done }, &plan)
}

/// Checks that the calls that must come before an answer have been made, or are part of the plan.
pub(super) fn check_required_calls(
    compiled: &CompiledSpec,
    task: &Task,
    said: &str,
    planned: Option<&[PlanStep]>,
) -> Result<(), ContractError> {
    let policy = compiled.policy();
    if planned.is_some() && policy.horizon == Horizon::Next {
        return Ok(());
    }
    for required in &policy.required_calls {
        let made = task.progress.iter().flat_map(|progress| progress.slots());
        let made = made.filter(|(_, step, run)| step.tool == required.tool && run.counts_as_made()).count();
        let planned = planned.into_iter().flatten().filter(|step| step.tool == required.tool);
        let count = made + planned.count();
        let begins = |line: &&str, start: &str| line.trim_start().starts_with(start);
        let per_line = required.per_line.as_ref();
        let lines = per_line.map_or(0, |start| said.lines().filter(|line| begins(line, start)).count());
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
