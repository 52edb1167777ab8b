//! Telemetry of one process: what the environment asks for, and the end.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;
use std::time::Duration;

use opentelemetry_sdk::trace::SpanProcessor;

use crate::environment::{captures_content, find, variable};
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
}

impl Telemetry {
    /// Telemetry as the `OTEL_*` variables say; nothing where none names a collector, or one turns it off.
    ///
    /// # Errors
    /// If a variable does not read, in words for the user.
    pub fn from_env() -> Result<Option<Self>, String> {
        let is_off = variable("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"));
        let sends = |signal: &str| {
            find(signal, "ENDPOINT").is_some()
                && variable(&format!("OTEL_{signal}_EXPORTER")).is_none_or(|name| name != "none")
        };
        if is_off || !(sends("TRACES") || sends("METRICS")) {
            return Ok(None);
        }
        let sampler = if sends("TRACES") { Sampler::from_env()? } else { Sampler::NONE };
        let pipeline = Arc::new(Pipeline::open(sends("METRICS"))?);
        Ok(Some(Telemetry { pipeline, sampler, content: captures_content() }))
    }

    /// An observer of runs, one after the other.
    pub fn observer(&self) -> RunSpans {
        RunSpans::new(Some(Arc::clone(&self.pipeline)), self.sampler, self.content)
    }

    /// How many spans were dropped so far: the queue was full, or the collector did not take them.
    pub fn dropped(&self) -> u64 {
        self.pipeline.counts.dropped.load(Ordering::Relaxed)
    }

    /// Sends what is left, for two seconds at most, and gives how many spans were dropped in all. Nothing is sent
    /// afterwards.
    pub fn shut_down(&self) -> u64 {
        let (sender, done) = channel();
        let (pipeline, meters) = (Arc::clone(&self.pipeline), self.pipeline.meters.clone());
        std::thread::spawn(move || {
            let metrics = std::thread::spawn(move || drop(meters.shutdown()));
            let _ = (pipeline.spans.shutdown_with_timeout(FLUSH), metrics.join());
            let _ = sender.send(());
        });
        let _ = done.recv_timeout(FLUSH);
        let left = self.pipeline.counts.queued.swap(0, Ordering::Relaxed);
        self.pipeline.counts.dropped.fetch_add(left as u64, Ordering::Relaxed) + left as u64
    }
}
