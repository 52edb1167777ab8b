//! The roles, the limits and the names: each is there if something reads it, and nowhere else.

use std::collections::BTreeSet;

use super::refuse::{Checked, MAX_TRIES, NOTHING_REPLANS, ZERO, refuse, refuse_first};
use crate::contract::{IntentForm, check_name};
use crate::spec::{
    Horizon, Intake, Limits, Memory, OnBadReply, OnFailure, Orchestrate, Role, RoleName, Spec, SpecError,
    Validate,
};

pub(super) fn check_intake(spec: &Spec) -> Checked {
    let (policy, intent) = (&spec.policy, &spec.policy.intent);
    let distinct: BTreeSet<&Intake> = policy.intake.iter().collect();
    refuse_first(&[(distinct.len() < policy.intake.len(), "policy.intake", "names one thing twice")])?;
    let pairs = [
        (Intake::Scope, RoleName::Scope),
        (Intake::PreviousContext, RoleName::PreviousContext),
        (Intake::Intent, RoleName::Intent),
    ];
    for (intake, role) in pairs {
        let (asked, there) = (policy.asks(intake), spec.roles.get(role).is_some());
        let field = format!("roles.{role}");
        refuse_first(&[
            (asked && !there, &field, &format!("needed under `intake = [\"{role}\"]`")),
            (!asked && there, &field, &format!("never asked: `intake` does not name \"{role}\"")),
        ])?;
    }
    refuse_first(&[
        (
            policy.asks(Intake::PreviousContext) && policy.memory == Memory::None,
            "policy.intake",
            "\"previous_context\" is never asked under `memory = \"none\"`: there are no earlier turns",
        ),
        (
            intent.form == IntentForm::Text && !(intent.kinds.is_empty() && intent.answer_at_once.is_empty()),
            "policy.intent.kinds",
            "never matched: under `form = \"text\"` the intent is free text",
        ),
    ])?;
    let unknown = |kind: &&String| !intent.kinds.is_empty() && !intent.kinds.contains(kind);
    match intent.answer_at_once.iter().find(unknown) {
        Some(kind) => refuse("policy.intent.answer_at_once", format!("{kind:?} is none of `kinds`")),
        None => Ok(()),
    }
}

pub(super) fn check_roles(spec: &Spec) -> Checked {
    let (validate, validator) = (spec.policy.validate, spec.roles.validator.is_some());
    let orchestrates = spec.policy.orchestrate == Orchestrate::EachStep;
    let orchestrator = spec.roles.orchestrator.is_some();
    refuse_first(&[
        (
            validate == Validate::Verdict && !validator,
            "roles.validator",
            "needed under `validate = \"verdict\"`",
        ),
        (
            validate == Validate::Sufficiency && !validator,
            "roles.validator",
            "needed under `validate = \"sufficiency\"`",
        ),
        (validate == Validate::Off && validator, "roles.validator", "never asked under `validate = \"off\"`"),
        (orchestrates && !orchestrator, "roles.orchestrator", "needed under `orchestrate = \"each_step\"`"),
        (!orchestrates && orchestrator, "roles.orchestrator", "never asked under `orchestrate = \"never\"`"),
    ])?;
    for name in RoleName::ALL {
        let Some(role) = spec.roles.get(name) else { continue };
        if role.form.is_some() && name != RoleName::Writer {
            return refuse(format!("roles.{name}.form"), "only the writer's reply has a choice of forms");
        }
        check_role(role, &format!("roles.{name}"))?;
    }
    Ok(())
}

/// What any role must be, wherever it stands.
pub(in crate::spec) fn check_role(role: &Role, place: &str) -> Checked {
    let blank_model = role.model.as_ref().is_some_and(|model| model.trim().is_empty());
    let out_of_range = role.temperature.is_some_and(|value| !(0.0..=2.0).contains(&value));
    refuse_first(&[
        (role.prompt.trim().is_empty(), "prompt", "expected instructions, found nothing"),
        (out_of_range, "temperature", "expected a number from 0 to 2"),
        (role.max_tokens == Some(0), "max_tokens", ZERO),
        (blank_model, "model", "expected a model's name, found nothing"),
    ])
    .map_err(|error| error.under(place))
}

pub(super) fn check_limits(spec: &Spec) -> Checked {
    let (policy, limits, unset) = (&spec.policy, &spec.limits, Limits::default());
    let most = [
        ("limits.max_replans", limits.max_replans),
        ("limits.max_repairs", limits.max_repairs),
        ("limits.max_iterations", limits.max_iterations.unwrap_or(0)),
        ("limits.max_added_steps", limits.max_added_steps),
    ];
    if let Some((field, value)) = most.into_iter().find(|(_, value)| *value > MAX_TRIES) {
        return refuse(field, format!("expected at most {MAX_TRIES}, found {value}"));
    }
    let was_set = |value: u32, default: u32| value != default && value != 0;
    let next = policy.horizon == Horizon::Next;
    let unread_replans = was_set(limits.max_replans, unset.max_replans) && !policy.can_replan();
    let repairs = |role: &Role| match &role.on_failure {
        Some(own) => *own == OnFailure::Repair,
        None => policy.on_bad_reply == OnBadReply::Repair,
    };
    let any_repairs = RoleName::ALL.into_iter().filter_map(|name| spec.roles.get(name)).any(repairs);
    refuse_first(&[
        (limits.max_iterations == Some(0), "limits.max_iterations", ZERO),
        (limits.max_model_calls == Some(0), "limits.max_model_calls", ZERO),
        (limits.max_transitions == Some(0), "limits.max_transitions", ZERO),
        (limits.max_reply_bytes == 0, "limits.max_reply_bytes", ZERO),
        (limits.max_input_bytes == 0, "limits.max_input_bytes", ZERO),
        (limits.deadline_seconds == 0, "limits.deadline_seconds", ZERO),
        (limits.max_tokens == Some(0), "limits.max_tokens", ZERO),
        (limits.max_cost.is_some_and(|cost| cost.is_zero()), "limits.max_cost", "expected more than 0"),
        (
            unread_replans && next,
            "limits.max_replans",
            "never read: under `horizon = \"next\"` `max_iterations` says how often the planner is asked",
        ),
        (unread_replans, "limits.max_replans", &format!("never read: {NOTHING_REPLANS}")),
        (
            was_set(limits.max_added_steps, unset.max_added_steps)
                && policy.orchestrate == Orchestrate::Never,
            "limits.max_added_steps",
            "never read: `orchestrate` is \"never\"",
        ),
        (
            was_set(limits.max_repairs, unset.max_repairs) && !any_repairs,
            "limits.max_repairs",
            "never read: no role is asked again, by `on_bad_reply` or by its own `on_failure`",
        ),
    ])
}

/// Tools and agents share one space of names.
pub(super) fn check_names(spec: &Spec) -> Checked {
    let mut names = BTreeSet::new();
    for (at, tool) in spec.tools.iter().enumerate() {
        let field = format!("tools[{at}]");
        tool.check().map_err(|error| SpecError::at(format!("{field}.{}", error.path()), error.problem()))?;
        if !names.insert(tool.name.as_str()) {
            return refuse(field, format!("the name {:?} is taken", tool.name));
        }
    }
    for (at, agent) in spec.agents.iter().enumerate() {
        let field = format!("agents[{at}]");
        check_name(&agent.name).map_err(|error| SpecError::at(format!("{field}.name"), error.problem()))?;
        if agent.description.trim().is_empty() {
            return refuse(format!("{field}.description"), "expected a sentence, found nothing");
        }
        if !names.insert(agent.name.as_str()) {
            return refuse(field, format!("the name {:?} is taken", agent.name));
        }
    }
    Ok(())
}
