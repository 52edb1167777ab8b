//! The teller: says to an observer what happens in a run while it does, or what its records say has happened.
//!
//! **Invariant:** records say the same at every telling, in every process.

use std::borrow::Cow;
use std::cell::RefCell;
use std::time::{Duration, Instant};

use super::progress::Progress;
use crate::contract::split_thoughts;
use crate::journal::{Header, JournalError, Record, compile, render_awaited, split};
use crate::machine::{
    EffectId, EffectKind, Event, ModelReply, PhaseName, Place, State, Step, StepRun, ToolOutcome, start,
    transition, void_approvals,
};
use crate::ports::{Answer, Beginning, Observer, Signal, Span, Unanswered};
use crate::prompt::Request;
use crate::spec::CompiledSpec;

/// An effect that an observer was told of and that is not answered yet.
struct OpenEffect<'a> {
    effect: EffectId,
    asked: Cow<'a, str>,
    since: Duration,
}

/// Tells of one run.
pub(super) struct Teller<'a> {
    pub observer: &'a dyn Observer,
    pub run: String,
    /// The thread that the run is a turn of, or an empty text.
    pub thread: String,
    open: Vec<OpenEffect<'a>>,
    began: Instant,
    /// The time of the record that is told, where records are.
    recorded: Option<Duration>,
    /// The time of what is told, in milliseconds since 1970.
    pub at: u64,
}

impl<'a> Teller<'a> {
    pub fn new(run: String, thread: String, observer: &'a dyn Observer) -> Self {
        Teller { observer, run, thread, open: Vec::new(), began: Instant::now(), recorded: None, at: 0 }
    }

    fn now(&self) -> Duration {
        self.recorded.unwrap_or_else(|| self.began.elapsed())
    }

    /// What comes of an effect, as far as that is known.
    fn answer<'f>(&self, open: &OpenEffect<'_>, failure: Option<&'f str>) -> Answer<'f> {
        let duration = self.now().saturating_sub(open.since);
        Answer { duration, usage: None, cached: false, failure, is_open: false }
    }

    /// Tells that the run begins.
    pub fn tell_beginning(&self, header: &Header) {
        self.observer.notice(Signal::Began(Beginning {
            run: &header.run,
            thread: &header.thread,
            spec: &header.spec,
            question: &header.input.question,
            model: &header.model,
            servers: &header.servers,
            parent: header.trace.as_ref(),
            at: self.at,
        }));
    }

    /// Takes up what a person was asked before, so that their answer is told.
    pub fn reopen(&mut self, effect: EffectId) {
        self.open.push(OpenEffect { effect, asked: "human".into(), since: self.now() });
    }

    fn span<'s>(&'s self, effect: EffectId, asked: &'s str) -> Span<'s> {
        Span { run: &self.run, thread: &self.thread, effect, asked, at: self.at }
    }

    /// Tells what is asked. What was asked before and has no answer yet is told once.
    pub fn tell_request(&mut self, request: &Request<'a>) {
        let (effect, asked) = (request.effect, request.asked.clone());
        if self.open.iter().any(|open| open.effect == effect) {
            return;
        }
        let span = self.span(effect, &asked);
        self.observer.notice(Signal::Asked { span, request: &request.body });
        self.open.push(OpenEffect { effect, asked, since: self.now() });
    }

    /// Tells that what is still open has no answer.
    pub fn tell_open(&mut self) {
        while let Some(open) = self.open.pop() {
            let answer = Answer { is_open: true, ..self.answer(&open, None) };
            self.tell_answer(&open, answer, None);
        }
    }

    /// Tells that an effect was answered, before the machine takes the answer. Returns how long that took.
    pub fn tell_event(&mut self, event: &Event) -> Option<Duration> {
        let open = self.take_open(event.effect()?)?;
        let mut answer = self.answer(&open, None);
        let duration = Some(answer.duration);
        let failure_class;
        match event {
            Event::ModelReplied { reply, .. } => {
                (answer.usage, answer.cached) = (Some(reply.usage), reply.cached);
            }
            Event::ModelFailed { failure, .. } => {
                failure_class = failure.class.to_string();
                (answer.usage, answer.failure) = (Some(failure.usage), Some(failure_class.as_str()));
            }
            Event::ToolReturned { outcome: ToolOutcome::Failed { kind, .. }, .. } => {
                answer.failure = Some(kind);
            }
            Event::Expired { .. } => answer.failure = Some("expired"),
            _ => {}
        }
        self.tell_answer(&open, answer, Some(event));
        if let Event::ModelReplied { reply, .. } = event
            && self.observer.wants_thoughts()
        {
            self.tell_words(&open, reply);
        }
        // The steps of the outermost run do not show what a tool of a nested run returned.
        if let Event::ToolReturned { outcome, .. } = event
            && open.effect.is_nested()
            && let Some((_, tool)) = open.asked.rsplit_once('/')
        {
            let step = open.effect.step().unwrap_or_default();
            let (failed, output) = match outcome {
                ToolOutcome::Returned { output, .. } => (false, output.clone()),
                ToolOutcome::Failed { kind, message } => (true, format!("ERROR: {kind}: {message}")),
            };
            let effect = open.effect;
            self.observer.notice(Signal::Finished { effect, step, tool, failed, output: &output, duration });
        }
        duration
    }

    /// Tells what a model thought, and what it said beside its calls.
    fn tell_words(&self, open: &OpenEffect<'_>, reply: &ModelReply) {
        let (aloud, words) = split_thoughts(&reply.text);
        let words = if reply.tool_calls.is_empty() { "" } else { &*words };
        if ![&*reply.thoughts, &*aloud, words].iter().all(|said| said.is_empty()) {
            let thoughts = [&*reply.thoughts, &*aloud].into_iter().filter(|thoughts| !thoughts.is_empty());
            let thoughts = thoughts.collect::<Vec<_>>().join("\n");
            let span = self.span(open.effect, &open.asked);
            self.observer.notice(Signal::Said { span, thoughts: &thoughts, words });
        }
    }

    /// Tells that an effect got no answer.
    pub fn tell_failure(&mut self, effect: EffectId, failure: &str) {
        if let Some(open) = self.take_open(effect) {
            self.tell_answer(&open, self.answer(&open, Some(failure)), None);
        }
    }

    /// Tells that an effect is tried again, `at` this time.
    pub fn tell_retry(&self, effect: EffectId, error: &Unanswered, most: u32, delay: Duration, at: u64) {
        if let Some(OpenEffect { asked, .. }) = self.open.iter().find(|open| open.effect == effect) {
            let span = Span { at, ..self.span(effect, asked) };
            self.observer.notice(Signal::Retrying { span, error, most, delay });
        }
    }

    fn take_open(&mut self, effect: EffectId) -> Option<OpenEffect<'a>> {
        let at = self.open.iter().position(|open| open.effect == effect)?;
        Some(self.open.swap_remove(at))
    }

    fn tell_answer(&self, open: &OpenEffect<'_>, answer: Answer<'_>, event: Option<&Event>) {
        let span = self.span(open.effect, &open.asked);
        self.observer.notice(Signal::Answered { span, answer, event });
    }

    /// Tells what an answer has changed, which took so long. `lines` is the number of trace lines before it.
    pub fn tell_step(
        &self,
        step: &Step,
        answered: Option<EffectId>,
        duration: Option<Duration>,
        lines: usize,
    ) {
        if !self.observer.is_watching() {
            return;
        }
        // The step that a nested run hangs under ends with the run.
        let place = answered.and_then(|id| match id.kind {
            EffectKind::Step { draft, step, attempt } if id.path.is_empty() => {
                Some(Place { draft, step, attempt })
            }
            _ => id.path.places().next(),
        });
        let is_own = answered.is_some_and(|id| id.path.is_empty());
        place.and_then(|place| self.tell_result(step, place, duration.filter(|_| is_own)));
        let mut moves = step.moves.iter().map(|taken| (taken.from, taken.to)).peekable();
        let show = |phase: PhaseName| {
            let sources = &step.state.task.artifacts.sources;
            if phase == PhaseName::Done && !sources.is_empty() {
                self.observer.notice(Signal::Sources(sources));
            }
            self.observer.notice(Signal::Entered(phase));
        };
        for line in step.state.task.trace.iter().skip(lines) {
            // A phase that was passed through is entered before its own lines.
            while let Some((_, to)) =
                moves.next_if(|(from, _)| line.within().is_some_and(|phase| phase != *from))
            {
                show(to);
            }
            self.observer.notice(Signal::Traced(line));
        }
        moves.for_each(|(_, to)| show(to));
    }

    /// Tells a step's result, once it has one.
    fn tell_result(
        &self,
        step: &Step,
        Place { draft, step: at, attempt }: Place,
        duration: Option<Duration>,
    ) -> Option<()> {
        let task = &step.state.task;
        let current = task.progress.as_ref();
        let progress = if draft == task.draft { current } else { task.artifacts.past.last().or(current) }?;
        let (tool, run) = (&progress.plan.steps.get(at as usize)?.tool, progress.steps.get(at as usize)?);
        let (output, failed) = (run.output()?, matches!(run, StepRun::Failed { .. }));
        let effect = EffectKind::Step { draft, step: at, attempt }.into();
        self.observer.notice(Signal::Finished { effect, step: at, tool, failed, output, duration });
        Some(())
    }
}

/// What the records of a run say, as an observer of it saw it: each thing with the index of its record, and with the
/// time of that where it is known. Words that were streamed and tries that failed are not on record.
///
/// # Errors
/// Names the record that does not fit, by its index.
pub fn retell(records: &[Record]) -> Result<Vec<(u64, Progress)>, JournalError> {
    let (heard, mut told) = (Heard::default(), Vec::new());
    tell_records(records, &heard, |index, now_ms, compiled, state| {
        let is_end = matches!(&records[index as usize], Record::Answered { .. } | Record::Happened { .. })
            && state.phase.name().is_terminal();
        let heard = heard.0.take().into_iter().chain(is_end.then(|| Progress::of_end(state)));
        told.extend(heard.map(|progress| (index, progress.stamped(now_ms, &compiled.spec().name))));
    })?;
    Ok(told)
}

/// Tells an observer what the records of a run say, from the beginning.
///
/// # Errors
/// Names the record that does not fit, by its index.
pub fn retell_to(records: &[Record], observer: &dyn Observer) -> Result<(), JournalError> {
    tell_records(records, observer, |_, _, _, _| {})
}

/// Tells what records say. `told` hears after each of its index, its time, the spec and the state.
fn tell_records(
    records: &[Record],
    observer: &dyn Observer,
    mut told: impl FnMut(u64, u64, &CompiledSpec, &State),
) -> Result<(), JournalError> {
    let (header, spec) = split(records)?;
    let compiled = compile(spec)?;
    let mut teller = Teller::new(header.run.clone(), header.thread.clone(), observer);
    let mut state = start(&compiled, header.input.clone()).state;
    let mut now_ms = 0;
    for (index, record) in (0..).zip(records) {
        now_ms = record.time().unwrap_or(now_ms);
        (teller.at, teller.recorded) = (now_ms, Some(Duration::from_millis(now_ms)));
        match record {
            Record::Header(header) => {
                teller.at = records.iter().find_map(Record::time).unwrap_or_default();
                teller.tell_beginning(header);
                teller.observer.notice(Signal::Entered(state.phase.name()));
            }
            Record::Requested { effect, .. } => {
                let request = render_awaited(&compiled, &state, *effect);
                request.iter().for_each(|request| teller.tell_request(request));
            }
            Record::Answered { event, .. } | Record::Happened { event, .. } => {
                let (answered, lines) = (event.effect(), state.task.trace.len());
                let duration = teller.tell_event(event);
                let step = transition(&compiled, state, event.clone());
                let step = step.map_err(|refused| JournalError::at(index, refused.to_string()))?;
                teller.tell_step(&step, answered, duration, lines);
                state = step.state;
                if state.phase.name().is_terminal() {
                    teller.observer.notice(Signal::Ended { state: &state, failure: None, at: now_ms });
                }
            }
            Record::Interrupted { effect, cause, at } => {
                let later = &records[index as usize + 1..];
                // What has an answer since had one.
                let effect = effect.filter(|effect| !later.iter().any(|record| record.ends(*effect)));
                effect.into_iter().for_each(|effect| teller.tell_failure(effect, cause));
                if later.is_empty() {
                    teller.tell_open();
                    teller.observer.notice(Signal::Ended { state: &state, failure: Some(cause), at: *at });
                }
            }
            Record::SpecChanged(_) | Record::Asked(_) | Record::Resolved { .. } => {}
        }
        if index + 1 == records[0].copied() {
            void_approvals(&compiled, &mut state);
        }
        told(index, now_ms, &compiled, &state);
    }
    Ok(())
}

/// Keeps what it is told.
#[derive(Default)]
struct Heard(RefCell<Vec<Progress>>);

impl Observer for Heard {
    fn notice(&self, signal: Signal<'_>) {
        self.0.borrow_mut().extend(Progress::of(&signal));
    }
}
