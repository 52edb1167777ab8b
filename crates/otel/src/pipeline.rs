//! From finished spans and log records to the collector: the queues, and what is counted of them.

use std::sync::{Arc, OnceLock};

use opentelemetry::logs::LoggerProvider;
use opentelemetry::metrics::MeterProvider;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::logs::{BatchLogProcessor, LogBatch, LogExporter, SdkLoggerProvider};
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::{BatchConfig, BatchSpanProcessor, SpanData, SpanExporter, SpanProcessor};

use crate::counts::Counts;
use crate::export::{Client, open_logs, open_metrics, open_spans, resource};
use crate::logs::LogLayer;
use crate::metrics::Metrics;

/// From finished spans to the collector.
pub(crate) struct Pipeline {
    pub spans: BatchSpanProcessor,
    pub meters: SdkMeterProvider,
    /// What posts the metrics, where they are sent.
    pub metered: Option<Client>,
    pub metrics: Metrics,
    pub counts: Arc<Counts>,
    /// The way of log records, once it was opened.
    pub logs: OnceLock<(SdkLoggerProvider, Arc<Counts>)>,
}

impl Pipeline {
    /// Opens the way to the collector that the environment names.
    pub fn open(with_metrics: bool) -> Result<Self, String> {
        let (counts, resource) = (Counts::from_env("OTEL_BSP_MAX_QUEUE_SIZE", "spans")?, resource()?);
        let client = Client::from_env("TRACES")?;
        let exporter = open_spans(client.clone())?;
        let mut exporter = Counted { exporter, client, counts: Arc::clone(&counts) };
        SpanExporter::set_resource(&mut exporter, &resource);
        // Its own queue is as long, and never full: what does not fit is counted before.
        let spans = BatchSpanProcessor::new(exporter, BatchConfig::default());
        let mut meters = SdkMeterProvider::builder().with_resource(resource);
        let metered = with_metrics.then(|| Client::from_env("METRICS")).transpose()?;
        if let Some(client) = &metered {
            meters = meters.with_periodic_exporter(open_metrics(client.clone())?);
        }
        let meters = meters.build();
        let metrics = Metrics::new(&meters.meter("planwright"));
        Ok(Pipeline { spans, meters, metered, metrics, counts, logs: OnceLock::new() })
    }

    /// Opens the way of log records as well.
    pub fn open_logs(&self, content: bool) -> Result<LogLayer, String> {
        let counts = Counts::from_env("OTEL_BLRP_MAX_QUEUE_SIZE", "log records")?;
        let client = Client::from_env("LOGS")?;
        let exporter = open_logs(client.clone())?;
        let exporter = Counted { exporter, client, counts: Arc::clone(&counts) };
        let processor = BatchLogProcessor::builder(exporter).build();
        let provider = SdkLoggerProvider::builder().with_log_processor(processor);
        let provider = provider.with_resource(resource()?).build();
        let layer = LogLayer::new(provider.logger("planwright"), Arc::clone(&counts), content);
        let _ = self.logs.set((provider, counts));
        Ok(layer)
    }

    /// Queues a span, or drops it where the queue is full.
    pub fn send(&self, span: SpanData) {
        if self.counts.takes() {
            self.spans.on_end(span);
        }
    }
}

/// An exporter that counts what it is given and what the collector does not take.
#[derive(Debug)]
struct Counted<E> {
    exporter: E,
    client: Client,
    counts: Arc<Counts>,
}

impl SpanExporter for Counted<opentelemetry_otlp::SpanExporter> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let size = batch.len();
        let sent = self.exporter.export(batch).await;
        self.counts.left(size, &sent, &self.client);
        sent
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

impl LogExporter for Counted<opentelemetry_otlp::LogExporter> {
    async fn export(&self, batch: LogBatch<'_>) -> OTelSdkResult {
        let size = batch.iter().count();
        let sent = self.exporter.export(batch).await;
        self.counts.left(size, &sent, &self.client);
        sent
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}
