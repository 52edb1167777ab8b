//! Call: what a step starts from, and what an answer makes of it. Both follow from the plan and the
//! answer alone, and not from what else has finished by now.

use serde_json::Value;

use crate::contract::{AnswerForm, Source, ToolContract, ToolEffect, Trust};
use crate::machine::reply::Spender;
use crate::machine::run::{Begin, Run};
use crate::machine::state::{Finding, Input, Progress, StepFailure, StepOutput, StepRun, Task, known_by};
use crate::machine::vocabulary::{Event, FailureClass, Place, ToolOutcome};
use crate::spec::{CompiledSpec, OnFailure, RoleName};

impl Run<'_> {
    /// Takes what a tool returned or an agent replied.
    pub(super) fn take_outcome(&mut self, step: u32, attempts: u32) -> Option<StepRun> {
        let completed = |text: String, sources: Vec<Source>, data, cached: bool| {
            let (output, sources) = (StepOutput::Text(text), sources.into());
            StepRun::Completed { output, sources, data, attempts, cached, made_by: None, nested: None }
        };
        Some(match self.event.take()? {
            Event::ToolReturned { outcome, .. } => {
                let tool = find_tool(self.compiled, &self.task, step);
                self.task.tainted |= match &outcome {
                    ToolOutcome::Returned { output, data, .. } => taints(tool, output, data.as_deref()),
                    ToolOutcome::Failed { .. } => tool.is_none_or(ToolContract::failure_taints),
                };
                let writes = tool.is_some_and(|tool| tool.effect == ToolEffect::Write);
                match outcome {
                    ToolOutcome::Returned { output, sources, data } => {
                        if writes {
                            self.task.note_write(self.compiled, step, &output, &sources, data.as_deref());
                        }
                        completed(output, sources, data, false)
                    }
                    ToolOutcome::Failed { kind, message } => {
                        StepRun::failed(StepFailure::new(kind, message), attempts)
                    }
                }
            }
            Event::ModelReplied { reply, .. } => {
                self.charge(Spender::AgentOf(step), reply.usage, &reply.model, reply.cached);
                match AnswerForm::Text.parse(&reply.text, self.compiled.max_reply_bytes()) {
                    Ok(text) => completed(text, Vec::new(), None, reply.cached),
                    Err(error) => self.fall_back_on(step, attempts, StepFailure::new("reply", error)),
                }
            }
            Event::ModelFailed { failure, .. } => {
                self.charge(Spender::AgentOf(step), failure.usage, &failure.model, false);
                let accepts =
                    failure.class == FailureClass::Length && self.compiled.accepts_cut(RoleName::Agent);
                if accepts
                    && let Ok(text) = AnswerForm::Text.parse(&failure.text, self.compiled.max_reply_bytes())
                {
                    return Some(completed(text, Vec::new(), None, false));
                }
                let failure = StepFailure::new(failure.class.to_string(), failure.message);
                self.fall_back_on(step, attempts, failure)
            }
            _ => return None,
        })
    }

    /// What the spec gives in the place of an agent's reply, or the failure.
    fn fall_back_on(&self, step: u32, attempts: u32, failure: StepFailure) -> StepRun {
        let agents = &self.compiled.spec().agents;
        let planned = self.task.planned(step);
        let agent = planned.and_then(|planned| agents.iter().find(|agent| agent.name == planned.tool));
        match agent.and_then(|agent| agent.role.as_ref()?.on_failure.clone()) {
            Some(OnFailure::Fallback(text)) => StepRun::completed(StepOutput::Text(text), attempts),
            _ => StepRun::failed(failure, attempts),
        }
    }

    /// Has the agent of a step whose run was only refused begin once more, on nothing that was read: what that was led
    /// to has no say in it. Returns whether it does.
    pub(in crate::machine) fn begin_anew(
        &mut self,
        inner: &CompiledSpec,
        place: Place,
        ended: &mut Task,
    ) -> bool {
        let (compiled, task) = (self.compiled, &*self.task);
        // A task that was planned after reading is as good as what was read.
        let is_closed =
            compiled.policy().closes_planning() || task.drafts.last().is_some_and(|it| !it.tainted);
        if !(is_closed && task.may_begin_anew(place.step, ended) && ended.was_refused()) {
            return false;
        }
        let Some((input, tainted)) = nested_input(compiled, task, place.step, false) else { return false };
        let place = Place { attempt: place.attempt + 1, ..place };
        self.set_step(place.step, StepRun::Nested { attempt: place.attempt });
        let refused = Some(std::mem::take(&mut ended.trace));
        self.begin(inner, Begin { place, input, tainted, refused });
        true
    }
}

/// The contract of the tool or agent that does a step.
fn find_tool<'r>(compiled: &'r CompiledSpec, task: &Task, step: u32) -> Option<&'r ToolContract> {
    task.planned(step).and_then(|planned| compiled.tool(&planned.tool))
}

/// Whether what a tool says is untrusted: what an unknown one says is.
fn is_untrusted(tool: Option<&ToolContract>) -> bool {
    tool.is_none_or(|tool| tool.trust == Trust::Untrusted)
}

/// Whether what a tool returned may steer the run: what an unknown one returned may.
fn taints(tool: Option<&ToolContract>, output: &str, data: Option<&Value>) -> bool {
    tool.is_none_or(|tool| tool.taints(output, data))
}

/// What a nested run starts from, and whether it has read what may steer it. Unless it `sees` what was found, it is
/// shown its task alone.
pub(super) fn nested_input(
    compiled: &CompiledSpec,
    task: &Task,
    step: u32,
    sees: bool,
) -> Option<(Input, bool)> {
    let progress = task.progress.as_ref()?;
    let planned = task.planned(step)?;
    let source = progress.source(step);
    let found = source.filter(|_| sees).and_then(|source| progress.output(source)).map(str::to_owned);
    let question = Some(planned.instruction()).filter(|told| !told.is_empty()).unwrap_or(task.query());
    let known = known_by(compiled, task, step);
    let untrusted = |at: &u32| {
        let (tool, run) = (find_tool(compiled, task, *at), progress.steps.get(*at as usize));
        let output = run.and_then(StepRun::output).unwrap_or_default();
        tool.is_some_and(|tool| match run {
            Some(StepRun::Completed { data, .. }) => tool.taints(output, data.as_deref()),
            _ => is_untrusted(Some(tool)),
        })
    };
    let tainted = task.drafts.last().is_some_and(|draft| draft.tainted) || known.iter().any(untrusted);
    // What it is given to work on is not shown twice.
    let findings = known.into_iter().filter(|at| sees && source != Some(*at));
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
