//! What a run does, for who looks after the service: where each stands, a line of the log for each effect, and the
//! figures.
//!
//! **Invariant:** a log line holds no question and no answer unless that was asked for, and nothing unescaped.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use tracing::{Level, debug, enabled, info};
use utoipa::ToSchema;

use crate::figures::Figures;
use crate::live::Running;
use crate::log::span_ids;
use crate::problem::Problem;
use crate::reply::Told;
use planwright::journal::system::now_ms;
use planwright::machine::{EffectId, PhaseName, TraceLine, Usage};
use planwright::ports::{Answer, Observer, Signal, Span};
use planwright::prompt::{RequestBody, TraceContext};
use planwright::spec::{CompiledSpec, Money, Price};
use planwright_app::StoredThread;
use planwright_otel::{RunSpans, Telemetry};

/// A run under way.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct RunLine {
    /// The thread.
    pub thread: String,
    /// The agent.
    pub agent: String,
    /// Since when, in milliseconds since 1970.
    pub since: u64,
    /// The phase that it is in.
    #[schema(value_type = Option<String>)]
    pub phase: Option<PhaseName>,
}

/// The runs under way.
#[derive(Default)]
pub(crate) struct Runs {
    lines: Mutex<BTreeMap<u64, RunLine>>,
}

impl Runs {
    pub fn lines(&self) -> Vec<RunLine> {
        self.lock().values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, RunLine>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What all runs are watched with.
pub(crate) struct Watch {
    pub figures: Arc<Figures>,
    pub runs: Runs,
    /// How many runs there were.
    begun: AtomicU64,
    /// Whether the log has the text of questions and answers.
    log_texts: bool,
    /// The model that answers.
    model: String,
    pub telemetry: Option<Telemetry>,
}

impl Watch {
    pub fn new(figures: Figures, log_texts: bool, model: &str, telemetry: Option<Telemetry>) -> Self {
        let (figures, runs, begun) = (Arc::new(figures), Runs::default(), AtomicU64::new(0));
        Watch { figures, runs, begun, log_texts, model: model.to_owned(), telemetry }
    }
}

/// A run that is watched: by those who follow its thread, and for the log and the figures.
pub(crate) struct Watched<'a> {
    watch: &'a Watch,
    live: &'a Running,
    stored: &'a StoredThread,
    request: String,
    /// The span of the request.
    pub parent: Option<TraceContext>,
    traced: Option<RunSpans>,
    /// The span of the run, where it is traced.
    span: Cell<Option<TraceContext>>,
    began: Instant,
    number: u64,
    agent: OnceCell<(String, BTreeMap<String, Price>)>,
    turn: Cell<u32>,
    phase: Cell<Option<PhaseName>>,
    /// What is asked of whom and not answered yet.
    asked: RefCell<BTreeMap<EffectId, Asked>>,
}

enum Asked {
    Model,
    Tool(String),
    Other,
}

impl<'a> Watched<'a> {
    pub fn new(
        watch: &'a Watch,
        live: &'a Running,
        stored: &'a StoredThread,
        (request, parent): (String, Option<TraceContext>),
    ) -> Self {
        Watched {
            watch,
            live,
            stored,
            request,
            parent,
            traced: watch.telemetry.as_ref().map(Telemetry::observer),
            span: Cell::default(),
            began: Instant::now(),
            number: watch.begun.fetch_add(1, Ordering::Relaxed),
            agent: OnceCell::new(),
            turn: Cell::default(),
            phase: Cell::default(),
            asked: RefCell::default(),
        }
    }

    /// The run is of this agent.
    pub fn begin(&self, compiled: &CompiledSpec) {
        let spec = compiled.spec();
        let _ = self.agent.set((spec.name.clone(), spec.prices.clone()));
        let line = RunLine {
            thread: self.stored.thread.to_string(),
            agent: spec.name.clone(),
            since: now_ms(),
            phase: None,
        };
        self.watch.runs.lock().insert(self.number, line);
    }

    /// Which turn of its thread the run is, from 1; 0 where none began.
    pub fn turn(&self) -> u32 {
        self.turn.get()
    }

    /// Whether a run of an agent was tried: something of it may be on record.
    pub fn is_of_an_agent(&self) -> bool {
        self.agent.get().is_some()
    }

    /// Finds the turn while nobody else can have the thread.
    fn find_turn(&self) {
        if self.turn.get() == 0 {
            let turns = self.stored.threads.store().turns(&self.stored.thread);
            self.turn.set(turns.unwrap_or_default());
            self.live.begins(self.turn.get());
        }
    }

    fn agent(&self) -> &str {
        self.agent.get().map_or("", |(name, _)| name)
    }

    /// The run came to an end or a stop.
    pub fn end<T: Told>(self, done: &Result<T, Problem>) {
        // What was refused began no run.
        if self.turn.get() == 0 {
            return;
        }
        let told = done.as_ref().map(Told::told);
        let outcome = told.as_ref().map_or_else(|problem| problem.word(), |(status, ..)| status);
        self.watch.figures.count_run(self.agent(), outcome);
        let texts = told.as_ref().ok().filter(|_| self.watch.log_texts);
        let (trace_id, span_id) = self.span.get().as_ref().map(span_ids).unzip();
        info!(
            request_id = self.request,
            thread = self.stored.thread.as_str(),
            turn = self.turn.get(),
            agent = self.agent(),
            outcome,
            duration_ms = milliseconds(self.began.elapsed()),
            trace_id,
            span_id,
            question = texts.map(|texts| texts.1),
            answer = texts.and_then(|texts| texts.2),
            "run"
        );
    }

    fn answered(&self, span: Span<'_>, answer: Answer<'_>) {
        let asked = self.asked.borrow_mut().remove(&span.effect);
        let outcome = answer.failure.unwrap_or(match answer {
            _ if answer.is_open => "open",
            _ if answer.cached => "cached",
            _ => "ok",
        });
        let figures = &self.watch.figures;
        match asked {
            Some(Asked::Model) => figures.count_model_call(self.agent(), outcome, answer.duration),
            Some(Asked::Tool(tool)) => figures.count_tool_call(&tool, outcome, answer.duration),
            _ => {}
        }
        let usage = answer.usage.unwrap_or_default();
        let cost = (!usage.is_zero()).then(|| self.cost(usage)).flatten();
        figures.count_spent(self.agent(), usage, cost);
        if enabled!(Level::INFO) {
            self.log(span, answer, outcome, cost);
        }
    }

    /// What tokens cost, by the price of the model that answers here.
    fn cost(&self, usage: Usage) -> Option<Money> {
        let (_, prices) = self.agent.get()?;
        Some(usage.cost(prices.get(&self.watch.model)?))
    }

    fn log(&self, span: Span<'_>, answer: Answer<'_>, outcome: &str, cost: Option<Money>) {
        let within = self.span.get().map(|run| run.child(span.run, &span.effect.to_string()));
        let (trace_id, span_id) = within.as_ref().map(span_ids).unzip();
        info!(
            request_id = self.request, thread = span.thread, turn = self.turn.get(), agent = self.agent(),
            effect = %span.effect, asked = span.asked, phase = self.phase.get().map(|phase| phase.to_string()),
            duration_ms = milliseconds(answer.duration), outcome,
            tokens_read = answer.usage.map(|usage| usage.input_tokens),
            tokens_written = answer.usage.map(|usage| usage.output_tokens),
            cost = cost.map(|cost| cost.to_string()), trace_id, span_id, "effect"
        );
    }
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

impl Observer for Watched<'_> {
    fn notice(&self, signal: Signal<'_>) {
        if let Some(traced) = &self.traced {
            traced.notice(signal);
        }
        match signal {
            Signal::Asked { span, request } => {
                self.find_turn();
                let asked = match request {
                    RequestBody::Model { .. } => Asked::Model,
                    RequestBody::Tool { tool, .. } => Asked::Tool(tool.to_string()),
                    _ => Asked::Other,
                };
                self.asked.borrow_mut().insert(span.effect, asked);
            }
            Signal::Answered { span, answer, .. } => self.answered(span, answer),
            Signal::Entered(phase) => {
                self.phase.set(Some(phase));
                if let Some(line) = self.watch.runs.lock().get_mut(&self.number) {
                    line.phase = Some(phase);
                }
                let (trace_id, span_id) = self.span.get().as_ref().map(span_ids).unzip();
                let thread = self.stored.thread.as_str();
                debug!(request_id = self.request, thread, phase = %phase, trace_id, span_id, "phase");
            }
            Signal::Traced(line) => {
                self.find_turn();
                if matches!(line, TraceLine::ReplanTrigger { .. }) {
                    self.watch.figures.count_replan(self.agent());
                }
            }
            _ => {}
        }
        self.live.notice(signal);
    }

    fn wants_tokens(&self) -> bool {
        self.live.wants_tokens()
    }

    fn trace(&self, run: &str, parent: Option<&TraceContext>) -> Option<TraceContext> {
        self.span.set(self.traced.as_ref()?.trace(run, parent));
        self.span.get()
    }

    fn recall(&self, tell: &dyn Fn(&dyn Observer)) {
        self.traced.iter().for_each(|traced| traced.recall(tell));
    }
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        self.watch.runs.lock().remove(&self.number);
    }
}
