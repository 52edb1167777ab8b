//! The roles, the limits and the names: each is there if something reads it, and nowhere else.

use std::collections::BTreeSet;

use super::refuse::{Checked, MAX_TRIES, NOTHING_REPLANS, ZERO, refuse, refuse_if};
use crate::contract::{IntentForm, check_name};
use crate::spec::{
    Horizon, Intake, Limits, Memory, OnBadReply, OnFailure, Orchestrate, Role, RoleName, Spec, SpecError,
    Validate,
};

pub(super) fn check_intake(spec: &Spec) -> Checked {
    let (policy, intent) = (&spec.policy, &spec.policy.intent);
    let distinct: BTreeSet<&Intake> = policy.intake.iter().collect();
    refuse_if("policy.intake", &[(distinct.len() < policy.intake.len(), "names one thing twice")])?;
    let pairs = [
        (Intake::Scope, RoleName::Scope),
        (Intake::PreviousContext, RoleName::PreviousContext),
        (Intake::Intent, RoleName::Intent),
    ];
    for (intake, role) in pairs {
        let (asked, there) = (policy.asks(intake), spec.roles.get(role).is_some());
        refuse_if(
            &format!("roles.{role}"),
            &[
                (asked && !there, &format!("needed under `intake = [\"{role}\"]`")),
                (!asked && there, &format!("never asked: `intake` does not name \"{role}\"")),
            ],
        )?;
    }
    let no_memory = policy.asks(Intake::PreviousContext) && policy.memory == Memory::None;
    let never_asked =
        "\"previous_context\" is never asked under `memory = \"none\"`: there are no earlier turns";
    refuse_if("policy.intake", &[(no_memory, never_asked)])?;
    let has_kinds = !(intent.kinds.is_empty() && intent.answer_at_once.is_empty());
    let free_text = "never matched: under `form = \"text\"` the intent is free text";
    refuse_if("policy.intent.kinds", &[(intent.form == IntentForm::Text && has_kinds, free_text)])?;
    let unknown = |kind: &&String| !intent.kinds.is_empty() && !intent.kinds.contains(kind);
    match intent.answer_at_once.iter().find(unknown) {
        Some(kind) => refuse("policy.intent.answer_at_once", format!("{kind:?} is none of `kinds`")),
        None => Ok(()),
    }
}

pub(super) fn check_roles(spec: &Spec) -> Checked {
    let (validate, validator) = (spec.policy.validate, spec.roles.validator.is_some());
    refuse_if(
        "roles.validator",
        &[
            (validate == Validate::Verdict && !validator, "needed under `validate = \"verdict\"`"),
            (validate == Validate::Sufficiency && !validator, "needed under `validate = \"sufficiency\"`"),
            (validate == Validate::Off && validator, "never asked under `validate = \"off\"`"),
        ],
    )?;
    let orchestrates = spec.policy.orchestrate == Orchestrate::EachStep;
    let orchestrator = spec.roles.orchestrator.is_some();
    refuse_if(
        "roles.orchestrator",
        &[
            (orchestrates && !orchestrator, "needed under `orchestrate = \"each_step\"`"),
            (!orchestrates && orchestrator, "never asked under `orchestrate = \"never\"`"),
        ],
    )?;
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
    let check = || {
        refuse_if("prompt", &[(role.prompt.trim().is_empty(), "expected instructions, found nothing")])?;
        let out_of_range = role.temperature.is_some_and(|value| !(0.0..=2.0).contains(&value));
        refuse_if("temperature", &[(out_of_range, "expected a number from 0 to 2")])?;
        refuse_if("max_tokens", &[(role.max_tokens == Some(0), ZERO)])?;
        let blank = role.model.as_ref().is_some_and(|model| model.trim().is_empty());
        refuse_if("model", &[(blank, "expected a model's name, found nothing")])
    };
    check().map_err(|error| error.under(place))
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
    let zeros = [
        ("limits.max_iterations", limits.max_iterations == Some(0)),
        ("limits.max_model_calls", limits.max_model_calls == Some(0)),
        ("limits.max_transitions", limits.max_transitions == Some(0)),
        ("limits.max_reply_bytes", limits.max_reply_bytes == 0),
        ("limits.max_input_bytes", limits.max_input_bytes == 0),
        ("limits.deadline_seconds", limits.deadline_seconds == 0),
        ("limits.max_tokens", limits.max_tokens == Some(0)),
    ];
    if let Some((field, _)) = zeros.into_iter().find(|(_, zero)| *zero) {
        return refuse(field, ZERO);
    }
    let no_money = limits.max_cost.is_some_and(|cost| cost.is_zero());
    refuse_if("limits.max_cost", &[(no_money, "expected more than 0")])?;
    let was_set = |value: u32, default: u32| value != default && value != 0;
    let next = policy.horizon == Horizon::Next;
    let unread = was_set(limits.max_replans, unset.max_replans) && !policy.can_replan();
    let by_rounds =
        "never read: under `horizon = \"next\"` `max_iterations` says how often the planner is asked";
    refuse_if(
        "limits.max_replans",
        &[(unread && next, by_rounds), (unread, &format!("never read: {NOTHING_REPLANS}"))],
    )?;
    let unread = was_set(limits.max_added_steps, unset.max_added_steps);
    let never = policy.orchestrate == Orchestrate::Never;
    refuse_if("limits.max_added_steps", &[(unread && never, "never read: `orchestrate` is \"never\"")])?;
    let repairs = |role: &Role| match &role.on_failure {
        Some(own) => *own == OnFailure::Repair,
        None => policy.on_bad_reply == OnBadReply::Repair,
    };
    let any_repairs = RoleName::ALL.into_iter().filter_map(|name| spec.roles.get(name)).any(repairs);
    let unread = was_set(limits.max_repairs, unset.max_repairs) && !any_repairs;
    let no_repairs = "never read: no role is asked again, by `on_bad_reply` or by its own `on_failure`";
    refuse_if("limits.max_repairs", &[(unread, no_repairs)])
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
