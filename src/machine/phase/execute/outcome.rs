//! Outcome: what an answer makes of its step.

use crate::contract::{AnswerForm, Trust};
use crate::machine::charge::Spender;
use crate::machine::run::Run;
use crate::machine::state::{StepFailure, StepOutput, StepRun};
use crate::machine::vocabulary::{Event, ToolOutcome};
use crate::spec::OnFailure;

impl Run<'_> {
    /// Takes what a tool returned or an agent replied.
    pub(super) fn take_outcome(&mut self, step: u32, attempt: u32) -> Option<StepRun> {
        match self.take_event()? {
            Event::ToolReturned { outcome, .. } => Some(self.returned(step, attempt, outcome)),
            Event::ModelReplied { reply, .. } => {
                self.charge_reply(Spender::AgentOf(step), &reply);
                let most = self.rules.spec().limits.max_reply_bytes as usize;
                Some(match AnswerForm::Text.parse(&reply.text, most) {
                    Ok(text) => StepRun::Completed {
                        output: StepOutput::Text(text),
                        sources: Vec::new(),
                        attempts: attempt,
                        cached: reply.cached,
                        nested: None,
                    },
                    Err(error) => self.fall_back_on(step, attempt, StepFailure::new("reply", error)),
                })
            }
            Event::ModelFailed { failure, .. } => {
                self.charge(Spender::AgentOf(step), failure.usage, &failure.model);
                let failure = StepFailure::new(failure.class.to_string(), failure.message);
                Some(self.fall_back_on(step, attempt, failure))
            }
            _ => None,
        }
    }

    fn returned(&mut self, step: u32, attempts: u32, outcome: ToolOutcome) -> StepRun {
        if !self.task.tainted {
            let tool = self.task.planned(step).and_then(|planned| self.rules.tool(&planned.tool));
            self.task.tainted = tool.is_none_or(|tool| tool.trust == Trust::Untrusted);
        }
        match outcome {
            ToolOutcome::Returned { output, sources } => {
                let output = StepOutput::Text(output);
                StepRun::Completed { output, sources, attempts, cached: false, nested: None }
            }
            ToolOutcome::Failed { kind, message } => {
                StepRun::failed(StepFailure::new(kind, message), attempts)
            }
        }
    }

    /// What the spec gives in the place of an agent's reply, or the failure.
    fn fall_back_on(&self, step: u32, attempts: u32, failure: StepFailure) -> StepRun {
        let agents = &self.rules.spec().agents;
        let planned = self.task.planned(step);
        let agent = planned.and_then(|planned| agents.iter().find(|agent| agent.name == planned.tool));
        match agent.and_then(|agent| agent.role.as_ref()?.on_failure.clone()) {
            Some(OnFailure::Fallback(text)) => StepRun::completed(StepOutput::Text(text), attempts),
            _ => StepRun::failed(failure, attempts),
        }
    }
}
