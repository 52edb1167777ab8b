//! Execute: runs the steps of an accepted plan. This phase never makes a plan; a failed step is a
//! result, and `route.rs` decides what follows.
//!
//! Steps sit in slots. Answers may come in any order; what the run looks like when EXECUTE is left
//! does not depend on it.

use super::context::Context;
use super::effect_id::{EffectKind, Place};
use super::event::{Event, ToolOutcome};
use super::route::Exit;
use super::spending::{self, Spender};
use super::state::{ErrorCode, ExecuteStage, Feedback, Progress, StepRun, Task};
use super::trace::{NestedTrace, TraceLine};
use super::{budget, dispatch, human, nested, orchestrate, tool_approval};
use crate::contract::Trust;
use crate::spec::{CompiledSpec, Execution, OnFailure, OnStepFailure, Orchestrate, RoleName};

/// Starts the first steps, if the whole plan is within the limits.
pub(super) fn enter(stage: &mut ExecuteStage, task: &mut Task, context: &mut Context<'_>) {
    if budget::allows_plan(task, context, 0) {
        go_on(stage, task, context);
    }
}

pub(super) fn on_event(stage: &mut ExecuteStage, task: &mut Task, context: &mut Context<'_>) {
    let Some(effect) = context.event.as_ref().and_then(Event::answers) else { return };
    if !effect.path.is_empty() {
        return nested::on_event(stage, task, context);
    }
    match effect.kind {
        EffectKind::Orchestrate { .. } => orchestrate::on_event(stage, task, context),
        EffectKind::Human { step, .. } => human::on_event(stage, step, task, context),
        EffectKind::Permit { step, .. } => tool_approval::on_event(stage, step, task, context),
        EffectKind::Wait { step, attempt, .. } => {
            if let Some(Event::TimePassed { .. }) = context.event.take() {
                dispatch::again(task, context, step, attempt);
            }
        }
        EffectKind::Step { step, attempt, .. } => {
            let Some(event) = context.event.take() else { return };
            if let Some(run) = outcome(step, attempt, event, task, context.rules) {
                finished(stage, step, run, task, context);
            }
        }
        _ => {}
    }
}

/// What an answer makes of its step.
fn outcome(step: u32, attempt: u32, event: Event, task: &mut Task, rules: &CompiledSpec) -> Option<StepRun> {
    let planned = task.progress.as_ref()?.plan.steps.get(step as usize)?;
    let failed = |said: String| StepRun::Failed { output: said, attempts: attempt, nested: None };
    let instead = |output: String| StepRun::Completed {
        output,
        sources: Vec::new(),
        attempts: attempt,
        cached: false,
        nested: None,
    };
    let fallback = dispatch::member(rules, &planned.tool).and_then(|role| role.on_failure.clone());
    Some(match event {
        Event::ToolReturned { outcome, .. } => {
            if !task.tainted {
                let tool = rules.tool(&planned.tool);
                task.tainted = tool.is_none_or(|tool| tool.trust == Trust::Untrusted);
            }
            match outcome {
                ToolOutcome::Returned { output, sources } => {
                    StepRun::Completed { output, sources, attempts: attempt, cached: false, nested: None }
                }
                ToolOutcome::Failed { kind, message } => failed(format!("ERROR: {kind}: {message}")),
            }
        }
        Event::ModelReplied { reply, .. } => {
            spending::spend(task, rules, Spender::DoerOf(step), &reply);
            let most = rules.spec().limits.max_reply_bytes as usize;
            match crate::contract::AnswerForm::Text.read(&reply.text, most) {
                Ok(output) => StepRun::Completed {
                    output,
                    sources: Vec::new(),
                    attempts: attempt,
                    cached: reply.cached,
                    nested: None,
                },
                Err(error) => match fallback {
                    Some(OnFailure::Fallback(output)) => instead(output),
                    _ => failed(format!("ERROR: reply: {error}")),
                },
            }
        }
        Event::ModelFailed { failure, .. } => {
            spending::charge(task, rules, Spender::DoerOf(step), failure.usage, &failure.model);
            match fallback {
                Some(OnFailure::Fallback(output)) => instead(output),
                _ => failed(format!("ERROR: {failure}")),
            }
        }
        _ => return None,
    })
}

/// Puts what came of a try into its step's slot, or tries again; then goes on.
pub(super) fn finished(
    stage: &mut ExecuteStage,
    step: u32,
    run: StepRun,
    task: &mut Task,
    context: &mut Context<'_>,
) {
    let failed = matches!(run, StepRun::Failed { .. });
    if failed && dispatch::tries_again(task, context, step, run.attempts()) {
        return;
    }
    let Some(progress) = task.progress.as_mut() else { return };
    progress.schedule.running = progress.schedule.running.saturating_sub(1);
    progress.schedule.alone = false;
    progress.finish(step, run);
    let policy = context.rules.policy();
    let judged_at_once =
        policy.execution == Execution::Sequential && policy.on_step_failure != OnStepFailure::Record;
    if failed && judged_at_once {
        return leave(task, context);
    }
    go_on(stage, task, context);
}

/// Asks what becomes of the rest of the plan, where the policy has it asked, or starts what may start.
pub(super) fn go_on(stage: &mut ExecuteStage, task: &mut Task, context: &mut Context<'_>) {
    if context.rules.policy().orchestrate == Orchestrate::EachStep && orchestrate::is_due(task) {
        return orchestrate::ask(stage, task, context);
    }
    advance(stage, task, context);
}

/// Starts every step that may start, lowest first, and leaves the phase when none runs any more.
pub(super) fn advance(stage: &mut ExecuteStage, task: &mut Task, context: &mut Context<'_>) {
    *stage = ExecuteStage::Running;
    let width = context.rules.policy().execution.width();
    loop {
        let Some(progress) = task.progress.as_mut() else { return };
        let schedule = &progress.schedule;
        if schedule.running >= width || schedule.alone {
            return;
        }
        let Some(&step) = schedule.ready.first() else { break };
        // What a person looks at does not depend on which of the steps before answered first.
        if schedule.people.first().is_some_and(|&person| person < step) {
            break;
        }
        let Some(planned) = progress.plan.steps.get(step as usize) else { break };
        if let Some(run) = dispatch::without_a_call(progress, step, planned, context.rules) {
            progress.schedule.ready.pop_first();
            progress.finish(step, run);
            continue;
        }
        // One by one, every step runs alone.
        let asks_a_person = context.rules.plan().shape().hitl && planned.is_hitl();
        let asks_for_a_permit = context.rules.needs_permit(&planned.tool);
        let asks = asks_a_person || asks_for_a_permit;
        let alone = asks || (width > 1 && dispatch::must_run_alone(planned, context.rules));
        if alone && schedule.running > 0 {
            return;
        }
        progress.schedule.ready.pop_first();
        progress.schedule.running += 1;
        progress.schedule.alone = alone;
        if asks_a_person {
            return human::ask(stage, task, context, step);
        }
        if asks_for_a_permit {
            return tool_approval::ask(stage, task, context, step);
        }
        dispatch::first(task, context, step);
        if context.has_ended() {
            return;
        }
    }
    if task.progress.as_ref().is_some_and(|progress| progress.schedule.running == 0) {
        leave(task, context);
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

/// The first failed step of the current draft.
pub(super) fn first_failure(task: &Task) -> Option<StepFailure> {
    let progress = task.progress.as_ref()?;
    let failed = |(_, run): &(usize, &StepRun)| matches!(run, StepRun::Failed { .. });
    let (at, run) = progress.steps.iter().enumerate().skip(task.first_step()).find(failed)?;
    let planned = progress.plan.steps.get(at)?;
    let step = format!("{} ({}) failed", planned.name(at), planned.tool);
    Some(StepFailure { step, output: run.output().unwrap_or_default().to_owned() })
}

/// What the re-planner is told after a failed step.
const STEP_FAILED_HINT: &str = "Plan another way to what the failed step was for.";

pub(super) fn leave(task: &mut Task, context: &mut Context<'_>) {
    let failure = match context.rules.policy().on_step_failure {
        OnStepFailure::Record => None,
        OnStepFailure::Replan | OnStepFailure::Abort => first_failure(task),
    };
    let Some(failure) = failure else {
        trace(task, true, None);
        return context.leave(Exit::Executed);
    };
    if context.rules.policy().on_step_failure == OnStepFailure::Abort {
        return context.fail(ErrorCode::ExecuteError, failure.to_string());
    }
    trace(task, false, None);
    // What the tool said is data: the re-planner sees it among the results. The hint is ours.
    task.feedback = Some(Feedback {
        reason: failure.step,
        fix_hint: STEP_FAILED_HINT.to_owned(),
        step_failed: true,
        ..Feedback::default()
    });
    context.leave(Exit::StepFailed);
}

/// The lines of a visit that ends: those of its steps, then its own.
pub(super) fn trace(task: &mut Task, ok: bool, error: Option<String>) {
    slot_lines(task);
    let line = execute_line(task, ok, error);
    task.trace.push(line);
}

/// The lines of single steps, in plan order: what was skipped, what came out of the cache.
fn slot_lines(task: &mut Task) {
    let Some(progress) = task.progress.as_ref() else { return };
    let mut lines = Vec::new();
    for (at, run) in progress.steps.iter().enumerate().skip(task.first_step()) {
        let planned = &progress.plan.steps[at];
        match run {
            StepRun::Skipped { same_as: Some(same) } => {
                let same = *same as usize;
                let same_as = progress.plan.steps.get(same).map(|step| step.name(same)).unwrap_or_default();
                lines.push(TraceLine::Skip { step: planned.name(at), tool: planned.tool.clone(), same_as });
            }
            StepRun::Completed { cached: true, .. } => {
                lines.push(TraceLine::Cached { of: RoleName::Agent, step: Some(planned.name(at)) });
            }
            _ => {}
        }
    }
    if !lines.is_empty() {
        task.trace.extend(lines);
    }
}

/// The line of a visit of EXECUTE: what became of the steps of the current draft.
fn execute_line(task: &Task, ok: bool, error: Option<String>) -> TraceLine {
    let (mut num_results, mut num_failed, mut num_retries, mut nested) = (0, 0, 0, Vec::new());
    if let Some(progress) = &task.progress {
        for (at, run) in progress.steps.iter().enumerate().skip(task.first_step()) {
            num_results += u32::from(run.output().is_some());
            num_failed += u32::from(matches!(run, StepRun::Failed { .. }));
            num_retries += run.attempts().saturating_sub(1);
            if let StepRun::Completed { nested: Some(run), .. } | StepRun::Failed { nested: Some(run), .. } =
                run
            {
                let planned = &progress.plan.steps[at];
                let (step, agent, trace) = (planned.name(at), planned.tool.clone(), run.trace.clone());
                nested.push(NestedTrace { step, agent, trace });
            }
        }
    }
    TraceLine::Execute { ok, num_results, num_failed, num_retries, nested, error }
}

/// Where a step is in the run.
pub(super) fn place(task: &Task, step: u32, attempt: u32) -> Place {
    Place { draft: task.draft, step, attempt }
}

/// The progress under way.
pub(super) fn slot(progress: &mut Option<Progress>, step: u32) -> Option<&mut StepRun> {
    progress.as_mut()?.steps.get_mut(step as usize)
}
