//! What there is to count: runs, calls, tokens, money and refusals, for Prometheus.
//!
//! **Invariant:** the values of a label are bounded: agents and tools that the service knows, words of its own.

use std::collections::HashSet;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Metric, Registry};

use planwright::machine::Usage;
use planwright::spec::Money;

type Labels<const N: usize> = [(&'static str, String); N];
type Counts<const N: usize> = Family<Labels<N>, Counter>;
type Durations<const N: usize> = Family<Labels<N>, Histogram, fn() -> Histogram>;

pub(crate) struct Figures {
    /// The agents and tools that a label may name.
    known: HashSet<String>,
    runs: Counts<2>,
    replans: Counts<1>,
    model_calls: Durations<2>,
    tool_calls: Durations<2>,
    tokens: Counts<2>,
    cost: Family<Labels<1>, Counter<f64, AtomicU64>>,
    refusals: Counts<1>,
    requests: Durations<3>,
    now: [Gauge; 5],
    registry: Registry,
}

/// What is so now, in the order in which it is given.
const NOW: [(&str, &str); 5] = [
    ("runs_under_way", "Runs under way"),
    ("runs_in_line", "Runs that wait in line"),
    ("threads_waiting", "Threads that wait for a person"),
    ("streams_open", "Streams of events that are open"),
    ("spans_dropped", "Spans that no collector took"),
];

/// Registers a metric that has no values yet.
fn add<M: Metric + Clone>(registry: &mut Registry, name: &str, help: &str, metric: M) -> M {
    registry.register(name, help, metric.clone());
    metric
}

/// From a millisecond to two minutes.
fn durations() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 3.3, 11))
}

fn histograms<const N: usize>() -> Durations<N> {
    Family::new_with_constructor(durations as fn() -> Histogram)
}

impl Figures {
    /// Nothing counted yet.
    pub fn new(known: HashSet<String>) -> Self {
        let mut registry = Registry::with_prefix("planwright");
        let to = &mut registry;
        Figures {
            known,
            runs: add(to, "runs", "Runs that came to an end or a stop", Counts::default()),
            replans: add(to, "replans", "New plans after a rejection or a failed step", Counts::default()),
            model_calls: add(to, "model_call_seconds", "Model calls", histograms()),
            tool_calls: add(to, "tool_call_seconds", "Tool calls", histograms()),
            tokens: add(to, "tokens", "Tokens that models read and wrote", Counts::default()),
            cost: add(to, "cost", "Money, in the currency of the prices", Family::default()),
            refusals: add(to, "refusals", "Requests that were refused, by status", Counts::default()),
            requests: add(to, "request_seconds", "Requests", histograms()),
            now: NOW.map(|(name, help)| add(to, name, help, Gauge::default())),
            registry,
        }
    }

    fn known(&self, name: &str) -> String {
        self.known.get(name).cloned().unwrap_or_else(|| "other".to_owned())
    }

    /// A run came to an end, or to a stop that can be gone on from.
    pub fn count_run(&self, agent: &str, outcome: &str) {
        let labels = [("agent", self.known(agent)), ("outcome", outcome.to_owned())];
        self.runs.get_or_create(&labels).inc();
    }

    pub fn count_replan(&self, agent: &str) {
        self.replans.get_or_create(&[("agent", self.known(agent))]).inc();
    }

    pub fn count_model_call(&self, agent: &str, outcome: &str, duration: Duration) {
        let labels = [("agent", self.known(agent)), ("outcome", outcome.to_owned())];
        self.model_calls.get_or_create(&labels).observe(duration.as_secs_f64());
    }

    pub fn count_tool_call(&self, tool: &str, outcome: &str, duration: Duration) {
        let labels = [("tool", self.known(tool)), ("outcome", outcome.to_owned())];
        self.tool_calls.get_or_create(&labels).observe(duration.as_secs_f64());
    }

    pub fn count_spent(&self, agent: &str, usage: Usage, cost: Option<Money>) {
        let counts =
            [("read", usage.input_tokens), ("written", usage.output_tokens), ("cached", usage.cached_tokens)];
        for (kind, tokens) in counts.into_iter().filter(|(_, tokens)| *tokens > 0) {
            self.tokens
                .get_or_create(&[("agent", self.known(agent)), ("kind", kind.to_owned())])
                .inc_by(tokens);
        }
        if let Some(cost) = cost {
            let labels = [("agent", self.known(agent))];
            self.cost.get_or_create(&labels).inc_by(cost.nanos() as f64 / 1e9);
        }
    }

    /// A request was answered. `path` is a template.
    pub fn count_request(&self, method: &str, path: &str, status: u16, duration: Duration) {
        let labels =
            [("method", method.to_owned()), ("path", path.to_owned()), ("status", status.to_string())];
        self.requests.get_or_create(&labels).observe(duration.as_secs_f64());
        if matches!(status, 401 | 403 | 408 | 413 | 429) {
            self.refusals.get_or_create(&[("status", status.to_string())]).inc();
        }
    }

    /// All figures as text, with how many runs are under way and in line, threads wait, streams are open and spans were
    /// dropped. What is not known stays as it was.
    pub fn text(
        &self,
        (under_way, in_line): (usize, usize),
        waiting: Option<usize>,
        streams: usize,
        dropped: u64,
    ) -> String {
        let dropped = usize::try_from(dropped).unwrap_or(usize::MAX);
        let counts = [Some(under_way), Some(in_line), waiting, Some(streams), Some(dropped)];
        for (gauge, count) in self.now.iter().zip(counts).filter_map(|(gauge, count)| Some((gauge, count?))) {
            gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        }
        let mut text = String::new();
        // Writing to a text does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
