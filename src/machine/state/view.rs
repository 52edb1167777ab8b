//! Views: what people ask of a run, derived from its state. Nothing here is kept anywhere.

use serde::Serialize;

use super::phase::{ExecuteStage, Phase, PlanStage};
use super::run_state::State;
use super::steps::{Progress, StepRun};
use super::task::Task;
use crate::contract::{PlanStep, Source, Verdict};
use crate::machine::vocabulary::{PhaseName, TraceLine};
use crate::spec::{CompiledSpec, Execution};

/// The plan as a to-do list, with where the run is in it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanView {
    /// The steps, in plan order.
    pub plan: Vec<StepView>,
    /// The first step that is not finished, from 0; as many as there are steps where all are.
    pub current_step: usize,
    /// Whether a plan is being made.
    pub is_planning: bool,
    /// Whether its steps are being carried out.
    pub is_executing: bool,
    /// Whether a person is being asked.
    pub is_waiting_human: bool,
    /// `waiting_human`, `completed`, `failed`, or `running` before it is one of them.
    pub status: &'static str,
}

/// One step of the list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepView {
    /// What was planned.
    #[serde(flatten)]
    pub step: PlanStep,
    /// How far it is.
    pub status: &'static str,
    /// What came of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// How it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What a person said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hitl_response: Option<String>,
}

impl PlanView {
    /// The view of a run.
    pub fn of(state: &State) -> Self {
        let progress = state.task.progress.as_ref();
        let plan: Vec<StepView> = progress.map(steps).unwrap_or_default();
        let finished = |progress: &Progress| progress.steps.iter().position(|run| !run.is_finished());
        let current_step = progress.and_then(finished).unwrap_or(plan.len());
        let phase = state.phase.name();
        let is_waiting_human = waits_for_a_person(state);
        let status = match phase {
            PhaseName::Done => "completed",
            PhaseName::Error => "failed",
            _ if is_waiting_human => "waiting_human",
            _ => "running",
        };
        PlanView {
            plan,
            current_step,
            is_planning: phase == PhaseName::Plan && !is_waiting_human,
            is_executing: phase == PhaseName::Execute && !is_waiting_human,
            is_waiting_human,
            status,
        }
    }
}

fn steps(progress: &Progress) -> Vec<StepView> {
    let view = |(step, run): (&PlanStep, &StepRun)| {
        let output = run.output().map(str::to_owned);
        let failed = matches!(run, StepRun::Failed { .. });
        let (error, result) = if failed { (output, None) } else { (None, output) };
        let (hitl_response, result) = if step.is_hitl() { (result, None) } else { (None, result) };
        StepView { step: step.clone(), status: run.status(), result, error, hitl_response }
    };
    progress.plan.steps.iter().zip(&progress.steps).map(view).collect()
}

/// What the user is told at the end: the answer, or that the run was stopped and why, in the language
/// of the question as far as that is Korean or English; `None` before the end.
pub fn result(state: &State) -> Option<String> {
    let artifacts = &state.task.artifacts;
    match (state.phase.name(), &artifacts.final_answer, &artifacts.error) {
        (PhaseName::Done, Some(answer), _) => Some(answer.clone()),
        (PhaseName::Error, _, Some(error)) => {
            let stopped = match state.task.input.is_korean() {
                true => "실행이 중단되었습니다",
                false => "The run was stopped",
            };
            Some(format!("{stopped}: {error}"))
        }
        _ => None,
    }
}

/// Whether the run, or one nested in it, waits for a person.
pub fn waits_for_a_person(state: &State) -> bool {
    match state.phase {
        Phase::Plan(PlanStage::AwaitingApproval)
        | Phase::Execute(ExecuteStage::AwaitingHuman { .. } | ExecuteStage::AwaitingCallApproval { .. }) => {
            true
        }
        _ => state.nested.values().any(waits_for_a_person),
    }
}

/// One finished step of any plan of the run: the audit trail.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PastStep<'a> {
    /// The draft whose plan it is in, from 1.
    pub draft: u32,
    /// Its position in that plan, from 0.
    pub step_index: usize,
    /// What was planned.
    pub step: &'a PlanStep,
    /// How it ended.
    pub status: &'static str,
    /// What came of it.
    pub output: &'a str,
}

/// Everything that was done, over all plans, oldest first.
pub fn past_steps(task: &Task) -> Vec<PastStep<'_>> {
    let plans = task.artifacts.past.iter().chain(&task.progress);
    let steps = plans.flat_map(|progress| {
        let steps = progress.plan.steps.iter().zip(&progress.steps).enumerate();
        steps.filter_map(|(step_index, (step, run))| {
            let draft = progress.draft;
            Some(PastStep { draft, step_index, step, status: run.status(), output: run.output()? })
        })
    });
    steps.collect()
}

/// What was collected for the answer: the outputs of the steps that count, each once.
pub fn collected_info(task: &Task) -> Vec<&str> {
    let runs = task.progress.iter().flat_map(|progress| &progress.steps);
    let outputs = runs.filter_map(|run| match run {
        StepRun::Completed { output, .. } => Some(output.as_str()),
        _ => None,
    });
    let mut known = std::collections::BTreeSet::new();
    outputs.filter(|output| known.insert(*output)).collect()
}

/// What the validator said, draft by draft.
pub fn decision_log(task: &Task) -> Vec<&Verdict> {
    let verdicts = task.trace.iter().filter_map(|line| match line {
        TraceLine::Validate { verdict, .. } => verdict.as_ref(),
        _ => None,
    });
    verdicts.collect()
}

/// The steps whose results a step may be shown. One by one, all before it. Side by side, what else has
/// finished by now is chance: those of earlier drafts, and those that it waits for, directly or not.
pub fn known_by(rules: &CompiledSpec, task: &Task, step: u32) -> Vec<u32> {
    let Some(progress) = &task.progress else { return Vec::new() };
    let finished = |at: &u32| progress.steps.get(*at as usize).is_some_and(StepRun::is_finished);
    if rules.policy().execution == Execution::Sequential {
        return (0..step).filter(finished).collect();
    }
    let first = task.first_step() as u32;
    let mut known: std::collections::BTreeSet<u32> = (0..first.min(step)).collect();
    let needs = |at: u32| progress.schedule.links.needs.get(at as usize).into_iter().flatten().copied();
    let mut open: Vec<u32> = needs(step).collect();
    while let Some(at) = open.pop() {
        if known.insert(at) {
            open.extend(needs(at));
        }
    }
    known.into_iter().filter(finished).collect()
}

/// The parts of the run's outline that its results come from, and those that none comes from.
pub fn explored(task: &Task) -> (Vec<&str>, Vec<&str>) {
    let runs = task.progress.iter().flat_map(|progress| &progress.steps);
    let sources: Vec<&Source> = runs.flat_map(|run| run.sources()).collect();
    let read = |part: &&str| sources.iter().any(|source| source.part.as_deref() == Some(*part));
    task.input.outline.iter().map(String::as_str).partition(read)
}
