//! Picks: which of several values a person may choose where a reference does not fit exactly one, and the chosen one put
//! in the place of the reference. It is a literal of theirs then.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::task::Task;
use crate::contract::sanitize;
use crate::machine::vocabulary::{EffectId, EffectKind};
use crate::spec::{CompiledSpec, Containment};

/// Longest value that is offered, in characters.
const MAX_CHARS: usize = 200;

/// A value that a reference may stand for.
#[derive(Debug, PartialEq)]
pub(crate) struct Choice {
    /// Where the reference stands in the input: a JSON pointer.
    pub place: String,
    /// The value as it is shown, and picked.
    pub text: String,
    pub value: Value,
}

impl Task {
    /// What a person may pick from for the first reference of a step's input that several values fit. Nothing where one
    /// of them cannot be shown as it is.
    pub(crate) fn choices(&self, compiled: &CompiledSpec, step: u32) -> Vec<Choice> {
        self.find_choices(compiled, step).unwrap_or_default()
    }

    /// An input of a step with what earlier steps gave in the place of its references, if that is known of each.
    pub(crate) fn resolve_input(&self, compiled: &CompiledSpec, step: u32, input: &Value) -> Option<Value> {
        let resolved = self.progress.as_ref()?.resolve(step, input, &|name| compiled.tool(name)).ok()?;
        Some(resolved.into_owned())
    }

    fn find_choices(&self, compiled: &CompiledSpec, step: u32) -> Option<Vec<Choice>> {
        let planned = self.planned(step).filter(|_| compiled.policy().containment != Containment::Off)?;
        compiled.called_tool(&planned.tool)?;
        let (progress, input) = (self.progress.as_ref()?, planned.input.as_ref()?);
        let unresolved = progress.resolve(step, input, &|name| compiled.tool(name)).err()?;
        let mut choices: Vec<Choice> = Vec::new();
        for value in unresolved.candidates {
            let text = match &value {
                Value::String(text) => text.clone(),
                Value::Number(_) | Value::Bool(_) => value.to_string(),
                _ => return None,
            };
            let is_line = sanitize(&text) == text && !text.contains(['\n', '\t']) && !text.trim().is_empty();
            if !is_line || text.chars().count() > MAX_CHARS {
                return None;
            }
            if choices.iter().all(|choice| choice.text != text) {
                choices.push(Choice { place: unresolved.place.clone(), text, value });
            }
        }
        Some(choices)
    }

    /// Puts what a person picked in the place of the reference.
    pub(crate) fn take_pick(&mut self, compiled: &CompiledSpec, step: u32, said: &str, nth: u32) {
        let choices = self.choices(compiled, step);
        let Some(choice) = choices.into_iter().find(|choice| choice.text == said) else { return };
        let before = self.templates();
        let picked = EffectId::from(EffectKind::Pick { draft: self.draft, step, nth });
        let Some(progress) = self.progress.as_mut() else { return };
        let planned = Arc::make_mut(&mut progress.plan).steps.get_mut(step as usize);
        let place = planned.and_then(|planned| planned.input.as_mut()?.pointer_mut(&choice.place));
        if let Some(place) = place {
            *place = choice.value;
        }
        progress.schedule.chosen.entry(step).or_default().push((choice.place, Some(picked)));
        progress.forget_twin(step);
        self.rename_grants(before);
    }

    /// The templates of the steps of the plan that have not ended, by position.
    fn templates(&self) -> BTreeMap<u32, String> {
        let open = self.progress.iter().flat_map(|progress| {
            let open = progress.slots().filter(|(.., run)| !run.is_finished());
            open.filter_map(|(at, ..)| Some((at as u32, progress.template(at as u32)?)))
        });
        open.collect()
    }

    /// Has what was granted to the steps of the plan stand for them after a person has changed one that they rest on.
    fn rename_grants(&mut self, before: BTreeMap<u32, String>) {
        let now = self.templates();
        for (at, from) in before {
            if let Some(to) = now.get(&at).filter(|to| **to != from) {
                self.authority.rename(&from, to);
            }
        }
    }
}
