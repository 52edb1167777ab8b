//! What an observer is told of an answer.

use super::drive::Drive;
use super::prepare::{Prepared, Request};
use crate::machine::{EffectId, EffectKind, Event, PhaseName, Place, Step, StepRun, ToolOutcome};
use crate::ports::Signal;

/// What is known of an answer before the machine has taken it.
pub(super) struct Answered {
    effect: Option<EffectId>,
    /// The result of a nested run's tool: the run's own steps do not show it.
    nested: Option<(bool, String)>,
    /// How many trace lines there were.
    lines: usize,
}

impl Drive<'_> {
    /// Tells what is asked for.
    pub(super) fn show_requests(&mut self, asked: &[Prepared<'_>]) {
        for prepared in asked {
            self.show_request(prepared);
        }
    }

    fn show_request(&mut self, prepared: &Prepared<'_>) {
        let effect = prepared.id;
        match &prepared.request {
            Request::Model { role, .. } => self.observer.notice(Signal::Asking { effect, role: *role }),
            Request::Tool { step, tool, input, .. } => {
                if !effect.path.is_empty() {
                    self.nested_calls.push((effect, tool.clone()));
                }
                let step = effect.step().unwrap_or(*step);
                self.observer.notice(Signal::Calling { effect, step, tool, input });
            }
            Request::Human { step, question } => {
                let step = effect.step().unwrap_or(*step);
                self.observer.notice(Signal::AskingHuman { effect, step, question });
            }
            Request::Wait { delay } => self.observer.notice(Signal::Waiting { effect, delay: *delay }),
        }
    }

    /// Looks at an answer that the machine is about to take.
    pub(super) fn show_event(&self, event: &Event, lines: usize) -> Answered {
        let effect = event.effect();
        let mut nested = None;
        match event {
            Event::ModelReplied { effect, reply } if reply.cached => {
                self.observer.notice(Signal::Cached { effect: *effect });
            }
            Event::ToolReturned { effect, outcome } => {
                nested = (!effect.path.is_empty()).then(|| match outcome {
                    ToolOutcome::Returned { output, .. } => (false, output.clone()),
                    ToolOutcome::Failed { kind, message } => (true, format!("ERROR: {kind}: {message}")),
                });
            }
            _ => {}
        }
        Answered { effect, nested, lines }
    }

    /// Tells what the answer has changed.
    pub(super) fn show_step(&mut self, step: &Step, answered: &Answered) {
        if let Some(id) = answered.effect {
            self.show_nested(id, answered);
            // The step that a nested run hangs under ends with the run.
            let place = match (id.path.places().next(), id.kind) {
                (Some(place), _) => Some(place),
                (None, EffectKind::Step { draft, step, attempt }) => Some(Place { draft, step, attempt }),
                (None, _) => None,
            };
            if let Some(place) = place {
                self.show_result(step, place);
            }
        }
        for line in step.state.task.trace.iter().skip(answered.lines) {
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

    fn show_nested(&mut self, id: EffectId, answered: &Answered) {
        let Some((failed, output)) = &answered.nested else { return };
        let Some(at) = self.nested_calls.iter().position(|(effect, _)| *effect == id) else { return };
        let (effect, tool) = self.nested_calls.swap_remove(at);
        let step = effect.step().unwrap_or_default();
        self.observer.notice(Signal::Finished { step, tool: &tool, failed: *failed, output });
    }

    /// Tells a step's result, where it has one now.
    fn show_result(&self, step: &Step, Place { draft, step: at, .. }: Place) {
        let task = &step.state.task;
        let here = draft == task.draft;
        let kept = task.progress.as_ref();
        let progress = if here { kept } else { task.artifacts.past.last().or(kept) };
        let slot = progress.and_then(|progress| {
            Some((progress.plan.steps.get(at as usize)?, progress.steps.get(at as usize)?))
        });
        let Some((planned, run)) = slot else { return };
        let Some(output) = run.output() else { return };
        let failed = matches!(run, StepRun::Failed { .. });
        self.observer.notice(Signal::Finished { step: at, tool: &planned.tool, failed, output });
    }
}
