//! The checks of a spec: what contradicts, and what is out of range.
//!
//! Each refusal names the field and says why; one that is about two fields names both. A role that nothing asks
//! is refused, and so is a limit that nothing reads if it was set: if it is neither its default nor zero.

use std::collections::{BTreeMap, BTreeSet};

use super::limits::MAX_TRIES;
use super::policy::{NOTHING_REPLANS, OnCut};
use super::{
    Containment, Execution, Horizon, Intake, Limits, Memory, OnExhausted, OnExpiry, OnFailure, OnRejection,
    OnReplan, OnStepFailure, OnUnauthorised, Orchestrate, Planner, Role, RoleName, Spec, SpecError, Validate,
    ValidateAt, Write,
};
use crate::contract::{FinalStep, IntentForm, StepField, USUAL_HOLES, check_name};

const MAX_PLAN_STEPS: u32 = 100_000;
const MAX_WIDTH: u32 = 256;
const MAX_HOLES: u32 = 32;
/// Longest first wait before another try, in milliseconds.
const MAX_WAIT_MS: u64 = 3_600_000;

type Checked = Result<(), SpecError>;

const ZERO: &str = "expected at least 1, found 0";

fn refuse(field: impl Into<String>, problem: impl Into<String>) -> Checked {
    Err(SpecError::at(field, problem))
}

/// Refuses the spec by the first row that is true: a field, whether it is wrong, and why.
fn refuse_by(rows: &[(&str, bool, &str)]) -> Checked {
    match rows.iter().find(|(_, wrong, _)| *wrong) {
        Some((field, _, problem)) => refuse(*field, *problem),
        None => Ok(()),
    }
}

pub(super) fn check_spec(spec: &Spec) -> Checked {
    refuse_by(&[("name", spec.name.trim().is_empty(), "expected a name, found nothing")])?;
    let of_policy =
        [check_plan, check_planner, check_steps, check_required_calls, check_people, check_replans];
    let of_roles = [check_write, check_intake, check_roles, check_limits, check_names];
    // Without its tools a spec is refused for another reason than the one to mend.
    spec.mcp.iter().try_for_each(|(name, server)| server.check(name))?;
    of_policy.into_iter().chain(of_roles).try_for_each(|check| check(spec))
}

fn check_plan(spec: &Spec) -> Checked {
    let (plan, approval) = (&spec.policy.plan, spec.policy.approval);
    let (no_tools, no_agents) = (spec.tools.is_empty(), spec.agents.is_empty());
    let in_json = spec.policy.planner == Planner::Json;
    let ends = plan.final_step == FinalStep::Required;
    let too_few = "a plan that ends in `final_answer` has at least 1 step, found 0";
    let nobody = "a plan without `final_answer` needs a tool or an agent; expected at least one";
    let in_words = "never read: only a plan in JSON has step fields";
    let unoffered = plan.required.iter().find(|field| !plan.fields.contains(field));
    let required =
        unoffered.map(|field| format!("`{field}` is required, and `plan.fields` does not offer it"));
    let asks = plan.fields.contains(&StepField::HitlQuestion) && !approval.steps;
    let never = "`hitl_question` is offered, and `approval` is \"never\"";
    let elsewhere = "`hitl_question` is offered, and `approval` does not name \"steps\"";
    let with = plan.fields.contains(&StepField::With) && (!no_tools || no_agents);
    let own_tools = "`with` is for plans that name agents and no tools of their own";
    let holes = plan.fields.contains(&StepField::Holes);
    let alone = "`holes` are values of an input beside references; expected `refs` too";
    let no_holes = "never read: `plan.fields` does not offer `holes`";
    refuse_by(&[
        ("policy.plan.fields", holes && !plan.fields.contains(&StepField::Refs), alone),
        ("policy.plan.max_holes", holes && plan.max_holes == 0, ZERO),
        ("policy.plan.max_holes", plan.max_holes > MAX_HOLES, "expected at most 32"),
        ("policy.plan.max_holes", !holes && plan.max_holes != USUAL_HOLES, no_holes),
        ("policy.plan.max_steps", plan.max_steps < plan.min_steps, "expected at least `min_steps`"),
        ("policy.plan.max_steps", plan.max_steps == 0, ZERO),
        ("policy.plan.max_steps", plan.max_steps > MAX_PLAN_STEPS, "expected at most 100,000"),
        ("policy.plan.max_depth", plan.max_depth == Some(0), ZERO),
        ("policy.plan.min_steps", ends && plan.min_steps == 0, too_few),
        ("tools", !ends && no_tools && no_agents && in_json, nobody),
        ("policy.plan.required", required.is_some(), required.as_deref().unwrap_or_default()),
        ("policy.plan.fields", !in_json && !plan.fields.is_empty(), in_words),
        ("policy.plan.fields", asks && approval.is_never(), never),
        ("policy.plan.fields", asks, elsewhere),
        ("policy.plan.fields", with, own_tools),
    ])
}

fn check_planner(spec: &Spec) -> Checked {
    let policy = &spec.policy;
    let (in_json, next) = (policy.planner == Planner::Json, policy.horizon == Horizon::Next);
    let ends = policy.plan.final_step == FinalStep::Required;
    let iterations = spec.limits.max_iterations.is_some();
    let endless = "needed under `horizon = \"next\"`: else a run need not end";
    let no_last = "`horizon` is \"next\": no plan is the last; expected \"none\"";
    let in_words = "only a plan in JSON can end in `final_answer`; expected \"none\"";
    let one_action = "`planner = \"react_text\"` gives one action at a time; expected \"next\"";
    let rounds_end = "under `horizon = \"next\"` a plan without steps ends the rounds; expected 0";
    let asked_anyway =
        "under `horizon = \"next\"` the planner is asked again in any case; expected \"record\" or \"abort\"";
    refuse_by(&[
        ("limits.max_iterations", next && !iterations, endless),
        ("limits.max_iterations", !next && iterations, "never read: `horizon` is \"whole\""),
        ("policy.plan.final_step", ends && next, no_last),
        ("policy.plan.final_step", ends && !in_json, in_words),
        ("policy.horizon", policy.planner == Planner::ReactText && !next, one_action),
        ("policy.plan.min_steps", next && in_json && policy.plan.min_steps > 0, rounds_end),
        ("policy.on_step_failure", next && policy.on_step_failure == OnStepFailure::Replan, asked_anyway),
    ])
}

fn check_steps(spec: &Spec) -> Checked {
    let (policy, tries) = (&spec.policy, spec.policy.step_tries);
    let width = policy.execution.width();
    let few_tries = format!("expected 1 to {MAX_TRIES}, found {}", tries.tries);
    let short_wait = format!("expected at most {MAX_WAIT_MS}");
    let orchestrated = policy.orchestrate == Orchestrate::EachStep;
    let one_by_one =
        "decides between one step and the next; expected `execution = { mode = \"sequential\" }`";
    let no_agent = "has no agent to add; expected at least one of `agents`";
    refuse_by(&[
        ("policy.execution.width", width == 0, ZERO),
        ("policy.execution.width", width > MAX_WIDTH, "expected at most 256"),
        ("policy.step_tries.tries", tries.tries == 0 || tries.tries > MAX_TRIES, &few_tries),
        ("policy.step_tries.wait_ms", tries.wait_ms > MAX_WAIT_MS, &short_wait),
        ("policy.orchestrate", orchestrated && policy.execution != Execution::Sequential, one_by_one),
        ("policy.orchestrate", orchestrated && spec.agents.is_empty(), no_agent),
    ])
}

fn check_required_calls(spec: &Spec) -> Checked {
    let mut least: BTreeMap<&str, u32> = BTreeMap::new();
    let by_planner = spec.policy.write == Write::Planner;
    for (at, required) in spec.policy.required_calls.iter().enumerate() {
        let (tool, lines) = (required.tool.as_str(), required.per_line.as_deref());
        let field = format!("policy.required_calls[{at}]");
        let unknown = format!("there is no tool {tool:?}");
        let neither = "expected `least` or `per_line`, found neither";
        let (per_line, blank) = (format!("{field}.per_line"), "expected how a line begins, found nothing");
        let not_planners = "the lines counted are the planner's; expected `write = \"planner\"`";
        refuse_by(&[
            (&field, !spec.names().any(|name| name == tool), &unknown),
            (&field, required.least == 0 && lines.is_none(), neither),
            (&per_line, lines.is_some_and(|line| line.trim().is_empty()), blank),
            (&per_line, lines.is_some() && !by_planner, not_planners),
        ])?;
        let calls = least.entry(tool).or_default();
        *calls = required.least.max(*calls);
    }
    let of_tools = spec.tools.iter().filter_map(|tool| least.get(tool.name.as_str()));
    let [of_tools, all] = [of_tools.copied().collect(), least.values().copied().collect()]
        .map(|counts: Vec<u32>| counts.into_iter().fold(0, u32::saturating_add));
    let most_tools = spec.limits.max_tool_calls.unwrap_or(u32::MAX);
    let (most, why) = spec.most_calls_before_answer();
    let must = "must come before an answer, and";
    let too_many_tools = format!("{of_tools} tool calls {must} `limits.max_tool_calls` allows {most_tools}");
    let too_many = format!("{all} calls {must} {why} allows {most}");
    refuse_by(&[
        ("policy.required_calls", of_tools > most_tools, &too_many_tools),
        ("policy.required_calls", all > most, &too_many),
    ])
}

/// What is about the answers of people is read only if people are asked.
fn check_people(spec: &Spec) -> Checked {
    let (policy, seconds) = (&spec.policy, spec.limits.answer_seconds);
    let never = !policy.asks_people();
    let asks = policy.on_unauthorised == OnUnauthorised::Ask || policy.labels_values();
    let about_calls = policy.approval.risky || asks;
    let no_call = "never read: nobody is asked about a call; expected `approval = \"risky\"` or `on_unauthorised = \"ask\"`";
    let unenforced =
        policy.containment == Containment::Off && policy.on_unauthorised != OnUnauthorised::Refuse;
    let nothing_asks = "never read: `containment = \"off\"` allows every call";
    let unread = "never read: nobody is asked under `approval = \"never\"`";
    refuse_by(&[
        ("limits.answer_seconds", seconds == Some(0), ZERO),
        ("policy.on_rejection", never && policy.on_rejection != OnRejection::default(), unread),
        ("policy.on_unauthorised", unenforced, nothing_asks),
        ("policy.on_expiry", never && policy.on_expiry != OnExpiry::default(), unread),
        ("limits.answer_seconds", never && seconds.is_some(), unread),
        ("limits.max_questions", !about_calls && spec.limits.max_questions.is_some(), no_call),
    ])
}

/// What sends a run back to PLAN, and what follows when it may not go back any more.
fn check_replans(spec: &Spec) -> Checked {
    let policy = &spec.policy;
    let (next, never_replans) = (policy.horizon == Horizon::Next, !policy.can_replan());
    let writes = policy.on_exhausted == OnExhausted::Write;
    let replanner = spec.roles.contains_key(&RoleName::Replanner);
    let keeps = policy.on_replan == OnReplan::Keep && !next;
    let keeps_final = keeps && policy.plan.final_step == FinalStep::Required;
    let judges_nothing = policy.validate_at == ValidateAt::Answer && policy.validate == Validate::Off;
    let no_writer = "with `write = \"planner\"` there is nobody to write once the planner may not be asked";
    let nothing_before = format!("\"write\" has nothing to follow: {NOTHING_REPLANS}");
    let goes_on = "never asked: under `horizon = \"next\"` the planner goes on";
    let never_asked = format!("never asked: {NOTHING_REPLANS}");
    let keeps_nothing = format!("\"keep\" keeps nothing: {NOTHING_REPLANS}");
    let old_end =
        "\"keep\" would keep the `final_answer` of the old plan; expected `plan.final_step = \"none\"`";
    let fallback = "a fallback is of one role; expected \"fail\" or \"repair\"";
    refuse_by(&[
        ("policy.on_exhausted", writes && policy.write == Write::Planner, no_writer),
        ("policy.on_exhausted", writes && !next && never_replans, &nothing_before),
        ("roles.replanner", replanner && next, goes_on),
        ("roles.replanner", replanner && never_replans, &never_asked),
        ("policy.on_replan", keeps && never_replans, &keeps_nothing),
        ("policy.on_replan", keeps_final, old_end),
        ("policy.validate_at", judges_nothing, "nothing is judged: `validate` is \"off\""),
        ("policy.on_bad_reply", matches!(policy.on_bad_reply, OnFailure::Fallback(_)), fallback),
    ])
}

fn check_write(spec: &Spec) -> Checked {
    let (policy, has) = (&spec.policy, |role| spec.roles.contains_key(&role));
    let (by_model, by_planner) = (policy.write == Write::Model, policy.write == Write::Planner);
    let (writer, converses) = (has(RoleName::Writer), has(RoleName::Conversation));
    let no_words = "a plan in JSON has no final words; expected `planner = \"tool_calls\"` or \"react_text\"";
    let words_come_last = "the planner's final words come after its calls; expected `horizon = \"next\"`";
    let judged = policy.validate != Validate::Off && policy.validate_at == ValidateAt::Results;
    let judged_too_late = "what was collected is judged on the way to WRITE, and the planner's own words come in \
         PLAN; expected \"answer\"";
    let classifies = policy.asks(Intake::Intent);
    let needs_no_plan = if by_planner { classifies } else { policy.can_skip_plan() };
    let after_a_plan = "never asked: in this policy every answer comes after a plan";
    // What needs no plan must be answered by some role.
    let unanswered = !by_model && !converses;
    let at_once =
        classifies && (policy.intent.form == IntentForm::Query || !policy.intent.answer_at_once.is_empty());
    let empty = policy.planner == Planner::Json && policy.plan.min_steps == 0;
    let needed = |why: &str| format!("needed: {why}, and then nobody else would answer");
    refuse_by(&[
        ("policy.write", by_planner && policy.planner == Planner::Json, no_words),
        ("policy.write", by_planner && policy.horizon == Horizon::Whole, words_come_last),
        ("policy.validate_at", by_planner && judged, judged_too_late),
        ("roles.writer", by_model && !writer, "needed under `write = \"model\"`"),
        ("roles.writer", !by_model && writer, "never asked: `write` is not \"model\""),
        ("roles.conversation", converses && !needs_no_plan, after_a_plan),
        (
            "roles.conversation",
            unanswered && at_once,
            &needed("the intent role may say that no tool is needed"),
        ),
        ("roles.conversation", unanswered && empty, &needed("a plan may be empty")),
    ])
}

fn check_intake(spec: &Spec) -> Checked {
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
    let granting = spec.roles.contains_key(&RoleName::Grant);
    refuse_by(&[
        ("roles.grant", policy.grant && !granting, "needed under `grant = true`"),
        ("roles.grant", !policy.grant && granting, "never asked: expected `policy.grant = true`"),
    ])?;
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

fn check_roles(spec: &Spec) -> Checked {
    let (validate, has) = (spec.policy.validate, |role| spec.roles.contains_key(&role));
    let (validator, orchestrator) = (has(RoleName::Validator), has(RoleName::Orchestrator));
    let orchestrates = spec.policy.orchestrate == Orchestrate::EachStep;
    let (executor, fills) = (has(RoleName::Executor), spec.policy.plan.fields.contains(&StepField::Holes));
    let (verdict, sufficiency) = (validate == Validate::Verdict, validate == Validate::Sufficiency);
    refuse_by(&[
        ("roles.planner", !has(RoleName::Planner), "needed, and missing"),
        ("roles.agent", has(RoleName::Agent), "never asked: a role that does a step is one of `agents`"),
        ("roles.validator", verdict && !validator, "needed under `validate = \"verdict\"`"),
        ("roles.validator", sufficiency && !validator, "needed under `validate = \"sufficiency\"`"),
        ("roles.validator", validate == Validate::Off && validator, "never asked under `validate = \"off\"`"),
        ("roles.orchestrator", orchestrates && !orchestrator, "needed under `orchestrate = \"each_step\"`"),
        ("roles.orchestrator", !orchestrates && orchestrator, "never asked under `orchestrate = \"never\"`"),
        ("roles.executor", fills && !executor, "needed: `plan.fields` offers `holes`"),
        ("roles.executor", !fills && executor, "never asked: `plan.fields` does not offer `holes`"),
    ])?;
    for (name, role) in &spec.roles {
        if role.form.is_some() && *name != RoleName::Writer {
            return refuse(format!("roles.{name}.form"), "only the writer's reply has a choice of forms");
        }
        check_role(role, &format!("roles.{name}"))?;
    }
    Ok(())
}

pub(super) fn check_role(role: &Role, place: &str) -> Checked {
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

fn check_limits(spec: &Spec) -> Checked {
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
    let by_rounds = "never read: under `horizon = \"next\"` `max_iterations` bounds the drafts";
    let no_replans = format!("never read: {NOTHING_REPLANS}");
    let added = was_set(limits.max_added_steps, unset.max_added_steps);
    let never = policy.orchestrate == Orchestrate::Never;
    let repairs =
        |role: &Role| *role.on_failure.as_ref().unwrap_or(&policy.on_bad_reply) == OnFailure::Repair;
    let repairs = spec.roles.values().any(repairs) || policy.on_cut == OnCut::Repair;
    let repairs = was_set(limits.max_repairs, unset.max_repairs) && !repairs;
    let no_repairs = "never read: no role is asked again, by `on_bad_reply`, `on_cut` or `on_failure`";
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
fn check_names(spec: &Spec) -> Checked {
    let mut names = BTreeSet::new();
    let mut check_taken = |field: &str, name: &str| {
        // Servers of models take no dot, and are told `_` instead.
        refuse_by(&[(field, !names.insert(name.replace('.', "_")), &format!("the name {name:?} is taken"))])
    };
    for (at, tool) in spec.tools.iter().enumerate() {
        tool.check().or_else(|error| refuse(format!("tools[{at}].{}", error.path()), error.problem()))?;
        check_taken(&format!("tools[{at}]"), &tool.name)?;
    }
    for (at, agent) in spec.agents.iter().enumerate() {
        let field = format!("agents[{at}]");
        check_name(&agent.name).or_else(|error| refuse(format!("{field}.name"), error.problem()))?;
        if agent.description.trim().is_empty() {
            return refuse(format!("{field}.description"), "expected a sentence, found nothing");
        }
        check_taken(&field, &agent.name)?;
    }
    Ok(())
}
