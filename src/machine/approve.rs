//! Approve: a plan that passed every check and is put to a person. Nothing of it runs before they say
//! yes; what they write in its place passes the same checks as a planner's.

use super::context::Context;
use super::effect_id::EffectKind;
use super::event::HumanAnswer;
use super::human::{Heard, No, heard};
use super::route::Exit;
use super::state::{PlanStage, Progress, State, Task};
use super::trace::Concern;
use super::{budget, plan};
use crate::contract::plan::{Before, Links};
use crate::contract::{ContractError, Plan, PlanStep};
use crate::spec::{CompiledSpec, Horizon, Planner};

/// What a plan is called in the trace.
const PLAN: &str = "plan";

/// Whether the plan that was just accepted needs a person's yes: one of which nothing runs does not.
pub(super) fn is_due(task: &Task, rules: &CompiledSpec) -> bool {
    let planned =
        task.progress.iter().flat_map(|progress| progress.plan.steps.iter().skip(task.first_step()));
    rules.policy().approval.plan && planned.into_iter().any(|step| !step.is_final())
}

/// Asks, unless the plan is over the limits: nobody is to approve what cannot run.
pub(super) fn ask(stage: &mut PlanStage, task: &mut Task, context: &mut Context<'_>) {
    if !budget::allows_plan(task, context, 1) {
        return;
    }
    *stage = PlanStage::AwaitingApproval;
    task.current().approval_asked = true;
    let id = EffectKind::Approve { draft: task.draft }.into();
    budget::ask_person(task, context, id, task.first_step() as u32);
}

pub(super) fn on_event(task: &mut Task, context: &mut Context<'_>) {
    let answer = match heard(PLAN, Concern::Plan, task, context) {
        Some(Heard::Said(answer)) => answer,
        Some(Heard::No(no)) => return declined(no, task, context),
        None => return,
    };
    let (rules, first) = (context.rules, task.first_step());
    if let (HumanAnswer::Edit { steps }, Some(progress)) = (answer, task.progress.as_mut())
        // It passed this very check before it was taken.
        && let Ok(links) = check(rules, progress, first, &steps)
    {
        progress.replace_pending(steps, links, rules);
    }
    task.feedback = None;
    context.leave(Exit::Planned);
}

fn declined(no: No, task: &mut Task, context: &mut Context<'_>) {
    let policy = context.rules.policy();
    if let Some(code) = no.ends_the_run(policy) {
        return context.fail(code, format!("{PLAN}: {}", no.reason));
    }
    // Who plans call by call is told in the results of the calls.
    if policy.horizon == Horizon::Next
        && policy.planner != Planner::Json
        && let Some(progress) = &mut task.progress
    {
        progress.refuse_pending(&no.output());
    }
    task.feedback = Some(no.feedback("the plan"));
    context.leave(Exit::Declined);
}

/// Whether these steps may take the place of those of the plan that is asked about.
///
/// # Errors
/// The first thing that does not fit, with its JSON path.
pub(super) fn check_edit(
    rules: &CompiledSpec,
    state: &State,
    steps: &[PlanStep],
) -> Result<(), ContractError> {
    let task = &state.task;
    let Some(progress) = &task.progress else {
        return Err(ContractError::at("$", "there is no plan to edit"));
    };
    check(rules, progress, task.first_step(), steps)?;
    plan::required(rules, task, "", Some(steps))?;
    budget::leaves_room_after_this(task, rules, steps)
}

fn check(
    rules: &CompiledSpec,
    progress: &Progress,
    first: usize,
    steps: &[PlanStep],
) -> Result<Links, ContractError> {
    if steps.is_empty() {
        return Err(ContractError::at("$.steps", "expected at least 1 step, found none"));
    }
    let done = |at: usize| progress.is_done(at);
    let before = Before { steps: &progress.plan.steps[..first], done: &done };
    let Plan { goal, reasoning, strategy, .. } = &*progress.plan;
    let (goal, reasoning, strategy) = (goal.clone(), reasoning.clone(), strategy.clone());
    rules.plan().check_after(before, &Plan { goal, reasoning, strategy, steps: steps.to_vec() })
}
