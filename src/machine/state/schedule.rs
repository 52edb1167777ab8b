//! Schedule: which steps may start, and what follows for others when one is finished. Counted, never
//! searched, so a step costs the same in a plan of ten thousand as in a plan of ten.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::step_run::{REFUSED_CALL, StepFailure, StepRun};
use super::steps::{Progress, Schedule};
use crate::contract::{ContractError, Links, Plan, PlanStep, canonical};
use crate::spec::{CompiledSpec, Duplicates};

impl Progress {
    /// A plan of which nothing has run. Its steps are still to be lined up.
    #[inline]
    pub(crate) fn of(draft: u32, plan: Arc<Plan>, links: Links) -> Self {
        let steps = vec![StepRun::Pending; plan.steps.len()];
        Progress { draft, plan, steps, schedule: Schedule { links, ..Schedule::default() } }
    }

    /// Adds the steps of a later draft. What is there stays as it is.
    pub(crate) fn extend(&mut self, more: &[PlanStep], links: Links, compiled: &CompiledSpec) {
        let base = self.steps.len();
        Arc::make_mut(&mut self.plan).steps.extend_from_slice(more);
        self.steps.resize(base + more.len(), StepRun::Pending);
        self.schedule.links.append(base, links);
        self.line_up(base, compiled);
    }

    /// Forgets the steps that have not begun, and hands them over. One with a step behind it that has
    /// begun keeps its place, left out, so that no step changes its position.
    pub(crate) fn drop_pending(&mut self) -> Vec<PlanStep> {
        let kept = self.begun();
        let pending = self.slots().filter(|(_, _, run)| **run == StepRun::Pending);
        let dropped = pending.map(|(_, step, _)| step.clone()).collect();
        self.finish_pending(kept, |_| Some(StepRun::Skipped { same_as: None }));
        self.schedule.ready.clear();
        if kept == self.steps.len() {
            return dropped;
        }
        Arc::make_mut(&mut self.plan).steps.truncate(kept);
        self.steps.truncate(kept);
        let Schedule { links, twins, missing, people, filled, chosen, approved, .. } = &mut self.schedule;
        approved.clear();
        filled.retain(|step, _| (*step as usize) < kept);
        chosen.retain(|step, _| (*step as usize) < kept);
        links.needs.truncate(kept);
        links.dependents.truncate(kept);
        links.dependents.iter_mut().for_each(|dependents| dependents.retain(|step| (*step as usize) < kept));
        links.inputs.truncate(kept);
        links.references.retain(|step, _| (*step as usize) < kept);
        twins.truncate(kept);
        missing.truncate(kept);
        people.retain(|step| (*step as usize) < kept);
        dropped
    }

    /// Records for every step that has not begun that it will not be.
    pub(crate) fn refuse_pending(&mut self, failure: &StepFailure) {
        self.finish_pending(self.steps.len(), |_| Some(StepRun::failed(failure.clone(), 0)));
    }

    /// Records for a call that was read for no step that it is not made, and why.
    pub(crate) fn refuse_call(&mut self, step: usize, error: &ContractError) {
        self.leave_out(step as u32, StepRun::failed(StepFailure::new(REFUSED_CALL, error), 0));
    }

    /// Leaves out every step that has not begun, but for the one that only ends the plan.
    pub(crate) fn skip_pending(&mut self) {
        let left_out = |step: &PlanStep| (!step.is_final()).then_some(StepRun::Skipped { same_as: None });
        self.finish_pending(self.steps.len(), left_out);
    }

    /// Finishes those of the first steps that have not begun and get a result.
    fn finish_pending(&mut self, first: usize, result: impl Fn(&PlanStep) -> Option<StepRun>) {
        for step in 0..first {
            if self.steps[step] == StepRun::Pending
                && let Some(run) = result(&self.plan.steps[step])
            {
                self.leave_out(step as u32, run);
            }
        }
    }

    /// Puts other steps in the place of those that have not begun.
    pub(crate) fn replace_pending(&mut self, steps: &[PlanStep], links: Links, compiled: &CompiledSpec) {
        self.drop_pending();
        self.extend(steps, links, compiled);
    }

    /// Counts what each step from `base` on waits for, and makes ready what waits for nothing.
    pub(crate) fn line_up(&mut self, base: usize, compiled: &CompiledSpec) {
        let (policy, count) = (compiled.policy(), self.steps.len());
        if policy.duplicates == Duplicates::Skip {
            self.find_twins(base, compiled);
        }
        let (hitl, risky) = (policy.approval.steps, policy.approval.risky);
        if hitl || risky {
            let asks = |step: &PlanStep| (hitl && step.is_hitl()) || compiled.needs_approval(&step.tool);
            let asks = (base..count).filter(|&at| asks(&self.plan.steps[at]));
            self.schedule.people.extend(asks.map(|at| at as u32));
        }
        let schedule = &mut self.schedule;
        if schedule.links.needs.is_empty() && schedule.twins.is_empty() {
            schedule.ready.append(base as u32..count as u32);
            return;
        }
        schedule.missing.resize(base, 0);
        let unfinished = |&&need: &&u32| !self.steps.get(need as usize).is_some_and(StepRun::is_finished);
        for step in base..count {
            let needs = schedule.links.needs.get(step).map_or(&[][..], Vec::as_slice);
            let mut missing = needs.iter().filter(unfinished).count() as u32;
            let twin = schedule.twins.get(step).copied().flatten().filter(|twin| unfinished(&twin));
            if let Some(twin) = twin.filter(|twin| !needs.contains(twin)) {
                missing += 1;
                schedule.links.dependents.resize(count.max(schedule.links.dependents.len()), Vec::new());
                schedule.links.dependents[twin as usize].push(step as u32);
            }
            schedule.missing.push(missing);
            if missing == 0 {
                schedule.ready.insert(step as u32);
            }
        }
    }

    /// For each step from `base` on, the nearest earlier one with the same call that has not failed.
    fn find_twins(&mut self, base: usize, compiled: &CompiledSpec) {
        let mut seen: HashMap<String, u32> = HashMap::new();
        let mut twins: Vec<Option<u32>> = std::mem::take(&mut self.schedule.twins);
        twins.resize(base, None);
        for (at, step) in self.plan.steps.iter().enumerate() {
            let stands_for = match self.steps[at] {
                StepRun::Failed { .. } | StepRun::Skipped { same_as: None } => continue,
                // A skipped step stands for the one that it repeats.
                StepRun::Skipped { same_as: Some(same) } => same,
                _ => at as u32,
            };
            let twin = self.call_key(at, step, compiled).and_then(|key| seen.insert(key, stands_for));
            if at >= base {
                twins.push(twin);
            }
        }
        self.schedule.twins = twins;
    }

    /// What makes two steps the same call; none for what is no call.
    fn call_key(&self, at: usize, step: &PlanStep, compiled: &CompiledSpec) -> Option<String> {
        if step.is_final() || step.is_hitl() {
            return None;
        }
        // What an earlier draft found is known; what this one will find is told apart by its step.
        let input = match self.source(at as u32) {
            Some(source) => match self.output(source) {
                Some(output) => canonical(&output.into()),
                None => format!("step {source}"),
            },
            None => step.input.as_ref().map(canonical).unwrap_or_default(),
        };
        // To an agent, what it is told is part of the call; to a tool, its input is all of it.
        let told = if compiled.agent(&step.tool).is_some() { step.instruction() } else { "" };
        Some(format!("{}\u{0}{input}\u{0}{told}", step.tool))
    }

    /// Records what became of a step and makes ready what waited for it alone.
    pub(crate) fn finish(&mut self, step: u32, run: StepRun) {
        let Some(slot) = self.steps.get_mut(step as usize) else { return };
        *slot = run;
        self.schedule.people.remove(&step);
        self.schedule.approved.remove(&step);
        let Some(dependents) = self.schedule.links.dependents.get(step as usize) else { return };
        for &dependent in dependents {
            let Some(missing) = self.schedule.missing.get_mut(dependent as usize) else { continue };
            *missing = missing.saturating_sub(1);
            // One that was left out meanwhile stays left out.
            let waits = self.steps.get(dependent as usize) == Some(&StepRun::Pending);
            if *missing == 0 && waits {
                self.schedule.ready.insert(dependent);
            }
        }
    }

    /// Counts a step that may start as running.
    pub(crate) fn begin(&mut self, step: u32) {
        self.schedule.ready.remove(step);
        self.schedule.running = self.schedule.running.saturating_add(1);
    }

    /// Keeps what a model wrote for the next value that the input of a step leaves open.
    pub(crate) fn fill(&mut self, step: u32, value: Value) {
        self.schedule.filled.entry(step).or_default().push(value);
    }

    /// Records what became of a step that ran.
    pub(crate) fn end(&mut self, step: u32, run: StepRun) {
        self.schedule.running = self.schedule.running.saturating_sub(1);
        self.schedule.alone = false;
        self.finish(step, run);
    }

    /// Records what became of a step that has not begun.
    pub(crate) fn leave_out(&mut self, step: u32, run: StepRun) {
        self.schedule.ready.remove(step);
        self.finish(step, run);
    }

    /// Takes back what people have allowed and has not started: they are asked anew.
    pub(crate) fn void_approvals(&mut self) {
        self.schedule.people.extend(std::mem::take(&mut self.schedule.approved).into_keys());
    }

    /// Puts the input that a person wrote in the place of a step's own.
    pub(crate) fn replace_input(&mut self, step: u32, input: Value) {
        if self.put_input(step, input) {
            self.schedule.chosen.insert(step, vec![(String::new(), None)]);
        }
    }

    /// Puts another input in the place of a step's own, and whether it is another. What was to repeat its call repeats
    /// nothing now.
    pub(super) fn put_input(&mut self, step: u32, input: Value) -> bool {
        let at = step as usize;
        if self.plan.steps.get(at).is_none_or(|planned| planned.input.as_ref() == Some(&input)) {
            return false;
        }
        let planned = &mut Arc::make_mut(&mut self.plan).steps[at];
        (planned.input, planned.input_from) = (Some(input), None);
        if let Some(from) = self.schedule.links.inputs.get_mut(at) {
            *from = None;
        }
        self.schedule.links.references.remove(&step);
        self.schedule.filled.remove(&step);
        self.forget_twin(step);
        true
    }

    /// Has no step repeat this one.
    pub(super) fn forget_twin(&mut self, step: u32) {
        self.schedule.twins.iter_mut().filter(|twin| **twin == Some(step)).for_each(|twin| *twin = None);
    }

    /// Has a step that began wait again until it may start.
    pub(crate) fn put_back(&mut self, step: u32) {
        self.schedule.running = self.schedule.running.saturating_sub(1);
        self.schedule.alone = false;
        if let Some(slot) = self.steps.get_mut(step as usize) {
            *slot = StepRun::Pending;
            self.schedule.ready.insert(step);
        }
    }
}
