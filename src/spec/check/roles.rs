//! The roles: each is there where the policy asks for it, and nowhere else.

use super::refuse::{Checked, refuse};
use crate::contract::IntentForm;
use crate::spec::{Intake, Memory, Orchestrate, Role, RoleName, Spec, Validate};

pub(super) fn check_intake(spec: &Spec) -> Checked {
    let policy = &spec.policy;
    let mut seen = Vec::new();
    for intake in &policy.intake {
        if seen.contains(intake) {
            return refuse("policy.intake", "names one thing twice");
        }
        seen.push(*intake);
    }
    let pairs = [
        (Intake::Scope, RoleName::Scope, "scope"),
        (Intake::PreviousContext, RoleName::PreviousContext, "previous_context"),
        (Intake::Intent, RoleName::Intent, "intent"),
    ];
    for (intake, role, name) in pairs {
        let field = format!("roles.{role}");
        match (policy.asks(intake), spec.roles.get(role).is_some()) {
            (true, false) => return refuse(field, format!("needed under `intake = [\"{name}\"]`")),
            (false, true) => return refuse(field, format!("never asked: `intake` does not name \"{name}\"")),
            _ => {}
        }
    }
    if policy.asks(Intake::PreviousContext) && policy.memory == Memory::None {
        return refuse(
            "policy.intake",
            "\"previous_context\" is never asked under `memory = \"none\"`: there are no earlier turns",
        );
    }
    if policy.intent.form == IntentForm::Text
        && !(policy.intent.kinds.is_empty() && policy.intent.answer_at_once.is_empty())
    {
        return refuse(
            "policy.intent.kinds",
            "never matched: under `form = \"text\"` the intent is free text",
        );
    }
    let known = |kind: &&String| !policy.intent.kinds.is_empty() && !policy.intent.kinds.contains(kind);
    if let Some(unknown) = policy.intent.answer_at_once.iter().find(known) {
        return refuse("policy.intent.answer_at_once", format!("{unknown:?} is none of `kinds`"));
    }
    Ok(())
}

pub(super) fn check_roles(spec: &Spec) -> Checked {
    let policy = &spec.policy;
    match (policy.validate, &spec.roles.validator) {
        (Validate::Verdict, None) => {
            return refuse("roles.validator", "needed under `validate = \"verdict\"`");
        }
        (Validate::Sufficiency, None) => {
            return refuse("roles.validator", "needed under `validate = \"sufficiency\"`");
        }
        (Validate::Off, Some(_)) => {
            return refuse("roles.validator", "never asked under `validate = \"off\"`");
        }
        _ => {}
    }
    match (policy.orchestrate, &spec.roles.orchestrator) {
        (Orchestrate::EachStep, None) => {
            return refuse("roles.orchestrator", "needed under `orchestrate = \"each_step\"`");
        }
        (Orchestrate::Never, Some(_)) => {
            return refuse("roles.orchestrator", "never asked under `orchestrate = \"never\"`");
        }
        _ => {}
    }
    for name in RoleName::ALL {
        let Some(role) = spec.roles.get(name) else { continue };
        let place = format!("roles.{name}");
        if role.form.is_some() && name != RoleName::Writer {
            return refuse(format!("{place}.form"), "only the writer's reply has a choice of forms");
        }
        check_role(role, &place)?;
    }
    Ok(())
}

/// What any role must be, wherever it stands.
pub(in crate::spec) fn check_role(role: &Role, place: &str) -> Checked {
    let refuse = |field: &str, problem: &str| refuse(format!("{place}.{field}"), problem);
    if role.prompt.trim().is_empty() {
        return refuse("prompt", "expected instructions, found nothing");
    }
    if role.temperature.is_some_and(|value| !(0.0..=2.0).contains(&value)) {
        return refuse("temperature", "expected a number from 0 to 2");
    }
    if role.max_tokens == Some(0) {
        return refuse("max_tokens", "expected at least 1, found 0");
    }
    if role.model.as_ref().is_some_and(|model| model.trim().is_empty()) {
        return refuse("model", "expected a model's name, found nothing");
    }
    Ok(())
}
