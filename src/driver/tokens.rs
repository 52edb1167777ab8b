//! Tokens: performs an effect on the loop's own thread and shows the answer as it is written.

use super::drive::Drive;
use super::prepare::{Prepared, Request};
use crate::contract::AnswerForm;
use crate::machine::Event;
use crate::ports::Signal;
use crate::ports::Unanswered;
use crate::spec::{RoleName, Validate, ValidateAt};

impl Drive<'_> {
    /// Performs an effect here and now. `None` where it was a wait that was cut short.
    pub(super) fn perform_here(&self, prepared: &Prepared<'_>) -> Result<Option<Event>, Unanswered> {
        let (world, stop) = (&self.agent.world, || self.sitting.is_over());
        if !self.streams(prepared) {
            return world.perform(&self.run, prepared, None, &stop);
        }
        let mut held = String::new();
        let mut sink = |piece: &str| {
            let piece = world.redactor.piece(&mut held, piece);
            if !piece.is_empty() {
                self.observer.notice(Signal::Token(&piece));
            }
        };
        let answer = world.perform(&self.run, prepared, Some(&mut sink), &stop);
        if !held.is_empty() {
            self.observer.notice(Signal::Token(&held));
        }
        answer
    }

    /// Whether a reply is the answer itself, to be shown as it comes. What is judged before it is one
    /// is not shown.
    fn streams(&self, prepared: &Prepared<'_>) -> bool {
        let Request::Model { role, .. } = &prepared.request else { return false };
        let policy = self.rules.policy();
        let judged = policy.validate != Validate::Off && policy.validate_at == ValidateAt::Answer;
        let text = match role {
            RoleName::Writer => self.rules.form() == AnswerForm::Text && !judged,
            RoleName::Conversation => true,
            _ => false,
        };
        text && prepared.id.path.is_empty() && self.observer.wants_tokens()
    }
}
