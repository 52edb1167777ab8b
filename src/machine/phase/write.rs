//! Write: gets the answer: from the writer, or out of the results by rule. This phase never judges and
//! never goes back.

use crate::contract::PlanStep;
use crate::machine::awaits::writer;
use crate::machine::route::Exit;
use crate::machine::run::Run;
use crate::machine::state::{Progress, StepRun, Task, Writing};
use crate::machine::vocabulary::{ErrorCode, TraceLine, WriteReason};
use crate::spec::{RoleName, ValidateAt, Write};

impl Run<'_> {
    /// Puts the answer together, unless a model is asked for it.
    pub(in crate::machine) fn enter_write(&mut self, writing: &Writing) {
        let policy = self.compiled.policy();
        if policy.write == Write::Model || writer(writing.gate, self.compiled) == RoleName::Conversation {
            return;
        }
        let progress = self.task.progress.as_ref();
        let answer = match policy.write {
            Write::Summary => progress.map(|progress| summary(progress, &self.task)),
            Write::LastResult | Write::Planner | Write::Model => progress.and_then(last_result),
        };
        let judged = policy.validate_at == ValidateAt::Answer;
        match answer.filter(|answer| !answer.trim().is_empty()) {
            Some(answer) => self.written(answer),
            // There is nothing to judge, so it is as if it had been judged and sent back.
            None if judged && writing.gate == WriteReason::JudgedAfterwards => self.send_back(),
            None => self.fail(ErrorCode::WriteError, no_answer(writing.gate, &self.task)),
        }
    }

    pub(in crate::machine) fn on_write(&mut self, writing: &mut Writing) {
        let role = writer(writing.gate, self.compiled);
        let read = self
            .read_reply(&mut writing.asking, |compiled, _, reply| compiled.parse_answer(role, &reply.text));
        if let Some((answer, _)) = read {
            self.written(answer);
        }
    }

    fn written(&mut self, answer: String) {
        let final_chars = Some(answer.chars().count() as u32);
        self.line(TraceLine::Write { ok: true, final_chars, error: None });
        self.task.artifacts.final_answer = Some(answer);
        self.leave(Exit::Written);
    }

    fn send_back(&mut self) {
        let reason = no_answer(WriteReason::JudgedAfterwards, &self.task);
        self.line(TraceLine::Write { ok: false, final_chars: None, error: Some(reason.clone()) });
        let hint = "Plan another way to a last step that gives the answer.";
        self.task.feedback = Some(self.task.step_feedback(reason, hint).into());
        self.leave(Exit::StepFailed);
    }
}

fn no_answer(gate: WriteReason, task: &Task) -> String {
    match (gate, task.first_failure()) {
        (WriteReason::NoToolNeeded, _) => {
            "nothing was planned, so there is no result to answer with".to_owned()
        }
        (_, Some((step, output))) => format!("there is no last result to answer with: {step}: {output}"),
        (_, None) => "no step has a result to answer with".to_owned(),
    }
}

/// The output of the last step that was not left out. That it failed is no answer.
fn last_result(progress: &Progress) -> Option<String> {
    match progress.last_to_answer_with(progress.steps.len())? {
        (_, StepRun::Failed { .. }) => None,
        (at, _) => progress.output(at).map(str::to_owned),
    }
}

/// One line for each step of the current plan.
fn summary(progress: &Progress, task: &Task) -> String {
    let line = |(at, planned, run): (usize, &PlanStep, &StepRun)| {
        let name = planned.name(at);
        let number =
            name.strip_prefix("step_").filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
        let what = match planned.description.as_deref().or(planned.task.as_deref()) {
            None if planned.is_hitl() => planned.question(),
            None => planned.instruction(),
            Some(what) => what,
        };
        format!("Step {}: {what} - {}", number.unwrap_or(&name), run.status())
    };
    let from = if task.drafts.len() > 1 { 0 } else { task.first_step() };
    let slots = progress.slots().skip(from).filter(|(_, planned, _)| !planned.is_final());
    slots.map(line).collect::<Vec<_>>().join("\n")
}
