//! Validate: asks whether the results, or the written answer, will do. This phase never mends anything
//! itself; a rejection leaves as an exit, and `route.rs` decides what follows.

use super::context::Context;
use super::reply::{self, Duty};
use super::route::Exit;
use super::state::{Asking, Feedback, PhaseName, Task};
use super::trace::TraceLine;
use crate::contract::Verdict;
use crate::spec::{CompiledSpec, Horizon, RoleName, ValidateAt};

const DUTY: Duty = Duty { phase: PhaseName::Validate, role: RoleName::Validator, nth: 0 };

/// Asks for a verdict.
pub(super) fn enter(asking: &mut Asking, task: &mut Task, context: &mut Context<'_>) {
    reply::ask(DUTY, asking, task, context);
}

pub(super) fn on_event(asking: &mut Asking, task: &mut Task, context: &mut Context<'_>) {
    let form = context.rules.policy().validate.form().unwrap_or_default();
    let most = context.rules.spec().limits.max_reply_bytes as usize;
    let read = |_: &CompiledSpec, _: &Task, reply: &super::ModelReply| form.read(&reply.text, most);
    if let Some(usable) = reply::read(DUTY, asking, task, context, read) {
        judge(usable.value, asking.ask, task, context);
    }
}

fn judge(verdict: Verdict, verdict_asks: u32, task: &mut Task, context: &mut Context<'_>) {
    let exit = if verdict.ok { Exit::Accepted } else { Exit::Rejected };
    if !verdict.ok {
        let judges_answer = context.rules.policy().validate_at == ValidateAt::Answer;
        let answer = task.artifacts.final_answer.take_if(|_| judges_answer);
        let Verdict { reason, fix_hint, .. } = verdict.clone();
        task.feedback =
            Some(Feedback { reason, fix_hint, step_failed: false, answer, ..Feedback::default() });
    }
    // A conversation that goes on is told why.
    let told = (context.rules.policy().horizon == Horizon::Next).then(|| verdict.clone());
    task.trace.push(TraceLine::Validate { ok: true, verdict: Some(verdict), error: None });
    let draft = task.current();
    draft.verdict_asks = verdict_asks;
    draft.verdict = told.map(Box::new);
    context.leave(exit);
}
