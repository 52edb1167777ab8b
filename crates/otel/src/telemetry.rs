//! Telemetry of one process: what the environment asks for, and the end.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;
use std::time::Duration;

use opentelemetry_sdk::trace::SpanProcessor;

use crate::counts::Counts;
use crate::environment::{captures_content, check_what_is_read_elsewhere, find, is_disabled, sends};
use crate::logs::LogLayer;
use crate::pipeline::Pipeline;
use crate::sampling::Sampler;
use crate::spans::RunSpans;

/// How long the end of a process waits for what is still to be sent.
const FLUSH: Duration = Duration::from_secs(2);

/// Telemetry of this process. Cheap to clone.
#[derive(Clone)]
pub struct Telemetry {
    pipeline: Arc<Pipeline>,
    sampler: Sampler,
    content: bool,
    sends_logs: bool,
}

impl Telemetry {
    /// Telemetry as the `OTEL_*` variables say; nothing where none names a collector, or one turns it off.
    ///
    /// # Errors
    /// If a variable does not read, in words for the user.
    pub fn from_env() -> Result<Option<Self>, String> {
        let is_named = |signal: &&str| find(signal, "ENDPOINT").is_some();
        if !["TRACES", "METRICS", "LOGS"].iter().any(is_named) || is_disabled()? {
            return Ok(None);
        }
        check_what_is_read_elsewhere()?;
        let (sends_spans, sends_metrics, sends_logs) = (sends("TRACES")?, sends("METRICS")?, sends("LOGS")?);
        if !(sends_spans || sends_metrics || sends_logs) {
            return Ok(None);
        }
        let sampler = if sends_spans { Sampler::from_env()? } else { Sampler::NONE };
        let pipeline = Arc::new(Pipeline::open(sends_metrics)?);
        Ok(Some(Telemetry { pipeline, sampler, content: captures_content()?, sends_logs }))
    }

    /// An observer of runs, one after the other.
    pub fn observer(&self) -> RunSpans {
        RunSpans::new(Some(Arc::clone(&self.pipeline)), self.sampler, self.content)
    }

    /// What sends the process's log, where that is to be sent. It is opened once.
    ///
    /// # Errors
    /// If a variable does not read, in words for the user.
    pub fn log_layer(&self) -> Result<Option<LogLayer>, String> {
        self.sends_logs.then(|| self.pipeline.open_logs(self.content)).transpose()
    }

    /// How many spans were dropped so far: the queue was full, or the collector did not take them.
    pub fn dropped(&self) -> u64 {
        self.pipeline.counts.dropped.load(Ordering::Relaxed)
    }

    /// Sends what is left, for two seconds at most, and gives what did not arrive in all, if anything. Nothing is sent
    /// afterwards.
    pub fn shut_down(&self) -> Option<Losses> {
        let (sender, done) = channel();
        let (pipeline, meters) = (Arc::clone(&self.pipeline), self.pipeline.meters.clone());
        let logs = self.pipeline.logs.get().map(|(provider, _)| provider.clone());
        std::thread::spawn(move || {
            let metrics = std::thread::spawn(move || drop(meters.shutdown()));
            let logs = logs.map(|logs| std::thread::spawn(move || drop(logs.shutdown_with_timeout(FLUSH))));
            let _ = (pipeline.spans.shutdown_with_timeout(FLUSH), metrics.join());
            let _ = (logs.map(std::thread::JoinHandle::join), sender.send(()));
        });
        let in_time = done.recv_timeout(FLUSH).is_ok();
        let (spans, logs) = (&self.pipeline.counts, self.pipeline.logs.get().map(|(_, counts)| counts));
        let metrics = self.pipeline.metered.as_ref().and_then(|client| client.trouble());
        let metrics = metrics.map(|trouble| trouble.reason);
        let reason = spans.reason.get().or_else(|| logs?.reason.get()).cloned().or_else(|| metrics.clone());
        let usual = if in_time { "the queue was full" } else { "the collector did not answer in time" };
        let losses = Losses {
            spans: spans.give_up(),
            records: logs.map_or(0, |counts| Counts::give_up(counts)),
            metrics: metrics.is_some(),
            reason: reason.unwrap_or_else(|| usual.to_owned()),
        };
        (losses.spans + losses.records > 0 || losses.metrics).then_some(losses)
    }
}

/// What a collector was to be sent and did not take. Shown as a sentence, such as `6 spans dropped: localhost:4318
/// /v1/traces: nothing listens there`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Losses {
    /// How many spans.
    pub spans: u64,
    /// How many log records.
    pub records: u64,
    /// Whether the last metrics.
    pub metrics: bool,
    /// Why, for the first of them.
    pub reason: String,
}

impl fmt::Display for Losses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |count: u64, what: &str| match count {
            0 => None,
            1 => Some(format!("1 {what}")),
            _ => Some(format!("{count} {what}s")),
        };
        let lost = [count(self.spans, "span"), count(self.records, "log record")];
        let metrics = self.metrics.then(|| "metrics".to_owned());
        let lost: Vec<String> = lost.into_iter().chain([metrics]).flatten().collect();
        write!(f, "{} dropped: {}", lost.join(" and "), self.reason)
    }
}
