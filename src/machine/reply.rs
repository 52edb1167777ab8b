//! Reply: asking a model for a reply, and what follows from one that does not read, in whichever
//! phase it is asked for.

use super::budget;
use super::context::Context;
use super::effect_id::EffectKind;
use super::event::{Event, ModelReply};
use super::spending::{self, Spender};
use super::state::{Asking, ErrorCode, Failure, PhaseName, Repair, Task};
use super::trace::TraceLine;
use crate::contract::ContractError;
use crate::contract::read::excerpt;
use crate::spec::{CompiledSpec, OnFailure, RoleName};

/// How much of a bad reply is shown to the model again, in characters.
const SHOWN_CHARS: usize = 4_000;

/// A reply that a run asks for: who is asked, and where in the run.
#[derive(Clone, Copy)]
pub(super) struct Duty {
    pub phase: PhaseName,
    pub role: RoleName,
    /// Which decision of the draft, for the orchestrator.
    pub nth: u32,
}

impl Duty {
    pub fn of(phase: PhaseName, role: RoleName) -> Self {
        Duty { phase, role, nth: 0 }
    }

    /// The effect that asks for it.
    pub fn effect(self, draft: u32, ask: u32) -> EffectKind {
        match (self.phase, self.role) {
            (_, RoleName::Scope) => EffectKind::Scope { ask },
            (_, RoleName::PreviousContext) => EffectKind::PreviousContext { ask },
            (_, RoleName::Intent) => EffectKind::Intent { ask },
            (_, RoleName::Orchestrator) => EffectKind::Orchestrate { draft, nth: self.nth, ask },
            (PhaseName::Validate, _) => EffectKind::Validate { draft, ask },
            (PhaseName::Write, _) => EffectKind::Write { draft, ask },
            _ => EffectKind::Plan { draft, ask },
        }
    }
}

/// A reply that reads.
pub(super) struct Usable<T> {
    pub value: T,
    /// Why the spec's fallback was read in its place, where it was.
    pub fallback: Option<String>,
}

/// Asks. Returns whether the run may still ask.
pub(super) fn ask(duty: Duty, asking: &Asking, task: &mut Task, context: &mut Context<'_>) -> bool {
    let id = duty.effect(task.draft, asking.ask).into();
    budget::ask_model(task, context, id, duty.role)
}

/// Reads what a model answered. Where it does not read, asks again, reads the fallback or ends the
/// run, as the role says; then there is nothing to read now.
pub(super) fn read<T>(
    duty: Duty,
    asking: &mut Asking,
    task: &mut Task,
    context: &mut Context<'_>,
    read: impl Fn(&CompiledSpec, &Task, &ModelReply) -> Result<T, ContractError>,
) -> Option<Usable<T>> {
    let (error, said) = match context.event.take() {
        Some(Event::ModelReplied { reply, .. }) => {
            spending::spend(task, context.rules, Spender::Role(duty.role), &reply);
            if reply.cached {
                task.trace.push(TraceLine::Cached { of: duty.role, step: None });
            }
            match read(context.rules, task, &reply) {
                Ok(value) => return Some(Usable { value, fallback: None }),
                Err(error) => (error, shown(&reply)),
            }
        }
        Some(Event::ModelFailed { failure, .. }) => {
            spending::charge(task, context.rules, Spender::Role(duty.role), failure.usage, &failure.model);
            if let OnFailure::Fallback(text) = context.rules.on_failure(duty.role) {
                return fall_back(duty, task, context, text, failure.to_string(), read);
            }
            context.fail(code(duty.phase), failure.to_string());
            return None;
        }
        other => {
            context.event = other;
            return None;
        }
    };
    match context.rules.on_failure(duty.role) {
        OnFailure::Fallback(text) => fall_back(duty, task, context, text, error.to_string(), read),
        OnFailure::Fail | OnFailure::Repair => {
            repair(duty, asking, task, context, error, &said);
            None
        }
    }
}

fn fall_back<T>(
    duty: Duty,
    task: &mut Task,
    context: &mut Context<'_>,
    text: String,
    error: String,
    read: impl Fn(&CompiledSpec, &Task, &ModelReply) -> Result<T, ContractError>,
) -> Option<Usable<T>> {
    task.failures.push(Failure { phase: duty.phase, draft: task.draft, message: error.clone() });
    match read(context.rules, task, &ModelReply::text(text)) {
        Ok(value) => {
            if duty.role != RoleName::Orchestrator {
                task.trace.push(TraceLine::Fallback { of: duty.role, error: error.clone() });
            }
            Some(Usable { value, fallback: Some(error) })
        }
        // It read when the spec was checked; what it may say depends on the run as well.
        Err(unfit) => {
            context.fail(code(duty.phase), format!("contract: {error} (the fallback: {unfit})"));
            None
        }
    }
}

/// Asks again, or ends the run.
fn repair(
    duty: Duty,
    asking: &mut Asking,
    task: &mut Task,
    context: &mut Context<'_>,
    error: ContractError,
    said: &str,
) {
    if asking.ask > context.rules.repairs(duty.role) {
        return context.fail(code(duty.phase), format!("contract: {error}"));
    }
    let message = error.to_string();
    task.failures.push(Failure { phase: duty.phase, draft: task.draft, message: message.clone() });
    let repair = Repair { error, reply: excerpt(said, SHOWN_CHARS) };
    *asking = Asking { ask: asking.ask + 1, repair: Some(Box::new(repair)) };
    // A repair that the limits do not allow never happened, so no line tells of it.
    if ask(duty, asking, task, context) {
        task.trace.push(TraceLine::Repair { of: duty.phase, repair: asking.ask - 1, error: message });
    }
}

/// A reply as it is shown to the model again: its words, and the calls it asked for.
fn shown(reply: &ModelReply) -> String {
    let mut said = reply.text.clone();
    for call in &reply.tool_calls {
        said.push_str(&format!("\n{}({})", call.name, call.arguments));
    }
    said.trim_start().to_owned()
}

pub(super) fn code(phase: PhaseName) -> ErrorCode {
    match phase {
        PhaseName::Plan => ErrorCode::PlanError,
        PhaseName::Validate => ErrorCode::ValidateError,
        PhaseName::Write => ErrorCode::WriteError,
        PhaseName::Execute | PhaseName::Done | PhaseName::Error => ErrorCode::ExecuteError,
    }
}
