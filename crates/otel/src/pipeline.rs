//! From finished spans and log records to the collector: the queues, and what is counted of them.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use opentelemetry::logs::LoggerProvider;
use opentelemetry::metrics::MeterProvider;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::logs::{BatchLogProcessor, LogBatch, LogExporter, SdkLoggerProvider};
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::{BatchConfig, BatchSpanProcessor, SpanData, SpanExporter, SpanProcessor};

use crate::environment::number;
use crate::export::{Client, open_logs, open_metrics, open_spans, resource};
use crate::logs::LogLayer;
use crate::metrics::Metrics;

/// How much waits to be sent, unless a variable says.
const QUEUE: usize = 2_048;
/// The longest queue. Its room is taken at once.
const MAX_QUEUE: usize = 1 << 20;

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

/// What waits in a queue, and what did not arrive.
#[derive(Debug)]
pub(crate) struct Counts {
    /// How much waits to be sent or is being sent.
    queued: AtomicUsize,
    /// The most that may.
    most: usize,
    pub dropped: AtomicU64,
    /// Why something was dropped for the first time.
    pub reason: OnceLock<String>,
}

impl Counts {
    /// A queue as long as a variable says.
    fn from_env(name: &str, what: &str) -> Result<Arc<Self>, String> {
        let most = number(name, &format!("a number of {what}"))?.unwrap_or(QUEUE);
        if most > MAX_QUEUE {
            return Err(format!("{name}: expected at most {MAX_QUEUE} {what}, found {most}"));
        }
        let (queued, dropped, reason) = Default::default();
        Ok(Arc::new(Counts { queued, most, dropped, reason }))
    }

    /// Whether one more has room in the queue; else it is dropped.
    pub fn takes(&self) -> bool {
        let has_room = self.queued.fetch_add(1, Ordering::Relaxed) < self.most;
        if !has_room {
            self.queued.fetch_sub(1, Ordering::Relaxed);
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        has_room
    }

    /// So many have left the queue. The reason of the first that did not arrive is told in the log.
    fn left(&self, size: usize, sent: &OTelSdkResult, client: &Client) {
        if let Err(error) = sent {
            self.dropped.fetch_add(size as u64, Ordering::Relaxed);
            let reason = client.trouble().unwrap_or_else(|| error.to_string());
            if self.reason.set(reason.clone()).is_ok() {
                tracing::error!(reason, "the collector does not take what is sent");
            }
        }
        let less = |queued: usize| Some(queued.saturating_sub(size));
        let _ = self.queued.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// Gives up what still waits, and gives how much did not arrive in all.
    pub fn give_up(&self) -> u64 {
        let left = self.queued.swap(0, Ordering::Relaxed) as u64;
        self.dropped.fetch_add(left, Ordering::Relaxed) + left
    }
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
