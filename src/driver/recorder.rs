//! The recorder: writes down what is about to be performed, what was answered, and the status of the run, and
//! tells the observer.
//!
//! **Invariant:** a request is on record before it is performed, an answer before anything follows from it.

use std::cell::RefCell;

use super::drive::Drive;
use super::run::{Run, Stopped};
use super::words::Words;
use crate::contract::{AnswerForm, WordsIn};
use crate::journal::{JournalError, Record, RunStatus};
use crate::machine::{EffectId, Effects, Event, State, admit, transition_admitted};
use crate::ports::{Signal, Unanswered};
use crate::prompt::{Request, RequestBody, TraceContext};
use crate::spec::{Planner, RoleName, Write};

impl<'a> Drive<'a> {
    /// Writes down what is about to be performed, then queues it.
    pub(super) fn request(&mut self, state: &State, effects: Effects) -> Result<(), JournalError> {
        self.queue_effects(state, effects, self.now_ms());
        let header = self.noted.first().and_then(|record| match record {
            Record::Header(header) => Some(header),
            _ => None,
        });
        header.iter().for_each(|header| self.teller.tell_beginning(header));
        let begins = header.is_some();
        self.append(None)?;
        if begins {
            self.teller.observer.notice(Signal::Entered(state.phase.name()));
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
        self.teller.at = at;
        for effect in effects {
            let mut request = Request::of_with(self.compiled, state, effect, &mut self.work)
                .expect("the machine asks only for what the state holds");
            let (effect, digest) = (request.effect, request.digest);
            if self.ledger.find_pending(effect).is_none() {
                self.note(state, Record::Requested { effect, digest, at: Some(at) });
            }
            if let (Some(trace), RequestBody::Model { request, .. }) = (&self.trace, &mut request.body) {
                request.trace = Some(trace.child(&self.teller.run, &effect.to_string()));
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
        let at = self.now_ms();
        self.teller.at = at;
        self.note(&state, Record::of_event(event.clone(), Some(at)));
        let duration = self.teller.tell_event(&event);
        let mut step = transition_admitted(self.compiled, state, event).expect("admitted above");
        let effects = std::mem::take(&mut step.effects);
        let first = self.queue.len();
        if goes_on {
            self.queue_effects(&step.state, effects, at);
        }
        self.is_noted = step.state.phase.name().is_terminal();
        let status = self.is_noted.then(|| RunStatus::at(self.compiled, &step.state, &self.ledger));
        self.append(status.as_ref())?;
        self.teller.tell_step(&step, answered, duration, lines);
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

    /// Notes and tells that an effect got no answer.
    pub(super) fn note_unanswered(&mut self, state: &State, effect: EffectId, cause: &Unanswered) {
        let (at, cause) = (self.now_ms(), cause.cause.to_string());
        self.teller.at = at;
        self.teller.tell_failure(effect, &cause);
        self.note(state, Record::Interrupted { effect: Some(effect), cause, at });
    }

    /// Notes the status of the run for lists, and tells that what is still open has no answer. The status follows
    /// from the records, so a failure loses nothing.
    pub(super) fn note_status(&mut self, ended: &Result<Run, Stopped>) {
        self.teller.tell_open();
        let at = self.teller.at;
        let (state, failure) = match ended {
            Ok(run) => (&run.state, None),
            Err(Stopped::Interrupted(stopped)) => (&*stopped.state, Some(stopped.cause.cause.to_string())),
            Err(_) => return,
        };
        if self.teller.observer.is_watching() {
            let failure = failure.as_deref();
            self.teller.observer.notice(Signal::Ended { state, failure, at });
        }
        if let Some(cause) = failure
            && !matches!(self.noted.last(), Some(Record::Interrupted { cause: noted, .. }) if *noted == cause)
        {
            self.note(state, Record::Interrupted { effect: None, cause, at });
        }
        if !self.is_noted {
            let status = RunStatus::at(self.compiled, state, &self.ledger);
            let _ = self.append(Some(&status));
        }
    }

    /// Tells what is asked by the requests in the queue from this place on.
    fn show_requests(&mut self, first: usize) {
        if self.teller.observer.is_watching() {
            self.queue[first..].iter().for_each(|request| self.teller.tell_request(request));
        }
    }

    /// Performs an effect on the loop's own thread, and shows the answer as it is written. `None` for a wait
    /// that was cut short.
    pub(super) fn perform_here(
        &self,
        state: &State,
        request: &Request<'_>,
    ) -> Result<Option<Event>, Unanswered> {
        let environment = &self.agent.environment;
        let (stop, leave) = (|| self.deadline.has_passed(), || self.deadline.leaves());
        let Some(place) = self.find_words(state, request) else {
            let retrying = |error: &Unanswered, most, delay| {
                self.teller.tell_retry(request.effect, error, most, delay, environment.clock.now_ms());
            };
            return environment.perform(self.traced_run(), request, None, &retrying, (&stop, &leave));
        };
        if self.has_streamed.replace(false) {
            self.teller.observer.notice(Signal::Restarted);
        }
        let words = RefCell::new(Words::new(place, self.teller.observer, &environment.redactor));
        let mut sink = |piece: &str| words.borrow_mut().add(piece);
        let retrying = |error: &Unanswered, most, delay| {
            words.borrow_mut().forget();
            self.teller.tell_retry(request.effect, error, most, delay, environment.clock.now_ms());
        };
        let answer =
            environment.perform(self.traced_run(), request, Some(&mut sink), &retrying, (&stop, &leave));
        match &answer {
            Ok(Some(Event::ModelReplied { reply, .. })) => {
                self.has_streamed.set(words.into_inner().end(reply.tool_calls.is_empty()));
            }
            Ok(Some(_)) => self.has_streamed.set(words.into_inner().end(true)),
            _ => {}
        }
        answer
    }

    /// The run's id, and its span if it is traced.
    pub(super) fn traced_run(&self) -> (&str, Option<&TraceContext>) {
        (&self.teller.run, self.trace.as_ref())
    }

    /// Where the answer is in a reply, if it may be in it and is to be shown as it comes.
    fn find_words(&self, state: &State, request: &Request<'_>) -> Option<WordsIn> {
        let RequestBody::Model { role, .. } = &request.body else { return None };
        let policy = self.compiled.policy();
        let steps = state.task.progress.as_ref().map_or(0, |progress| progress.steps.len());
        let is_last = request.effect.step().is_some_and(|step| step as usize + 1 == steps);
        let place = match (role, policy.write) {
            (RoleName::Writer, _) if *self.compiled.form() == AnswerForm::Final => WordsIn::Json,
            // Of data there are no words to show before it has come whole and is known to conform.
            (RoleName::Writer, _) if *self.compiled.form() != AnswerForm::Text => return None,
            (RoleName::Writer | RoleName::Conversation, _) => WordsIn::Reply,
            (RoleName::Agent, Write::LastResult) if is_last => WordsIn::Reply,
            (RoleName::Planner | RoleName::Replanner, Write::Planner) => match policy.planner {
                Planner::Json => return None,
                Planner::ToolCalls => WordsIn::ReplyWithoutCalls,
                Planner::ReactText => WordsIn::FinalAnswer,
            },
            _ => return None,
        };
        (request.effect.path.is_empty() && self.teller.observer.wants_tokens()).then_some(place)
    }
}
