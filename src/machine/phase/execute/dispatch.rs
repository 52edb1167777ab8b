//! Dispatch: sets one step going, in the way its tool or agent wants it, and tries it again where the
//! policy says so.

use crate::contract::{PlanStep, Trust, schema};
use crate::machine::need::happens_once;
use crate::machine::run::{Begin, Run};
use crate::machine::state::{Finding, Input, Progress, StepFailure, StepOutput, StepRun, Task, known_by};
use crate::machine::vocabulary::{Effect, EffectKind, Place};
use crate::spec::{CompiledAgent, CompiledSpec, RoleName};

impl Run<'_> {
    /// Makes one try of a step: calls its tool, asks its agent, or begins a run of its own.
    pub(super) fn call(&mut self, step: u32, attempt: u32) {
        let rules = self.rules;
        let Some(planned) = self.task.planned(step) else { return };
        let doer = rules.agent(&planned.tool);
        let draft = self.task.draft;
        let id = EffectKind::Step { draft, step, attempt }.into();
        if let Some(CompiledAgent::Spec(inner)) = doer {
            let Some((input, tainted)) = nested_input(rules, &self.task, step) else { return };
            self.begin(id, inner, Begin { place: Place { draft, step, attempt }, input, tainted });
        }
        if let Some(slot) = self.task.slot(step) {
            *slot = match doer {
                Some(CompiledAgent::Spec(_)) => StepRun::Nested { attempt },
                _ => StepRun::Running { attempt },
            };
        }
        match doer {
            Some(CompiledAgent::Spec(_)) => return,
            Some(CompiledAgent::Role(_)) => self.emit(Effect::AskModel { id, role: RoleName::Agent }),
            None => self.emit(Effect::CallTool { id, step }),
        };
    }

    /// Whether a failed try is followed by another: then the wait for it has begun.
    pub(super) fn tries_again(&mut self, step: u32, attempt: u32) -> bool {
        let tries = self.rules.policy().step_tries;
        let planned = self.task.planned(step);
        if attempt >= tries.tries || planned.is_none_or(|planned| happens_once(planned, self.rules)) {
            return false;
        }
        let attempt = attempt + 1;
        if let Some(slot) = self.task.slot(step) {
            *slot = StepRun::Waiting { attempt };
        }
        let id = EffectKind::Wait { draft: self.task.draft, step, attempt }.into();
        self.emit(Effect::Wait { id, delay_ms: tries.wait_before(attempt) });
        true
    }
}

/// The result of a step that needs no call: the final step, one whose input will never come, one that
/// repeats another.
pub(super) fn result_without_call(
    progress: &Progress,
    step: u32,
    planned: &PlanStep,
    rules: &CompiledSpec,
) -> Option<StepRun> {
    if planned.is_final() {
        return Some(StepRun::completed(StepOutput::FinalStep, 1));
    }
    let name = |at: u32| Some(progress.plan.steps.get(at as usize)?.name(at as usize));
    if let Some(need) = progress.failed_need(step as usize) {
        let message = format!("{} failed, so this step was not run", name(need)?);
        return Some(StepRun::failed(StepFailure::new("dependency", message), 0));
    }
    if let Some((source, error)) = unfit_input(progress, step, planned, rules) {
        let message = format!("what {} returned does not fit {}: {error}", name(source)?, planned.tool);
        return Some(StepRun::failed(StepFailure::new("input", message), 0));
    }
    let twin = progress.schedule.twins.get(step as usize).copied().flatten()?;
    match progress.steps.get(twin as usize)? {
        StepRun::Completed { .. } => Some(StepRun::Skipped { same_as: Some(twin) }),
        StepRun::Skipped { same_as: Some(same) } => Some(StepRun::Skipped { same_as: Some(*same) }),
        _ => None,
    }
}

/// The earlier step whose output a tool does not take, and why.
fn unfit_input(
    progress: &Progress,
    step: u32,
    planned: &PlanStep,
    rules: &CompiledSpec,
) -> Option<(u32, String)> {
    let source = progress.schedule.links.inputs.get(step as usize).copied().flatten()?;
    let tool = rules.tool(&planned.tool).filter(|_| rules.agent(&planned.tool).is_none())?;
    let input = serde_json::Value::from(progress.output(source)?);
    Some((source, schema::check(&tool.input, &input).err()?.to_string()))
}

/// What a nested run starts from, and whether it has read what may steer it. Both follow from the plan
/// alone and not from what else has finished by now.
fn nested_input(rules: &CompiledSpec, task: &Task, step: u32) -> Option<(Input, bool)> {
    let progress = task.progress.as_ref()?;
    let planned = task.planned(step)?;
    let source = progress.schedule.links.inputs.get(step as usize).copied().flatten();
    let found = source.and_then(|source| progress.output(source)).map(str::to_owned);
    let question = match planned.instruction() {
        "" => task.query(),
        told => told,
    };
    let known = known_by(rules, task, step);
    let untrusted = |at: &u32| {
        let tool = task.planned(*at).and_then(|planned| rules.tool(&planned.tool));
        tool.is_some_and(|tool| tool.trust == Trust::Untrusted)
    };
    let tainted = task.drafts.last().is_some_and(|draft| draft.tainted) || known.iter().any(untrusted);
    // What it is given to work on is not shown twice.
    let findings = known.into_iter().filter(|at| source != Some(*at));
    let input = Input {
        question: question.to_owned(),
        now: task.input.now.clone(),
        outline: task.input.outline.clone(),
        material: found.or_else(|| planned.material().map(str::to_owned)),
        findings: findings.filter_map(|at| finding(progress, at)).collect(),
        on_behalf_of: Some(task.input.question.clone()),
        ..Input::default()
    };
    Some((input, tainted))
}

/// What a finished step found, for a run that follows it.
fn finding(progress: &Progress, at: u32) -> Option<Finding> {
    let planned = progress.plan.steps.get(at as usize).filter(|planned| !planned.is_final())?;
    let output = progress.steps.get(at as usize)?.output()?.to_owned();
    let told = if planned.is_hitl() { planned.question() } else { planned.instruction() };
    let task = Some(told).filter(|told| !told.is_empty()).map(str::to_owned);
    Some(Finding { by: planned.tool.clone(), task, output })
}
