//! The calls that must come before an answer, and whether a run can make so many.

use std::collections::BTreeMap;

use super::refuse::{Checked, refuse};
use crate::spec::{Horizon, OnExhausted, Orchestrate, Planner, Spec, Validate, ValidateAt, Write};

pub(super) fn check_required_calls(spec: &Spec) -> Checked {
    let policy = &spec.policy;
    for (at, required) in policy.required_calls.iter().enumerate() {
        let field = format!("policy.required_calls[{at}]");
        let known = spec.tools.iter().any(|tool| tool.name == required.tool)
            || spec.agents.iter().any(|agent| agent.name == required.tool);
        if !known {
            return refuse(field, format!("there is no tool {:?}", required.tool));
        }
        if required.least == 0 && required.per_line.is_none() {
            return refuse(field, "expected `least` or `per_line`, found neither");
        }
        if required.per_line.as_ref().is_some_and(|line| line.trim().is_empty()) {
            return refuse(format!("{field}.per_line"), "expected how a line begins, found nothing");
        }
        if required.per_line.is_some() && policy.write != Write::Planner {
            return refuse(
                format!("{field}.per_line"),
                "the lines counted are the planner's; expected `write = \"planner\"`",
            );
        }
    }
    check_reach(spec)
}

/// Whether a run can make as many calls as there must be before an answer.
fn check_reach(spec: &Spec) -> Checked {
    let (policy, limits) = (&spec.policy, &spec.limits);
    let mut least: BTreeMap<&str, u32> = BTreeMap::new();
    for required in &policy.required_calls {
        let calls = least.entry(&required.tool).or_default();
        *calls = required.least.max(*calls);
    }
    let sum = |calls: &mut dyn Iterator<Item = u32>| calls.fold(0, u32::saturating_add);
    let is_tool = |name: &str| spec.tools.iter().any(|tool| tool.name == name);
    let of_tools = sum(&mut least.iter().filter(|(tool, _)| is_tool(tool)).map(|(_, calls)| *calls));
    if let Some(most) = limits.max_tool_calls.filter(|most| of_tools > *most) {
        let problem = format!(
            "{of_tools} tool calls must come before an answer, and `limits.max_tool_calls` allows {most}"
        );
        return refuse("policy.required_calls", problem);
    }
    let all = sum(&mut least.values().copied());
    let (most, why) = most_steps(spec);
    if all > most {
        let problem = format!("{all} calls must come before an answer, and {why} allows {most}");
        return refuse("policy.required_calls", problem);
    }
    Ok(())
}

/// The most steps of tools and agents before an answer, and which fields say so. A whole plan must hold
/// every call that is required; where the planner goes on round by round, the visit of PLAN in which it
/// says that there is enough makes none.
pub(in crate::spec) fn most_steps(spec: &Spec) -> (u32, &'static str) {
    let policy = &spec.policy;
    let a_plan = match policy.planner {
        Planner::ReactText => 1,
        Planner::Json | Planner::ToolCalls => spec.most_working_steps(),
    };
    if policy.horizon == Horizon::Whole {
        return (a_plan, "`policy.plan.max_steps`");
    }
    let judged = policy.validate != Validate::Off && policy.validate_at == ValidateAt::Results;
    let last_may_call = judged || policy.on_exhausted == OnExhausted::Write;
    let rounds = spec.limits.max_iterations.unwrap_or(1) - u32::from(!last_may_call);
    let added = match policy.orchestrate {
        Orchestrate::EachStep => spec.limits.max_added_steps,
        Orchestrate::Never => 0,
    };
    let why = match policy.planner {
        Planner::ReactText => "`limits.max_iterations`",
        Planner::Json | Planner::ToolCalls => "`limits.max_iterations` with `policy.plan.max_steps`",
    };
    (rounds.saturating_mul(a_plan).saturating_add(added), why)
}
