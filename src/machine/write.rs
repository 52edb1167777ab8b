//! Write: asks for the answer. This phase never judges and never goes back.

use super::context::Context;
use super::event::Event;
use super::reply;
use super::route::Exit;
use super::state::{PhaseName, Task, Writing};
use super::trace::TraceLine;

/// Asks for the answer.
pub(super) fn enter(writing: &mut Writing, task: &mut Task, context: &mut Context<'_>) {
    reply::ask(PhaseName::Write, &writing.asking, task, context);
}

pub(super) fn on_event(writing: &mut Writing, task: &mut Task, context: &mut Context<'_>) {
    match context.event.take() {
        Some(Event::ModelReplied { reply, .. }) => {
            task.counters.usage.add(reply.usage);
            let most = context.rules.spec().limits.max_reply_bytes as usize;
            match context.rules.form().read(&reply.text, most) {
                Ok(answer) => {
                    let final_chars = Some(answer.chars().count() as u32);
                    task.trace.push(TraceLine::Write { ok: true, final_chars, error: None });
                    task.artifacts.final_answer = Some(answer);
                    context.leave(Exit::Written);
                }
                Err(error) => {
                    reply::bad(PhaseName::Write, &mut writing.asking, task, context, error, &reply.text);
                }
            }
        }
        Some(Event::ModelFailed { failure, .. }) => reply::failed(PhaseName::Write, context, &failure),
        other => context.event = other,
    }
}
