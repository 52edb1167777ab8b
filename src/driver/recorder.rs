//! The recorder: writes down what is about to be performed, what was answered, and the status of the run, and
//! tells the observer.
//!
//! **Invariant:** a request is on record before it is performed, an answer before anything follows from it.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use super::drive::{Drive, OpenEffect};
use super::run::{Run, Stopped};
use super::words::Words;
use crate::contract::{AnswerForm, WordsIn, split_thoughts};
use crate::journal::{JournalError, Record, RunStatus};
use crate::machine::{
    EffectId, EffectKind, Effects, Event, ModelReply, PhaseName, Place, State, Step, StepRun, ToolOutcome,
    admit, transition_admitted,
};
use crate::ports::{Answer, Signal, Span, Unanswered};
use crate::prompt::{Request, RequestBody};
use crate::spec::{Planner, RoleName, Write};

impl<'a> Drive<'a> {
    /// Writes down what is about to be performed, then queues it.
    pub(super) fn request(&mut self, state: &State, effects: Effects) -> Result<(), JournalError> {
        let begins = matches!(self.noted.first(), Some(Record::Header(_)));
        self.queue_effects(state, effects, self.agent.environment.clock.now_ms());
        self.append(None)?;
        if begins {
            self.observer.notice(Signal::Entered(state.phase.name()));
        }
        self.show_requests(0);
        Ok(())
    }

    /// Notes a record that is to be appended. The state is that before it.
    pub(super) fn note(&mut self, state: &State, record: Record) {
        self.ledger.note(self.compiled, state, &record);
        self.noted.push(record);
    }

    /// Renders and queues what is about to be performed, and notes that it is requested. `at` is the time now.
    fn queue_effects(&mut self, state: &State, effects: Effects, at: u64) {
        for effect in effects {
            let request = Request::of_with(self.compiled, state, effect, &mut self.work)
                .expect("the machine asks only for what the state holds");
            let (effect, digest) = (request.effect, request.digest);
            if self.ledger.find_pending(effect).is_none() {
                self.note(state, Record::Requested { effect, digest, at: Some(at) });
            }
            self.queue.push(request);
        }
    }

    /// Moves the run by an event. The event and what the run asks next are written down together, before
    /// anything is performed. An event that does not fit any more is not written down. Unless it `goes_on`,
    /// what the run asks next is left for later.
    pub(super) fn apply(&mut self, state: State, event: Event, goes_on: bool) -> Result<State, JournalError> {
        if admit(self.compiled, &state, &event).is_err() {
            return Ok(state);
        }
        let (answered, lines) = (event.effect(), state.task.trace.len());
        // What is written down together has one time: looking at the clock is felt.
        let at = self.agent.environment.clock.now_ms();
        self.note(&state, Record::of_event(event.clone(), Some(at)));
        let duration = self.show_answer(&event);
        let mut step = transition_admitted(self.compiled, state, event).expect("admitted above");
        let effects = std::mem::take(&mut step.effects);
        let first = self.queue.len();
        if goes_on {
            self.queue_effects(&step.state, effects, at);
        }
        self.is_noted = step.state.phase.name().is_terminal();
        let status = self.is_noted.then(|| RunStatus::at(self.compiled, &step.state, &self.ledger));
        self.append(status.as_ref())?;
        self.show_step(&step, answered, duration, lines);
        self.show_requests(first);
        Ok(step.state)
    }

    /// Appends the noted records to the journal, and sets the status of the run for lists.
    pub(super) fn append(&mut self, status: Option<&RunStatus>) -> Result<(), JournalError> {
        let records = std::mem::take(&mut self.noted);
        let index = self.ledger.len - records.len() as u64;
        match status {
            Some(status) => self.journal.conclude(index, records, status),
            None if records.is_empty() => Ok(()),
            None => self.journal.append(index, records),
        }
    }

    /// Notes the status of the run for lists, and tells that what is still open has no answer. The status follows
    /// from the records, so a failure loses nothing.
    pub(super) fn note_status(&mut self, ended: &Result<Run, Stopped>) {
        while let Some(open) = self.open.pop() {
            self.tell_answer(&open, open.answer(Some("open")));
        }
        let state = match ended {
            Ok(run) => &run.state,
            Err(Stopped::Interrupted(stopped)) => &*stopped.state,
            Err(_) => return,
        };
        if !self.is_noted {
            let status = RunStatus::at(self.compiled, state, &self.ledger);
            let _ = self.append(Some(&status));
        }
    }

    /// Tells what is asked by the requests in the queue from this place on.
    fn show_requests(&mut self, first: usize) {
        if !self.observer.is_watching() {
            return;
        }
        for request in &self.queue[first..] {
            let (effect, asked) = (request.effect, request.asked.clone());
            let span = Span { run: &self.run, thread: &self.thread, effect, asked: &asked };
            self.observer.notice(Signal::Asked { span, request: &request.body });
            self.open.push(OpenEffect { effect, asked, since: Instant::now() });
        }
    }

    /// Tells that an effect was answered, before the machine takes the answer. Returns how long that took.
    fn show_answer(&mut self, event: &Event) -> Option<Duration> {
        let open = self.take_open(event.effect()?)?;
        let mut answer = open.answer(None);
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
        self.tell_answer(&open, answer);
        if let Event::ModelReplied { reply, .. } = event {
            self.show_words(&open, reply);
        }
        // The steps of the outermost run do not show what a tool of a nested run returned.
        if let (Event::ToolReturned { outcome, .. }, Some((_, tool))) = (event, open.asked.rsplit_once('/')) {
            let step = open.effect.step().unwrap_or_default();
            let (failed, output) = match outcome {
                ToolOutcome::Returned { output, .. } => (false, output.clone()),
                ToolOutcome::Failed { kind, message } => (true, format!("ERROR: {kind}: {message}")),
            };
            self.observer.notice(Signal::Finished { step, tool, failed, output: &output, duration });
        }
        duration
    }

    /// Tells what a model thought, and what it said beside its calls.
    fn show_words(&self, open: &OpenEffect, reply: &ModelReply) {
        let (aloud, words) = split_thoughts(&reply.text);
        let thoughts = [&*reply.thoughts, &*aloud].into_iter().filter(|thoughts| !thoughts.is_empty());
        let thoughts = thoughts.collect::<Vec<_>>().join("\n");
        let words = if reply.tool_calls.is_empty() { "" } else { &*words };
        if !thoughts.is_empty() || !words.is_empty() {
            let span = Span { run: &self.run, thread: &self.thread, effect: open.effect, asked: &open.asked };
            self.observer.notice(Signal::Said { span, thoughts: &thoughts, words });
        }
    }

    /// Tells that an effect got no answer.
    pub(super) fn show_failure(&mut self, effect: EffectId, failure: &str) {
        if let Some(open) = self.take_open(effect) {
            self.tell_answer(&open, open.answer(Some(failure)));
        }
    }

    /// Tells that an effect is tried again.
    pub(super) fn show_retry(&self, effect: EffectId, error: &Unanswered, most: u32, delay: Duration) {
        if let Some(OpenEffect { asked, .. }) = self.open.iter().find(|open| open.effect == effect) {
            let span = Span { run: &self.run, thread: &self.thread, effect, asked };
            self.observer.notice(Signal::Retrying { span, error, most, delay });
        }
    }

    fn take_open(&mut self, effect: EffectId) -> Option<OpenEffect> {
        let at = self.open.iter().position(|open| open.effect == effect)?;
        Some(self.open.swap_remove(at))
    }

    fn tell_answer(&self, open: &OpenEffect, answer: Answer<'_>) {
        let span = Span { run: &self.run, thread: &self.thread, effect: open.effect, asked: &open.asked };
        self.observer.notice(Signal::Answered { span, answer });
    }

    /// Tells what an answer has changed, which took so long. `lines` is the number of trace lines before it.
    fn show_step(&self, step: &Step, answered: Option<EffectId>, duration: Option<Duration>, lines: usize) {
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
        place.and_then(|place| self.show_result(step, place, duration.filter(|_| is_own)));
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
    fn show_result(
        &self,
        step: &Step,
        Place { draft, step: at, .. }: Place,
        duration: Option<Duration>,
    ) -> Option<()> {
        let task = &step.state.task;
        let current = task.progress.as_ref();
        let progress = if draft == task.draft { current } else { task.artifacts.past.last().or(current) }?;
        let (tool, run) = (&progress.plan.steps.get(at as usize)?.tool, progress.steps.get(at as usize)?);
        let (output, failed) = (run.output()?, matches!(run, StepRun::Failed { .. }));
        self.observer.notice(Signal::Finished { step: at, tool, failed, output, duration });
        Some(())
    }

    /// Performs an effect on the loop's own thread, and shows the answer as it is written. `None` for a wait
    /// that was cut short.
    pub(super) fn perform_here(
        &self,
        state: &State,
        request: &Request<'_>,
    ) -> Result<Option<Event>, Unanswered> {
        let (environment, stop) = (&self.agent.environment, || self.deadline.has_passed());
        let Some(place) = self.find_words(state, request) else {
            let retrying = |error: &Unanswered, most, delay| {
                self.show_retry(request.effect, error, most, delay);
            };
            return environment.perform(&self.run, request, None, &retrying, &stop);
        };
        if self.has_streamed.replace(false) {
            self.observer.notice(Signal::Restarted);
        }
        let words = RefCell::new(Words::new(place, self.observer, &environment.redactor));
        let mut sink = |piece: &str| words.borrow_mut().add(piece);
        let retrying = |error: &Unanswered, most, delay| {
            words.borrow_mut().forget();
            self.show_retry(request.effect, error, most, delay);
        };
        let answer = environment.perform(&self.run, request, Some(&mut sink), &retrying, &stop);
        match &answer {
            Ok(Some(Event::ModelReplied { reply, .. })) => {
                self.has_streamed.set(words.into_inner().end(reply.tool_calls.is_empty()));
            }
            Ok(Some(_)) => self.has_streamed.set(words.into_inner().end(true)),
            _ => {}
        }
        answer
    }

    /// Where the answer is in a reply, if it may be in it and is to be shown as it comes.
    fn find_words(&self, state: &State, request: &Request<'_>) -> Option<WordsIn> {
        let RequestBody::Model { role, .. } = &request.body else { return None };
        let policy = self.compiled.policy();
        let steps = state.task.progress.as_ref().map_or(0, |progress| progress.steps.len());
        let is_last = request.effect.step().is_some_and(|step| step as usize + 1 == steps);
        let place = match (role, policy.write) {
            (RoleName::Writer, _) if self.compiled.form() == AnswerForm::Final => WordsIn::Json,
            (RoleName::Writer | RoleName::Conversation, _) => WordsIn::Reply,
            (RoleName::Agent, Write::LastResult) if is_last => WordsIn::Reply,
            (RoleName::Planner | RoleName::Replanner, Write::Planner) => match policy.planner {
                Planner::Json => return None,
                Planner::ToolCalls => WordsIn::ReplyWithoutCalls,
                Planner::ReactText => WordsIn::FinalAnswer,
            },
            _ => return None,
        };
        (request.effect.path.is_empty() && self.observer.wants_tokens()).then_some(place)
    }
}

impl OpenEffect {
    /// What comes of the effect, as far as that is known.
    fn answer<'a>(&self, failure: Option<&'a str>) -> Answer<'a> {
        Answer { duration: self.since.elapsed(), usage: None, cached: false, failure }
    }
}
