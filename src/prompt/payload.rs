//! The user message of each role: one JSON object whose keys stand in the order in which they are added.
//!
//! What stays the same stands first, so that a server that caches beginnings can take up a request where an earlier
//! one parts from it: what holds for a whole thread, what was done so far, the question, and last what one role
//! alone is told. So a turn's request begins like that of the turn before, and a writer's like its validator's.

use std::sync::Arc;

use serde_json::{Value, json};

use super::ModelRequest;
use super::conversation::{self, output, parts};
use super::object::Payload;
use super::planning::PAST_STEPS;
use super::repeats::Shown;
use crate::contract::{Decision, Plan, PlanStep, Trust, first_chars};
use crate::machine::{
    EffectId, EffectKind, MOST_COUNTED, Path, Phase, Progress, State, StepRun, Task, Turn, known_by,
};
use crate::spec::{CompiledSpec, Horizon, Intake, Memory, Planner, RequestFrame, RoleName, ValidateAt};

/// How much of an output an orchestrator is shown, in characters.
const BEGINNING_CHARS: usize = 600;
const REPAIR_INSTRUCTION: &str = "Your reply did not fit the contract. Reply again, with the error mended.";

/// Renders what a state asks of the role of a frame. `None` for one that does a step.
pub(super) fn render(
    compiled: &CompiledSpec,
    state: &State,
    id: EffectId,
    frame: &Arc<RequestFrame>,
    work: &mut Work,
) -> Option<ModelRequest> {
    let (role, task) = (frame.role, &state.task);
    let mut payload = work.begin();
    if let EffectKind::Fill { step, .. } = id.kind {
        payload.add_hole(task, step)?;
        payload.add_some("repair", repair(&state.phase));
        let (frame, payload) = (Arc::clone(frame), payload.into_text());
        return Some(ModelRequest { frame, payload, conversation: Vec::new(), trace: None });
    }
    payload.add_thread(compiled, task, role);
    let mut conversation = Vec::new();
    match role {
        RoleName::Planner | RoleName::Replanner => payload.add_past(compiled, task),
        RoleName::Validator | RoleName::Writer | RoleName::Conversation => {
            payload.add_all(work.write(compiled, task, id));
        }
        _ => {}
    }
    match role {
        // How a question was understood may rest on earlier answers.
        RoleName::Grant => payload.add_words(task),
        _ => payload.add_question(task),
    }
    match role {
        RoleName::Scope | RoleName::PreviousContext | RoleName::Intent | RoleName::Grant => {}
        RoleName::Planner | RoleName::Replanner => {
            payload.add_planning(compiled, task);
            conversation = conversation::messages(compiled, state, id.path, &mut work.rounds);
        }
        RoleName::Orchestrator => payload.add_situation(compiled, task),
        RoleName::Validator => payload.add_judging(compiled, task),
        RoleName::Writer | RoleName::Conversation => payload.add_list("sources", &task.sources()),
        RoleName::Executor | RoleName::Agent => return None,
    }
    if let Some(repair) = repair(&state.phase) {
        if role.plans() && compiled.policy().planner != Planner::Json {
            conversation.push(conversation::note(&json!({"repair": repair})));
        } else {
            payload.add("repair", repair);
        }
    }
    Some(ModelRequest { frame: Arc::clone(frame), payload: payload.into_text(), conversation, trace: None })
}

/// Renders the request to the role that does a step: what it is to do, on what, and what is known by then.
pub(super) fn render_step(
    compiled: &CompiledSpec,
    state: &State,
    step: u32,
    frame: &Arc<RequestFrame>,
    work: &mut Work,
) -> Option<ModelRequest> {
    let progress = state.task.progress.as_ref()?;
    let planned = state.task.planned(step)?;
    let input = progress.source(step).and_then(|source| progress.output(source));
    let mut payload = work.begin();
    payload.add_thread(compiled, &state.task, RoleName::Agent);
    let known = known_by(compiled, &state.task, step);
    if !known.is_empty() {
        let is_known = |at: usize, _: &PlanStep, _: &StepRun| known.binary_search(&(at as u32)).is_ok();
        payload.add_results("tool_results", compiled, progress, is_known);
    }
    payload.add_question(&state.task);
    payload.add_text("task", planned.instruction());
    payload.add_some("input", input.or(planned.material()));
    payload.add_some("tool", planned.with.as_deref());
    let (frame, payload) = (Arc::clone(frame), payload.into_text());
    Some(ModelRequest { frame, payload, conversation: Vec::new(), trace: None })
}

/// What a run keeps between its requests: what the roles behind EXECUTE are shown of a draft, which does not change
/// between them, so it is written once; the rounds of a conversation; and the room of a payload that was sent.
#[derive(Default)]
pub struct Work {
    /// The run and the draft.
    of: Option<(Path, u32)>,
    text: Payload,
    rounds: conversation::Rounds,
    room: Payload,
}

impl Work {
    /// Begins a payload in the room of the last.
    fn begin(&mut self) -> Payload {
        let mut payload = std::mem::take(&mut self.room);
        payload.begin_anew();
        payload
    }

    /// Takes the room of a payload that was sent.
    pub(crate) fn take_room(&mut self, payload: String) {
        self.room = Payload(payload.into_bytes());
    }

    fn write(&mut self, compiled: &CompiledSpec, task: &Task, id: EffectId) -> &Payload {
        let of = Some((id.path, task.draft));
        if self.of != of {
            self.of = of;
            self.text.begin_anew();
            self.text.add_work(compiled, task);
        }
        &self.text
    }
}

impl Payload {
    /// What holds for a whole thread and grows at its end, and what a nested run is given.
    fn add_thread(&mut self, compiled: &CompiledSpec, task: &Task, role: RoleName) {
        let input = &task.input;
        if matches!(role, RoleName::Scope | RoleName::Grant) || role.plans() {
            self.add_list("outline", &input.outline);
        }
        let turns = history(compiled, task, role);
        if !turns.is_empty() {
            self.add_records("history", turns.into_iter(), |record, turn| {
                record.add("role", turn.role);
                record.add_str("content", &turn.content);
            });
        }
        // A nested run is shown whom it works for, the output it works on and what was found before it.
        self.add_some("on_behalf_of", input.on_behalf_of.as_ref());
        self.add_some("material", input.material.as_ref());
        self.add_list("findings", &input.findings);
    }

    /// What a value is filled in from: the question as it was asked, the step as it was planned, and the view that the
    /// plan gives. Nothing else that was read is in it.
    fn add_hole(&mut self, task: &Task, step: u32) -> Option<()> {
        let (hole, view) = task.progress.as_ref()?.open_hole(step)?;
        self.add_str("user_question", &task.input.question);
        self.add_text("now", &task.input.now);
        self.begin_value("step");
        self.0.push(b'{');
        self.add_call(task.planned(step)?);
        self.0.push(b'}');
        self.add_str("wanted", hole.wanted);
        self.add("type", hole.schema);
        self.add_records("view", view.into_iter(), |record, (from, value)| {
            record.add_str("from", &from);
            record.add_value("value", Some(&value));
        });
        Some(())
    }

    /// The question as it was asked, and the time.
    fn add_words(&mut self, task: &Task) {
        self.add_str("user_question", &task.input.question);
        self.add_text("now", &task.input.now);
    }

    /// The question as it was asked, how it was understood, and the time.
    fn add_question(&mut self, task: &Task) {
        self.add_str("user_question", &task.input.question);
        if let Some(intent) = &task.understanding.intent {
            self.add_some("rewritten_query", intent.rewritten_query.as_ref());
            self.add_some("constraints", intent.constraints.as_ref());
            self.add("intent", &intent.intent);
            let confidence = intent.confidence.map(|confidence| format!("{}%", confidence.percent()));
            self.add_some("intent_confidence", confidence);
        }
        self.add_text("now", &task.input.now);
    }

    /// What the agents have done, for an orchestrator, and what they are still to do.
    fn add_situation(&mut self, compiled: &CompiledSpec, task: &Task) {
        let Some(progress) = &task.progress else { return };
        let closed = task.is_closed(compiled.policy());
        let is_agent = |planned: &PlanStep| compiled.plan().agent(&planned.tool).is_some();
        let by_agents = || progress.slots().filter(|(_, planned, _)| is_agent(planned));
        let is_completed = |run: &StepRun| matches!(run, StepRun::Completed { .. });
        let completed = by_agents().filter(|(_, _, run)| is_completed(run));
        // A step that was left out has no output.
        let finished = by_agents().filter_map(|(_, planned, run)| Some((planned, run, run.output()?)));
        self.add_records("situation_summary", finished, |record, (planned, run, output)| {
            let results = if is_completed(run) { count_results(output, run.sources().len()) } else { 0 };
            record.add("agent", &planned.tool);
            record.add("status", run.status());
            if closed {
                return record.add("results", results.min(MOST_COUNTED));
            }
            record.add("results", results);
            record.add_text("output_begins", first_chars(output, BEGINNING_CHARS));
        });
        let decisions = || task.decisions.iter().map(|decided| &decided.decision);
        if closed {
            let decided =
                |decision: &Decision| json!({"action": decision.action, "next_agent": decision.next_agent});
            self.add_list("decisions", &decisions().map(decided).collect::<Vec<_>>());
        } else {
            self.add_list("decisions", &decisions().collect::<Vec<_>>());
        }
        self.add("completed_teams", completed.map(|(_, planned, _)| &planned.tool).collect::<Vec<_>>());
        let remaining =
            progress.slots().filter(|(_, planned, run)| **run == StepRun::Pending && !planned.is_final());
        self.add_records("remaining_steps", remaining, |record, (_, planned, _)| {
            record.add("agent", &planned.tool);
            record.add_some("task", planned.task.as_ref());
            record.add_some("description", planned.description.as_ref());
        });
    }

    /// What the run has done: of a whole plan the goal and the steps without a result, then the steps with theirs.
    fn add_work(&mut self, compiled: &CompiledSpec, task: &Task) {
        let Some(progress) = &task.progress else { return };
        let has_result =
            |planned: &PlanStep, run: &StepRun| !planned.is_final() && output(progress, run).is_some();
        if compiled.policy().horizon == Horizon::Whole {
            let Plan { goal, reasoning, strategy, .. } = &*progress.plan;
            self.begin_value("plan");
            self.0.push(b'{');
            self.add_some("goal", goal.as_ref());
            self.add_some("reasoning", reasoning.as_ref());
            self.add_some("strategy", strategy.as_ref());
            let others = progress.slots().filter(|(_, planned, run)| !has_result(planned, run));
            self.begin_value("steps");
            self.0.push(b'[');
            others.for_each(|(_, planned, _)| self.add_item(planned));
            self.0.extend(b"]}");
        }
        self.add_results("tool_results", compiled, progress, |_, planned, run| has_result(planned, run));
    }

    fn add_judging(&mut self, compiled: &CompiledSpec, task: &Task) {
        self.add_parts(task);
        if let Some(most) = compiled.spec().limits.max_iterations {
            self.add("round", task.draft);
            self.add("rounds_left", most.saturating_sub(task.draft));
        }
        if compiled.policy().validate_at == ValidateAt::Answer {
            self.add_some("answer", task.artifacts.final_answer.as_ref());
        }
    }

    /// The parts of the outline that were read, and those that were not.
    pub(super) fn add_parts(&mut self, task: &Task) {
        if let Some((explored, unexplored)) = parts(task) {
            self.add("explored", explored);
            self.add("unexplored", unexplored);
        }
    }

    pub(super) fn add_results(
        &mut self,
        key: &str,
        compiled: &CompiledSpec,
        progress: &Progress,
        is_shown: impl Fn(usize, &PlanStep, &StepRun) -> bool,
    ) {
        let results = progress.slots().filter(|(at, step, run)| is_shown(*at, step, run));
        let mut shown = Shown::default();
        let results = results.filter_map(|(at, step, run)| {
            let output = shown.add(output(progress, run)?, || step.name(at));
            Some((at, step, run, output))
        });
        self.add_records(key, results, |record, (at, step, run, output)| {
            record.add("step_index", at);
            record.add_some("id", (key == PAST_STEPS || step.id.is_some()).then(|| step.name(at)));
            record.add_call(step);
            record.add_str("status", run.status());
            let tool = compiled.tool(&step.tool);
            record.add_some(
                "trust",
                tool.map(|tool| match run.failure_kind() {
                    Some(_) if tool.failure_taints() => Trust::Untrusted,
                    _ => tool.trust,
                }),
            );
            record.add_str("output", &output);
            record.add_list("sources", run.sources());
        });
    }
}

/// The earlier turns, for the roles that use them: those that read them to understand the question; the
/// planner, unless one of those has made the question stand alone; the writer, unless the answer was found
/// not to need them. An answer for which untrusted output was read is kept from what a plan rests on.
fn history<'a>(compiled: &CompiledSpec, task: &'a Task, role: RoleName) -> Vec<&'a Turn> {
    let (policy, understanding) = (compiled.policy(), &task.understanding);
    let is_used = match role {
        RoleName::PreviousContext | RoleName::Intent | RoleName::Grant => true,
        RoleName::Planner | RoleName::Replanner => {
            let intent = understanding.intent.as_ref();
            let is_rewritten = intent.is_some_and(|intent| intent.rewritten_query.is_some());
            !is_rewritten && !policy.intake.contains(&Intake::PreviousContext)
        }
        RoleName::Writer | RoleName::Conversation => {
            understanding.previous_context.as_ref().is_none_or(|found| found.need_previous_context)
        }
        RoleName::Scope
        | RoleName::Orchestrator
        | RoleName::Executor
        | RoleName::Validator
        | RoleName::Agent => false,
    };
    let answers = match role {
        RoleName::Writer | RoleName::Conversation => true,
        RoleName::Grant => false,
        _ => !policy.closes_planning(),
    };
    let is_shown = |turn: &&Turn| answers || turn.is_trusted();
    let turns = task.input.history.iter().filter(|_| is_used && policy.memory == Memory::Thread);
    turns.filter(is_shown).collect()
}

/// What a model is shown of a reply of its own that did not fit.
fn repair(phase: &Phase) -> Option<Value> {
    let repair = phase.asking()?.repair.as_ref()?;
    let error = repair.error.to_string();
    Some(json!({"your_reply": repair.reply, "error": error, "instruction": REPAIR_INSTRUCTION}))
}

/// How many results a text holds: the entries of a JSON list, on its own or under one of the usual names;
/// else the points of a list in words; else the number of its sources; else one, unless it is empty.
fn count_results(output: &str, sources: usize) -> usize {
    let text = output.trim();
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        let names = ["results", "items", "insights", "documents", "passages"];
        let list = value.as_array().or_else(|| names.iter().find_map(|name| value.get(name)?.as_array()));
        if let Some(list) = list {
            return list.len();
        }
    }
    match (text.lines().filter(|line| is_point(line.trim_start())).count(), sources) {
        (0, 0) => usize::from(!text.is_empty()),
        (0, sources) => sources,
        (points, _) => points,
    }
}

fn is_point(line: &str) -> bool {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = rest.len() < line.len() && (rest.starts_with(". ") || rest.starts_with(") "));
    is_numbered || ["- ", "* ", "• ", "· "].iter().any(|mark| line.starts_with(mark))
}
