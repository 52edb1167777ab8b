//! Orchestrate: between the steps, a model looks at the results and decides what becomes of the rest of
//! the plan. This file never runs a step.

use super::amend::{self, Amended};
use super::context::Context;
use super::execute;
use super::reply::{self, Duty, Usable};
use super::state::{Asking, Decided, ExecuteStage, PhaseName, StepRun, Task};
use super::trace::TraceLine;
use crate::contract::{Action, Decision};
use crate::spec::{CompiledSpec, RoleName};

/// Whether there is something to decide: nothing runs, and the plan has a step that somebody does.
pub(super) fn is_due(task: &Task) -> bool {
    let Some(progress) = &task.progress else { return false };
    if progress.schedule.running > 0 {
        return false;
    }
    let steps = progress.plan.steps.iter().zip(&progress.steps).skip(task.first_step());
    let mut working = steps.filter(|(planned, _)| !planned.is_final());
    working.next().is_some()
}

fn duty(task: &Task) -> Duty {
    let decided = task.drafts.last().map_or(0, |draft| draft.decision_asks.len() as u32);
    Duty { nth: decided + 1, ..Duty::of(PhaseName::Execute, RoleName::Orchestrator) }
}

/// Asks for a decision.
pub(super) fn ask(stage: &mut ExecuteStage, task: &mut Task, context: &mut Context<'_>) {
    let asking = Asking::first();
    reply::ask(duty(task), &asking, task, context);
    *stage = ExecuteStage::Orchestrating(asking);
}

pub(super) fn on_event(stage: &mut ExecuteStage, task: &mut Task, context: &mut Context<'_>) {
    let ExecuteStage::Orchestrating(asking) = stage else { return };
    let read = |rules: &CompiledSpec, _: &Task, reply: &super::ModelReply| rules.read_decision(&reply.text);
    let Some(Usable { value, fallback }) = reply::read(duty(task), asking, task, context, read) else {
        return;
    };
    let asks = asking.ask;
    task.current().decision_asks.push(asks);
    decide(stage, value, fallback, task, context);
}

fn decide(
    stage: &mut ExecuteStage,
    decision: Decision,
    mut fallback: Option<String>,
    task: &mut Task,
    context: &mut Context<'_>,
) {
    let mut decision = decision;
    let mut remaining = None;
    match amend::amend(&decision, task, context.rules) {
        Ok(Amended::As(names)) => {
            remaining = Some(names);
            // What a model says after untrusted output was read is no cleaner than that.
            let tainted = task.tainted;
            task.current().tainted |= tainted;
        }
        Ok(Amended::Nothing) => {}
        Err(problem) => {
            fallback = Some(problem.clone());
            decision = Decision::carry_on(problem);
        }
    }
    if decision.action == Action::SkipRemaining {
        remaining = Some(Vec::new());
    }
    let after = task.progress.as_ref().map_or(0, |progress| progress.schedule.finished);
    let (draft, action) = (task.draft, decision.action);
    let line = TraceLine::Decision {
        after,
        decision: Box::new(decision.clone()),
        fallback: fallback.clone(),
        remaining,
    };
    task.trace.push(line);
    task.decisions.push(Decided { draft, after, decision, fallback: fallback.is_some() });
    if action == Action::SkipRemaining {
        skip_remaining(task);
    }
    execute::advance(stage, task, context);
}

/// Leaves out every step that has not begun, but for the one that only ends the plan.
fn skip_remaining(task: &mut Task) {
    let Some(progress) = task.progress.as_mut() else { return };
    for step in 0..progress.steps.len() {
        if progress.steps[step] == StepRun::Pending && !progress.plan.steps[step].is_final() {
            progress.schedule.ready.remove(&(step as u32));
            progress.finish(step as u32, StepRun::Skipped { same_as: None });
        }
    }
}
