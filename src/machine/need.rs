//! Need: what the steps of a plan may cost at worst, and whether the limits leave room for that. Asked
//! before the first of them runs, so no run ends halfway through a plan for want of budget, and what
//! has run by then never depends on the order in which answers came.

use super::vocabulary::{Counters, ErrorCode};
use crate::contract::{PlanStep, ToolContract};
use crate::spec::{Bounds, CompiledAgent, CompiledSpec, Orchestrate};

pub(super) const REPLY: Bounds = Bounds { model_calls: 1, tool_calls: 0, transitions: 1 };
pub(super) const CALL: Bounds = Bounds { model_calls: 0, tool_calls: 1, transitions: 1 };
/// A person's answer, or a wait.
pub(super) const ANSWER: Bounds = Bounds { model_calls: 0, tool_calls: 0, transitions: 1 };

/// The most that steps may need, further tries included.
pub(super) fn need<'a>(steps: impl Iterator<Item = &'a PlanStep>, compiled: &CompiledSpec) -> Bounds {
    let policy = compiled.policy();
    let mut need = Bounds { transitions: 0, ..ANSWER };
    let mut add = |times: u32, each: Bounds| {
        let more = |sum: &mut u32, each: u32| *sum = sum.saturating_add(times.saturating_mul(each));
        more(&mut need.model_calls, each.model_calls);
        more(&mut need.tool_calls, each.tool_calls);
        more(&mut need.transitions, each.transitions);
    };
    let mut count: u32 = 0;
    for planned in steps.filter(|planned| !planned.is_final()) {
        count = count.saturating_add(1);
        if compiled.needs_approval(&planned.tool) {
            add(1, ANSWER);
        }
        if policy.approval.steps && planned.is_hitl() {
            add(1, ANSWER);
            continue;
        }
        let most = policy.step_tries.tries;
        let tries = if most > 1 && happens_once(planned, compiled) { 1 } else { most };
        let each = match compiled.agent(&planned.tool) {
            None => CALL,
            Some(CompiledAgent::Role(_)) => REPLY,
            Some(CompiledAgent::Spec(inner)) => inner.bounds(),
        };
        add(tries, each);
        // The waits between the tries.
        add(tries.saturating_sub(1), ANSWER);
    }
    if policy.orchestrate == Orchestrate::EachStep && count > 0 {
        // A decision before the first step and one after each.
        add(count.saturating_add(1), REPLY);
    }
    need
}

/// Whether a step is a write that may not happen twice: it runs alone and is never tried again.
pub(super) fn happens_once(planned: &PlanStep, compiled: &CompiledSpec) -> bool {
    compiled.tool(&planned.tool).is_some_and(ToolContract::happens_once)
}

/// A limit that would be passed.
pub(super) struct Over {
    pub code: ErrorCode,
    pub kind: &'static str,
    pub wanted: u32,
    pub most: u32,
}

impl Over {
    /// What steps may need, and what is allowed.
    pub fn in_all(&self) -> String {
        format!("{} {}s in all, {} are allowed", self.wanted, self.kind, self.most)
    }
}

/// The first limit that would be passed if a run did so much more.
#[inline]
pub(super) fn first_over(spent: &Counters, more: Bounds, compiled: &CompiledSpec) -> Option<Over> {
    let bounds = compiled.bounds();
    let over = |code, kind, spent: u32, more: u32, most: u32| {
        let wanted = spent.saturating_add(more);
        (more > 0 && wanted > most).then_some(Over { code, kind, wanted, most })
    };
    let (tools, models) = (ErrorCode::MaxToolCallsExceeded, ErrorCode::MaxModelCallsExceeded);
    over(tools, "tool call", spent.tool_calls, more.tool_calls, bounds.tool_calls)
        .or_else(|| over(models, "model call", spent.model_calls, more.model_calls, bounds.model_calls))
        .or_else(|| {
            let most = bounds.transitions;
            over(ErrorCode::MaxStepsExceeded, "transition", spent.transitions, more.transitions, most)
        })
}

/// Whether steps that take the place of others can still be carried out.
pub(super) fn leaves_room(
    spent: &Counters,
    compiled: &CompiledSpec,
    steps: &[PlanStep],
) -> Result<(), String> {
    let over = first_over(spent, need(steps.iter(), compiled), compiled);
    over.map_or(Ok(()), |over| Err(format!("the steps may need {}", over.in_all())))
}
