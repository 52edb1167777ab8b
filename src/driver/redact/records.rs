//! Records without keys, to be handed out.

use std::sync::Arc;

use super::Redactor;
use crate::journal::Record;
use crate::machine::{Event, ToolOutcome};
use crate::spec::Spec;

impl Redactor {
    /// The records without keys. What was recorded is without them already; a
    /// key that was configured since is taken out here, also of what tools returned and of the rules.
    pub fn records(&self, mut records: Vec<Record>) -> Vec<Record> {
        if self.values.is_empty() {
            return records;
        }
        for record in &mut records {
            match record {
                Record::Header(header) => {
                    header.input = self.input(std::mem::take(&mut header.input));
                    self.spec(&mut header.spec);
                }
                Record::SpecChanged(spec) => self.spec(spec),
                Record::Answered { event, .. } | Record::Happened(event) => {
                    let clean = self.event(event.clone());
                    *event = self.returned(clean);
                }
                Record::Requested { .. } | Record::Resolved { .. } => {}
            }
        }
        records
    }

    /// What a tool returned, without keys.
    fn returned(&self, event: Event) -> Event {
        let Event::ToolReturned { effect, outcome } = event else { return event };
        let outcome = match outcome {
            ToolOutcome::Returned { output, sources } => {
                ToolOutcome::Returned { output: self.text(output), sources: self.sources(sources) }
            }
            ToolOutcome::Failed { kind, message } => {
                ToolOutcome::Failed { kind: self.text(kind), message: self.text(message) }
            }
        };
        Event::ToolReturned { effect, outcome }
    }

    /// CompiledSpec without keys. Left as they are where they do not read without them: a name is no key.
    fn spec(&self, spec: &mut Arc<Spec>) {
        let Ok(mut value) = serde_json::to_value(&**spec) else { return };
        self.value(&mut value);
        if let Ok(clean) = serde_json::from_value::<Spec>(value) {
            *spec = Arc::new(clean);
        }
    }
}
