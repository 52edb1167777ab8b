//! Runs as OpenTelemetry: spans and metrics by the semantic conventions for generative AI, over OTLP, while a run goes
//! on and out of its records; and the process's log ([`LogLayer`]).
//!
//! One mapping makes the spans ([`RunSpans`], an [`Observer`](planwright::ports::Observer)): a run tells it what
//! happens, and records that are told again say the same. So the spans of a stored run have the ids that they had
//! while it went on.
//!
//! **Invariant:** telemetry never holds up a run and never fails one. What does not fit the queue is dropped and
//! counted.

mod attributes;
mod chrome;
mod counts;
mod environment;
mod export;
mod logs;
mod messages;
mod metrics;
mod pipeline;
mod run;
mod sampling;
mod sink;
mod spans;
mod telemetry;

pub use chrome::chrome_trace;
pub use environment::captures_content;
pub use export::Exporter;
pub use logs::LogLayer;
pub use opentelemetry_sdk::trace::SpanData;
pub use spans::{RunSpans, spans_of};
pub use telemetry::{Losses, Telemetry};
