//! Write: asks for the answer. This phase never judges and never goes back.

use super::context::Context;
use super::event::{EffectId, Event};
use super::route::Exit;
use super::state::{PhaseName, Task, Writing};
use super::trace::TraceLine;
use super::{budget, reply};
use crate::spec::RoleName;

/// Asks for the answer.
pub(super) fn enter(writing: &mut Writing, task: &mut Task, context: &mut Context<'_>) {
    let id = EffectId::Write { draft: task.draft, ask: writing.asking.ask };
    budget::ask_model(task, context, id, RoleName::Writer);
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
                    let asking = &mut writing.asking;
                    if reply::bad(PhaseName::Write, asking, task, context, error, &reply.text) {
                        enter(writing, task, context);
                    }
                }
            }
        }
        Some(Event::ModelFailed { failure, .. }) => reply::failed(PhaseName::Write, context, &failure),
        other => context.event = other,
    }
}
