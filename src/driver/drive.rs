//! Drive: the loop that every run goes through, whether it begins, goes on, is recorded or replayed.
//!
//! ```text
//! requested ──▶ journal ──▶ performed (recording or environment) ──▶ admitted ──▶ journal ──▶ transition ──▶ …
//! ```

use std::cell::Cell;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::agent::Agent;
use super::environment::{CancelToken, Deadline};
use super::replay::Playback;
use super::run::{Interrupted, Run, Stopped, Waiting};
use super::teller::Teller;
use super::workers::{Performed, Said, Workers};
use crate::journal::{Journal, JournalError, Ledger, Record};
use crate::machine::{Effect, EffectId, Effects, Event, State, outstanding};
use crate::ports::{Cause, Observer, Unanswered};
use crate::prompt::{Request, RequestBody, TraceContext, Work};
use crate::spec::CompiledSpec;

/// What the loop does next.
pub(super) enum Next {
    /// Takes this event.
    Event(Event),
    /// Looks again: a wait was cut short.
    Again,
    /// Stops: the environment did not answer.
    Unanswered(EffectId, Unanswered),
    /// Stops: a person has to answer.
    Waiting(Waiting),
}

impl From<Performed> for Next {
    fn from((effect, performed): Performed) -> Self {
        match performed {
            Ok(Some(event)) => Next::Event(event),
            Ok(None) => Next::Again,
            Err(cause) => Next::Unanswered(effect, cause),
        }
    }
}

/// One run under way.
pub(super) struct Drive<'a> {
    pub agent: &'a Agent,
    pub compiled: &'a CompiledSpec,
    pub teller: Teller<'a>,
    pub journal: &'a mut dyn Journal,
    pub ledger: Ledger,
    /// The records to be appended next. The ledger has noted them.
    pub noted: Vec<Record>,
    pub deadline: Arc<Deadline>,
    pub playback: Option<Playback>,
    pub work: Work,
    /// What is on record as requested, and to be performed.
    pub queue: Vec<Request<'a>>,
    /// Whether the observer was shown words of an answer.
    pub has_streamed: Cell<bool>,
    /// Whether the last status of the run is noted.
    pub is_noted: bool,
    /// The span of the run, if it is traced.
    pub trace: Option<TraceContext>,
    /// The time of what is noted, in milliseconds since 1970, where it is not the clock's.
    pub at: Option<u64>,
}

impl<'a> Drive<'a> {
    pub fn new(
        agent: &'a Agent,
        (run, thread): (String, String),
        journal: &'a mut dyn Journal,
        observer: &'a dyn Observer,
        cancel: CancelToken,
    ) -> Self {
        Drive {
            agent,
            compiled: &agent.compiled,
            teller: Teller::new(run, thread, observer),
            journal,
            ledger: Ledger::default(),
            noted: Vec::new(),
            deadline: Arc::new(Deadline::new(&agent.compiled, cancel)),
            playback: None,
            work: Work::default(),
            queue: Vec::new(),
            has_streamed: Cell::new(false),
            is_noted: false,
            trace: None,
            at: None,
        }
    }

    /// The time now, in milliseconds since 1970.
    pub fn now_ms(&self) -> u64 {
        self.at.unwrap_or_else(|| self.agent.environment.clock.now_ms())
    }

    /// Answers what waits, one answer at a time, until the run has ended or waits for a person, and notes its
    /// status then. What the effects ask is written down with what is noted, unless it is on record.
    pub fn follow(&mut self, state: State, effects: Effects) -> Result<Run, Stopped> {
        let requested = self.request(&state, effects);
        let ended = requested.map_err(Stopped::from).and_then(|()| self.answer_all(state));
        self.note_status(&ended);
        ended
    }

    fn answer_all(&mut self, state: State) -> Result<Run, Stopped> {
        if !self.compiled.runs_in_parallel() {
            return self.run_loop(state, None);
        }
        let (agent, deadline) = (self.agent, Arc::clone(&self.deadline));
        let (run, trace) = (self.teller.run.clone(), self.trace);
        std::thread::scope(|scope| {
            let (run, deadline) = ((&*run, trace.as_ref()), &*deadline);
            self.run_loop(state, Some(Workers::new(agent, run, deadline, scope)))
        })
    }

    /// The loop itself, with worker threads if steps may run side by side.
    fn run_loop<'env>(
        &mut self,
        mut state: State,
        mut workers: Option<Workers<'_, 'env>>,
    ) -> Result<Run, Stopped>
    where
        'a: 'env,
    {
        while !state.phase.name().is_terminal() {
            let next = match self.next_unasked(&state) {
                Some(event) => {
                    // What runs on other threads is waited for in any case; its answers count.
                    state = self.drain(state, workers.as_mut())?;
                    Next::Event(event)
                }
                None => self.next(&state, workers.as_mut())?,
            };
            let event = match next {
                Next::Event(event) => event,
                Next::Again if self.deadline.is_interrupted() => return self.stop(state, workers),
                Next::Again => continue,
                Next::Unanswered(effect, cause) => {
                    // No other try was made because the run is to end or to stop.
                    let is_meant = self.may_ask()
                        && self.deadline.has_passed()
                        && self.ledger.doubts(self.compiled, &state).next().is_none();
                    if is_meant && !self.deadline.is_interrupted() {
                        self.note_unanswered(&state, effect, &cause);
                        continue;
                    }
                    let state = self.drain(state, workers.as_mut())?;
                    self.note_unanswered(&state, effect, &cause);
                    if is_meant {
                        return self.stop(state, workers);
                    }
                    let (effect, cause) = match cause.cause {
                        Cause::InDoubt => (effect, cause),
                        _ => self.find_doubt(&state).unwrap_or((effect, cause)),
                    };
                    return Err(interrupted(effect, cause, state));
                }
                Next::Waiting(waiting) => {
                    return Ok(Run { state, records: Vec::new(), waiting: Some(waiting) });
                }
            };
            if let Event::Expired { effect } = event {
                self.queue.retain(|request| request.effect != effect);
            }
            // What follows is not asked for, so that no write is on record that was not made.
            let stops = self.may_ask() && self.deadline.stops_soon();
            state = self.apply(state, event, !stops)?;
            if stops && !state.phase.name().is_terminal() {
                return self.stop(state, workers);
            }
        }
        // A replay that has ended must be the recording.
        if let Some(playback) = &self.playback {
            let drifts = playback.drifts(self.compiled, &state, self.compiled.runs_in_parallel());
            if !drifts.is_empty() {
                return Err(Stopped::Drifted(drifts));
            }
        }
        Ok(Run { state, records: Vec::new(), waiting: None })
    }

    /// Whether the environment may be asked for what is not recorded.
    fn may_ask(&self) -> bool {
        self.playback.as_ref().is_none_or(Playback::may_ask)
    }

    /// What happened unasked: out of the recording in a replay, else out of the environment.
    fn next_unasked(&mut self, state: &State) -> Option<Event> {
        let recorded = self.playback.as_mut().and_then(Playback::happened);
        if recorded.is_some() || !self.may_ask() {
            return recorded;
        }
        self.deadline.ending_event().or_else(|| self.expired_question(state))
    }

    /// What comes next: a recorded answer, or else one of the environment.
    fn next<'env>(&mut self, state: &State, workers: Option<&mut Workers<'_, 'env>>) -> Result<Next, Stopped>
    where
        'a: 'env,
    {
        if let Some(next) = self.next_recorded(state)? {
            return Ok(next);
        }
        let others = self.queue.iter().filter(|request| !request.is_human()).count();
        if let Some(workers) = workers
            && (workers.in_flight > 0 || others > 1)
        {
            let others = self.queue.extract_if(.., |request| !request.is_human());
            others.for_each(|request| workers.perform(request));
            return Ok(self.receive(workers).into());
        }
        if let Some(at) = self.queue.iter().position(|request| !request.is_human()) {
            let request = self.queue.remove(at);
            let performed = (request.effect, self.perform_here(state, &request));
            if let RequestBody::Model { request, .. } = request.body {
                self.work.take_room(request.payload);
            }
            return Ok(performed.into());
        }
        self.ask_people(state).ok_or_else(|| {
            let problem = "the run waits for an answer, and nothing was asked";
            JournalError::at(self.ledger.len, problem).into()
        })
    }

    /// What comes next in a replay; `None` if the environment is to be asked.
    fn next_recorded(&mut self, state: &State) -> Result<Option<Next>, Stopped> {
        let Some(playback) = &mut self.playback else { return Ok(None) };
        playback.follow(&state.task.trace);
        if let Some(nth) = playback.first_recorded(&self.queue) {
            return Ok(playback.answer(&self.queue.remove(nth)).map(Next::Event));
        }
        if playback.may_ask() {
            return Ok(None);
        }
        let missing = self.queue.iter().find(|request| !request.is_human()).or(self.queue.first());
        if let (Some(cause), Some(missing)) = (playback.interruption(state), missing) {
            return Ok(Some(Next::Unanswered(missing.effect, cause)));
        }
        // In a replay no time passes.
        let is_wait = |request: &Request<'_>| matches!(request.body, RequestBody::Wait { .. });
        if let Some(at) = self.queue.iter().position(is_wait) {
            return Ok(Some(Next::Event(Event::TimePassed { effect: self.queue.remove(at).effect })));
        }
        let Some(missing) = missing else { return Ok(None) };
        match &missing.body {
            RequestBody::Human { step, question } if playback.is_used_up() => {
                Ok(Some(Next::Waiting(self.waiting(state, missing.effect, *step, question, None))))
            }
            _ => Err(Stopped::Drifted(vec![playback.missing(self.compiled, state, missing)])),
        }
    }

    /// Stops a run that is to be gone on with, unless what still ran has ended it.
    fn stop(&mut self, state: State, mut workers: Option<Workers<'_, '_>>) -> Result<Run, Stopped> {
        let state = self.drain(state, workers.as_mut())?;
        if let Some((effect, cause)) = self.find_doubt(&state) {
            return Err(interrupted(effect, cause, state));
        }
        match outstanding(self.compiled, &state).first().map(Effect::id) {
            Some(effect) => Err(interrupted(effect, Unanswered::new(Cause::Stopped, "by the user"), state)),
            None => Ok(Run { state, records: Vec::new(), waiting: None }),
        }
    }

    /// A write in doubt, if there is one: of all that a run stops for a person has to know that first. In a replay
    /// nothing was called.
    fn find_doubt(&self, state: &State) -> Option<(EffectId, Unanswered)> {
        let (effect, tool) = self.ledger.doubts(self.compiled, state).next().filter(|_| self.may_ask())?;
        let message = format!("{tool}: no answer is on record; the write may have happened");
        Some((effect, Unanswered::new(Cause::InDoubt, message)))
    }

    /// Waits for the next answer of another thread.
    fn receive(&self, workers: &mut Workers<'_, '_>) -> Performed {
        loop {
            match workers.receiver.recv().expect("the workers hold a sender themselves") {
                Said::Retrying(effect, error, most, delay) => {
                    let at = self.agent.environment.clock.now_ms();
                    self.teller.tell_retry(effect, &error, most, delay, at)
                }
                Said::Performed(performed) => {
                    workers.in_flight -= 1;
                    return performed;
                }
                Said::Panicked(panic) => resume_unwind(panic),
            }
        }
    }

    /// Waits for what still runs on other threads, so that no answer is lost that anybody waits for. Waits for time to
    /// pass end.
    fn drain(&mut self, mut state: State, workers: Option<&mut Workers<'_, '_>>) -> Result<State, Stopped> {
        let Some(workers) = workers else { return Ok(state) };
        workers.stops_waiting.store(true, Ordering::Relaxed);
        while workers.in_flight > 0 {
            if let (_, Ok(Some(event))) = self.receive(workers) {
                state = self.apply(state, event, false)?;
            }
        }
        Ok(state)
    }
}

fn interrupted(effect: EffectId, cause: Unanswered, state: State) -> Stopped {
    let (state, records) = (Box::new(state), Vec::new());
    Stopped::Interrupted(Box::new(Interrupted { effect, cause, state, records }))
}
