//! The checks of a spec: what contradicts, and what is out of range.
//!
//! Each refusal names the field and says why; one that is about two fields names both. A limit that
//! nothing reads is refused if it was set: if it is neither its default nor zero.

mod refuse;
mod roles;

use std::collections::BTreeMap;

use self::refuse::{Checked, MAX_TRIES, NOTHING_REPLANS, ZERO, refuse, refuse_if};
pub(super) use self::roles::check_role;
use super::{
    Execution, Horizon, Intake, OnExhausted, OnExpiry, OnRejection, OnReplan, OnStepFailure, Orchestrate,
    Planner, Spec, Validate, ValidateAt, Write,
};
use crate::contract::{FinalStep, IntentForm, StepField};

/// Most steps a plan may be allowed to have.
const MAX_PLAN_STEPS: u32 = 100_000;
/// Most steps that may be allowed to run side by side.
const MAX_WIDTH: u32 = 256;
/// Longest first wait before another try, in milliseconds.
const MAX_WAIT_MS: u64 = 3_600_000;

pub(super) fn check_spec(spec: &Spec) -> Checked {
    refuse_if("name", &[(spec.name.trim().is_empty(), "expected a name, found nothing")])?;
    check_plan(spec)?;
    check_planner(spec)?;
    check_steps(spec)?;
    check_required_calls(spec)?;
    check_people(spec)?;
    check_replans(spec)?;
    check_write(spec)?;
    roles::check_intake(spec)?;
    roles::check_roles(spec)?;
    roles::check_limits(spec)?;
    roles::check_names(spec)
}

/// What a plan may be.
fn check_plan(spec: &Spec) -> Checked {
    let (plan, approval, json) =
        (&spec.policy.plan, spec.policy.approval, spec.policy.planner == Planner::Json);
    let (no_tools, no_agents) = (spec.tools.is_empty(), spec.agents.is_empty());
    let ends = plan.final_step == FinalStep::Required;
    refuse_if(
        "policy.plan.max_steps",
        &[
            (plan.max_steps < plan.min_steps, "expected at least `min_steps`"),
            (plan.max_steps == 0, ZERO),
            (plan.max_steps > MAX_PLAN_STEPS, "expected at most 100,000"),
        ],
    )?;
    refuse_if("policy.plan.max_depth", &[(plan.max_depth == Some(0), ZERO)])?;
    let too_few = "a plan that ends in `final_answer` has at least 1 step, found 0";
    refuse_if("policy.plan.min_steps", &[(ends && plan.min_steps == 0, too_few)])?;
    let nobody = "a plan without `final_answer` needs a tool or an agent; expected at least one";
    refuse_if("tools", &[(!ends && no_tools && no_agents && json, nobody)])?;
    if let Some(field) = plan.required.iter().find(|field| !plan.fields.contains(field)) {
        let problem = format!("`{field}` is required, and `plan.fields` does not offer it");
        return refuse("policy.plan.required", problem);
    }
    let asks = plan.fields.contains(&StepField::HitlQuestion) && !approval.steps;
    let with = plan.fields.contains(&StepField::With) && (!no_tools || no_agents);
    let offered = "`hitl_question` is offered, and `approval`";
    refuse_if(
        "policy.plan.fields",
        &[
            (!json && !plan.fields.is_empty(), "never read: only a plan in JSON has step fields"),
            (asks && approval.is_never(), &format!("{offered} is \"never\"")),
            (asks, &format!("{offered} does not name \"steps\"")),
            (with, "`with` is for plans that name agents and no tools of their own"),
        ],
    )
}

/// Who drafts the plan, and how far ahead.
fn check_planner(spec: &Spec) -> Checked {
    let policy = &spec.policy;
    let (json, next) = (policy.planner == Planner::Json, policy.horizon == Horizon::Next);
    let ends = policy.plan.final_step == FinalStep::Required;
    let iterations = spec.limits.max_iterations.is_some();
    refuse_if(
        "limits.max_iterations",
        &[
            (next && !iterations, "needed under `horizon = \"next\"`: else a run need not end"),
            (!next && iterations, "never read: `horizon` is \"whole\""),
        ],
    )?;
    refuse_if(
        "policy.plan.final_step",
        &[
            (ends && next, "`horizon` is \"next\": no plan is the last; expected \"none\""),
            (ends && !json, "only a plan in JSON can end in `final_answer`; expected \"none\""),
        ],
    )?;
    let one_action = "`planner = \"react_text\"` gives one action at a time; expected \"next\"";
    refuse_if("policy.horizon", &[(policy.planner == Planner::ReactText && !next, one_action)])?;
    let rounds_end = "under `horizon = \"next\"` a plan without steps ends the rounds; expected 0";
    refuse_if("policy.plan.min_steps", &[(next && json && policy.plan.min_steps > 0, rounds_end)])?;
    let asked_anyway =
        "under `horizon = \"next\"` the planner is asked again in any case; expected \"record\" or \"abort\"";
    let replans = policy.on_step_failure == OnStepFailure::Replan;
    refuse_if("policy.on_step_failure", &[(next && replans, asked_anyway)])
}

/// How the steps of a plan run.
fn check_steps(spec: &Spec) -> Checked {
    let (policy, tries) = (&spec.policy, spec.policy.step_tries);
    let width = policy.execution.width();
    refuse_if("policy.execution.width", &[(width == 0, ZERO), (width > MAX_WIDTH, "expected at most 256")])?;
    let few_tries = format!("expected 1 to {MAX_TRIES}, found {}", tries.tries);
    refuse_if("policy.step_tries.tries", &[(tries.tries == 0 || tries.tries > MAX_TRIES, &few_tries)])?;
    let short_wait = format!("expected at most {MAX_WAIT_MS}");
    refuse_if("policy.step_tries.wait_ms", &[(tries.wait_ms > MAX_WAIT_MS, &short_wait)])?;
    let orchestrated = policy.orchestrate == Orchestrate::EachStep;
    let one_by_one =
        "decides between one step and the next; expected `execution = { mode = \"sequential\" }`";
    refuse_if(
        "policy.orchestrate",
        &[
            (orchestrated && policy.execution != Execution::Sequential, one_by_one),
            (
                orchestrated && spec.agents.is_empty(),
                "has no agent to add; expected at least one of `agents`",
            ),
        ],
    )
}

/// The calls that must come before an answer, and whether a run can make so many.
fn check_required_calls(spec: &Spec) -> Checked {
    let mut least: BTreeMap<&str, u32> = BTreeMap::new();
    for (at, required) in spec.policy.required_calls.iter().enumerate() {
        let (tool, lines) = (required.tool.as_str(), required.per_line.as_deref());
        let mut names =
            spec.tools.iter().map(|tool| &tool.name).chain(spec.agents.iter().map(|agent| &agent.name));
        let known = names.any(|name| name == tool);
        let field = format!("policy.required_calls[{at}]");
        refuse_if(
            &field,
            &[
                (!known, &format!("there is no tool {tool:?}")),
                (required.least == 0 && lines.is_none(), "expected `least` or `per_line`, found neither"),
            ],
        )?;
        let blank = lines.is_some_and(|line| line.trim().is_empty());
        let not_planners = "the lines counted are the planner's; expected `write = \"planner\"`";
        refuse_if(
            &format!("{field}.per_line"),
            &[
                (blank, "expected how a line begins, found nothing"),
                (lines.is_some() && spec.policy.write != Write::Planner, not_planners),
            ],
        )?;
        let calls = least.entry(tool).or_default();
        *calls = required.least.max(*calls);
    }
    let of_tools = spec.tools.iter().filter_map(|tool| least.get(tool.name.as_str()).copied());
    let of_tools = of_tools.fold(0, u32::saturating_add);
    let all = least.values().copied().fold(0, u32::saturating_add);
    let most_tools = spec.limits.max_tool_calls.unwrap_or(u32::MAX);
    let (most, why) = most_calls(spec);
    let too_many = |calls: &str, why: &str, most: u32| {
        format!("{calls} must come before an answer, and {why} allows {most}")
    };
    refuse_if(
        "policy.required_calls",
        &[
            (
                of_tools > most_tools,
                &too_many(&format!("{of_tools} tool calls"), "`limits.max_tool_calls`", most_tools),
            ),
            (all > most, &too_many(&format!("{all} calls"), why, most)),
        ],
    )
}

/// The most calls of tools and agents before an answer, and which fields say so. A whole plan must hold
/// every required call. Round by round, the visit of PLAN that says there is enough makes none.
pub(super) fn most_calls(spec: &Spec) -> (u32, &'static str) {
    let policy = &spec.policy;
    let (a_plan, why) = match policy.planner {
        Planner::ReactText => (1, "`limits.max_iterations`"),
        Planner::Json | Planner::ToolCalls => {
            (spec.most_working_steps(), "`limits.max_iterations` with `policy.plan.max_steps`")
        }
    };
    if policy.horizon == Horizon::Whole {
        return (a_plan, "`policy.plan.max_steps`");
    }
    let judged = policy.validate != Validate::Off && policy.validate_at == ValidateAt::Results;
    let last_may_call = judged || policy.on_exhausted == OnExhausted::Write;
    let rounds = spec.limits.max_iterations.unwrap_or(1).saturating_sub(u32::from(!last_may_call));
    let added = if policy.orchestrate == Orchestrate::EachStep { spec.limits.max_added_steps } else { 0 };
    (rounds.saturating_mul(a_plan).saturating_add(added), why)
}

/// What is about the answers of people is read only if people are asked.
fn check_people(spec: &Spec) -> Checked {
    let (policy, seconds) = (&spec.policy, spec.limits.answer_seconds);
    let never = policy.approval.is_never();
    let unread = "never read: nobody is asked under `approval = \"never\"`";
    refuse_if("limits.answer_seconds", &[(seconds == Some(0), ZERO)])?;
    refuse_if("policy.on_rejection", &[(never && policy.on_rejection != OnRejection::default(), unread)])?;
    refuse_if("policy.on_expiry", &[(never && policy.on_expiry != OnExpiry::default(), unread)])?;
    refuse_if("limits.answer_seconds", &[(never && seconds.is_some(), unread)])
}

/// What sends a run back to PLAN, and what follows when it may not go back any more.
fn check_replans(spec: &Spec) -> Checked {
    let policy = &spec.policy;
    let next = policy.horizon == Horizon::Next;
    let never_replans = !policy.can_replan();
    let writes = policy.on_exhausted == OnExhausted::Write;
    let replanner = spec.roles.replanner.is_some();
    let keeps = policy.on_replan == OnReplan::Keep && !next;
    let no_writer = "with `write = \"planner\"` there is nobody to write once the planner may not be asked";
    refuse_if(
        "policy.on_exhausted",
        &[
            (writes && policy.write == Write::Planner, no_writer),
            (
                writes && !next && never_replans,
                &format!("\"write\" has nothing to follow: {NOTHING_REPLANS}"),
            ),
        ],
    )?;
    refuse_if(
        "roles.replanner",
        &[
            (replanner && next, "never asked: under `horizon = \"next\"` the planner goes on"),
            (replanner && never_replans, &format!("never asked: {NOTHING_REPLANS}")),
        ],
    )?;
    let keeps_final =
        "\"keep\" would keep the `final_answer` of the old plan; expected `plan.final_step = \"none\"`";
    refuse_if(
        "policy.on_replan",
        &[
            (keeps && never_replans, &format!("\"keep\" keeps nothing: {NOTHING_REPLANS}")),
            (keeps && policy.plan.final_step == FinalStep::Required, keeps_final),
        ],
    )?;
    let judges_nothing = policy.validate_at == ValidateAt::Answer && policy.validate == Validate::Off;
    refuse_if("policy.validate_at", &[(judges_nothing, "nothing is judged: `validate` is \"off\"")])
}

/// Where the answer comes from.
fn check_write(spec: &Spec) -> Checked {
    let (policy, roles) = (&spec.policy, &spec.roles);
    let (by_model, by_planner) = (policy.write == Write::Model, policy.write == Write::Planner);
    let no_words = "a plan in JSON has no final words; expected `planner = \"tool_calls\"` or \"react_text\"";
    let words_come_last = "the planner's final words come after its calls; expected `horizon = \"next\"`";
    refuse_if(
        "policy.write",
        &[
            (by_planner && policy.planner == Planner::Json, no_words),
            (by_planner && policy.horizon == Horizon::Whole, words_come_last),
        ],
    )?;
    let judged = policy.validate != Validate::Off && policy.validate_at == ValidateAt::Results;
    let judged_too_late = "what was collected is judged on the way to WRITE, and the planner's own words come in \
         PLAN; expected \"answer\"";
    refuse_if("policy.validate_at", &[(by_planner && judged, judged_too_late)])?;
    refuse_if(
        "roles.writer",
        &[
            (by_model && roles.writer.is_none(), "needed under `write = \"model\"`"),
            (!by_model && roles.writer.is_some(), "never asked: `write` is not \"model\""),
        ],
    )?;
    let (classifies, converses) = (policy.asks(Intake::Intent), roles.conversation.is_some());
    let needs_no_plan = if by_planner { classifies } else { policy.can_skip_plan() };
    // What needs no plan must be answered by some role.
    let at_once =
        classifies && (policy.intent.form == IntentForm::Query || !policy.intent.answer_at_once.is_empty());
    let empty = policy.planner == Planner::Json && policy.plan.min_steps == 0;
    let unanswered = !by_model && !converses;
    let needed = |why: &str| format!("needed: {why}, and then nobody else would answer");
    refuse_if(
        "roles.conversation",
        &[
            (converses && !needs_no_plan, "never asked: in this policy every answer comes after a plan"),
            (unanswered && at_once, &needed("the intent role may say that no tool is needed")),
            (unanswered && empty, &needed("a plan may be empty")),
        ],
    )
}
