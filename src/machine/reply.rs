//! Reply: asking a model for a reply, and what follows from one that does not read, in whichever
//! phase it is asked for.

use super::budget;
use super::context::Context;
use super::effect_id::{EffectId, EffectKind};
use super::event::ModelFailure;
use super::outstanding::drafter;
use super::state::{Asking, ErrorCode, Failure, PhaseName, Repair, Task};
use super::trace::TraceLine;
use crate::contract::ContractError;
use crate::contract::read::excerpt;
use crate::spec::{OnBadReply, RoleName};

/// How much of a bad reply is shown to the model again, in characters.
const SHOWN_CHARS: usize = 4_000;

/// Asks for the reply of a phase. Returns whether the run may still ask.
pub(super) fn ask(phase: PhaseName, asking: &Asking, task: &mut Task, context: &mut Context<'_>) -> bool {
    let (draft, ask) = (task.draft, asking.ask);
    let (id, role) = match phase {
        PhaseName::Plan => (EffectKind::Plan { draft, ask }, drafter(task, context.rules)),
        PhaseName::Validate => (EffectKind::Validate { draft, ask }, RoleName::Validator),
        PhaseName::Write => (EffectKind::Write { draft, ask }, RoleName::Writer),
        PhaseName::Execute | PhaseName::Done | PhaseName::Error => return false,
    };
    budget::ask_model(task, context, EffectId::from(id), role)
}

/// Asks again, or ends the run.
pub(super) fn bad(
    phase: PhaseName,
    asking: &mut Asking,
    task: &mut Task,
    context: &mut Context<'_>,
    error: ContractError,
    reply: &str,
) {
    let repairs = match context.rules.policy().on_bad_reply {
        OnBadReply::Fail => 0,
        OnBadReply::Repair => context.rules.spec().limits.max_repairs,
    };
    if asking.ask > repairs {
        return context.fail(code(phase), format!("contract: {error}"));
    }
    let message = error.to_string();
    task.failures.push(Failure { phase, draft: task.draft, message: message.clone() });
    let repair = Repair { error, reply: excerpt(reply, SHOWN_CHARS) };
    *asking = Asking { ask: asking.ask + 1, repair: Some(Box::new(repair)) };
    // A repair that the limits do not allow never happened, so no line tells of it.
    if ask(phase, asking, task, context) {
        task.trace.push(TraceLine::Repair { of: phase, repair: asking.ask - 1, error: message });
    }
}

/// Ends the run: the model's answer is that it will not or cannot.
pub(super) fn failed(phase: PhaseName, context: &mut Context<'_>, failure: &ModelFailure) {
    context.fail(code(phase), failure.to_string());
}

fn code(phase: PhaseName) -> ErrorCode {
    match phase {
        PhaseName::Plan => ErrorCode::PlanError,
        PhaseName::Validate => ErrorCode::ValidateError,
        PhaseName::Write => ErrorCode::WriteError,
        PhaseName::Execute | PhaseName::Done | PhaseName::Error => ErrorCode::ExecuteError,
    }
}
