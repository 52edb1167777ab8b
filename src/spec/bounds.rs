//! Bounds: the most that any run of an agent can do, from its spec alone.

use serde::{Deserialize, Serialize};

use super::{OnBadReply, OnStepFailure, Spec, Validate};

/// The most that any run can do. Every run whose effects are answered ends within these numbers.
///
/// ```
/// let rules = planwright::agents::shipped("validated").unwrap().check()?;
/// // Three plans and three verdicts, each asked for twice at most, and an answer, asked for twice.
/// assert_eq!(rules.bounds().model_calls, 14);
/// # Ok::<(), planwright::spec::SpecError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// Most model calls, repairs included.
    pub model_calls: u32,
    /// Most tool calls.
    pub tool_calls: u32,
    /// Most transitions: one for each answer, the last included.
    pub transitions: u32,
}

impl Bounds {
    /// The bounds of a spec, its own `max_model_calls`, `max_tool_calls` and `max_transitions`
    /// included.
    pub(super) fn of(spec: &Spec) -> Self {
        let policy = &spec.policy;
        let can_replan =
            policy.validate == Validate::Verdict || policy.on_step_failure == OnStepFailure::Replan;
        let drafts = 1 + if can_replan { spec.limits.max_replans } else { 0 };
        let asks = 1 + match policy.on_bad_reply {
            OnBadReply::Fail => 0,
            OnBadReply::Repair => spec.limits.max_repairs,
        };
        let per_draft = 1 + u32::from(policy.validate == Validate::Verdict);
        let replies = drafts.saturating_mul(per_draft).saturating_add(1).saturating_mul(asks);
        let steps = super::rules::most_tool_steps(spec).saturating_mul(drafts);

        let model_calls = spec.limits.max_model_calls.unwrap_or(u32::MAX).min(replies);
        let tool_calls = spec.limits.max_tool_calls.unwrap_or(u32::MAX).min(steps);
        let all = model_calls.saturating_add(tool_calls);
        let transitions = spec.limits.max_transitions.unwrap_or(u32::MAX).min(all);
        Bounds { model_calls, tool_calls, transitions }
    }
}
