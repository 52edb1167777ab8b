//! The metrics of the conventions: tokens and durations of model calls.

use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry::metrics::{Histogram, Meter};

use crate::attributes::{pair, text};
use planwright::machine::Usage;

/// A model call that is over.
pub(crate) struct Call<'a> {
    /// The model that was asked for.
    pub model: &'a str,
    /// The model that answered, where that is known.
    pub answered: &'a str,
    pub usage: Usage,
    pub duration: Duration,
    /// Whether the reply came out of a cache: then no model was called.
    pub cached: bool,
    pub error: Option<&'a str>,
}

pub(crate) struct Metrics {
    tokens: Histogram<u64>,
    durations: Histogram<f64>,
}

impl Metrics {
    pub fn new(meter: &Meter) -> Self {
        let tokens = meter.u64_histogram("gen_ai.client.token.usage").with_unit("{token}");
        let tokens = tokens.with_description("Number of input and output tokens used.");
        let durations = meter.f64_histogram("gen_ai.client.operation.duration").with_unit("s");
        let durations = durations.with_description("GenAI operation duration.");
        Metrics {
            tokens: tokens.with_boundaries((0..14).map(|power| 4_f64.powi(power)).collect()).build(),
            durations: durations
                .with_boundaries((0..14).map(|power| f64::from(1 << power) / 100.0).collect())
                .build(),
        }
    }

    /// Measures a call. The provider and the server are among the attributes of its span.
    pub fn measure(&self, call: &Call<'_>, span: &[KeyValue]) {
        if call.cached {
            return;
        }
        let is_place = |pair: &&KeyValue| {
            ["gen_ai.provider.name", "server.address", "server.port"].contains(&pair.key.as_str())
        };
        let mut attributes: Vec<KeyValue> = span.iter().filter(is_place).cloned().collect();
        attributes.push(pair("gen_ai.operation.name", "chat"));
        for (key, model) in [("gen_ai.request.model", call.model), ("gen_ai.response.model", call.answered)] {
            attributes.extend((!model.is_empty()).then(|| text(key, model)));
        }
        for (kind, tokens) in [("input", call.usage.input_tokens), ("output", call.usage.output_tokens)] {
            if tokens > 0 {
                attributes.push(pair("gen_ai.token.type", kind));
                self.tokens.record(tokens, &attributes);
                attributes.pop();
            }
        }
        attributes.extend(call.error.map(|class| text("error.type", class)));
        self.durations.record(call.duration.as_secs_f64(), &attributes);
    }
}
