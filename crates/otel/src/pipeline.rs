//! From finished spans to the collector: the queue, and what is counted of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use opentelemetry::metrics::MeterProvider;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::{BatchConfig, BatchSpanProcessor, SpanData, SpanExporter, SpanProcessor};

use crate::environment::number;
use crate::export::{Client, open_metrics, open_spans, resource};
use crate::metrics::Metrics;

/// How many spans wait to be sent, unless `OTEL_BSP_MAX_QUEUE_SIZE` says.
const QUEUE: usize = 2_048;
/// The longest queue. Its room is taken at once.
const MAX_QUEUE: usize = 1 << 20;

/// From finished spans to the collector.
pub(crate) struct Pipeline {
    pub spans: BatchSpanProcessor,
    pub meters: SdkMeterProvider,
    pub metrics: Metrics,
    pub counts: Arc<Counts>,
    most: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Spans that wait to be sent or are being sent.
    pub queued: AtomicUsize,
    pub dropped: AtomicU64,
}

impl Pipeline {
    /// Opens the way to the collector that the environment names.
    pub fn open(with_metrics: bool) -> Result<Self, String> {
        let (counts, resource) = (Arc::<Counts>::default(), resource());
        let exporter = open_spans(Client::from_env("TRACES")?)?;
        let mut exporter = Counted { exporter, counts: Arc::clone(&counts) };
        exporter.set_resource(&resource);
        let most = number("OTEL_BSP_MAX_QUEUE_SIZE", "a number of spans")?.unwrap_or(QUEUE);
        if most > MAX_QUEUE {
            let problem = format!("expected at most {MAX_QUEUE} spans, found {most}");
            return Err(format!("OTEL_BSP_MAX_QUEUE_SIZE: {problem}"));
        }
        // Its own queue is as long, and never full: what does not fit is counted before.
        let spans = BatchSpanProcessor::new(exporter, BatchConfig::default());
        let mut meters = SdkMeterProvider::builder().with_resource(resource);
        if with_metrics {
            meters = meters.with_periodic_exporter(open_metrics(Client::from_env("METRICS")?)?);
        }
        let meters = meters.build();
        let metrics = Metrics::new(&meters.meter("planwright"));
        Ok(Pipeline { spans, meters, metrics, counts, most })
    }

    /// Queues a span, or drops it where the queue is full.
    pub fn send(&self, span: SpanData) {
        if self.counts.queued.fetch_add(1, Ordering::Relaxed) < self.most {
            return self.spans.on_end(span);
        }
        self.counts.queued.fetch_sub(1, Ordering::Relaxed);
        self.counts.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

/// An exporter that counts what it is given and what the collector does not take.
#[derive(Debug)]
struct Counted {
    exporter: opentelemetry_otlp::SpanExporter,
    counts: Arc<Counts>,
}

impl SpanExporter for Counted {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let size = batch.len();
        let sent = self.exporter.export(batch).await;
        if sent.is_err() {
            self.counts.dropped.fetch_add(size as u64, Ordering::Relaxed);
        }
        let _ = self
            .counts
            .queued
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |queued| Some(queued.saturating_sub(size)));
        sent
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}
