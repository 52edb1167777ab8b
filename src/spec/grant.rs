//! What a question may be said to call for: calls of the tools of an agent and of those that do its steps.

use super::{Spec, SpecError};
use crate::contract::{FinalStep, PlanContract, PlanPolicy, PlanSays, StepField, ToolContract};

/// The contract of what a question may be said to call for, if a role is to say it and a tool needs it.
pub(super) fn grant_contract(spec: &Spec) -> Result<Option<PlanContract>, SpecError> {
    let containment = spec.policy.containment;
    let tools: Vec<ToolContract> = spec.all_tools().into_iter().cloned().collect();
    if !spec.policy.grant || !tools.iter().any(|tool| containment.guards(tool)) {
        return Ok(None);
    }
    if let Some(name) = spec.find_ambiguous_tool(&tools) {
        let problem = format!(
            "agents have {name:?} under two contracts; expected one, so that it is known what is granted"
        );
        return Err(SpecError::at("policy.grant", problem));
    }
    let policy = PlanPolicy {
        min_steps: 0,
        max_steps: spec.policy.plan.max_steps,
        final_step: FinalStep::None,
        says: PlanSays::NOTHING,
        fields: vec![StepField::Id, StepField::Refs],
        ..PlanPolicy::default()
    };
    Ok(Some(PlanContract::new(tools, Vec::new(), policy, false, spec.limits.max_input_bytes as usize)))
}
