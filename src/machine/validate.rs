//! Validate: asks whether the results will do. This phase never mends anything itself; a rejection
//! leaves as an exit, and `route.rs` decides what follows.

use super::context::Context;
use super::event::Event;
use super::reply;
use super::route::Exit;
use super::state::{Asking, Feedback, PhaseName, Task};
use super::trace::TraceLine;
use crate::contract::Verdict;

/// Asks for a verdict.
pub(super) fn enter(asking: &mut Asking, task: &mut Task, context: &mut Context<'_>) {
    reply::ask(PhaseName::Validate, asking, task, context);
}

pub(super) fn on_event(asking: &mut Asking, task: &mut Task, context: &mut Context<'_>) {
    match context.event.take() {
        Some(Event::ModelReplied { reply, .. }) => {
            task.counters.usage.add(reply.usage);
            let most = context.rules.spec().limits.max_reply_bytes as usize;
            match Verdict::read(&reply.text, most) {
                Ok(verdict) => judge(verdict, asking.ask, task, context),
                Err(error) => reply::bad(PhaseName::Validate, asking, task, context, error, &reply.text),
            }
        }
        Some(Event::ModelFailed { failure, .. }) => reply::failed(PhaseName::Validate, context, &failure),
        other => context.event = other,
    }
}

fn judge(verdict: Verdict, verdict_asks: u32, task: &mut Task, context: &mut Context<'_>) {
    if let Some(progress) = task.progress.as_mut() {
        progress.verdict_asks = verdict_asks;
    }
    let exit = if verdict.ok { Exit::Accepted } else { Exit::Rejected };
    if !verdict.ok {
        let Verdict { reason, fix_hint, .. } = verdict.clone();
        task.feedback = Some(Feedback { reason, fix_hint });
    }
    task.trace.push(TraceLine::Validate { ok: true, verdict: Some(verdict), error: None });
    context.leave(exit);
}
