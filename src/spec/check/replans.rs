//! What sends a run back to PLAN, and what follows when it may not go back any more.

use super::refuse::{Checked, refuse};
use crate::contract::FinalStep;
use crate::spec::{Horizon, OnExhausted, OnReplan, Spec, Validate, ValidateAt, Write};

/// Why nothing is ever sent back.
pub(super) const NOTHING_REPLANS: &str =
    "nothing in this policy replans (`validate` is \"off\" and `on_step_failure` is not \"replan\")";

pub(super) fn check_replans(spec: &Spec) -> Checked {
    let policy = &spec.policy;
    if policy.on_exhausted == OnExhausted::Write {
        if policy.write == Write::Planner {
            return refuse(
                "policy.on_exhausted",
                "with `write = \"planner\"` there is nobody to write once the planner may not be asked",
            );
        }
        if policy.horizon == Horizon::Whole && !policy.can_replan() {
            return refuse(
                "policy.on_exhausted",
                format!("\"write\" has nothing to follow: {NOTHING_REPLANS}"),
            );
        }
    }
    if spec.roles.replanner.is_some() {
        if policy.horizon == Horizon::Next {
            return refuse("roles.replanner", "never asked: under `horizon = \"next\"` the planner goes on");
        }
        if !policy.can_replan() {
            return refuse("roles.replanner", format!("never asked: {NOTHING_REPLANS}"));
        }
    }
    if policy.on_replan == OnReplan::Keep && policy.horizon == Horizon::Whole && !policy.can_replan() {
        return refuse("policy.on_replan", format!("\"keep\" keeps nothing: {NOTHING_REPLANS}"));
    }
    if policy.on_replan == OnReplan::Keep
        && policy.plan.final_step == FinalStep::Required
        && policy.horizon == Horizon::Whole
    {
        return refuse(
            "policy.on_replan",
            "\"keep\" would keep the `final_answer` of the old plan; expected `plan.final_step = \"none\"`",
        );
    }
    if policy.validate_at == ValidateAt::Answer && policy.validate == Validate::Off {
        return refuse("policy.validate_at", "nothing is judged: `validate` is \"off\"");
    }
    Ok(())
}
