//! The limits: in range, and read by something.

use super::refuse::{Checked, MAX_TRIES, refuse};
use super::replans::NOTHING_REPLANS;
use crate::spec::{Horizon, Limits, OnBadReply, OnFailure, Orchestrate, Role, RoleName, Spec};

pub(super) fn check_limits(spec: &Spec) -> Checked {
    let limits = &spec.limits;
    let most = [
        ("limits.max_replans", limits.max_replans),
        ("limits.max_repairs", limits.max_repairs),
        ("limits.max_iterations", limits.max_iterations.unwrap_or(0)),
        ("limits.max_added_steps", limits.max_added_steps),
    ];
    for (field, value) in most {
        if value > MAX_TRIES {
            return refuse(field, format!("expected at most {MAX_TRIES}, found {value}"));
        }
    }
    let least = [
        ("limits.max_iterations", limits.max_iterations.unwrap_or(1)),
        ("limits.max_model_calls", limits.max_model_calls.unwrap_or(1)),
        ("limits.max_transitions", limits.max_transitions.unwrap_or(1)),
        ("limits.max_reply_bytes", limits.max_reply_bytes),
        ("limits.max_input_bytes", limits.max_input_bytes),
        ("limits.deadline_seconds", limits.deadline_seconds),
    ];
    for (field, value) in least {
        if value == 0 {
            return refuse(field, "expected at least 1, found 0");
        }
    }
    if limits.max_tokens == Some(0) {
        return refuse("limits.max_tokens", "expected at least 1, found 0");
    }
    if limits.max_cost.is_some_and(|cost| cost.is_zero()) {
        return refuse("limits.max_cost", "expected more than 0");
    }
    check_that_they_are_read(spec)
}

fn check_that_they_are_read(spec: &Spec) -> Checked {
    let (policy, limits, unset) = (&spec.policy, &spec.limits, Limits::default());
    let written = |value: u32, default: u32| value != default && value != 0;
    if written(limits.max_replans, unset.max_replans) && !policy.can_replan() {
        let why = match policy.horizon {
            Horizon::Next => {
                "under `horizon = \"next\"` `max_iterations` says how often the planner is asked"
            }
            Horizon::Whole => NOTHING_REPLANS,
        };
        return refuse("limits.max_replans", format!("never read: {why}"));
    }
    if written(limits.max_added_steps, unset.max_added_steps) && policy.orchestrate == Orchestrate::Never {
        return refuse("limits.max_added_steps", "never read: `orchestrate` is \"never\"");
    }
    let repairs = |role: &Role| match &role.on_failure {
        Some(own) => *own == OnFailure::Repair,
        None => policy.on_bad_reply == OnBadReply::Repair,
    };
    let mut roles = RoleName::ALL.into_iter().filter_map(|name| spec.roles.get(name));
    if written(limits.max_repairs, unset.max_repairs) && !roles.any(repairs) {
        let why = "no role is asked again, by `on_bad_reply` or by its own `on_failure`";
        return refuse("limits.max_repairs", format!("never read: {why}"));
    }
    Ok(())
}
