//! Which steps of a plan wait for which: names are resolved to positions, once.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use super::{PlanStep, references};
use crate::contract::{ContractError, excerpt};

/// Which steps of a plan wait for which, by position. The lists are empty if no step refers to another;
/// else they hold one entry per step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Links {
    /// For each step, the earlier steps it waits for, ascending.
    pub needs: Vec<Vec<u32>>,
    /// For each step, the later steps that wait for it, ascending.
    pub dependents: Vec<Vec<u32>>,
    /// For each step, the earlier step whose output is its input.
    pub inputs: Vec<Option<u32>>,
    /// For a step with references in its input, the earlier steps that these name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub references: BTreeMap<u32, BTreeMap<String, u32>>,
}

impl Links {
    /// Adds the links of steps that follow `base` steps of which these are the links.
    pub fn append(&mut self, base: usize, more: Links) {
        if self.needs.is_empty() && more.needs.is_empty() {
            return;
        }
        self.needs.resize(base, Vec::new());
        self.dependents.resize(base, Vec::new());
        self.inputs.resize(base, None);
        self.needs.extend(more.needs);
        self.dependents.extend(more.dependents);
        self.inputs.extend(more.inputs);
        self.references.extend(more.references);
    }
}

/// The steps that stand before a plan and are kept.
#[derive(Clone, Copy)]
pub struct Before<'a> {
    /// The steps, from the first.
    pub steps: &'a [PlanStep],
    /// Whether the step at a position has an output, so that it may be referred to.
    pub done: &'a dyn Fn(usize) -> bool,
}

impl Before<'_> {
    /// No step stands before.
    pub const NOTHING: Before<'static> = Before { steps: &[], done: &|_| false };
}

/// Resolves ids and references to positions, for these steps alone, counted with those before. `refs`: whether a value
/// of an input may be a reference.
pub(super) fn link(
    before: Before<'_>,
    steps: &[PlanStep],
    max_depth: u32,
    refs: bool,
) -> Result<Links, ContractError> {
    if !refs && !steps.iter().any(|step| step.refers() || step.id.is_some()) {
        return Ok(Links::default());
    }
    let base = before.steps.len();
    let mut positions: HashMap<String, usize> = HashMap::with_capacity(base + steps.len());
    for (at, step) in before.steps.iter().enumerate().filter(|(at, _)| (before.done)(*at)) {
        positions.insert(step.name(at), at);
    }
    for (at, step) in steps.iter().enumerate() {
        let name = step.name(base + at);
        if let Some(first) = positions.get(&name) {
            let problem = format!("the id {name:?} is taken by step {}", first + 1);
            return Err(ContractError::at(format!("$.steps[{at}].id"), problem));
        }
        positions.insert(name, base + at);
    }
    if !refs && !steps.iter().any(PlanStep::refers) {
        return Ok(Links::default());
    }
    let mut links = Links {
        needs: vec![Vec::new(); steps.len()],
        dependents: vec![Vec::new(); steps.len()],
        inputs: vec![None; steps.len()],
        references: BTreeMap::new(),
    };
    let mut depths = vec![1_u32; steps.len()];
    for (at, step) in steps.iter().enumerate() {
        let here = base + at;
        let fail =
            |field: &str, problem: String| Err(ContractError::at(format!("$.steps[{at}].{field}"), problem));
        let resolve = |field: &str, name: &str| match positions.get(name) {
            None => fail(field, format!("no step has the id {:?}", excerpt(name, 60))),
            Some(&needed) if needed < here => Ok(needed as u32),
            Some(&needed) if needed == here => fail(field, "a step cannot wait for itself".to_owned()),
            Some(_) => fail(field, format!("{name:?} is a later step; expected an earlier one")),
        };
        let needs = &mut links.needs[at];
        for (nth, name) in step.depends_on.iter().enumerate() {
            needs.push(resolve(&format!("depends_on[{nth}]"), name)?);
        }
        if let Some(name) = &step.input_from {
            links.inputs[at] = Some(resolve("input_from", name)?);
            needs.extend(links.inputs[at]);
        }
        if let Some(input) = step.input.as_ref().filter(|_| refs && !step.is_final() && !step.is_hitl()) {
            let mut named = BTreeMap::new();
            let inside = |error: ContractError| error.under(&format!("$.steps[{at}].input"));
            for from in references::find(input).map_err(inside)? {
                named.insert(from.to_owned(), resolve("input", from)?);
            }
            needs.extend(named.values());
            if !named.is_empty() {
                links.references.insert(here as u32, named);
            }
        }
        needs.sort_unstable();
        needs.dedup();
        // A step of an earlier draft is done already: nothing waits for it.
        for needed in needs.iter().filter_map(|&needed| (needed as usize).checked_sub(base)) {
            links.dependents[needed].push(here as u32);
            depths[at] = depths[at].max(depths[needed] + 1);
        }
        if depths[at] > max_depth {
            let row = format!("{} steps wait for one another in a row", depths[at]);
            fail("depends_on", format!("{row}; expected at most {max_depth}"))?;
        }
    }
    Ok(links)
}
