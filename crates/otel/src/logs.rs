//! The lines of the process's log as log records.
//!
//! **Invariant:** what was said is in no record unless that was asked for.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use opentelemetry::logs::{AnyValue, LogRecord, Logger, Severity};
use opentelemetry::{SpanId, TraceFlags, TraceId};
use opentelemetry_sdk::logs::{SdkLogRecord, SdkLogger};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer};

use crate::counts::Counts;

/// Fields that hold what was said: questions, answers, lines of MCP servers.
const CONTENT: [&str; 3] = ["question", "answer", "line"];

/// A layer of `tracing` that sends each event as a log record. An event's `trace_id` and `span_id` are the record's.
pub struct LogLayer {
    logger: SdkLogger,
    counts: Arc<Counts>,
    content: bool,
}

impl LogLayer {
    pub(crate) fn new(logger: SdkLogger, counts: Arc<Counts>, content: bool) -> Self {
        LogLayer { logger, counts, content }
    }
}

fn severity(level: &Level) -> Severity {
    match *level {
        Level::ERROR => Severity::Error,
        Level::WARN => Severity::Warn,
        Level::INFO => Severity::Info,
        Level::DEBUG => Severity::Debug,
        Level::TRACE => Severity::Trace,
    }
}

impl<S: Subscriber> Layer<S> for LogLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let (severity, target) = (severity(event.metadata().level()), event.metadata().target());
        // What the exporters say of themselves goes to stderr only.
        if !self.logger.event_enabled(severity, target, None) || !self.counts.takes() {
            return;
        }
        let mut fields = Fields {
            record: self.logger.create_log_record(),
            content: self.content,
            trace: None,
            span: None,
        };
        event.record(&mut fields);
        let Fields { mut record, trace, span, .. } = fields;
        record.set_timestamp(SystemTime::now());
        record.set_severity_number(severity);
        record.set_severity_text(severity.name());
        record.set_target(target);
        if let (Some(trace), Some(span)) = (trace, span) {
            record.set_trace_context(trace, span, Some(TraceFlags::SAMPLED));
        }
        self.logger.emit(record);
    }
}

/// The fields of an event, on their way into its record.
struct Fields {
    record: SdkLogRecord,
    content: bool,
    trace: Option<TraceId>,
    span: Option<SpanId>,
}

impl Fields {
    fn add(&mut self, field: &Field, value: impl Into<AnyValue>) {
        if self.content || !CONTENT.contains(&field.name()) {
            self.record.add_attribute(field.name(), value);
        }
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => self.record.set_body(value.to_owned().into()),
            "trace_id" => self.trace = TraceId::from_hex(value).ok(),
            "span_id" => self.span = SpanId::from_hex(value).ok(),
            _ => self.add(field, value.to_owned()),
        }
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, i64::try_from(value).unwrap_or(i64::MAX));
    }
}
