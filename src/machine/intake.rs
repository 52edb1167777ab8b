//! Intake: what PLAN asks before the first draft. This file never drafts; where nothing needs
//! planning, it leaves PLAN with that.

use super::context::Context;
use super::reply::{self, Duty};
use super::route::Exit;
use super::state::{Asking, PhaseName, PlanStage, Task};
use super::trace::{Steps, TraceLine};
use crate::contract::{Intent, Plan, PreviousContext, Scope};
use crate::spec::{CompiledSpec, Intake, RoleName};

/// The stage that follows one intake, or begins PLAN. What a rule can answer is not asked.
pub(super) fn next(after: Option<Intake>, task: &mut Task, rules: &CompiledSpec) -> PlanStage {
    let intake = &rules.policy().intake;
    let from = after.and_then(|after| intake.iter().position(|known| *known == after).map(|at| at + 1));
    for wanted in &intake[from.unwrap_or(0)..] {
        match wanted {
            Intake::Scope => return PlanStage::Screening(Asking::first()),
            Intake::Intent => return PlanStage::Classifying(Asking::first()),
            Intake::PreviousContext if task.input.history.is_empty() => {
                let said = PreviousContext {
                    need_previous_context: false,
                    reason: "there are no earlier turns".to_owned(),
                };
                remember(said, task);
            }
            Intake::PreviousContext => return PlanStage::Recalling(Asking::first()),
        }
    }
    PlanStage::Drafting(Asking::first())
}

fn remember(said: PreviousContext, task: &mut Task) {
    task.trace.push(TraceLine::PreviousContext { needed: said.need_previous_context });
    task.understanding.previous_context = Some(said);
}

/// The role that a stage waits for; the drafting ones are `plan.rs`'s.
pub(super) fn role(stage: &PlanStage) -> Option<RoleName> {
    match stage {
        PlanStage::Screening(_) => Some(RoleName::Scope),
        PlanStage::Recalling(_) => Some(RoleName::PreviousContext),
        PlanStage::Classifying(_) => Some(RoleName::Intent),
        PlanStage::Drafting(_) | PlanStage::AwaitingApproval => None,
    }
}

/// Takes an answer. Returns the stage that follows, where PLAN goes on.
pub(super) fn on_event(
    stage: &mut PlanStage,
    task: &mut Task,
    context: &mut Context<'_>,
) -> Option<PlanStage> {
    let duty = Duty::of(PhaseName::Plan, role(stage)?);
    let most = context.rules.spec().limits.max_reply_bytes as usize;
    let done = match stage {
        PlanStage::Screening(asking) => {
            let read = |_: &CompiledSpec, _: &Task, reply: &super::ModelReply| Scope::read(&reply.text, most);
            let scope = reply::read(duty, asking, task, context, read)?.value;
            task.understanding.asks[0] = asking.ask;
            screened(scope, task, context)
        }
        PlanStage::Recalling(asking) => {
            let read = |_: &CompiledSpec, _: &Task, reply: &super::ModelReply| {
                PreviousContext::read(&reply.text, most)
            };
            let said = reply::read(duty, asking, task, context, read)?.value;
            task.understanding.asks[1] = asking.ask;
            remember(said, task);
            Some(Intake::PreviousContext)
        }
        PlanStage::Classifying(asking) => {
            let read =
                |rules: &CompiledSpec, _: &Task, reply: &super::ModelReply| rules.read_intent(&reply.text);
            let intent = reply::read(duty, asking, task, context, read)?.value;
            task.understanding.asks[2] = asking.ask;
            classified(intent, task, context)
        }
        PlanStage::Drafting(_) | PlanStage::AwaitingApproval => None,
    };
    done.map(|done| next(Some(done), task, context.rules))
}

fn screened(scope: Scope, task: &mut Task, context: &mut Context<'_>) -> Option<Intake> {
    task.trace.push(TraceLine::Scope { in_scope: scope.in_scope });
    let in_scope = scope.in_scope;
    if !in_scope {
        task.artifacts.final_answer = Some(scope.refusal.trim().to_owned());
        without_a_plan(task);
        context.leave(Exit::OutOfScope);
    }
    task.understanding.scope = Some(scope);
    in_scope.then_some(Intake::Scope)
}

fn classified(intent: Intent, task: &mut Task, context: &mut Context<'_>) -> Option<Intake> {
    let at_once = &context.rules.policy().intent.answer_at_once;
    let plans = intent.needs_tool && !at_once.contains(&intent.intent);
    task.trace.push(TraceLine::Intent { intent: intent.intent.clone(), needs_tool: plans });
    task.understanding.intent = Some(intent);
    if !plans {
        without_a_plan(task);
        context.leave(Exit::NothingToDo);
    }
    plans.then_some(Intake::Intent)
}

/// The line of a visit of PLAN that ends without asking for a plan.
fn without_a_plan(task: &mut Task) {
    let steps = Some(Steps::of(&std::sync::Arc::new(Plan::default())));
    let (used_replan_planner, ignored) = (false, Vec::new());
    task.trace.push(TraceLine::Plan { ok: true, used_replan_planner, steps, ignored, error: None });
}
