//! Views: what people ask of a run, derived from its state. Nothing here is kept anywhere.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

use super::phase::{ExecuteStage, Phase, PlanStage};
use super::step_run::StepRun;
use super::steps::Progress;
use super::task::{Draft, State, Task};
use crate::contract::{PlanStep, Source};
use crate::machine::vocabulary::EffectId;
use crate::spec::{CompiledSpec, Execution};

/// The plan as a to-do list, with where the run is in it.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanView<'a> {
    pub steps: Vec<StepRecord<'a>>,
    /// The first step that is not finished, from 0; as many as there are steps if all are.
    pub current_step: usize,
    /// `waiting_human`, `completed`, `failed`, or `running` before it is one of them.
    pub status: &'static str,
}

impl State {
    /// The current plan, and where the run is in it.
    #[doc(hidden)]
    pub fn plan(&self) -> PlanView<'_> {
        let runs = self.task.progress.iter().flat_map(|progress| &progress.steps);
        PlanView {
            steps: self.current_steps().collect(),
            current_step: runs.take_while(|run| run.is_finished()).count(),
            status: match self.phase {
                Phase::Done => "completed",
                Phase::Error => "failed",
                _ if self.waits_for_person() => "waiting_human",
                _ => "running",
            },
        }
    }

    /// Whether the run, or one nested in it, waits for a person.
    pub fn waits_for_person(&self) -> bool {
        match self.phase {
            Phase::Plan(PlanStage::AwaitingApproval)
            | Phase::Execute(
                ExecuteStage::AwaitingHuman { .. }
                | ExecuteStage::AwaitingCallApproval { .. }
                | ExecuteStage::AwaitingPick { .. },
            ) => true,
            _ => self.task.nested.values().any(State::waits_for_person),
        }
    }

    /// Every step of every plan of the run, oldest first.
    pub fn steps(&self) -> impl Iterator<Item = StepRecord<'_>> {
        let plans = self.task.artifacts.past.iter().enumerate();
        plans.flat_map(|(plan, past)| StepRecord::of(plan, past, &[])).chain(self.current_steps())
    }

    /// The steps of the current plan.
    pub fn current_steps(&self) -> impl Iterator<Item = StepRecord<'_>> {
        let plan = self.task.artifacts.past.len();
        let records = move |progress| StepRecord::of(plan, progress, &self.task.drafts);
        self.task.progress.iter().flat_map(records)
    }

    /// The runs of the agents that are at steps of the plan now, with the step of each.
    #[doc(hidden)]
    pub fn nested_runs(&self) -> impl Iterator<Item = (u32, &State)> {
        self.task.nested.iter().map(|(step, run)| (*step, run))
    }

    /// The run that an effect belongs to: this one, or one that is nested in its steps now.
    #[doc(hidden)]
    pub fn run_of(&self, effect: EffectId) -> Option<&State> {
        effect.path.places().try_fold(self, |run, place| run.task.nested.get(&place.step))
    }
}

/// One step of a plan of the run, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepRecord<'a> {
    /// Which of the run's plans it is in, from 0.
    pub plan: usize,
    /// The draft that planned it, from 1: a step that is kept stays that of its own draft.
    pub draft: u32,
    /// Its position in that plan, from 0.
    pub step_index: usize,
    /// What was planned.
    pub step: &'a PlanStep,
    /// How far it is: `pending`, `running`, `waiting_human`, `completed`, `failed` or `skipped`.
    pub status: &'static str,
    /// What came of it.
    pub output: Option<&'a str>,
    /// What came of it as data, if a tool gave any.
    #[serde(skip)]
    pub data: Option<&'a Value>,
    #[doc(hidden)]
    #[serde(skip)]
    pub sources: &'a [Source],
    /// How often it was tried, a try under way included.
    #[doc(hidden)]
    #[serde(skip)]
    pub tries: u32,
    /// The position of the step of its plan that it repeats, where it was left out for that.
    #[doc(hidden)]
    #[serde(skip)]
    pub same_as: Option<u32>,
    /// The kind of its failure, if it failed.
    #[doc(hidden)]
    #[serde(skip)]
    pub failure: Option<&'a str>,
}

impl<'a> StepRecord<'a> {
    /// The steps of a plan; of the current one with all drafts of the run, of which some may have added to it.
    fn of(plan: usize, progress: &'a Progress, drafts: &'a [Draft]) -> impl Iterator<Item = Self> {
        let later = drafts.get(progress.draft as usize..).unwrap_or_default();
        progress.slots().map(move |(step_index, step, run)| {
            let (status, output) = (run.status(), run.output());
            let added = later.iter().take_while(|draft| draft.first_step as usize <= step_index).count();
            let draft = progress.draft + added as u32;
            let (data, sources, tries) = (run.data(), run.sources(), run.attempts());
            let same_as = if let StepRun::Skipped { same_as } = run { *same_as } else { None };
            let failure = if let StepRun::Failed { failure, .. } = run { Some(&*failure.kind) } else { None };
            StepRecord {
                plan,
                draft,
                step_index,
                step,
                status,
                output,
                data,
                sources,
                tries,
                same_as,
                failure,
            }
        })
    }
}

/// The steps whose results a step may be shown. One by one, all before it. Side by side, what else has
/// finished by now is chance: those of earlier drafts, and those that it waits for, directly or not.
pub(crate) fn known_by(compiled: &CompiledSpec, task: &Task, step: u32) -> Vec<u32> {
    let Some(progress) = &task.progress else { return Vec::new() };
    let finished = |at: &u32| progress.steps.get(*at as usize).is_some_and(StepRun::is_finished);
    if compiled.policy().execution == Execution::Sequential {
        return (0..step).filter(finished).collect();
    }
    let first = task.first_step() as u32;
    let mut known: BTreeSet<u32> = (0..first.min(step)).collect();
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
pub(crate) fn explored(task: &Task) -> (Vec<&str>, Vec<&str>) {
    let sources = task.sources();
    let read = |part: &&str| sources.iter().any(|source| source.part.as_deref() == Some(*part));
    task.input.outline.iter().map(String::as_str).partition(read)
}
