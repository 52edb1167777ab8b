//! Where spans go: each is made here, with the ids that follow from its run, and queued or kept.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

use opentelemetry::trace::{
    Event as SpanEvent, SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState,
};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};

use crate::attributes::time;
use crate::metrics::Metrics;
use crate::pipeline::Pipeline;
use planwright::prompt::TraceContext;

/// How many spans most runs have.
const USUAL: usize = 16;

/// Where spans go.
pub(crate) struct Sink {
    pipeline: Option<Arc<Pipeline>>,
    /// Whether what was said stands in spans.
    pub content: bool,
    scope: InstrumentationScope,
    /// Whether what is told happened before, and its spans were made then.
    pub recalls: Cell<bool>,
    kept: RefCell<Vec<SpanData>>,
}

/// What the ids of a run's spans follow from.
pub(crate) struct Traced {
    /// The run.
    pub id: Arc<str>,
    pub span: TraceContext,
    pub parent: Option<TraceContext>,
    pub sampled: bool,
}

/// The id of a span.
pub(crate) type Id = [u8; 8];

impl Traced {
    /// The id of the span of an effect or a step, or of the run where that is an empty text.
    pub fn id_of(&self, of: &str) -> Id {
        match of.is_empty() {
            true => self.span.span_id,
            false => self.span.child(&self.id, of).span_id,
        }
    }
}

/// What a span is made of.
pub(crate) struct Made {
    pub id: Id,
    /// The id of the span around it; zeros where there is none.
    pub within: Id,
    pub name: Cow<'static, str>,
    pub kind: SpanKind,
    pub times: [u64; 2],
    pub attributes: Vec<KeyValue>,
    pub events: Vec<SpanEvent>,
    pub status: Status,
}

impl Sink {
    /// A sink that queues spans, or keeps them until they are taken.
    pub fn new(pipeline: Option<Arc<Pipeline>>, content: bool) -> Self {
        let scope = InstrumentationScope::builder("planwright").with_version(env!("CARGO_PKG_VERSION"));
        let scope = scope.with_schema_url("https://opentelemetry.io/schemas/1.42.0").build();
        let (recalls, kept) = (Cell::new(false), RefCell::default());
        Sink { pipeline, content, scope, recalls, kept }
    }

    /// Takes the spans that are kept.
    pub fn take(&self) -> Vec<SpanData> {
        self.kept.take()
    }

    /// Makes a span, and sends or keeps it, unless it was made before or its run is not recorded.
    pub fn finish(&self, run: &Traced, made: Made) {
        if self.recalls.get() || !run.sampled {
            return;
        }
        let trace_id = TraceId::from_bytes(run.span.trace_id);
        let mut events = SpanEvents::default();
        events.events = made.events;
        let span = SpanData {
            span_context: SpanContext::new(
                trace_id,
                SpanId::from_bytes(made.id),
                TraceFlags::SAMPLED,
                false,
                TraceState::NONE,
            ),
            parent_span_id: SpanId::from_bytes(made.within),
            parent_span_is_remote: run.parent.is_some_and(|parent| parent.span_id == made.within),
            span_kind: made.kind,
            name: made.name,
            start_time: time(made.times[0]),
            end_time: time(made.times[1].max(made.times[0])),
            attributes: made.attributes,
            dropped_attributes_count: 0,
            events,
            links: SpanLinks::default(),
            status: made.status,
            instrumentation_scope: self.scope.clone(),
        };
        match &self.pipeline {
            Some(pipeline) => pipeline.send(span),
            None => {
                let mut kept = self.kept.borrow_mut();
                if kept.is_empty() {
                    kept.reserve(USUAL);
                }
                kept.push(span);
            }
        }
    }

    /// Where calls are measured, unless they happened before.
    pub fn metrics(&self) -> Option<&Metrics> {
        self.pipeline.as_ref().filter(|_| !self.recalls.get()).map(|pipeline| &pipeline.metrics)
    }
}
