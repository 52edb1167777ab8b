//! The user message of each role: one JSON object with its own key order.

use serde::Serialize;

use super::results::{Remaining, Results, Shown, Situation, parts, remaining, situation};
use super::{ModelRequest, conversation};
use crate::contract::{Decision, Plan, PlanStep, Source};
use crate::machine::{Finding, Phase, State, Task, Turn, known_by};
use crate::spec::{
    CompiledAgent, CompiledSpec, Horizon, Intake, Memory, Planner, RoleName, Suggested, ValidateAt,
};

/// Room for most payloads. Growing into it from nothing takes as long as writing it.
const PAYLOAD_BYTES: usize = 2_048;

const REPAIR_INSTRUCTION: &str = "Your reply did not fit the contract. Reply again, with the error mended.";

/// The keys that a payload may have, in this order. What does not apply is left out.
#[derive(Default, Serialize)]
struct Payload<'a> {
    user_question: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rewritten_query: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    constraints: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    intent: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    intent_confidence: Option<String>,
    /// In a nested run: the question of the run that it works for.
    #[serde(skip_serializing_if = "Option::is_none")]
    on_behalf_of: Option<&'a str>,
    /// In a nested run: the output that it works on.
    #[serde(skip_serializing_if = "Option::is_none")]
    material: Option<&'a str>,
    /// In a nested run: what the steps before it found.
    #[serde(skip_serializing_if = "<[Finding]>::is_empty")]
    findings: &'a [Finding],
    #[serde(skip_serializing_if = "str::is_empty")]
    now: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    history: Option<&'a [Turn]>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    outline: &'a [String],
    /// For an agent that is one role: what it is to do, on what, and with which tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    suggested_calls: Vec<Suggested>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<&'a Plan>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_results: Option<Results<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    past_steps: Option<Results<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completed_teams: Option<Vec<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    situation_summary: Option<Vec<Situation<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remaining_steps: Option<Vec<Remaining<'a>>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    decisions: Vec<&'a Decision>,
    /// The parts of the outline that were read, and those that were not.
    #[serde(skip_serializing_if = "Option::is_none")]
    explored: Option<Vec<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unexplored: Option<Vec<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    round: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rounds_left: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sources: Vec<&'a Source>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<&'a str>,
    /// The plan that was sent back, for planner and re-planner.
    #[serde(skip_serializing_if = "Option::is_none")]
    rejected_plan: Option<&'a Plan>,
    /// The steps of that plan whose failure sent it back.
    #[serde(skip_serializing_if = "Option::is_none")]
    failed_steps: Option<Results<'a>>,
    /// The steps of that plan that had not begun, if those that had are kept.
    #[serde(skip_serializing_if = "<[PlanStep]>::is_empty")]
    dropped_steps: &'a [PlanStep],
    #[serde(skip_serializing_if = "Option::is_none")]
    rejected_answer: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rejected_because: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix_hint: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repair: Option<RepairNote<'a>>,
}

/// What a model is shown of a reply of its own that did not fit.
#[derive(Serialize)]
struct RepairNote<'a> {
    your_reply: &'a str,
    error: String,
    instruction: &'static str,
}

/// Renders what a state asks of `role`. `None` if the agent does not have the role under its own name.
pub(super) fn render(rules: &CompiledSpec, state: &State, role: RoleName) -> Option<ModelRequest> {
    let frame = rules.frame(role)?.clone();
    let mut payload = common(rules, &state.task, role);
    let mut conversation = Vec::new();
    match role {
        RoleName::Scope | RoleName::PreviousContext | RoleName::Intent => {}
        RoleName::Planner | RoleName::Replanner => {
            add_planning(&mut payload, rules, &state.task);
            conversation = conversation::messages(rules, state);
        }
        RoleName::Orchestrator => add_situation(&mut payload, rules, &state.task),
        RoleName::Validator => add_judging(&mut payload, rules, &state.task),
        RoleName::Writer | RoleName::Conversation => add_writing(&mut payload, rules, &state.task),
        RoleName::Agent => return None,
    }
    let repair = repair(&state.phase);
    if conversation::has_conversation(rules, role) {
        let note = |repair| conversation::note(&serde_json::json!({"repair": repair}));
        conversation.extend(repair.as_ref().map(note));
    } else {
        payload.repair = repair;
    }
    Some(ModelRequest { frame, payload: payload.to_json(), conversation })
}

/// Renders the request to the role that does a step: what it is to do, on what, and what is known by then.
pub(super) fn render_step(rules: &CompiledSpec, state: &State, step: u32) -> Option<ModelRequest> {
    let progress = state.task.progress.as_ref()?;
    let planned = progress.plan.steps.get(step as usize)?;
    let CompiledAgent::Role(frame) = rules.agent(&planned.tool)? else { return None };
    let source = progress.schedule.links.inputs.get(step as usize).copied().flatten();
    let mut payload = common(rules, &state.task, RoleName::Agent);
    payload.task = Some(planned.instruction()).filter(|told| !told.is_empty());
    payload.input = source.and_then(|source| progress.output(source)).or(planned.material());
    payload.tool = planned.with.as_deref();
    let known = known_by(rules, &state.task, step);
    if !known.is_empty() {
        payload.tool_results = Some(Results::new(rules, progress, Shown::At(known)));
    }
    Some(ModelRequest { frame: frame.clone(), payload: payload.to_json(), conversation: Vec::new() })
}

impl Payload<'_> {
    fn to_json(&self) -> String {
        let mut text = Vec::with_capacity(PAYLOAD_BYTES);
        serde_json::to_writer(&mut text, self).expect("a payload has text keys only");
        String::from_utf8(text).expect("JSON is UTF-8")
    }
}

/// What every role is shown, as far as it is known.
fn common<'a>(rules: &CompiledSpec, task: &'a Task, role: RoleName) -> Payload<'a> {
    let input = &task.input;
    let intent = task.understanding.intent.as_ref();
    let confidence = intent.and_then(|intent| intent.confidence);
    Payload {
        user_question: &input.question,
        rewritten_query: intent.and_then(|intent| intent.rewritten_query.as_deref()),
        constraints: intent.and_then(|intent| intent.constraints.as_deref()),
        intent: intent.map(|intent| intent.intent.as_str()),
        intent_confidence: confidence.map(|confidence| format!("{}%", confidence.percent())),
        on_behalf_of: input.on_behalf_of.as_deref(),
        material: input.material.as_deref(),
        findings: &input.findings,
        now: &input.now,
        history: history(rules, task, role),
        outline: if role == RoleName::Scope || role.plans() { &input.outline } else { &[] },
        ..Payload::default()
    }
}

/// The earlier turns, for the roles that use them: those that read them to understand the question; the
/// planner, unless one of those has made the question stand alone; the writer, unless the answer was found
/// not to need them.
fn history<'a>(rules: &CompiledSpec, task: &'a Task, role: RoleName) -> Option<&'a [Turn]> {
    let (policy, understanding) = (rules.policy(), &task.understanding);
    let is_used = match role {
        RoleName::PreviousContext | RoleName::Intent => true,
        RoleName::Planner | RoleName::Replanner => {
            let intent = understanding.intent.as_ref();
            let is_rewritten = intent.is_some_and(|intent| intent.rewritten_query.is_some());
            !is_rewritten && !policy.intake.contains(&Intake::PreviousContext)
        }
        RoleName::Writer | RoleName::Conversation => {
            understanding.previous_context.as_ref().is_none_or(|found| found.need_previous_context)
        }
        RoleName::Scope | RoleName::Orchestrator | RoleName::Validator | RoleName::Agent => false,
    };
    let exists = policy.memory == Memory::Thread && !task.input.history.is_empty();
    (is_used && exists).then_some(task.input.history.as_slice())
}

fn add_planning<'a>(payload: &mut Payload<'a>, rules: &'a CompiledSpec, task: &'a Task) {
    let policy = rules.policy();
    if task.draft == 1 && !policy.suggestions.is_empty() {
        payload.suggested_calls = rules.suggested(task.query());
    }
    if policy.horizon == Horizon::Next && policy.planner != Planner::Json {
        return;
    }
    let kept = task.progress.as_ref().filter(|_| policy.keeps_steps());
    if let Some(progress) = kept.filter(|_| policy.planner == Planner::Json) {
        payload.past_steps = Some(Results::new(rules, progress, Shown::Named));
        (payload.explored, payload.unexplored) = parts(task);
    }
    let Some(feedback) = &task.feedback else { return };
    let past = task.artifacts.past.last().filter(|_| kept.is_none());
    payload.rejected_plan = past.map(|past| &*past.plan);
    if feedback.step_failed {
        payload.failed_steps = past.or(kept).map(|progress| Results::new(rules, progress, Shown::Failed));
    }
    payload.dropped_steps = &feedback.dropped;
    payload.rejected_answer = feedback.answer.as_deref();
    payload.rejected_because = Some(&feedback.reason);
    payload.fix_hint = Some(feedback.fix_hint.trim()).filter(|hint| !hint.is_empty());
}

fn add_situation<'a>(payload: &mut Payload<'a>, rules: &'a CompiledSpec, task: &'a Task) {
    let Some(progress) = &task.progress else { return };
    let situation = situation(rules, progress);
    let completed = situation.iter().filter(|step| step.status == "completed");
    payload.completed_teams = Some(completed.map(|step| step.agent).collect());
    payload.situation_summary = Some(situation);
    payload.remaining_steps = Some(remaining(progress));
    payload.decisions = task.decisions.iter().map(|decided| &decided.decision).collect();
}

/// The results, and the plan if it is a whole one.
fn add_results<'a>(payload: &mut Payload<'a>, rules: &'a CompiledSpec, task: &'a Task) {
    let Some(progress) = &task.progress else { return };
    if rules.policy().horizon == Horizon::Whole {
        payload.plan = Some(&progress.plan);
    }
    payload.tool_results = Some(Results::new(rules, progress, Shown::All));
}

fn add_judging<'a>(payload: &mut Payload<'a>, rules: &'a CompiledSpec, task: &'a Task) {
    add_results(payload, rules, task);
    (payload.explored, payload.unexplored) = parts(task);
    if let Some(most) = rules.spec().limits.max_iterations {
        payload.round = Some(task.draft);
        payload.rounds_left = Some(most.saturating_sub(task.draft));
    }
    if rules.policy().validate_at == ValidateAt::Answer {
        payload.answer = task.artifacts.final_answer.as_deref();
    }
}

fn add_writing<'a>(payload: &mut Payload<'a>, rules: &'a CompiledSpec, task: &'a Task) {
    add_results(payload, rules, task);
    let runs = task.progress.iter().flat_map(|progress| &progress.steps);
    let mut known = std::collections::BTreeSet::new();
    payload.sources = runs.flat_map(|run| run.sources()).filter(|source| known.insert(*source)).collect();
}

fn repair(phase: &Phase) -> Option<RepairNote<'_>> {
    let repair = phase.asking()?.repair.as_ref()?;
    let (your_reply, error) = (repair.reply.as_str(), repair.error.to_string());
    Some(RepairNote { your_reply, error, instruction: REPAIR_INSTRUCTION })
}
