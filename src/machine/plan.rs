//! Plan: gets a plan out of the planner. This phase never runs a step, and no step of a plan that
//! failed any check ever runs.

use std::sync::Arc;

use super::context::Context;
use super::event::Event;
use super::outstanding::drafter;
use super::reply;
use super::route::Exit;
use super::state::{PhaseName, PlanStage, Progress, Schedule, StepRun, Task};
use super::trace::{Steps, TraceLine};
use crate::contract::Plan;
use crate::contract::plan::Links;
use crate::spec::RoleName;

/// Asks for a plan. Where one was sent back, it goes to the audit trail and the replan is counted.
pub(super) fn enter(stage: &mut PlanStage, task: &mut Task, context: &mut Context<'_>) {
    if let Some(progress) = task.progress.take() {
        task.artifacts.past.push(progress);
        task.draft += 1;
        task.counters.replans += 1;
        let feedback = task.feedback.clone().unwrap_or_default();
        task.trace.push(TraceLine::ReplanTrigger {
            replan_count: task.counters.replans,
            reason: feedback.reason,
            fix_hint: feedback.fix_hint,
        });
    }
    let PlanStage::Drafting(asking) = stage;
    reply::ask(PhaseName::Plan, asking, task, context);
}

pub(super) fn on_event(stage: &mut PlanStage, task: &mut Task, context: &mut Context<'_>) {
    let PlanStage::Drafting(asking) = stage;
    match context.event.take() {
        Some(Event::ModelReplied { reply, .. }) => {
            task.counters.usage.add(reply.usage);
            let most = context.rules.spec().limits.max_reply_bytes as usize;
            match context.rules.plan().read(&reply.text, most) {
                Ok(read) => accept(read.plan, read.links, asking.ask, task, context),
                Err(error) => reply::bad(PhaseName::Plan, asking, task, context, error, &reply.text),
            }
        }
        Some(Event::ModelFailed { failure, .. }) => reply::failed(PhaseName::Plan, context, &failure),
        other => context.event = other,
    }
}

fn accept(plan: Plan, links: Links, plan_asks: u32, task: &mut Task, context: &mut Context<'_>) {
    let plan = Arc::new(plan);
    task.trace.push(TraceLine::Plan {
        ok: true,
        used_replan_planner: drafter(task, context.rules) == RoleName::Replanner,
        steps: Some(Steps::of(&plan)),
        error: None,
    });
    task.feedback = None;
    task.progress = Some(Progress {
        steps: vec![StepRun::Pending; plan.steps.len()],
        schedule: Schedule::of(plan.steps.len(), links),
        plan,
        plan_asks,
        verdict_asks: 0,
        tainted: task.tainted,
    });
    context.leave(Exit::Planned);
}
