//! What an observer is told: each effect as it is asked and as it is answered, results, trace lines, phases,
//! and the answer while it is written.

use std::time::Instant;

use super::drive::{Drive, OpenEffect};
use crate::contract::AnswerForm;
use crate::machine::{EffectId, EffectKind, Event, PhaseName, Place, Step, StepRun, ToolOutcome};
use crate::ports::{Answer, Signal, Span, Unanswered};
use crate::prompt::{Request, RequestBody};
use crate::spec::{RoleName, Validate, ValidateAt};

/// The result of a nested run's tool call.
pub(super) struct NestedResult {
    effect: EffectId,
    tool: String,
    failed: bool,
    output: String,
}

impl Drive<'_> {
    /// Tells what is asked.
    pub(super) fn show_requests(&mut self, requests: &[Request<'_>]) {
        if !self.observer.is_watching() {
            return;
        }
        for request in requests {
            let nested_tool = match &request.body {
                RequestBody::Tool { tool, .. } if !request.effect.path.is_empty() => Some(tool.clone()),
                _ => None,
            };
            let (effect, asked) = (request.effect, request.asked.clone());
            let span = Span { run: &self.run, thread: &self.thread, effect, asked: &asked };
            self.observer.notice(Signal::Asked { span, request: &request.body });
            self.open.push(OpenEffect { effect, asked, since: Instant::now(), nested_tool });
        }
    }

    /// Tells that an effect was answered, before the machine takes the answer.
    pub(super) fn show_answer(&mut self, event: &Event) -> Option<NestedResult> {
        let id = event.effect()?;
        let open = self.take_open(id)?;
        let mut answer = open.answer(None);
        let failure_class;
        match event {
            Event::ModelReplied { reply, .. } => {
                (answer.usage, answer.cached) = (Some(reply.usage), reply.cached);
            }
            Event::ModelFailed { failure, .. } => {
                failure_class = failure.class.to_string();
                (answer.usage, answer.failure) = (Some(failure.usage), Some(failure_class.as_str()));
            }
            Event::ToolReturned { outcome: ToolOutcome::Failed { kind, .. }, .. } => {
                answer.failure = Some(kind);
            }
            Event::Expired { .. } => answer.failure = Some("expired"),
            _ => {}
        }
        self.tell_answer(&open, answer);
        let (tool, Event::ToolReturned { outcome, .. }) = (open.nested_tool?, event) else { return None };
        let (failed, output) = match outcome {
            ToolOutcome::Returned { output, .. } => (false, output.clone()),
            ToolOutcome::Failed { kind, message } => (true, format!("ERROR: {kind}: {message}")),
        };
        Some(NestedResult { effect: id, tool, failed, output })
    }

    /// Tells that an effect got no answer.
    pub(super) fn show_failure(&mut self, effect: EffectId, failure: &str) {
        if let Some(open) = self.take_open(effect) {
            self.tell_answer(&open, open.answer(Some(failure)));
        }
    }

    /// Tells that what is still open when the loop ends has no answer.
    pub(super) fn close_open(&mut self) {
        while let Some(open) = self.open.pop() {
            self.tell_answer(&open, open.answer(Some("open")));
        }
    }

    fn take_open(&mut self, effect: EffectId) -> Option<OpenEffect> {
        let at = self.open.iter().position(|open| open.effect == effect)?;
        Some(self.open.swap_remove(at))
    }

    fn tell_answer(&self, open: &OpenEffect, answer: Answer<'_>) {
        let span = Span { run: &self.run, thread: &self.thread, effect: open.effect, asked: &open.asked };
        self.observer.notice(Signal::Answered { span, answer });
    }

    /// Tells what an answer has changed. `lines` is the number of trace lines before it.
    pub(super) fn show_step(
        &self,
        step: &Step,
        answered: Option<EffectId>,
        nested: Option<NestedResult>,
        lines: usize,
    ) {
        if !self.observer.is_watching() {
            return;
        }
        if let Some(NestedResult { effect, tool, failed, output }) = nested {
            let step = effect.step().unwrap_or_default();
            self.observer.notice(Signal::Finished { step, tool: &tool, failed, output: &output });
        }
        if let Some(id) = answered {
            // The step that a nested run hangs under ends with the run.
            let place = id.path.places().next().or(match id.kind {
                EffectKind::Step { draft, step, attempt } => Some(Place { draft, step, attempt }),
                _ => None,
            });
            place.and_then(|place| self.show_result(step, place));
        }
        for line in step.state.task.trace.iter().skip(lines) {
            self.observer.notice(Signal::Traced(line));
        }
        for taken in &step.moves {
            let sources = &step.state.task.artifacts.sources;
            if taken.to == PhaseName::Done && !sources.is_empty() {
                self.observer.notice(Signal::Sources(sources));
            }
            self.observer.notice(Signal::Entered(taken.to));
        }
    }

    /// Tells a step's result, once it has one.
    fn show_result(&self, step: &Step, Place { draft, step: at, .. }: Place) -> Option<()> {
        let task = &step.state.task;
        let current = task.progress.as_ref();
        let progress = if draft == task.draft { current } else { task.artifacts.past.last().or(current) }?;
        let (tool, run) = (&progress.plan.steps.get(at as usize)?.tool, progress.steps.get(at as usize)?);
        let (output, failed) = (run.output()?, matches!(run, StepRun::Failed { .. }));
        self.observer.notice(Signal::Finished { step: at, tool, failed, output });
        Some(())
    }

    /// Performs an effect on the loop's own thread, and shows the answer as it is written. `None` for a wait
    /// that was cut short.
    pub(super) fn perform_here(&self, request: &Request<'_>) -> Result<Option<Event>, Unanswered> {
        let (environment, stop) = (&self.agent.environment, || self.deadline.has_passed());
        if !self.streams(request) {
            return environment.perform(&self.run, request, None, &stop);
        }
        let mut held = String::new();
        let mut sink = |piece: &str| {
            let piece = environment.redactor.piece(&mut held, piece);
            if !piece.is_empty() {
                self.observer.notice(Signal::Token(&piece));
            }
        };
        let answer = environment.perform(&self.run, request, Some(&mut sink), &stop);
        if !held.is_empty() {
            self.observer.notice(Signal::Token(&held));
        }
        answer
    }

    /// Whether a reply is shown as it comes: the answer is, unless it is judged first.
    fn streams(&self, request: &Request<'_>) -> bool {
        let RequestBody::Model { role, .. } = &request.body else { return false };
        let policy = self.rules.policy();
        let judged = policy.validate != Validate::Off && policy.validate_at == ValidateAt::Answer;
        let text = match role {
            RoleName::Writer => self.rules.form() == AnswerForm::Text && !judged,
            RoleName::Conversation => true,
            _ => false,
        };
        text && request.effect.path.is_empty() && self.observer.wants_tokens()
    }
}

impl OpenEffect {
    /// What comes of the effect, as far as that is known.
    fn answer<'a>(&self, failure: Option<&'a str>) -> Answer<'a> {
        Answer { duration: self.since.elapsed(), usage: None, cached: false, failure }
    }
}
