//! Reply: what follows from a model's reply that does not read, in whichever phase it was asked for.

use super::context::Context;
use super::event::ModelFailure;
use super::state::{Asking, ErrorCode, Failure, PhaseName, Repair, Task};
use super::trace::TraceLine;
use crate::contract::ContractError;
use crate::contract::read::excerpt;
use crate::spec::OnBadReply;

/// How much of a bad reply is shown to the model again, in characters.
const SHOWN_CHARS: usize = 4_000;

/// Ends the run, or moves `asking` on to the next repair. Returns whether to ask again.
pub(super) fn bad(
    phase: PhaseName,
    asking: &mut Asking,
    task: &mut Task,
    context: &mut Context<'_>,
    error: ContractError,
    reply: &str,
) -> bool {
    let repairs = match context.rules.policy().on_bad_reply {
        OnBadReply::Fail => 0,
        OnBadReply::Repair => context.rules.spec().limits.max_repairs,
    };
    if asking.ask > repairs {
        context.fail(code(phase), format!("contract: {error}"));
        return false;
    }
    let message = error.to_string();
    task.trace.push(TraceLine::Repair { of: phase, repair: asking.ask, error: message.clone() });
    task.failures.push(Failure { phase, draft: task.draft, message });
    let repair = Repair { error, reply: excerpt(reply, SHOWN_CHARS) };
    *asking = Asking { ask: asking.ask + 1, repair: Some(Box::new(repair)) };
    true
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
