//! The steps of a plan being carried out, and which of them may start.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::step_run::{StepOutput, StepRun};
use crate::contract::{
    Hole, Links, Plan, PlanStep, Returned, Source, ToolContract, Unresolved, resolve_input,
};
use crate::machine::vocabulary::EffectId;

/// A plan being carried out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// The draft whose plan this is, from 1; the first of them where finished steps are kept.
    pub(crate) draft: u32,
    /// Frozen, unless a later draft, an orchestrator or a person adds to it.
    pub(crate) plan: Arc<Plan>,
    /// One slot for each step, in plan order.
    pub(crate) steps: Vec<StepRun>,
    pub(crate) schedule: Schedule,
}

impl Progress {
    /// The steps with how far they are, after their positions.
    pub(crate) fn slots(
        &self,
    ) -> impl DoubleEndedIterator<Item = (usize, &PlanStep, &StepRun)> + ExactSizeIterator {
        self.plan.steps.iter().zip(&self.steps).enumerate().map(|(at, (planned, run))| (at, planned, run))
    }

    /// The first of the steps that a step waits for that failed, if one did. A step that `tells` of others, and does not
    /// work on their output, is not kept from it by one that was left out.
    pub(crate) fn failed_need(&self, step: usize, tells: bool) -> Option<u32> {
        let needs = self.schedule.links.needs.get(step)?;
        let source = self.source(step as u32);
        let told = |need: u32, run: &StepRun| {
            tells && source != Some(need) && (run.is_left_out() || run.is_ambiguous())
        };
        let stops = |need: &u32| {
            self.steps.get(*need as usize).is_some_and(|run| run.has_failed() && !told(*need, run))
        };
        needs.iter().copied().find(stops)
    }

    /// The step whose output is the input of this one.
    pub(crate) fn source(&self, step: u32) -> Option<u32> {
        self.schedule.links.inputs.get(step as usize).copied().flatten()
    }

    /// The earlier step that this one repeats.
    pub(crate) fn twin(&self, step: u32) -> Option<u32> {
        self.schedule.twins.get(step as usize).copied().flatten()
    }

    /// The input of a step: the plan's own, or an earlier step's output, if that is there yet.
    pub(crate) fn input(&self, step: u32) -> Option<Cow<'_, Value>> {
        let planned = self.plan.steps.get(step as usize)?;
        match (&planned.input, &planned.input_from) {
            (Some(input), _) => self.resolve(step, input, &|_| None).ok(),
            (None, Some(_)) => Some(Cow::Owned(self.output(self.source(step)?)?.into())),
            (None, None) => None,
        }
    }

    /// An input of a step with what earlier steps returned in the place of its references. `tools` gives contracts by
    /// name: a value that does not look as its tool declares is refused.
    pub(crate) fn resolve<'a>(
        &self,
        step: u32,
        input: &'a Value,
        tools: &dyn Fn(&str) -> Option<&'a ToolContract>,
    ) -> Result<Cow<'a, Value>, Unresolved> {
        if !self.schedule.links.references.contains_key(&step) {
            return Ok(Cow::Borrowed(input));
        }
        let returned = |name: &str| self.returned(step, name, &|tool| tools(tool));
        resolve_input(input, &returned, self.filled(step)).map(Cow::Owned)
    }

    /// What the step returned that the input of another names so.
    fn returned<'a>(
        &'a self,
        step: u32,
        name: &str,
        tools: &dyn Fn(&str) -> Option<&'a ToolContract>,
    ) -> Option<Returned<'a>> {
        let at = *self.schedule.links.references.get(&step)?.get(name)?;
        let (run, planned) = (self.result(at)?, self.plan.steps.get(at as usize)?);
        Some(Returned { text: run.output()?, data: run.data(), tool: tools(&planned.tool) })
    }

    /// What a model has written of the values that the input of a step leaves open.
    pub(crate) fn filled(&self, step: u32) -> &[Value] {
        self.schedule.filled.get(&step).map_or(&[], Vec::as_slice)
    }

    /// The next value that the input of a step leaves to a model, and what that is shown of earlier steps.
    pub(crate) fn open_hole(&self, step: u32) -> Option<(Hole<'_>, Vec<(String, Value)>)> {
        self.schedule.links.references.get(&step)?;
        let mut holes = self.plan.steps.get(step as usize)?.holes();
        let nth = self.filled(step).len();
        let hole = (nth < holes.len()).then(|| holes.swap_remove(nth))?;
        let view = hole.view(&|name| self.returned(step, name, &|_| None)).ok()?;
        Some((hole, view))
    }

    /// What came of a step; of a skipped one, what came of the step it repeats.
    pub(crate) fn result(&self, step: u32) -> Option<&StepRun> {
        match self.steps.get(step as usize)? {
            StepRun::Skipped { same_as: Some(same) } => self.steps.get(*same as usize),
            run => Some(run),
        }
    }

    /// The output of a step; of a skipped one, the output of the step it repeats.
    pub(crate) fn output(&self, step: u32) -> Option<&str> {
        self.result(step)?.output()
    }

    /// Whether a later step may refer to this one.
    pub(crate) fn is_done(&self, step: usize) -> bool {
        let run = self.steps.get(step);
        matches!(run, Some(StepRun::Completed { .. } | StepRun::Skipped { same_as: Some(_) }))
    }

    /// The last of the first `of` steps whose result could be the answer.
    pub(crate) fn last_to_answer_with(&self, of: usize) -> Option<(u32, &StepRun)> {
        let mut slots = self.slots().take(of).rev().filter(|(_, planned, _)| !planned.is_final());
        let found = slots.find(|(_, _, run)| match run {
            StepRun::Skipped { same_as } => same_as.is_some(),
            StepRun::Completed { output, .. } => *output != StepOutput::Edited,
            run => run.has_failed(),
        });
        found.map(|(at, _, run)| (at as u32, run))
    }

    /// Whether lengths and positions fit the steps, and the count is theirs.
    pub(super) fn is_possible(&self) -> bool {
        let (count, schedule, links) = (self.steps.len(), &self.schedule, &self.schedule.links);
        let within = |at: &u32| (*at as usize) < count;
        let before = |(at, source): (usize, &Option<u32>)| source.is_none_or(|source| (source as usize) < at);
        let earlier = |(at, needs): (usize, &Vec<u32>)| needs.iter().all(|need| (*need as usize) < at);
        let pending = |at: &u32| self.steps.get(*at as usize) == Some(&StepRun::Pending);
        let possible = |run: &StepRun| match run {
            StepRun::Running { attempt } | StepRun::Nested { attempt } => *attempt > 0,
            StepRun::Waiting { attempt } => *attempt > 1,
            StepRun::Skipped { same_as } => same_as.is_none_or(|same| within(&same)),
            _ => true,
        };
        let lists = [links.needs.len(), links.dependents.len(), links.inputs.len()];
        self.plan.steps.len() == count
            && lists.into_iter().all(|length| length <= count)
            && schedule.twins.len().max(schedule.missing.len()) <= count
            && links.needs.iter().enumerate().all(earlier)
            && links.inputs.iter().enumerate().all(before)
            && schedule.twins.iter().enumerate().all(before)
            && links.dependents.iter().flatten().all(within)
            && links.references.iter().all(|(step, named)| within(step) && named.values().all(|at| at < step))
            && schedule.ready.0.iter().all(pending)
            && schedule.ready.0.iter().is_sorted_by(|before, after| before < after)
            && schedule.people.iter().all(within)
            && schedule.approved.keys().all(pending)
            && schedule.filled.keys().chain(schedule.chosen.keys()).all(within)
            && self.steps.iter().all(possible)
            && schedule.running as usize == self.steps.iter().filter(|run| run.is_running()).count()
    }

    /// Up to where steps have begun: what stands after is dropped when the rest of the plan is.
    pub(crate) fn begun(&self) -> usize {
        self.steps.iter().rposition(|run| *run != StepRun::Pending).map_or(0, |last| last + 1)
    }
}

/// Writes that have succeeded, by tool and input.
pub type Writes = BTreeMap<String, Written>;

/// A write that has succeeded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Written {
    /// The draft that it was made for; 0 where the run around this one had made it.
    pub(crate) draft: u32,
    /// The step by name.
    pub(crate) name: String,
    pub(crate) output: String,
    pub(crate) sources: Vec<Source>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) data: Option<Box<Value>>,
}

/// Which steps may start: counted, never searched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    pub(crate) links: Links,
    /// For each step, the earlier one that it repeats; empty where the policy does not skip repetitions.
    pub(crate) twins: Vec<Option<u32>>,
    /// For each step, how many of those it waits for are unfinished; empty where none waits.
    pub(crate) missing: Vec<u32>,
    /// Steps that wait for nothing and have not started.
    pub(crate) ready: Ready,
    /// Steps about which a person is still to be asked: no step behind one starts before.
    pub(crate) people: BTreeSet<u32>,
    /// Steps whose calls a person has allowed and that have not started, each with the step whose question that was.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) approved: BTreeMap<u32, u32>,
    /// How many steps run, waiting ones included.
    pub(crate) running: u32,
    pub(crate) alone: bool,
    /// For a step whose input leaves values to a model, those that it has written, in order.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) filled: BTreeMap<u32, Vec<Value>>,
    /// For a step, the places of its input that a person chose, with the question where they picked it; the whole input
    /// if they wrote another.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) chosen: BTreeMap<u32, Vec<(String, Option<EffectId>)>>,
}

/// Positions of steps, lowest first. They come and go at the ends nearly always, which costs a tree more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ready(VecDeque<u32>);

impl Ready {
    pub(crate) fn first(&self) -> Option<u32> {
        self.0.front().copied()
    }

    pub(crate) fn contains(&self, step: u32) -> bool {
        self.0.binary_search(&step).is_ok()
    }

    pub(crate) fn insert(&mut self, step: u32) {
        if let Err(at) = self.0.binary_search(&step) {
            self.0.insert(at, step);
        }
    }

    pub(crate) fn remove(&mut self, step: u32) {
        if self.first() == Some(step) {
            self.0.pop_front();
        } else if let Ok(at) = self.0.binary_search(&step) {
            self.0.remove(at);
        }
    }

    /// Adds positions behind all that are there.
    pub(crate) fn append(&mut self, steps: std::ops::Range<u32>) {
        self.0.extend(steps);
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}
