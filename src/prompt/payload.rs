//! The user message of each role, as one JSON object with its own key order.

use serde::Serialize;

use super::results::{Results, parts};
use super::situation::{Remaining, Situation};
use super::{ModelRequest, conversation};
use crate::contract::{Decision, Plan, PlanStep, Source};
use crate::machine::{Finding, Phase, State, Task, Turn};
use crate::spec::{CompiledSpec, Horizon, Intake, Memory, Planner, RoleName, Suggested, ValidateAt};

/// The keys a model may find in its payload, in this order; what does not apply is left out.
#[derive(Default, Serialize)]
pub(super) struct Payload<'a> {
    pub user_question: &'a str,
    /// The question made to stand alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rewritten_query: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constraints: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intent: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intent_confidence: Option<String>,
    /// In a nested run: the question of the run that it works for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_behalf_of: Option<&'a str>,
    /// In a nested run: the output that it works on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub material: Option<&'a str>,
    /// In a nested run: what the steps before it found.
    #[serde(skip_serializing_if = "<[Finding]>::is_empty")]
    pub findings: &'a [Finding],
    #[serde(skip_serializing_if = "str::is_empty")]
    pub now: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<&'a [Turn]>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub outline: &'a [String],
    /// For a role that does a step: what it is to do, on what, and with which tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suggested_calls: Vec<Suggested>,
    /// The plan whose results these are, for validator and writer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<&'a Plan>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_results: Option<Results<'a>>,
    /// What was done so far and stays, for a planner that goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub past_steps: Option<Results<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_teams: Option<Vec<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub situation_summary: Option<Vec<Situation<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remaining_steps: Option<Vec<Remaining<'a>>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<&'a Decision>,
    /// The parts of the outline that were read, and those that were not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explored: Option<Vec<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unexplored: Option<Vec<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds_left: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<&'a Source>,
    /// The answer that is judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<&'a str>,
    /// The plan that was sent back, for planner and re-planner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejected_plan: Option<&'a Plan>,
    /// The failed steps of that plan, where they sent it back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_steps: Option<Results<'a>>,
    /// The steps of that plan that had not begun, where what had begun is kept.
    #[serde(skip_serializing_if = "<[PlanStep]>::is_empty")]
    pub dropped_steps: &'a [PlanStep],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejected_answer: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejected_because: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix_hint: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repair: Option<RepairNote<'a>>,
}

/// What a model is shown of a reply of its own that did not fit.
#[derive(Serialize)]
pub(super) struct RepairNote<'a> {
    your_reply: &'a str,
    error: String,
    instruction: &'static str,
}

/// Room for most payloads: growing into it from nothing takes as long as writing it.
const PAYLOAD_BYTES: usize = 2_048;

const REPAIR_INSTRUCTION: &str = "Your reply did not fit the contract. Reply again, with the error mended.";

/// Renders the request that a run's state asks of `role`. Pure.
///
/// ```
/// use planwright::machine::{Input, start};
/// use planwright::{agents, prompt, spec::RoleName};
///
/// let rules = agents::shipped("validated").unwrap().check()?;
/// let step = start(&rules, Input::question("12/4+9?"));
/// let request = prompt::render(&rules, &step.state, RoleName::Planner).expect("every agent has a planner");
/// assert_eq!(request.payload, r#"{"user_question":"12/4+9?"}"#);
/// # Ok::<(), planwright::spec::SpecError>(())
/// ```
///
/// Returns `None` where the agent does not have the role under its own name.
pub fn render(rules: &CompiledSpec, state: &State, role: RoleName) -> Option<ModelRequest> {
    let frame = rules.frame(role)?.clone();
    let mut payload = common(rules, &state.task, role);
    let mut said = Vec::new();
    match role {
        RoleName::Scope | RoleName::PreviousContext | RoleName::Intent => {}
        RoleName::Planner | RoleName::Replanner => {
            planning(&mut payload, rules, &state.task);
            said = conversation::of(rules, state);
        }
        RoleName::Orchestrator => orchestrating(&mut payload, rules, &state.task),
        RoleName::Validator => judging(&mut payload, rules, &state.task),
        RoleName::Writer | RoleName::Conversation => writing(&mut payload, rules, &state.task),
        RoleName::Agent => return None,
    }
    let repair = repair(&state.phase);
    if conversation::carries(rules, role) {
        said.extend(repair.as_ref().map(|repair| conversation::note(&serde_json::json!({"repair": repair}))));
    } else {
        payload.repair = repair;
    }
    Some(ModelRequest { frame, payload: written(&payload), conversation: said })
}

/// The payload as it is sent.
pub(super) fn written(payload: &Payload<'_>) -> String {
    let mut text = Vec::with_capacity(PAYLOAD_BYTES);
    serde_json::to_writer(&mut text, payload).expect("a payload has text keys only");
    String::from_utf8(text).expect("JSON is UTF-8")
}

/// What every role is shown, as far as it is known.
pub(super) fn common<'a>(rules: &CompiledSpec, task: &'a Task, role: RoleName) -> Payload<'a> {
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

/// The earlier turns, for the roles that use them: those that read them to understand the question;
/// the planner, unless one of those has made the question stand alone; the writer, unless it was
/// found that the answer does not need them.
fn history<'a>(rules: &CompiledSpec, task: &'a Task, role: RoleName) -> Option<&'a [Turn]> {
    let policy = rules.policy();
    let understanding = &task.understanding;
    let used = match role {
        RoleName::PreviousContext | RoleName::Intent => true,
        RoleName::Planner | RoleName::Replanner => {
            let rewritten =
                understanding.intent.as_ref().is_some_and(|intent| intent.rewritten_query.is_some());
            !rewritten && !policy.intake.contains(&Intake::PreviousContext)
        }
        RoleName::Writer | RoleName::Conversation => {
            understanding.previous_context.as_ref().is_none_or(|said| said.need_previous_context)
        }
        RoleName::Scope | RoleName::Orchestrator | RoleName::Validator | RoleName::Agent => false,
    };
    let there = policy.memory == Memory::Thread && !task.input.history.is_empty();
    (used && there).then_some(task.input.history.as_slice())
}

fn planning<'a>(payload: &mut Payload<'a>, rules: &'a CompiledSpec, task: &'a Task) {
    let policy = rules.policy();
    if task.draft == 1 && !policy.suggestions.is_empty() {
        payload.suggested_calls = rules.suggested(task.query());
    }
    let goes_on = policy.horizon == Horizon::Next && policy.planner != Planner::Json;
    if goes_on {
        return;
    }
    let kept = task.progress.as_ref().filter(|_| policy.keeps_steps());
    if let Some(progress) = kept.filter(|_| policy.planner == Planner::Json) {
        payload.past_steps = Some(Results::named(rules, progress));
        (payload.explored, payload.unexplored) = parts(task);
    }
    let Some(feedback) = &task.feedback else { return };
    let past = task.artifacts.past.last().filter(|_| kept.is_none());
    payload.rejected_plan = past.map(|past| &*past.plan);
    if feedback.step_failed {
        payload.failed_steps = past.or(kept).map(|progress| Results::failed(rules, progress));
    }
    payload.dropped_steps = &feedback.dropped;
    payload.rejected_answer = feedback.answer.as_deref();
    payload.rejected_because = Some(&feedback.reason);
    payload.fix_hint = Some(feedback.fix_hint.trim()).filter(|hint| !hint.is_empty());
}

fn orchestrating<'a>(payload: &mut Payload<'a>, rules: &'a CompiledSpec, task: &'a Task) {
    let Some(progress) = &task.progress else { return };
    let situation = Situation::of(rules, progress);
    payload.completed_teams = Some(Situation::completed(&situation));
    payload.situation_summary = Some(situation);
    payload.remaining_steps = Some(Remaining::of(progress));
    payload.decisions = task.decisions.iter().map(|decided| &decided.decision).collect();
}

/// The plan where it is whole; its steps and their results in any case.
fn done<'a>(payload: &mut Payload<'a>, rules: &'a CompiledSpec, task: &'a Task) {
    let Some(progress) = &task.progress else { return };
    if rules.policy().horizon == Horizon::Whole {
        payload.plan = Some(&progress.plan);
    }
    payload.tool_results = Some(Results::all(rules, progress));
}

fn judging<'a>(payload: &mut Payload<'a>, rules: &'a CompiledSpec, task: &'a Task) {
    done(payload, rules, task);
    (payload.explored, payload.unexplored) = parts(task);
    if let Some(most) = rules.spec().limits.max_iterations {
        payload.round = Some(task.draft);
        payload.rounds_left = Some(most.saturating_sub(task.draft));
    }
    if rules.policy().validate_at == ValidateAt::Answer {
        payload.answer = task.artifacts.final_answer.as_deref();
    }
}

fn writing<'a>(payload: &mut Payload<'a>, rules: &'a CompiledSpec, task: &'a Task) {
    done(payload, rules, task);
    let runs = task.progress.iter().flat_map(|progress| &progress.steps);
    let mut known = std::collections::BTreeSet::new();
    let sources = runs.flat_map(|run| run.sources()).filter(|source| known.insert(*source));
    payload.sources = sources.collect();
}

fn repair(phase: &Phase) -> Option<RepairNote<'_>> {
    let repair = phase.asking()?.repair.as_ref()?;
    Some(RepairNote {
        your_reply: &repair.reply,
        error: repair.error.to_string(),
        instruction: REPAIR_INSTRUCTION,
    })
}
