//! The checks of a spec: what contradicts, and what is out of range.
//!
//! Each refusal names the field and says why; one that is about two fields names both. A limit that
//! nothing reads is refused if it was set: if it is neither its default nor zero.

mod refuse;
mod roles;

use std::collections::BTreeMap;

use self::refuse::{Checked, MAX_TRIES, NOTHING_REPLANS, ZERO, refuse, refuse_first};
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
    refuse_first(&[(spec.name.trim().is_empty(), "name", "expected a name, found nothing")])?;
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
    refuse_first(&[
        (plan.max_steps < plan.min_steps, "policy.plan.max_steps", "expected at least `min_steps`"),
        (plan.max_steps == 0, "policy.plan.max_steps", ZERO),
        (plan.max_steps > MAX_PLAN_STEPS, "policy.plan.max_steps", "expected at most 100,000"),
        (plan.max_depth == Some(0), "policy.plan.max_depth", ZERO),
        (
            plan.final_step == FinalStep::Required && plan.min_steps == 0,
            "policy.plan.min_steps",
            "a plan that ends in `final_answer` has at least 1 step, found 0",
        ),
        (
            plan.final_step == FinalStep::None && no_tools && no_agents && json,
            "tools",
            "a plan without `final_answer` needs a tool or an agent; expected at least one",
        ),
    ])?;
    if let Some(field) = plan.required.iter().find(|field| !plan.fields.contains(field)) {
        let problem = format!("`{}` is required, and `plan.fields` does not offer it", field.as_str());
        return refuse("policy.plan.required", problem);
    }
    let asks = plan.fields.contains(&StepField::HitlQuestion) && !approval.steps;
    let offered = "`hitl_question` is offered, and `approval`";
    refuse_first(&[
        (
            !json && !plan.fields.is_empty(),
            "policy.plan.fields",
            "never read: only a plan in JSON has step fields",
        ),
        (asks && approval.is_never(), "policy.plan.fields", &format!("{offered} is \"never\"")),
        (asks, "policy.plan.fields", &format!("{offered} does not name \"steps\"")),
        (
            plan.fields.contains(&StepField::With) && (!no_tools || no_agents),
            "policy.plan.fields",
            "`with` is for plans that name agents and no tools of their own",
        ),
    ])
}

/// Who drafts the plan, and how far ahead.
fn check_planner(spec: &Spec) -> Checked {
    let policy = &spec.policy;
    let (json, next) = (policy.planner == Planner::Json, policy.horizon == Horizon::Next);
    let ends = policy.plan.final_step == FinalStep::Required;
    let iterations = spec.limits.max_iterations.is_some();
    refuse_first(&[
        (
            next && !iterations,
            "limits.max_iterations",
            "needed under `horizon = \"next\"`: else a run need not end",
        ),
        (!next && iterations, "limits.max_iterations", "never read: `horizon` is \"whole\""),
        (
            ends && next,
            "policy.plan.final_step",
            "`horizon` is \"next\": no plan is the last; expected \"none\"",
        ),
        (
            ends && !json,
            "policy.plan.final_step",
            "only a plan in JSON can end in `final_answer`; expected \"none\"",
        ),
        (
            policy.planner == Planner::ReactText && !next,
            "policy.horizon",
            "`planner = \"react_text\"` gives one action at a time; expected \"next\"",
        ),
        (
            next && json && policy.plan.min_steps > 0,
            "policy.plan.min_steps",
            "under `horizon = \"next\"` a plan without steps ends the rounds; expected 0",
        ),
        (
            next && policy.on_step_failure == OnStepFailure::Replan,
            "policy.on_step_failure",
            "under `horizon = \"next\"` the planner is asked again in any case; expected \"record\" or \"abort\"",
        ),
    ])
}

/// How the steps of a plan run.
fn check_steps(spec: &Spec) -> Checked {
    let (policy, tries) = (&spec.policy, spec.policy.step_tries);
    let (width, orchestrated) = (policy.execution.width(), policy.orchestrate == Orchestrate::EachStep);
    refuse_first(&[
        (width == 0, "policy.execution.width", ZERO),
        (width > MAX_WIDTH, "policy.execution.width", "expected at most 256"),
        (
            tries.tries == 0 || tries.tries > MAX_TRIES,
            "policy.step_tries.tries",
            &format!("expected 1 to {MAX_TRIES}, found {}", tries.tries),
        ),
        (
            tries.wait_ms > MAX_WAIT_MS,
            "policy.step_tries.wait_ms",
            &format!("expected at most {MAX_WAIT_MS}"),
        ),
        (
            orchestrated && policy.execution != Execution::Sequential,
            "policy.orchestrate",
            "decides between one step and the next; expected `execution = { mode = \"sequential\" }`",
        ),
        (
            orchestrated && spec.agents.is_empty(),
            "policy.orchestrate",
            "has no agent to add; expected at least one of `agents`",
        ),
    ])
}

/// The calls that must come before an answer, and whether a run can make so many.
fn check_required_calls(spec: &Spec) -> Checked {
    let mut least: BTreeMap<&str, u32> = BTreeMap::new();
    for (at, required) in spec.policy.required_calls.iter().enumerate() {
        let (tool, per_line) = (required.tool.as_str(), required.per_line.as_deref());
        let known = spec.tools.iter().any(|known| known.name == tool)
            || spec.agents.iter().any(|known| known.name == tool);
        let field = format!("policy.required_calls[{at}]");
        let of_lines = format!("{field}.per_line");
        refuse_first(&[
            (!known, &field, &format!("there is no tool {tool:?}")),
            (
                required.least == 0 && per_line.is_none(),
                &field,
                "expected `least` or `per_line`, found neither",
            ),
            (
                per_line.is_some_and(|line| line.trim().is_empty()),
                &of_lines,
                "expected how a line begins, found nothing",
            ),
            (
                per_line.is_some() && spec.policy.write != Write::Planner,
                &of_lines,
                "the lines counted are the planner's; expected `write = \"planner\"`",
            ),
        ])?;
        let calls = least.entry(tool).or_default();
        *calls = required.least.max(*calls);
    }
    let of_tools = spec.tools.iter().filter_map(|tool| least.get(tool.name.as_str()).copied());
    let of_tools = of_tools.fold(0, u32::saturating_add);
    let all = least.values().copied().fold(0, u32::saturating_add);
    let most_tools = spec.limits.max_tool_calls.unwrap_or(u32::MAX);
    let (most, why) = most_calls(spec);
    refuse_first(&[
        (
            of_tools > most_tools,
            "policy.required_calls",
            &format!(
                "{of_tools} tool calls must come before an answer, and `limits.max_tool_calls` allows {most_tools}"
            ),
        ),
        (
            all > most,
            "policy.required_calls",
            &format!("{all} calls must come before an answer, and {why} allows {most}"),
        ),
    ])
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
    refuse_first(&[
        (seconds == Some(0), "limits.answer_seconds", ZERO),
        (never && policy.on_rejection != OnRejection::default(), "policy.on_rejection", unread),
        (never && policy.on_expiry != OnExpiry::default(), "policy.on_expiry", unread),
        (never && seconds.is_some(), "limits.answer_seconds", unread),
    ])
}

/// What sends a run back to PLAN, and what follows when it may not go back any more.
fn check_replans(spec: &Spec) -> Checked {
    let policy = &spec.policy;
    let (next, whole) = (policy.horizon == Horizon::Next, policy.horizon == Horizon::Whole);
    let never_replans = !policy.can_replan();
    let writes = policy.on_exhausted == OnExhausted::Write;
    let replanner = spec.roles.replanner.is_some();
    let keeps = policy.on_replan == OnReplan::Keep && whole;
    refuse_first(&[
        (
            writes && policy.write == Write::Planner,
            "policy.on_exhausted",
            "with `write = \"planner\"` there is nobody to write once the planner may not be asked",
        ),
        (
            writes && whole && never_replans,
            "policy.on_exhausted",
            &format!("\"write\" has nothing to follow: {NOTHING_REPLANS}"),
        ),
        (replanner && next, "roles.replanner", "never asked: under `horizon = \"next\"` the planner goes on"),
        (replanner && never_replans, "roles.replanner", &format!("never asked: {NOTHING_REPLANS}")),
        (keeps && never_replans, "policy.on_replan", &format!("\"keep\" keeps nothing: {NOTHING_REPLANS}")),
        (
            keeps && policy.plan.final_step == FinalStep::Required,
            "policy.on_replan",
            "\"keep\" would keep the `final_answer` of the old plan; expected `plan.final_step = \"none\"`",
        ),
        (
            policy.validate_at == ValidateAt::Answer && policy.validate == Validate::Off,
            "policy.validate_at",
            "nothing is judged: `validate` is \"off\"",
        ),
    ])
}

/// Where the answer comes from.
fn check_write(spec: &Spec) -> Checked {
    let (policy, roles) = (&spec.policy, &spec.roles);
    let (by_model, by_planner) = (policy.write == Write::Model, policy.write == Write::Planner);
    let classifies = policy.asks(Intake::Intent);
    let converses = if by_planner { classifies } else { policy.can_skip_plan() };
    // What needs no plan must be answered by some role.
    let at_once =
        classifies && (policy.intent.form == IntentForm::Query || !policy.intent.answer_at_once.is_empty());
    let empty = policy.planner == Planner::Json && policy.plan.min_steps == 0;
    let unanswered = !by_model && roles.conversation.is_none();
    let needed = |why: &str| format!("needed: {why}, and then nobody else would answer");
    refuse_first(&[
        (
            by_planner && policy.planner == Planner::Json,
            "policy.write",
            "a plan in JSON has no final words; expected `planner = \"tool_calls\"` or \"react_text\"",
        ),
        (
            by_planner && policy.horizon == Horizon::Whole,
            "policy.write",
            "the planner's final words come after its calls; expected `horizon = \"next\"`",
        ),
        (
            by_planner && policy.validate != Validate::Off && policy.validate_at == ValidateAt::Results,
            "policy.validate_at",
            "what was collected is judged on the way to WRITE, and the planner's own words come in PLAN; expected \
             \"answer\"",
        ),
        (by_model && roles.writer.is_none(), "roles.writer", "needed under `write = \"model\"`"),
        (!by_model && roles.writer.is_some(), "roles.writer", "never asked: `write` is not \"model\""),
        (
            roles.conversation.is_some() && !converses,
            "roles.conversation",
            "never asked: in this policy every answer comes after a plan",
        ),
        (
            unanswered && at_once,
            "roles.conversation",
            &needed("the intent role may say that no tool is needed"),
        ),
        (unanswered && empty, "roles.conversation", &needed("a plan may be empty")),
    ])
}
