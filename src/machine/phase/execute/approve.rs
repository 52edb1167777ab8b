//! Approve: what a person says to the calls that they are asked about together. A yes is kept in the schedule of the plan
//! until the turn of its step, is taken by the call, and is gone with the plan.

use crate::machine::batch::asked_together;
use crate::machine::reply::No;
use crate::machine::run::{Run, may_write};
use crate::machine::state::{ExecuteStage, StepOutput, StepRun};
use crate::machine::vocabulary::{AllowedCall, Concern, EffectKind, HumanAnswer};

impl Run<'_> {
    /// Takes what a person said about calls: yes to some of them, their own answer in the place of the first, or a no to
    /// all. A plain yes is to the first alone, as it is in a journal of a time when calls were asked about one by one.
    pub(super) fn hear_about_calls(&mut self, stage: &mut ExecuteStage, step: u32) {
        let name = self.task.step_name(step);
        let asked = asked_together(self.compiled, &self.task, step);
        match self.hear(&name, Concern::Call) {
            Some(Ok(HumanAnswer::Respond { text })) => {
                self.finish_try(stage, step, StepRun::completed(StepOutput::Text(text), 0));
            }
            Some(Ok(HumanAnswer::EditInput { input })) => {
                self.edit_input(step, input);
                self.start_allowed(stage, step);
            }
            Some(Ok(HumanAnswer::ApproveCalls { calls })) => self.allow_calls(stage, step, &asked, &calls),
            Some(Ok(_)) => self.start_allowed(stage, step),
            Some(Err(no)) => self.reject_calls(stage, step, &asked, no),
            None => {}
        }
    }

    fn allow_calls(&mut self, stage: &mut ExecuteStage, first: u32, asked: &[u32], calls: &[AllowedCall]) {
        let (mut rejected, mut positions) = (Vec::new(), Vec::new());
        for (step, position) in asked.iter().copied().zip(1u32..) {
            let call = calls.iter().find(|call| call.position() == position);
            // What is not made as it was planned is not made later either.
            if step != first && call.is_none_or(|call| call.input().is_some()) {
                self.spend_authority(step);
            }
            let Some(call) = call else {
                rejected.push(step);
                positions.push(position.to_string());
                continue;
            };
            call.input().into_iter().for_each(|input| self.edit_input(step, input.clone()));
            if let Some(progress) = self.task.progress.as_mut().filter(|_| step != first) {
                progress.schedule.approved.insert(step, first);
            }
        }
        if rejected.is_empty() {
            return self.start_allowed(stage, first);
        }
        self.reject_calls(stage, first, &rejected, No::to_calls(&positions));
    }

    /// Starts the first of the calls that a person was asked about.
    fn start_allowed(&mut self, stage: &mut ExecuteStage, step: u32) {
        if let Some(result) = self.task.standing_write(self.compiled, step) {
            return self.finish_try(stage, step, result);
        }
        let writes = self.task.planned(step).is_some_and(|planned| may_write(planned, self.compiled));
        if let Some(progress) = self.task.progress.as_mut() {
            progress.schedule.alone = self.compiled.policy().execution.width() > 1 && writes;
        }
        self.take_approval(step, step);
        self.call(step, 1);
        self.advance(stage);
    }

    /// Takes a person's yes to a call that starts, given to the question of a step.
    pub(super) fn take_approval(&mut self, step: u32, asked: u32) {
        if let Some(progress) = self.task.progress.as_mut() {
            progress.schedule.people.remove(&step);
            progress.schedule.approved.remove(&step);
        }
        self.note_approval(step, EffectKind::ApproveCall { draft: self.task.draft, step: asked });
    }

    fn edit_input(&mut self, step: u32, input: serde_json::Value) {
        if let Some(progress) = self.task.progress.as_mut() {
            progress.replace_input(step, input);
        }
    }

    /// Records calls that are not to be made, of those that were asked about with a first one: by themselves, or with the
    /// plan that they stand in.
    pub(super) fn reject_calls(&mut self, stage: &mut ExecuteStage, first: u32, steps: &[u32], no: No) {
        if !no.skips(self.compiled.policy()) {
            return self.reject_step(first, no, 0);
        }
        let Some(progress) = self.task.progress.as_mut() else { return };
        let later = steps.iter().copied().filter(|step| *step != first);
        later.for_each(|step| progress.leave_out(step, StepRun::failed(no.failure(), 0)));
        if !steps.contains(&first) {
            return self.start_allowed(stage, first);
        }
        progress.end(first, StepRun::failed(no.failure(), 0));
        self.go_on(stage);
    }
}
