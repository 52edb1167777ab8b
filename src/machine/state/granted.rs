//! Granted: what the question calls for, told before anything was read. A later call stands for a granted one if it
//! names the same targets; it is made with the input that was granted, its references worked out here over what was
//! read. So no model that has read anything chooses an argument: only whether a call is made, and when.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::authority::Authority;
use super::steps::{Progress, Schedule, StepRun};
use super::task::Task;
use super::view::known_by;
use crate::contract::{ArgumentRole, Links, Plan, PlanContract, ToolContract, ToolEffect};
use crate::machine::vocabulary::GrantedBy;
use crate::spec::CompiledSpec;

/// The writes that a question calls for, with the reads that they refer to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Granted {
    /// The steps. One that was made around this run, or in the run of an agent, is completed.
    pub(crate) progress: Progress,
    /// Where the agent stands that made a step: its draft and position.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    found: BTreeMap<u32, (u32, u32)>,
    /// For steps of the plan at hand, by position: the granted step that they stand for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) bound: BTreeMap<u32, u32>,
}

impl Granted {
    /// What a question calls for, of which nothing is made.
    pub(crate) fn new(plan: Arc<Plan>, links: Links) -> Self {
        let steps = vec![StepRun::Pending; plan.steps.len()];
        let schedule = Schedule { links, ..Schedule::default() };
        let progress = Progress { draft: 0, plan, steps, schedule };
        Granted { progress, found: BTreeMap::new(), bound: BTreeMap::new() }
    }

    pub(super) fn is_possible(&self) -> bool {
        let within = |at: &u32| (*at as usize) < self.progress.steps.len();
        self.progress.is_possible() && self.found.keys().chain(self.bound.values()).all(within)
    }

    /// The granted step that a step of the plan at hand stands for.
    pub(crate) fn of_step(&self, step: u32) -> Option<u32> {
        self.bound.get(&step).copied()
    }

    /// Takes over what the run of an agent has made of it. Of two that made the same the earlier counts, so it does
    /// not matter which of them ends first.
    pub(super) fn keep_found(&mut self, inner: Progress, place: (u32, u32)) {
        for (at, run) in (0..).zip(inner.steps) {
            let Some(slot) = self.progress.steps.get_mut(at as usize) else { return };
            let is_known =
                *slot != StepRun::Pending && self.found.get(&at).is_none_or(|known| *known <= place);
            if !is_known && run != StepRun::Pending {
                *slot = run;
                self.found.insert(at, place);
            }
        }
    }
}

/// The input of a granted step, if all that it refers to was read and looks as it should.
pub(crate) fn granted_input(contract: &PlanContract, granted: &Progress, at: usize) -> Option<Value> {
    let planned = granted.plan.steps.get(at)?;
    let input = match &planned.input {
        Some(input) => granted.resolve(at as u32, input, &|name| contract.tool(name)).ok()?,
        None => granted.input(at as u32)?,
    };
    contract.check_value(&planned.tool, &input).ok()?;
    Some(input.into_owned())
}

/// Whether two inputs of a tool act on the same. A value at a place that the contract does not know is a target.
fn share_targets(tool: &ToolContract, place: &str, one: &Value, other: &Value) -> bool {
    let (Some(fields), Some(others)) = (one.as_object(), other.as_object()) else {
        return one == other || tool.role_at(place) != ArgumentRole::Target;
    };
    let null = Value::Null;
    let mut names = fields.keys().chain(others.keys());
    names.all(|name| {
        let [one, other] = [fields, others].map(|fields| fields.get(name).unwrap_or(&null));
        let name = name.replace('~', "~0").replace('/', "~1");
        share_targets(tool, &format!("{place}/{name}"), one, other)
    })
}

impl Task {
    /// What the question calls for with what was read of it so far, as far as a step may be shown that; all of it
    /// without a step.
    pub(crate) fn granted_by_now(&self, compiled: &CompiledSpec, step: Option<u32>) -> Option<Progress> {
        let (contract, granted) = (compiled.grants()?, self.authority.granted()?);
        let mut view = granted.progress.clone();
        let count = self.progress.as_ref().map_or(0, |progress| progress.steps.len() as u32);
        let known = step.map_or_else(|| (0..count).collect(), |step| known_by(compiled, self, step));
        for (at, (draft, of)) in &granted.found {
            if *draft == self.draft && !known.contains(of) {
                view.steps[*at as usize] = StepRun::Pending;
            }
        }
        let Some(progress) = &self.progress else { return Some(view) };
        // A step refers to earlier ones only, so one pass will do.
        for at in 0..view.steps.len() {
            if view.steps[at] != StepRun::Pending {
                continue;
            }
            let Some(wanted) = granted_input(contract, &view, at) else { continue };
            let made = |of: &&u32| {
                let planned = progress.plan.steps.get(**of as usize);
                planned.is_some_and(|planned| planned.tool == view.plan.steps[at].tool)
                    && matches!(progress.steps.get(**of as usize), Some(StepRun::Completed { .. }))
                    && progress.input(**of).is_some_and(|input| *input == wanted)
            };
            if let Some(of) = known.iter().find(made) {
                view.steps[at] = progress.steps[*of as usize].clone();
            }
        }
        Some(view)
    }

    /// Has a step that nothing else allows stand for a granted one, and gives it the input that was granted: for a
    /// write that is left with the same targets, or for a read with the same input.
    pub(crate) fn bind_granted(&mut self, compiled: &CompiledSpec, step: u32) {
        if self.authority.granted().is_none() {
            return;
        }
        if let Some((of, input)) = self.find_granted(compiled, step)
            && let Some(progress) = self.progress.as_mut()
        {
            progress.replace_input(step, input);
            self.authority.bind(step, of);
        }
    }

    fn find_granted(&self, compiled: &CompiledSpec, step: u32) -> Option<(u32, Value)> {
        let own = self.call_template(step)?;
        let tool = compiled.called_tool(&self.planned(step)?.tool)?;
        let other = |by: &GrantedBy| !matches!(by, GrantedBy::Question { .. });
        let is_bound = self.authority.granted()?.of_step(step).is_some();
        if is_bound || self.authority.find(&own).is_some_and(other) {
            return None;
        }
        let called = self.progress.as_ref()?.input(step)?.into_owned();
        let (contract, view) = (compiled.grants()?, self.granted_by_now(compiled, Some(step))?);
        let writes = tool.effect == ToolEffect::Write;
        let named = (0..view.steps.len()).filter(|at| view.plan.steps[*at].tool == tool.name);
        let fitting = named.filter_map(|at| {
            let (input, template) = (granted_input(contract, &view, at)?, view.template(at as u32)?);
            let is_left = !writes || self.authority.find(&template).is_some();
            let fits = input == called || (writes && share_targets(tool, "", &input, &called));
            (is_left && fits).then_some((at as u32, input))
        });
        let fitting: Vec<_> = fitting.collect();
        let exact = fitting.iter().position(|(_, input)| *input == called);
        fitting.into_iter().nth(exact.unwrap_or(0))
    }

    /// The input that the call of a step must have that stands for a granted one; nothing inside if what it refers to
    /// was not read.
    pub(crate) fn granted_call(&self, compiled: &CompiledSpec, step: u32) -> Option<Option<Value>> {
        let of = self.authority.granted()?.of_step(step)?;
        let read = compiled.grants().zip(self.granted_by_now(compiled, Some(step)));
        Some(read.and_then(|(contract, view)| granted_input(contract, &view, of as usize)))
    }

    /// What the call of a step is known by: the granted one that it stands for, else itself.
    pub(crate) fn call_template(&self, step: u32) -> Option<String> {
        let granted = self.authority.granted();
        match granted.and_then(|granted| Some((granted, granted.of_step(step)?))) {
            Some((granted, of)) => granted.progress.template(of),
            None => self.progress.as_ref()?.template(step),
        }
    }

    /// The authority that the run of an agent begins with. An agent that may write runs beside nothing and is handed
    /// all that the question has left; any other is shown it.
    pub(crate) fn hand_down(&mut self, compiled: &CompiledSpec, step: u32) -> Authority {
        let Some(progress) = self.granted_by_now(compiled, Some(step)) else { return Authority::default() };
        let writes = self.planned(step).and_then(|planned| compiled.tool(&planned.tool));
        let writes = writes.is_some_and(|agent| agent.effect == ToolEffect::Write);
        let granted = Granted { progress, found: BTreeMap::new(), bound: BTreeMap::new() };
        self.authority.hand_down(granted, writes)
    }

    /// Takes back what the run of an agent has left of the question's authority, and what it has read.
    pub(crate) fn take_back(&mut self, inner: Authority, read: Option<Progress>, place: (u32, u32)) {
        self.authority.take_back(inner, read, place);
    }
}
