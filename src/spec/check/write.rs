//! Where the answer comes from.

use super::refuse::{Checked, refuse};
use crate::contract::IntentForm;
use crate::spec::{Horizon, Intake, Planner, Spec, Validate, ValidateAt, Write};

pub(super) fn check_write(spec: &Spec) -> Checked {
    let policy = &spec.policy;
    let roles = &spec.roles;
    if policy.write == Write::Planner && policy.planner == Planner::Json {
        return refuse(
            "policy.write",
            "a plan in JSON has no final words; expected `planner = \"tool_calls\"` or \"react_text\"",
        );
    }
    if policy.write == Write::Planner && policy.horizon == Horizon::Whole {
        return refuse(
            "policy.write",
            "the planner's final words come after its calls; expected `horizon = \"next\"`",
        );
    }
    if policy.write == Write::Planner
        && policy.validate != Validate::Off
        && policy.validate_at == ValidateAt::Results
    {
        return refuse(
            "policy.validate_at",
            "what was collected is judged on the way to WRITE, and the planner's own words come in PLAN; expected \
             \"answer\"",
        );
    }
    match (policy.write, &roles.writer) {
        (Write::Model, None) => return refuse("roles.writer", "needed under `write = \"model\"`"),
        (Write::LastResult | Write::Summary | Write::Planner, Some(_)) => {
            return refuse("roles.writer", "never asked: `write` is not \"model\"");
        }
        _ => {}
    }
    let classifies = policy.asks(Intake::Intent);
    let talks = if policy.write == Write::Planner { classifies } else { policy.can_skip_the_plan() };
    if roles.conversation.is_some() && !talks {
        return refuse("roles.conversation", "never asked: in this policy every answer comes after a plan");
    }
    // What needs no plan must be answered by somebody.
    let at_once =
        classifies && (policy.intent.form == IntentForm::Query || !policy.intent.answer_at_once.is_empty());
    let empty = policy.planner == Planner::Json && policy.plan.min_steps == 0;
    if policy.write != Write::Model && roles.conversation.is_none() && (at_once || empty) {
        let why =
            if at_once { "the intent role may say that no tool is needed" } else { "a plan may be empty" };
        return refuse("roles.conversation", format!("needed: {why}, and then nobody else would answer"));
    }
    Ok(())
}
