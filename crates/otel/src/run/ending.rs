//! The end of a run's span, and of those of agents within it.

use opentelemetry::KeyValue;
use opentelemetry::trace::{SpanKind, Status};

use super::{Nested, Run, around, failed, join};
use crate::attributes::{pair, push_usage, text};
use crate::sink::{Made, Sink};
use planwright::machine::{EffectId, State};

impl Run {
    /// Ends what nested runs did, which ends with the step that they are nested in.
    pub fn finish_step(&mut self, sink: &Sink, effect: EffectId, has_failed: bool) {
        let step = (!self.nested.is_empty()).then(|| effect.to_string());
        if let Some(step) = step.filter(|step| !step.contains('/')) {
            self.end_nested(sink, &step, has_failed);
        }
    }

    /// Ends a step that an agent did, and those nested in it.
    fn end_nested(&mut self, sink: &Sink, step: &str, has_failed: bool) {
        let is_in = |nested: &Nested| {
            nested.id.strip_prefix(step).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        for Nested { id, agent, began, ended } in
            self.nested.extract_if(.., |nested| is_in(nested)).collect::<Vec<_>>()
        {
            let mut attributes = self.describe_agent("invoke_agent", &agent, &self.model);
            attributes.push(text("planwright.effect", &id));
            let has_failed = has_failed && id == step;
            attributes.extend(has_failed.then(|| pair("error.type", "step_failed")));
            let made = Made {
                id: self.traced.id_of(&id),
                within: self.traced.id_of(around(&id)),
                name: join("invoke_agent", &agent).into(),
                kind: SpanKind::Internal,
                times: [began, ended],
                attributes,
                events: Vec::new(),
                status: if has_failed { failed("step_failed") } else { Status::Unset },
            };
            sink.finish(&self.traced, made);
        }
    }

    /// Ends the run's span, and with it what is nested and still open.
    pub fn end(&mut self, sink: &Sink, status: Status, more: Vec<KeyValue>) {
        for step in self.nested.iter().map(|nested| nested.id.clone()).collect::<Vec<_>>() {
            self.end_nested(sink, &step, false);
        }
        let mut attributes = std::mem::take(&mut self.attributes);
        push_usage(&mut attributes, self.usage);
        attributes.extend(more);
        let made = Made {
            id: self.traced.span.span_id,
            within: self.traced.parent.map_or([0; 8], |parent| parent.span_id),
            name: join("invoke_agent", &self.agent).into(),
            kind: SpanKind::Internal,
            times: [self.began, self.now],
            attributes,
            events: std::mem::take(&mut self.events),
            status,
        };
        sink.finish(&self.traced, made);
    }

    /// Ends the run's span with what the run ended in, or why it stopped.
    pub fn stop(&mut self, sink: &Sink, state: &State, failure: Option<&str>) {
        let (status, mut more) = match (state.error(), failure) {
            (Some(error), _) => {
                let code = error.code.to_string();
                (failed(&code), vec![pair("error.type", code)])
            }
            (None, Some(cause)) => {
                let cause = cause.replace(' ', "_");
                (failed(&cause), vec![pair("error.type", cause)])
            }
            (None, None) => (Status::Unset, Vec::new()),
        };
        if let Some(answer) = state.answer().filter(|_| sink.content) {
            let messages = serde_json::json!([{
                "role": "assistant", "parts": [{"type": "text", "content": answer}], "finish_reason": "stop",
            }]);
            more.push(text("gen_ai.output.messages", &messages.to_string()));
        }
        self.end(sink, status, more);
    }
}
