//! The roles, the limits and the names: each is there if something reads it, and nowhere else.

use std::collections::BTreeSet;

use crate::contract::{IntentForm, check_name};
use crate::spec::error::{Checked, ZERO, refuse, refuse_by};
use crate::spec::limits::MAX_TRIES;
use crate::spec::policy::NOTHING_REPLANS;
use crate::spec::{Horizon, Intake, Limits, Memory, OnFailure, Orchestrate, Role, RoleName, Spec, Validate};

pub(super) fn check_intake(spec: &Spec) -> Checked {
    let (policy, intent) = (&spec.policy, &spec.policy.intent);
    let distinct: BTreeSet<&Intake> = policy.intake.iter().collect();
    refuse_by(&[("policy.intake", distinct.len() < policy.intake.len(), "names one thing twice")])?;
    let pairs = [
        (Intake::Scope, RoleName::Scope),
        (Intake::PreviousContext, RoleName::PreviousContext),
        (Intake::Intent, RoleName::Intent),
    ];
    for (intake, role) in pairs {
        let (asked, there) = (policy.asks(intake), spec.roles.contains_key(&role));
        let (field, needed) = (format!("roles.{role}"), format!("needed under `intake = [\"{role}\"]`"));
        let never_asked = format!("never asked: `intake` does not name \"{role}\"");
        refuse_by(&[(&field, asked && !there, &needed), (&field, !asked && there, &never_asked)])?;
    }
    let no_memory = policy.asks(Intake::PreviousContext) && policy.memory == Memory::None;
    let no_turns =
        "\"previous_context\" is never asked under `memory = \"none\"`: there are no earlier turns";
    let has_kinds = !(intent.kinds.is_empty() && intent.answer_at_once.is_empty());
    let free_text = "never matched: under `form = \"text\"` the intent is free text";
    let unknown = |kind: &&String| !intent.kinds.is_empty() && !intent.kinds.contains(kind);
    let unknown = intent.answer_at_once.iter().find(unknown);
    let no_kind = unknown.map(|kind| format!("{kind:?} is none of `kinds`")).unwrap_or_default();
    refuse_by(&[
        ("policy.intake", no_memory, no_turns),
        ("policy.intent.kinds", intent.form == IntentForm::Text && has_kinds, free_text),
        ("policy.intent.answer_at_once", unknown.is_some(), &no_kind),
    ])
}

pub(super) fn check_roles(spec: &Spec) -> Checked {
    let (validate, has) = (spec.policy.validate, |role| spec.roles.contains_key(&role));
    let (validator, orchestrator) = (has(RoleName::Validator), has(RoleName::Orchestrator));
    let orchestrates = spec.policy.orchestrate == Orchestrate::EachStep;
    let (verdict, sufficiency) = (validate == Validate::Verdict, validate == Validate::Sufficiency);
    refuse_by(&[
        ("roles.planner", !has(RoleName::Planner), "needed, and missing"),
        ("roles.agent", has(RoleName::Agent), "never asked: a role that does a step is one of `agents`"),
        ("roles.validator", verdict && !validator, "needed under `validate = \"verdict\"`"),
        ("roles.validator", sufficiency && !validator, "needed under `validate = \"sufficiency\"`"),
        ("roles.validator", validate == Validate::Off && validator, "never asked under `validate = \"off\"`"),
        ("roles.orchestrator", orchestrates && !orchestrator, "needed under `orchestrate = \"each_step\"`"),
        ("roles.orchestrator", !orchestrates && orchestrator, "never asked under `orchestrate = \"never\"`"),
    ])?;
    for (name, role) in &spec.roles {
        if role.form.is_some() && *name != RoleName::Writer {
            return refuse(format!("roles.{name}.form"), "only the writer's reply has a choice of forms");
        }
        check_role(role, &format!("roles.{name}"))?;
    }
    Ok(())
}

/// What any role must be, wherever it stands.
pub(in crate::spec) fn check_role(role: &Role, place: &str) -> Checked {
    let out_of_range = role.temperature.is_some_and(|value| !(0.0..=2.0).contains(&value));
    let no_name = role.model.as_ref().is_some_and(|model| model.trim().is_empty());
    let checked = refuse_by(&[
        ("prompt", role.prompt.trim().is_empty(), "expected instructions, found nothing"),
        ("temperature", out_of_range, "expected a number from 0 to 2"),
        ("max_tokens", role.max_tokens == Some(0), ZERO),
        ("model", no_name, "expected a model's name, found nothing"),
    ]);
    checked.map_err(|error| error.under(place))
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
    let replans = was_set(limits.max_replans, unset.max_replans) && !policy.can_replan();
    let by_rounds =
        "never read: under `horizon = \"next\"` `max_iterations` says how often the planner is asked";
    let no_replans = format!("never read: {NOTHING_REPLANS}");
    let added = was_set(limits.max_added_steps, unset.max_added_steps);
    let never = policy.orchestrate == Orchestrate::Never;
    let repairs =
        |role: &Role| *role.on_failure.as_ref().unwrap_or(&policy.on_bad_reply) == OnFailure::Repair;
    let repairs = was_set(limits.max_repairs, unset.max_repairs) && !spec.roles.values().any(repairs);
    let no_repairs = "never read: no role is asked again, by `on_bad_reply` or by its own `on_failure`";
    refuse_by(&[
        ("limits.max_iterations", limits.max_iterations == Some(0), ZERO),
        ("limits.max_model_calls", limits.max_model_calls == Some(0), ZERO),
        ("limits.max_transitions", limits.max_transitions == Some(0), ZERO),
        ("limits.max_reply_bytes", limits.max_reply_bytes == 0, ZERO),
        ("limits.max_input_bytes", limits.max_input_bytes == 0, ZERO),
        ("limits.deadline_seconds", limits.deadline_seconds == 0, ZERO),
        ("limits.max_tokens", limits.max_tokens == Some(0), ZERO),
        ("limits.max_cost", limits.max_cost.is_some_and(|cost| cost.is_zero()), "expected more than 0"),
        ("limits.max_replans", replans && next, by_rounds),
        ("limits.max_replans", replans, &no_replans),
        ("limits.max_added_steps", added && never, "never read: `orchestrate` is \"never\""),
        ("limits.max_repairs", repairs, no_repairs),
    ])
}

/// Tools and agents share one space of names.
pub(super) fn check_names(spec: &Spec) -> Checked {
    let mut names = BTreeSet::new();
    let mut check_taken = |field: &str, name| {
        refuse_by(&[(field, !names.insert(name), &format!("the name {name:?} is taken"))])
    };
    for (at, tool) in spec.tools.iter().enumerate() {
        tool.check().or_else(|error| refuse(format!("tools[{at}].{}", error.path()), error.problem()))?;
        check_taken(&format!("tools[{at}]"), &tool.name)?;
    }
    for (at, agent) in spec.agents.iter().enumerate() {
        let field = format!("agents[{at}]");
        check_name(&agent.name).or_else(|error| refuse(format!("{field}.name"), error.problem()))?;
        let (description, blank) = (format!("{field}.description"), agent.description.trim().is_empty());
        refuse_by(&[(&description, blank, "expected a sentence, found nothing")])?;
        check_taken(&field, &agent.name)?;
    }
    Ok(())
}
