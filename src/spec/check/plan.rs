//! What a plan may be, and who drafts it how far ahead.

use super::refuse::{Checked, refuse};
use crate::contract::{FinalStep, StepField};
use crate::spec::{Horizon, OnStepFailure, Planner, Spec};

/// Most steps a plan may be allowed to have.
const MAX_PLAN_STEPS: u32 = 100_000;

pub(super) fn check_plan(spec: &Spec) -> Checked {
    let plan = &spec.policy.plan;
    if plan.max_steps < plan.min_steps {
        return refuse("policy.plan.max_steps", "expected at least `min_steps`");
    }
    if plan.max_steps == 0 {
        return refuse("policy.plan.max_steps", "expected at least 1, found 0");
    }
    if plan.max_steps > MAX_PLAN_STEPS {
        return refuse("policy.plan.max_steps", "expected at most 100,000");
    }
    if plan.max_depth == Some(0) {
        return refuse("policy.plan.max_depth", "expected at least 1, found 0");
    }
    if plan.final_step == FinalStep::Required && plan.min_steps == 0 {
        return refuse(
            "policy.plan.min_steps",
            "a plan that ends in `final_answer` has at least 1 step, found 0",
        );
    }
    let nobody = spec.tools.is_empty() && spec.agents.is_empty();
    if plan.final_step == FinalStep::None && nobody && spec.policy.planner == Planner::Json {
        return refuse(
            "tools",
            "a plan without `final_answer` needs a tool or an agent; expected at least one",
        );
    }
    if let Some(field) = plan.required.iter().find(|field| !plan.fields.contains(field)) {
        let problem = format!("`{}` is required, and `plan.fields` does not offer it", field.as_str());
        return refuse("policy.plan.required", problem);
    }
    if spec.policy.planner != Planner::Json && !plan.fields.is_empty() {
        return refuse("policy.plan.fields", "never read: only a plan in JSON has step fields");
    }
    let approval = spec.policy.approval;
    if plan.fields.contains(&StepField::HitlQuestion) && !approval.steps {
        let said = if approval.is_never() { "is \"never\"" } else { "does not name \"steps\"" };
        return refuse("policy.plan.fields", format!("`hitl_question` is offered, and `approval` {said}"));
    }
    let agents_alone = spec.tools.is_empty() && !spec.agents.is_empty();
    if plan.fields.contains(&StepField::With) && !agents_alone {
        return refuse(
            "policy.plan.fields",
            "`with` is for plans that name agents and no tools of their own",
        );
    }
    Ok(())
}

pub(super) fn check_planner(spec: &Spec) -> Checked {
    let policy = &spec.policy;
    let (horizon, planner) = (policy.horizon, policy.planner);
    match (horizon, spec.limits.max_iterations) {
        (Horizon::Next, None) => {
            return refuse(
                "limits.max_iterations",
                "needed under `horizon = \"next\"`: else a run need not end",
            );
        }
        (Horizon::Whole, Some(_)) => {
            return refuse("limits.max_iterations", "never read: `horizon` is \"whole\"");
        }
        _ => {}
    }
    if policy.plan.final_step == FinalStep::Required && (planner != Planner::Json || horizon == Horizon::Next)
    {
        let why = match horizon {
            Horizon::Next => "`horizon` is \"next\": no plan is the last",
            Horizon::Whole => "only a plan in JSON can end in `final_answer`",
        };
        return refuse("policy.plan.final_step", format!("{why}; expected \"none\""));
    }
    if planner == Planner::ReactText && horizon == Horizon::Whole {
        return refuse(
            "policy.horizon",
            "`planner = \"react_text\"` gives one action at a time; expected \"next\"",
        );
    }
    if horizon == Horizon::Next && planner == Planner::Json && policy.plan.min_steps > 0 {
        return refuse(
            "policy.plan.min_steps",
            "under `horizon = \"next\"` a plan without steps ends the rounds; expected 0",
        );
    }
    if horizon == Horizon::Next && policy.on_step_failure == OnStepFailure::Replan {
        return refuse(
            "policy.on_step_failure",
            "under `horizon = \"next\"` the planner is asked again in any case; expected \"record\" or \"abort\"",
        );
    }
    Ok(())
}
