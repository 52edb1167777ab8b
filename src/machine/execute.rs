//! Execute: runs the steps of an accepted plan. This phase never changes the plan; a failed step is
//! a result, and `route.rs` decides what follows.
//!
//! Steps sit in slots. Answers may come in any order; what the run looks like when EXECUTE is left
//! does not depend on it.

use super::context::Context;
use super::event::{Event, ToolOutcome};
use super::route::Exit;
use super::state::{ErrorCode, ExecuteStage, Feedback, Progress, Schedule, StepRun, Task};
use super::trace::TraceLine;
use super::{FINAL_STEP_OUTPUT, budget};
use crate::contract::plan::Links;
use crate::contract::{PlanStep, ToolEffect, Trust};
use crate::spec::{Execution, OnStepFailure, Rules};

impl Schedule {
    /// The schedule of a plan of which nothing has run.
    pub(super) fn of(steps: usize, links: Links) -> Self {
        let missing: Vec<u32> = links.needs.iter().map(|needs| needs.len() as u32).collect();
        let waits = |step: &u32| missing.get(*step as usize).is_some_and(|&count| count > 0);
        let ready = (0..steps as u32).filter(|step| !waits(step)).collect();
        Schedule { links, missing, ready, running: 0, finished: 0, failed: 0, alone: false }
    }
}

/// Starts the first steps, if the whole plan is within the limits.
pub(super) fn enter(_: &mut ExecuteStage, task: &mut Task, context: &mut Context<'_>) {
    let steps = task.progress.iter().flat_map(|progress| &progress.plan.steps);
    let tool_steps = steps.filter(|step| !step.is_final()).count() as u32;
    if budget::allows_plan(task, context, tool_steps) {
        advance(task, context);
    }
}

pub(super) fn on_event(_: &mut ExecuteStage, task: &mut Task, context: &mut Context<'_>) {
    match context.event.take() {
        Some(Event::ToolReturned { effect, outcome }) => {
            let super::EffectKind::Step { step, .. } = effect.kind else { return };
            let failed = record(step, outcome, task, context.rules);
            let policy = context.rules.policy();
            let judged_at_once =
                policy.execution == Execution::Sequential && policy.on_step_failure != OnStepFailure::Record;
            if failed && judged_at_once {
                leave(task, context);
            } else {
                advance(task, context);
            }
        }
        other => context.event = other,
    }
}

/// Puts an answer into its step's slot. Returns whether the step failed.
fn record(step: u32, outcome: ToolOutcome, task: &mut Task, rules: &Rules) -> bool {
    let Some(progress) = task.progress.as_mut() else { return false };
    let (failed, run) = match outcome {
        ToolOutcome::Returned { output, .. } => (false, StepRun::Completed { output }),
        ToolOutcome::Failed { kind, message } => {
            (true, StepRun::Failed { output: format!("ERROR: {kind}: {message}") })
        }
    };
    if !task.tainted {
        let tool = progress.plan.steps.get(step as usize).and_then(|planned| rules.tool(&planned.tool));
        task.tainted = tool.is_none_or(|tool| tool.trust == Trust::Untrusted);
    }
    progress.schedule.running = progress.schedule.running.saturating_sub(1);
    progress.schedule.alone = false;
    progress.finish(step, run);
    failed
}

/// Starts every step that may start, lowest first, and leaves the phase when none runs any more.
fn advance(task: &mut Task, context: &mut Context<'_>) {
    let width = context.rules.policy().execution.width();
    loop {
        let Some(progress) = task.progress.as_mut() else { return };
        let schedule = &progress.schedule;
        if schedule.running >= width || schedule.alone {
            return;
        }
        let Some(&step) = schedule.ready.first() else { break };
        let Some(planned) = progress.plan.steps.get(step as usize) else { break };
        if let Some(run) = without_a_call(progress, step, planned) {
            progress.schedule.ready.pop_first();
            progress.finish(step, run);
            continue;
        }
        // One by one, every step runs alone.
        let alone = width > 1 && must_run_alone(planned, context.rules);
        if alone && schedule.running > 0 {
            return;
        }
        progress.schedule.ready.pop_first();
        progress.schedule.running += 1;
        progress.schedule.alone = alone;
        progress.steps[step as usize] = StepRun::Running { attempt: 1 };
        budget::call_tool(task, context, step, 1);
    }
    if task.progress.as_ref().is_some_and(|progress| progress.schedule.running == 0) {
        leave(task, context);
    }
}

/// The result of a step that needs no call: the final step, or one whose input will never come.
fn without_a_call(progress: &Progress, step: u32, planned: &PlanStep) -> Option<StepRun> {
    if planned.is_final() {
        return Some(StepRun::Completed { output: FINAL_STEP_OUTPUT.to_owned() });
    }
    let need = progress.failed_need(step as usize)? as usize;
    let name = progress.plan.steps.get(need)?.name(need);
    Some(StepRun::Failed { output: format!("ERROR: dependency: {name} failed, so this step was not run") })
}

/// A write that may not happen twice never runs beside another step.
fn must_run_alone(planned: &PlanStep, rules: &Rules) -> bool {
    let tool = rules.tool(&planned.tool);
    tool.is_some_and(|tool| tool.effect == ToolEffect::Write && !tool.is_idempotent())
}

impl Progress {
    /// Records a step's result and makes ready what waited for it alone.
    fn finish(&mut self, step: u32, run: StepRun) {
        let Some(slot) = self.steps.get_mut(step as usize) else { return };
        self.schedule.failed += u32::from(matches!(run, StepRun::Failed { .. }));
        self.schedule.finished += 1;
        *slot = run;
        let Some(dependents) = self.schedule.links.dependents.get(step as usize) else { return };
        for &dependent in dependents {
            let Some(missing) = self.schedule.missing.get_mut(dependent as usize) else { continue };
            *missing = missing.saturating_sub(1);
            if *missing == 0 {
                self.schedule.ready.insert(dependent);
            }
        }
    }

    /// The first failed step.
    pub(super) fn first_failure(&self) -> Option<StepFailure> {
        let failed = |run: &&StepRun| matches!(run, StepRun::Failed { .. });
        let (at, run) = self.steps.iter().enumerate().find(|(_, run)| failed(run))?;
        let planned = self.plan.steps.get(at)?;
        let step = format!("{} ({}) failed", planned.name(at), planned.tool);
        Some(StepFailure { step, output: run.output().unwrap_or_default().to_owned() })
    }
}

/// A failed step: which, and what its tool said.
pub(super) struct StepFailure {
    step: String,
    output: String,
}

impl std::fmt::Display for StepFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.step, self.output)
    }
}

/// What the re-planner is told after a failed step.
const STEP_FAILED_HINT: &str = "Plan another way to what the failed step was for.";

fn leave(task: &mut Task, context: &mut Context<'_>) {
    let Some(progress) = task.progress.as_ref() else { return };
    let (num_results, num_failed) = (progress.schedule.finished, progress.schedule.failed);
    let failure = match context.rules.policy().on_step_failure {
        OnStepFailure::Record => None,
        OnStepFailure::Replan | OnStepFailure::Abort => progress.first_failure(),
    };
    let Some(failure) = failure else {
        task.trace.push(TraceLine::Execute { ok: true, num_results, num_failed, error: None });
        return context.leave(Exit::Executed);
    };
    if context.rules.policy().on_step_failure == OnStepFailure::Abort {
        return context.fail(ErrorCode::ExecuteError, failure.to_string());
    }
    task.trace.push(TraceLine::Execute { ok: false, num_results, num_failed, error: None });
    // What the tool said is data: the re-planner sees it among the results. The hint is ours.
    task.feedback = Some(Feedback { reason: failure.step, fix_hint: STEP_FAILED_HINT.to_owned() });
    context.leave(Exit::StepFailed);
}
