//! Where spans go: each is made here, with the ids that follow from its run, and queued or kept.

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
    pub id: String,
    pub span: TraceContext,
    pub parent: Option<TraceContext>,
    pub sampled: bool,
}

/// What a span is made of.
pub(crate) struct Made<'a> {
    /// What its id follows from.
    pub of: &'a str,
    /// What the id of the span around it follows from.
    pub within: &'a str,
    pub name: String,
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
    pub fn finish(&self, run: &Traced, made: Made<'_>) {
        if self.recalls.get() || !run.sampled {
            return;
        }
        let is_run = made.of.is_empty();
        let id = |of: &str| match of.is_empty() {
            true => SpanId::from_bytes(run.span.span_id),
            false => SpanId::from_bytes(run.span.child(&run.id, of).span_id),
        };
        let parent = match (is_run, run.parent) {
            (true, Some(parent)) => SpanId::from_bytes(parent.span_id),
            (true, None) => SpanId::INVALID,
            (false, _) => id(made.within),
        };
        let trace_id = TraceId::from_bytes(run.span.trace_id);
        let mut events = SpanEvents::default();
        events.events = made.events;
        let span = SpanData {
            span_context: SpanContext::new(
                trace_id,
                id(made.of),
                TraceFlags::SAMPLED,
                false,
                TraceState::NONE,
            ),
            parent_span_id: parent,
            parent_span_is_remote: is_run && run.parent.is_some(),
            span_kind: made.kind,
            name: made.name.into(),
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
            None => self.kept.borrow_mut().push(span),
        }
    }

    /// Where calls are measured, unless they happened before.
    pub fn metrics(&self) -> Option<&Metrics> {
        self.pipeline.as_ref().filter(|_| !self.recalls.get()).map(|pipeline| &pipeline.metrics)
    }
}
