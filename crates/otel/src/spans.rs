//! The one mapping: what an observer is told of a run, as finished spans.
//!
//! ```text
//! invoke_agent AGENT                      the run
//! ├─ plan AGENT                           asking a planner
//! │  └─ chat MODEL
//! ├─ execute_tool TOOL
//! ├─ invoke_agent AGENT                   a step that an agent does, with spans of its own in it
//! └─ planwright.human                     waiting for a person
//! ```
//!
//! Phases, replans, verdicts and the like are events of the run's span.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use opentelemetry::trace::Status;
use opentelemetry_sdk::trace::SpanData;

use crate::attributes::{count, event_of, pair, text};
use crate::pipeline::Pipeline;
use crate::run::Run;
use crate::sampling::Sampler;
use crate::sink::Sink;
use planwright::driver::retell_to;
use planwright::journal::{JournalError, Record};
use planwright::machine::PhaseName;
use planwright::ports::{Observer, Signal};
use planwright::prompt::TraceContext;

/// The spans of a stored run that are finished, in the order in which they were, and those of what is still under way
/// as far as it came. `content` says whether what was said stands in them.
///
/// # Errors
/// Names the record that does not fit, by its index.
pub fn spans_of(records: &[Record], content: bool) -> Result<Vec<SpanData>, JournalError> {
    let spans = RunSpans::in_memory(content);
    retell_to(records, &spans)?;
    if let Some(mut run) = spans.run.take() {
        run.end(&spans.sink, Status::Unset, vec![pair("planwright.run.unfinished", true)]);
    }
    Ok(spans.take())
}

/// Makes spans of what it is told of runs, one after the other.
pub struct RunSpans {
    sampler: Sampler,
    sink: Sink,
    run: RefCell<Option<Run>>,
    /// Names that spans of the runs before had.
    names: Cell<Vec<Arc<str>>>,
    /// Whether a run goes on of which nothing was told since.
    is_resumed: Cell<bool>,
}

fn name_phase(phase: PhaseName) -> &'static str {
    match phase {
        PhaseName::Plan => "PLAN",
        PhaseName::Execute => "EXECUTE",
        PhaseName::Validate => "VALIDATE",
        PhaseName::Write => "WRITE",
        PhaseName::Done => "DONE",
        PhaseName::Error => "ERROR",
    }
}

impl RunSpans {
    /// Spans that are kept until they are taken, and go nowhere.
    ///
    /// ```
    /// use planwright::prelude::*;
    /// use planwright_offline::Offline;
    /// use planwright_otel::RunSpans;
    ///
    /// let spec = planwright::agents::shipped("plan-then-execute").unwrap().with_tools(|_| false);
    /// let agent = Agent::builder(spec).model(Offline::new()).build()?;
    /// let spans = RunSpans::in_memory(false);
    /// agent.job(Input::question("hello")).observer(&spans).run()?;
    /// assert_eq!(spans.take().last().unwrap().name, "invoke_agent plan-then-execute");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn in_memory(content: bool) -> Self {
        RunSpans::new(None, Sampler::ALL, content)
    }

    /// Takes the spans that are finished, in the order in which they were.
    pub fn take(&self) -> Vec<SpanData> {
        self.sink.take()
    }

    pub(crate) fn new(pipeline: Option<Arc<Pipeline>>, sampler: Sampler, content: bool) -> Self {
        let (run, names, is_resumed) = Default::default();
        RunSpans { sampler, sink: Sink::new(pipeline, content), run, names, is_resumed }
    }
}

impl Observer for RunSpans {
    fn notice(&self, signal: Signal<'_>) {
        if let Signal::Began(begins) = signal {
            self.is_resumed.set(false);
            let run = Run::new(begins, self.sampler, self.sink.content, self.names.take());
            *self.run.borrow_mut() = Some(run);
            return;
        }
        let mut slot = self.run.borrow_mut();
        let Some(run) = slot.as_mut() else { return };
        match signal {
            Signal::Asked { span, request } => {
                run.now = span.at;
                run.ask(span, request, self.sink.content);
            }
            Signal::Answered { span, answer, event } => {
                run.now = span.at;
                run.answer(&self.sink, span, answer, event);
            }
            Signal::Retrying { span, error, .. } => {
                let cause = text("planwright.cause", &error.cause.to_string());
                let tries = count("planwright.tries", u64::from(error.tries));
                run.event_within(span, "planwright.retry", vec![cause, tries]);
            }
            // It was entered before the run stopped.
            Signal::Entered(_) if self.is_resumed.take() => {}
            Signal::Entered(phase) => {
                run.event("planwright.phase", vec![pair("planwright.phase", name_phase(phase))]);
            }
            Signal::Traced(line) => {
                if let Some((name, attributes)) = event_of(line, self.sink.content) {
                    run.event(name, attributes);
                }
            }
            Signal::Finished { effect, failed, .. } => run.finish_step(&self.sink, effect, failed),
            Signal::Ended { state, failure, at } => {
                run.now = run.now.max(at);
                // A run that waits for a person goes on, perhaps in another process.
                if state.phase().is_terminal() || failure.is_some() {
                    run.stop(&self.sink, state, failure);
                    self.names.set(std::mem::take(&mut run.names));
                    *slot = None;
                }
            }
            _ => {}
        }
    }

    fn trace(&self, run: &str, parent: Option<&TraceContext>) -> Option<TraceContext> {
        let span = TraceContext::of_run(run, parent);
        Some(TraceContext { sampled: self.sampler.samples(&span, parent), ..span })
    }

    fn wants_thoughts(&self) -> bool {
        false
    }

    fn recall(&self, tell: &dyn Fn(&dyn Observer)) {
        self.sink.recalls.set(true);
        tell(self);
        self.sink.recalls.set(false);
        self.is_resumed.set(true);
    }
}
