//! Authority: which writes a run may make without asking. It is a multiset in the state: put there when a plan
//! is frozen before anything untrusted was read, or by a person, and taken from by each write that starts.
//!
//! A write is known by its template: the tool, and its input as it was planned. A reference in it counts as the
//! template of the step that it names, so that another plan cannot give an old name to another step.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::granted::Granted;
use super::steps::Progress;
use crate::contract::{FILL, PlanStep, canonical};
use crate::machine::vocabulary::GrantedBy;

/// The writes that a run may make, and by what those of its plan were made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Authority {
    /// In the order in which they were granted; each is good for one write.
    grants: Vec<Grant>,
    /// By what the steps of the plan at hand were started, by position.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    used: BTreeMap<u32, GrantedBy>,
    /// What the question calls for, if a role was asked: then no plan grants anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    granted: Option<Box<Granted>>,
}

/// The authority for one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Grant {
    template: String,
    by: GrantedBy,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    spent: bool,
}

impl Grant {
    fn is_of_question(&self) -> bool {
        matches!(self.by, GrantedBy::Question { .. })
    }
}

impl Authority {
    pub(crate) fn is_empty(&self) -> bool {
        self.grants.is_empty() && self.used.is_empty() && self.granted.is_none()
    }

    /// Puts the calls of a plan in the place of those that have not started: a plan that takes another's place
    /// takes its authority too.
    pub(crate) fn freeze(&mut self, calls: impl IntoIterator<Item = (String, GrantedBy)>) {
        self.grants.retain(|grant| grant.spent);
        let granted = |(template, by)| Grant { template, by, spent: false };
        self.grants.extend(calls.into_iter().map(granted));
    }

    /// Grants what the question calls for: the steps at these positions.
    pub(crate) fn grant(&mut self, granted: Granted, guarded: &[u32]) {
        let by = |at: u32| GrantedBy::Question {
            step: granted
                .progress
                .plan
                .steps
                .get(at as usize)
                .map(|step| step.name(at as usize))
                .unwrap_or_default(),
        };
        let grant =
            |at: &u32| Some(Grant { template: granted.progress.template(*at)?, by: by(*at), spent: false });
        self.grants.extend(guarded.iter().filter_map(grant));
        self.granted = Some(Box::new(granted));
    }

    /// What the question calls for.
    pub(crate) fn granted(&self) -> Option<&Granted> {
        self.granted.as_deref()
    }

    /// Has a step stand for a granted one.
    pub(super) fn bind(&mut self, step: u32, of: u32) {
        if let Some(granted) = &mut self.granted {
            granted.bound.insert(step, of);
        }
    }

    /// What the run of an agent begins with: what the question has left, or the sight of it.
    pub(super) fn hand_down(&mut self, granted: Granted, writes: bool) -> Authority {
        let (theirs, rest) = std::mem::take(&mut self.grants).into_iter().partition(Grant::is_of_question);
        let mut grants: Vec<Grant> = theirs;
        self.grants = rest;
        if !writes {
            self.grants.extend(grants.iter().cloned());
            grants.iter_mut().for_each(|grant| grant.spent = true);
        }
        Authority { grants, used: BTreeMap::new(), granted: Some(Box::new(granted)) }
    }

    /// Takes back what the run of an agent has left. What it was only shown never left.
    pub(super) fn take_back(&mut self, inner: Authority, read: Option<Progress>, place: (u32, u32)) {
        if !self.grants.iter().any(Grant::is_of_question) {
            self.grants.extend(inner.grants.into_iter().filter(Grant::is_of_question));
        }
        if let Some((granted, read)) = self.granted.as_mut().zip(read) {
            granted.keep_found(read, place);
        }
    }

    /// Whether nothing in it contradicts the rest.
    pub(super) fn is_possible(&self) -> bool {
        self.granted.as_ref().is_none_or(|granted| granted.is_possible())
    }

    /// By what a call may be made.
    pub(crate) fn find(&self, template: &str) -> Option<&GrantedBy> {
        let mut left = self.grants.iter().filter(|grant| !grant.spent);
        left.find(|grant| grant.template == template).map(|grant| &grant.by)
    }

    /// Whether a call was granted, and made as often as that.
    pub(crate) fn is_spent(&self, template: &str) -> bool {
        self.grants.iter().any(|grant| grant.template == template)
    }

    /// Takes the authority for one call.
    pub(crate) fn spend(&mut self, template: &str) {
        let mut left = self.grants.iter_mut().filter(|grant| !grant.spent);
        if let Some(grant) = left.find(|grant| grant.template == template) {
            grant.spent = true;
        }
    }

    /// Knows a call that may still be made by another template.
    pub(super) fn rename(&mut self, from: &str, to: &str) {
        let mut left = self.grants.iter_mut().filter(|grant| !grant.spent);
        if let Some(grant) = left.find(|grant| grant.template == from) {
            grant.template = to.to_owned();
        }
    }

    /// Takes back what people have allowed and was not done.
    pub(crate) fn void_approvals(&mut self) {
        self.grants.retain(|grant| grant.spent || !matches!(grant.by, GrantedBy::Approval(_)));
    }

    /// Notes by what a step was started.
    pub(crate) fn note(&mut self, step: u32, by: GrantedBy) {
        self.used.insert(step, by);
    }

    /// By what a step was started, if it needed authority.
    pub(crate) fn used(&self, step: u32) -> Option<&GrantedBy> {
        self.used.get(&step)
    }

    /// Forgets by what the steps of a plan were started that is gone.
    pub(crate) fn forget_steps(&mut self) {
        self.used.clear();
        self.granted.iter_mut().for_each(|granted| granted.bound.clear());
    }

    /// The templates of the calls that may still be made: those that the question calls for, or the others.
    pub(crate) fn left(&self, of_question: bool) -> impl Iterator<Item = &str> {
        let left =
            self.grants.iter().filter(move |grant| !grant.spent && grant.is_of_question() == of_question);
        left.map(|grant| grant.template.as_str())
    }

    /// The templates of the calls that may still be made, and of those that were.
    pub(crate) fn templates(&self) -> impl Iterator<Item = (&str, bool)> {
        self.grants.iter().map(|grant| (grant.template.as_str(), grant.spent))
    }
}

impl Progress {
    /// The template of a step: what it is known by before anything is read.
    pub(crate) fn template(&self, step: u32) -> Option<String> {
        let mut known: BTreeMap<u32, String> = BTreeMap::new();
        // Earlier steps stand before later ones, so each is written after all that it rests on.
        for at in self.rests_on(step) {
            let template = self.write_template(at, &known, true)?;
            let digest = Sha256::digest(template.as_bytes());
            known.insert(at, digest.iter().map(|byte| format!("{byte:02x}")).collect());
        }
        self.write_template(step, &known, false)
    }

    /// The template of a step that refers to steps of which the digests are known. What an agent or a person is told
    /// decides what they return; a call of a tool is its input alone.
    fn write_template(&self, step: u32, known: &BTreeMap<u32, String>, told: bool) -> Option<String> {
        let named = self.schedule.links.references.get(&step);
        let digest = |name: &str| known.get(named?.get(name)?).cloned();
        let from = self.source(step).and_then(|source| known.get(&source).cloned());
        let planned = self.plan.steps.get(step as usize)?;
        let told = Some(planned).filter(|_| told).map(|planned| match planned.is_hitl() {
            true => json!(planned.question()),
            false if planned.task.is_none() && planned.input.is_some() => Value::Null,
            false => json!([planned.instruction(), planned.with]),
        });
        Some(describe(planned, from, told, &digest))
    }
}

/// The template of a step that refers to no other.
pub(crate) fn literal_template(planned: &PlanStep) -> String {
    describe(planned, None, None, &|_| None)
}

fn describe(
    planned: &PlanStep,
    from: Option<String>,
    told: Option<Value>,
    digest: &dyn Fn(&str) -> Option<String>,
) -> String {
    let input = planned.input.as_ref().map(|input| put_digests(input, digest));
    canonical(&json!({"tool": planned.tool, "input": input, "input_from": from, "told": told}))
}

/// An input with a digest in the place of each name of a step.
fn put_digests(input: &Value, digest: &dyn Fn(&str) -> Option<String>) -> Value {
    let put = |field: &Value, names_step: bool| {
        let found = field.as_str().filter(|_| names_step).and_then(digest);
        found.map_or_else(|| put_digests(field, digest), Value::from)
    };
    match input {
        Value::Array(items) => items.iter().map(|item| put(item, false)).collect(),
        Value::Object(fields) => {
            let is_hole = fields.contains_key(FILL);
            let put = |(name, field): (&String, &Value)| match field.as_array().filter(|_| is_hole) {
                Some(shown) => (name.clone(), shown.iter().map(|one| put(one, true)).collect()),
                None => (name.clone(), put(field, name == "$from")),
            };
            Value::Object(fields.iter().map(put).collect::<Map<String, Value>>())
        }
        other => other.clone(),
    }
}
