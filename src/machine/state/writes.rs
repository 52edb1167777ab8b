//! Writes: what a run has changed outside. A call that equals one of them is not made again: not by the
//! next plan, not by an agent that does a step, not by a person's edit. Which one stands does not depend on
//! the order of answers, for what may write runs beside nothing.

use serde_json::Value;

use super::step_run::{StepOutput, StepRun};
use super::steps::{Writes, Written};
use super::task::Task;
use crate::contract::{Source, ToolEffect, canonical};
use crate::spec::CompiledSpec;

/// What a write is known by.
pub(crate) fn write_key(tool: &str, input: &Value) -> String {
    format!("{tool} {}", canonical(input))
}

impl Task {
    /// The tool and the input of a step that is a write.
    pub(crate) fn write_key(&self, compiled: &CompiledSpec, step: u32) -> Option<String> {
        let tool = &self.planned(step)?.tool;
        let contract = compiled.called_tool(tool)?;
        let writes = contract.effect == ToolEffect::Write;
        let input = self.progress.as_ref().filter(|_| writes)?.input(step)?;
        Some(write_key(tool, &input))
    }

    /// The result of a step whose very call was made before and succeeded.
    pub(crate) fn standing_write(&self, compiled: &CompiledSpec, step: u32) -> Option<StepRun> {
        if self.written.is_empty() {
            return None;
        }
        let made = self.written.get(&self.write_key(compiled, step)?)?;
        let made_by = match made.draft {
            0 => made.name.clone(),
            draft if draft == self.draft => made.name.clone(),
            draft => format!("{} of plan {draft}", made.name),
        };
        let (output, sources) = (StepOutput::Text(made.output.clone()), made.sources.clone().into());
        let (data, made_by) = (made.data.clone(), Some(made_by.into()));
        Some(StepRun::Completed { output, sources, data, attempts: 0, cached: false, made_by, nested: None })
    }

    /// Remembers what a tool returned, if the call was a write.
    pub(crate) fn note_write(
        &mut self,
        compiled: &CompiledSpec,
        step: u32,
        output: &str,
        sources: &[Source],
        data: Option<&Value>,
    ) {
        let Some(key) = self.write_key(compiled, step) else { return };
        let (draft, name) = (self.draft, self.step_name(step));
        let (output, sources) = (output.to_owned(), sources.to_vec());
        let data = data.map(|data| Box::new(data.clone()));
        self.written.insert(key, Written { draft, name, output, sources, data });
    }

    /// The writes that a run nested in this one does not make again.
    pub(crate) fn writes_to_pass_on(&self) -> Writes {
        let known = self.written.iter();
        known.map(|(key, made)| (key.clone(), Written { draft: 0, ..made.clone() })).collect()
    }

    /// Takes over what the run nested in a step has written.
    pub(crate) fn keep_writes(&mut self, inner: Writes, step: u32) {
        let (draft, name) = (self.draft, self.step_name(step));
        let own = inner.into_iter().filter(|(_, made)| made.draft > 0);
        self.written.extend(own.map(|(key, made)| (key, Written { draft, name: name.clone(), ..made })));
    }
}
