//! Granted: what the question calls for, told before anything was read. A later call stands for a granted one if it
//! names the same targets; it is made with the input that was granted, its references worked out here over what was
//! read. So no model that has read anything chooses an argument: only whether a call is made, and when.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::step_run::StepRun;
use super::steps::{Progress, Schedule};
use crate::contract::{ArgumentRole, Links, Plan, PlanContract, ToolContract, ToolEffect, is_expression};

/// The writes that a question calls for, with the reads that they refer to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Granted {
    /// The steps. One that was made around this run, or in the run of an agent, is completed.
    pub(crate) progress: Progress,
    /// Where the agent stands that made a step: its draft and position.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) found: BTreeMap<u32, (u32, u32)>,
    /// For steps of the plan at hand, by position: the granted step that they stand for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) bound: BTreeMap<u32, u32>,
    /// Whether the run is shown nothing that was read: it cannot name what only reading tells, so any value does there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) unseen: bool,
}

impl Granted {
    /// What a question calls for, with what was read of it.
    pub(super) fn shown(progress: Progress) -> Self {
        Granted { progress, found: BTreeMap::new(), bound: BTreeMap::new(), unseen: false }
    }

    /// What a question calls for, of which nothing is made.
    pub(crate) fn new(plan: Arc<Plan>, links: Links) -> Self {
        let steps = vec![StepRun::Pending; plan.steps.len()];
        let schedule = Schedule { links, ..Schedule::default() };
        let progress = Progress { draft: 0, plan, steps, schedule };
        Granted::shown(progress)
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

/// Whether two inputs of a tool act on the same, or are the same for one that only reads. A value at a place that the
/// contract does not know is a target. With `unseen` the first is as it was planned, and any value does for an
/// expression in it.
pub(super) fn share_targets(
    tool: &ToolContract,
    place: &str,
    (one, unseen): (&Value, bool),
    other: &Value,
) -> bool {
    if unseen && is_expression(one) {
        return true;
    }
    let (Some(fields), Some(others)) = (one.as_object(), other.as_object()) else {
        let decides = tool.effect != ToolEffect::Write || tool.role_at(place) == ArgumentRole::Target;
        return one == other || !decides;
    };
    let null = Value::Null;
    let mut names = fields.keys().chain(others.keys());
    names.all(|name| {
        let [one, other] = [fields, others].map(|fields| fields.get(name).unwrap_or(&null));
        let name = name.replace('~', "~0").replace('/', "~1");
        share_targets(tool, &format!("{place}/{name}"), (one, unseen), other)
    })
}
