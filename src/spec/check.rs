//! The checks of a spec: what contradicts, and what is out of range. Each refusal names the field and
//! says why.

use super::rules::asks;
use super::{
    Execution, Horizon, Intake, Memory, OnExhausted, OnExpiry, OnRejection, OnReplan, OnStepFailure,
    Orchestrate, Planner, Role, RoleName, Spec, SpecError, Validate, ValidateAt, Write,
};
use crate::contract::{FinalStep, HITL, IntentForm, StepField};

type Checked = Result<(), SpecError>;

fn refuse(field: impl Into<String>, problem: impl Into<String>) -> Checked {
    Err(SpecError::at(field, problem))
}

pub(super) fn check(spec: &Spec) -> Checked {
    if spec.name.trim().is_empty() {
        return refuse("name", "expected a name, found nothing");
    }
    check_plan(spec)?;
    check_planner(spec)?;
    check_steps(spec)?;
    check_people(spec)?;
    check_replans(spec)?;
    check_write(spec)?;
    check_intake(spec)?;
    check_roles(spec)?;
    check_limits(spec)?;
    check_names(spec)
}

/// Most steps a plan may be allowed to have.
const MAX_PLAN_STEPS: u32 = 100_000;
/// Most steps that may be allowed to run side by side.
const MAX_WIDTH: u32 = 256;
/// Most replans, repairs, iterations, added steps or tries a run may be allowed.
const MAX_TRIES: u32 = 1_000;
/// Longest first wait before another try, in milliseconds.
const MAX_WAIT_MS: u64 = 3_600_000;

fn check_plan(spec: &Spec) -> Checked {
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

fn check_planner(spec: &Spec) -> Checked {
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

fn check_steps(spec: &Spec) -> Checked {
    let policy = &spec.policy;
    match policy.execution {
        Execution::Parallel { width: 0 } => {
            return refuse("policy.execution.width", "expected at least 1, found 0");
        }
        Execution::Parallel { width } if width > MAX_WIDTH => {
            return refuse("policy.execution.width", "expected at most 256");
        }
        _ => {}
    }
    let tries = policy.step_tries;
    if tries.tries == 0 || tries.tries > MAX_TRIES {
        let problem = format!("expected 1 to {MAX_TRIES}, found {}", tries.tries);
        return refuse("policy.step_tries.tries", problem);
    }
    if tries.wait_ms > MAX_WAIT_MS {
        return refuse("policy.step_tries.wait_ms", format!("expected at most {MAX_WAIT_MS}"));
    }
    if policy.orchestrate == Orchestrate::EachStep {
        if policy.execution != Execution::Sequential {
            return refuse(
                "policy.orchestrate",
                "decides between one step and the next; expected `execution = { mode = \"sequential\" }`",
            );
        }
        if spec.agents.is_empty() {
            return refuse("policy.orchestrate", "has no agent to add; expected at least one of `agents`");
        }
    }
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
    Ok(())
}

/// What is about the answers of people is read where people are asked.
fn check_people(spec: &Spec) -> Checked {
    let policy = &spec.policy;
    let chosen = [
        ("policy.on_rejection", policy.on_rejection != OnRejection::default()),
        ("policy.on_expiry", policy.on_expiry != OnExpiry::default()),
        ("limits.answer_seconds", spec.limits.answer_seconds.is_some()),
    ];
    match chosen.into_iter().find(|(_, chosen)| *chosen) {
        Some((field, _)) if policy.approval.is_never() => {
            refuse(field, "never read: nobody is asked under `approval = \"never\"`")
        }
        _ => Ok(()),
    }
}

fn check_replans(spec: &Spec) -> Checked {
    let policy = &spec.policy;
    let nothing_replans = "nothing in this policy replans (`validate` is \"off\" and `on_step_failure` is not \
                           \"replan\")";
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
                format!("\"write\" has nothing to follow: {nothing_replans}"),
            );
        }
    }
    if spec.roles.replanner.is_some() {
        if policy.horizon == Horizon::Next {
            return refuse("roles.replanner", "never asked: under `horizon = \"next\"` the planner goes on");
        }
        if !policy.can_replan() {
            return refuse("roles.replanner", format!("never asked: {nothing_replans}"));
        }
    }
    if policy.on_replan == OnReplan::Keep && policy.horizon == Horizon::Whole && !policy.can_replan() {
        return refuse("policy.on_replan", format!("\"keep\" keeps nothing: {nothing_replans}"));
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

fn check_write(spec: &Spec) -> Checked {
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
    let classifies = asks(policy, Intake::Intent);
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

fn check_intake(spec: &Spec) -> Checked {
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
        match (asks(policy, intake), spec.roles.get(role).is_some()) {
            (true, false) => return refuse(field, format!("needed under `intake = [\"{name}\"]`")),
            (false, true) => return refuse(field, format!("never asked: `intake` does not name \"{name}\"")),
            _ => {}
        }
    }
    if asks(policy, Intake::PreviousContext) && policy.memory == Memory::None {
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

fn check_roles(spec: &Spec) -> Checked {
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
pub(super) fn check_role(role: &Role, place: &str) -> Checked {
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

fn check_limits(spec: &Spec) -> Checked {
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
    if limits.answer_seconds == Some(0) {
        return refuse("limits.answer_seconds", "expected at least 1, found 0");
    }
    if limits.max_tokens == Some(0) {
        return refuse("limits.max_tokens", "expected at least 1, found 0");
    }
    if limits.max_cost.is_some_and(|cost| cost.is_zero()) {
        return refuse("limits.max_cost", "expected more than 0");
    }
    Ok(())
}

fn check_names(spec: &Spec) -> Checked {
    let mut names = std::collections::BTreeSet::new();
    for (at, tool) in spec.tools.iter().enumerate() {
        let field = format!("tools[{at}]");
        tool.check().map_err(|error| {
            SpecError::at(format!("{field}.{}", error.path()), error.problem().to_owned())
        })?;
        if !names.insert(tool.name.as_str()) {
            return refuse(field, format!("the name {:?} is taken", tool.name));
        }
    }
    for (at, agent) in spec.agents.iter().enumerate() {
        let field = format!("agents[{at}]");
        let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let name = &agent.name;
        if name.is_empty() || name.len() > 64 || !name.chars().all(legal) {
            let problem = format!("expected 1 to 64 letters, digits, `_` or `-`, found {name:?}");
            return refuse(format!("{field}.name"), problem);
        }
        if [crate::contract::FINAL_ANSWER, HITL].contains(&name.as_str()) {
            return refuse(format!("{field}.name"), format!("{name:?} is reserved"));
        }
        if agent.description.trim().is_empty() {
            return refuse(format!("{field}.description"), "expected a sentence, found nothing");
        }
        if !names.insert(name.as_str()) {
            return refuse(field, format!("the name {name:?} is taken"));
        }
    }
    Ok(())
}
