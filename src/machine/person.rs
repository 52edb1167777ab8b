//! Person: what follows from what a person says, wherever one is asked.

use super::run::Run;
use super::state::{Feedback, StepFailure};
use super::vocabulary::{Concern, ErrorCode, Event, HumanAnswer, TraceLine};
use crate::spec::{OnExpiry, OnRejection, Policy};

/// The reason that stands for a no by silence.
const EXPIRED: &str = "nobody answered in time";

/// What asking a person led to.
pub(super) enum Heard {
    /// An answer that is no "no".
    Answer(HumanAnswer),
    No(No),
}

/// A no, in words or by silence.
pub(super) struct No {
    pub reason: String,
    expired: bool,
}

impl No {
    /// How the run ends by it, where the policy says that it does.
    pub fn ends_the_run(&self, policy: &Policy) -> Option<ErrorCode> {
        match (self.expired && policy.on_expiry == OnExpiry::Stop, policy.on_rejection) {
            (true, _) => Some(ErrorCode::Expired),
            (false, OnRejection::Stop) => Some(ErrorCode::Rejected),
            (false, OnRejection::Replan) => None,
        }
    }

    /// What a step is recorded as that is not to be done.
    pub fn failure(&self) -> StepFailure {
        StepFailure::new("rejected", &self.reason)
    }

    /// What the planner is told.
    pub fn feedback(self, what: &str) -> Feedback {
        let reason = match self.expired {
            false => format!("a person rejected {what}: {}", self.reason),
            true => format!("{what}: {}", self.reason),
        };
        Feedback { reason, fix_hint: self.reason, ..Feedback::default() }
    }
}

impl Run<'_> {
    /// Takes what a person said, or that they said nothing in time, and leaves its line.
    pub fn hear(&mut self, step: &str, about: Concern) -> Option<Heard> {
        let step = step.to_owned();
        match self.take_event()? {
            Event::HumanAnswered { answer, .. } => {
                self.line(TraceLine::Human { step, about, answer: answer.clone() });
                Some(match answer {
                    HumanAnswer::Reject { reason } => Heard::No(No { reason, expired: false }),
                    answer => Heard::Answer(answer),
                })
            }
            Event::Expired { .. } => {
                self.line(TraceLine::Expired { step, about });
                Some(Heard::No(No { reason: EXPIRED.to_owned(), expired: true }))
            }
            other => {
                self.give_back(other);
                None
            }
        }
    }
}
