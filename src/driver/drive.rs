//! Drive: the loop that every run goes through, whether it begins, goes on, is recorded or replayed.
//!
//! ```text
//! requested ──▶ journal ──▶ performed (recording or environment) ──▶ admitted ──▶ journal ──▶ transition ──▶ …
//! ```

use std::sync::Arc;
use std::time::Instant;

use super::agent::Agent;
use super::deadline::Deadline;
use super::replay::Playback;
use super::run::Waiting;
use super::stopped::{Interrupted, Stopped};
use super::workers::{Performed, Workers};
use crate::journal::{Drift, Journal, JournalError, Record, Unknown};
use crate::machine::{EffectId, Effects, Event, State};
use crate::ports::{Observer, Unanswered};
use crate::prompt::{Request, RequestBody};
use crate::spec::CompiledSpec;

/// Why the loop stops before the end.
pub(super) enum Halt {
    Interrupted(Box<Interrupted>),
    Drifted(Vec<Drift>),
    Journal(JournalError),
}

impl From<JournalError> for Halt {
    fn from(error: JournalError) -> Self {
        Halt::Journal(error)
    }
}

impl From<Halt> for Stopped {
    fn from(halt: Halt) -> Self {
        match halt {
            Halt::Interrupted(interrupted) => Stopped::Interrupted(interrupted),
            Halt::Drifted(drifts) => Stopped::Drifted(drifts),
            Halt::Journal(error) => Stopped::Journal(error),
        }
    }
}

/// Where the loop ends well: at the end, or at a question without an answer yet.
pub(super) struct Followed {
    pub state: State,
    pub waiting: Option<Waiting>,
}

/// What the loop does next.
pub(super) enum Next {
    /// Takes this.
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

/// An effect that was asked and is not answered yet.
pub(super) struct OpenEffect {
    pub effect: EffectId,
    pub asked: String,
    pub since: Instant,
    /// The tool of a nested run's call: the outermost run's steps do not show its result.
    pub nested_tool: Option<String>,
}

/// One run under way.
pub(super) struct Drive<'a> {
    pub agent: &'a Agent,
    pub rules: &'a CompiledSpec,
    pub run: String,
    /// The thread that the run is a turn of; empty where it stands alone.
    pub thread: String,
    pub journal: &'a mut dyn Journal,
    /// The index of the next record.
    pub index: u64,
    pub observer: &'a dyn Observer,
    pub deadline: Arc<Deadline>,
    pub playback: Option<Playback>,
    /// Whether the environment may be asked for what is not recorded.
    pub may_ask: bool,
    /// What was asked and is not answered yet.
    pub open: Vec<OpenEffect>,
    /// Whether it is noted where the run ended.
    pub is_noted: bool,
    /// When people were asked, in milliseconds since 1970.
    pub asked_at: Vec<(EffectId, u64)>,
    /// The writes of which a person has said that it is unknown whether they happened.
    pub unknown: Vec<Unknown>,
}

impl<'a> Drive<'a> {
    /// Answers what waits, one answer at a time, until the run has ended or waits for a person.
    /// `asked` are the effects that the journal says were requested already; the others are written down
    /// together with what is `first`.
    pub fn follow(
        &mut self,
        first: Vec<Record>,
        state: State,
        effects: Effects,
        asked: &[EffectId],
    ) -> Result<Followed, Halt> {
        let mut queue = Vec::new();
        self.request(first, &state, effects, asked, &mut queue)?;
        if !self.rules.runs_in_parallel() {
            return self.run_loop(state, queue, None);
        }
        let (agent, run, deadline) = (self.agent, self.run.clone(), Arc::clone(&self.deadline));
        std::thread::scope(|scope| {
            let workers = Workers::new(agent, &run, &deadline, scope);
            self.run_loop(state, queue, Some(workers))
        })
    }

    /// The loop itself, with threads where steps may run side by side.
    fn run_loop<'env>(
        &mut self,
        mut state: State,
        mut queue: Vec<Request<'a>>,
        mut workers: Option<Workers<'_, 'env>>,
    ) -> Result<Followed, Halt>
    where
        'a: 'env,
    {
        while !state.phase.name().is_terminal() {
            let next = match self.next_unasked(&state) {
                Some(event) => {
                    // What runs beside will be waited for in any case; its answers count.
                    state = self.drain(state, workers.as_mut())?;
                    Next::Event(event)
                }
                None => self.next(&state, &mut queue, workers.as_mut())?,
            };
            let event = match next {
                Next::Event(event) => event,
                Next::Again => continue,
                Next::Unanswered(effect, cause) => {
                    self.show_failure(effect, cause.cause.as_str());
                    let state = self.drain(state, workers.as_mut())?;
                    let (state, records) = (Box::new(state), Vec::new());
                    return Err(Halt::Interrupted(Box::new(Interrupted { effect, cause, state, records })));
                }
                Next::Waiting(waiting) => return Ok(Followed { state, waiting: Some(waiting) }),
            };
            if let Event::Expired { effect } = event {
                queue.retain(|request| request.effect != effect);
            }
            state = self.apply(state, event, &mut queue)?;
        }
        self.check_replay(&state)?;
        Ok(Followed { state, waiting: None })
    }

    /// A replay that has ended must be the recording.
    fn check_replay(&self, state: &State) -> Result<(), Halt> {
        let Some(playback) = self.playback.as_ref().filter(|_| !self.may_ask) else { return Ok(()) };
        let parallel = self.rules.runs_in_parallel();
        let drifts = playback.drifts(self.rules, state, parallel);
        if drifts.is_empty() { Ok(()) } else { Err(Halt::Drifted(drifts)) }
    }

    /// What happened unasked: out of the recording in a replay, else out of the environment.
    fn next_unasked(&mut self, state: &State) -> Option<Event> {
        if let Some(playback) = &mut self.playback
            && let Some(event) = playback.happened()
        {
            return Some(event);
        }
        if !self.may_ask {
            return None;
        }
        self.deadline.ending_event().or_else(|| self.expired_question(state))
    }

    /// What comes next: a recorded answer, or else one of the environment.
    fn next<'env>(
        &mut self,
        state: &State,
        queue: &mut Vec<Request<'a>>,
        workers: Option<&mut Workers<'_, 'env>>,
    ) -> Result<Next, Halt>
    where
        'a: 'env,
    {
        if let Some(next) = self.next_recorded(state, queue)? {
            return Ok(next);
        }
        let others = queue.iter().filter(|request| !request.is_human()).count();
        if let Some(workers) = workers
            && (workers.is_busy() || others > 1)
        {
            queue.extract_if(.., |request| !request.is_human()).for_each(|request| workers.perform(request));
            return Ok(workers.receive().into());
        }
        if let Some(at) = queue.iter().position(|request| !request.is_human()) {
            let request = queue.remove(at);
            return Ok((request.effect, self.perform_here(&request)).into());
        }
        self.ask_people(state, queue).ok_or_else(|| {
            let problem = "the run waits for an answer, and nothing was asked";
            Halt::Journal(JournalError::at(self.index, problem))
        })
    }

    /// What comes next in a replay. `None` where the environment is to be asked.
    fn next_recorded(&mut self, state: &State, queue: &mut Vec<Request<'a>>) -> Result<Option<Next>, Halt> {
        let Some(playback) = &mut self.playback else { return Ok(None) };
        if let Some(nth) = playback.first_recorded(queue) {
            let request = queue.remove(nth);
            let event = playback.answer(&request).expect("first_recorded found its recording");
            return Ok(Some(Next::Event(event)));
        }
        if self.may_ask {
            return Ok(None);
        }
        // In a replay no time passes.
        if let Some(at) = queue.iter().position(|request| matches!(request.body, RequestBody::Wait { .. })) {
            return Ok(Some(Next::Event(Event::TimePassed { effect: queue.remove(at).effect })));
        }
        let missing = queue.iter().find(|request| !request.is_human()).or(queue.first());
        match missing {
            Some(Request { effect, body: RequestBody::Human { step, question }, .. })
                if playback.is_used_up() =>
            {
                let token = self.question_token(state, *effect);
                let (effect, step, question) = (*effect, *step, question.clone());
                let waiting = Waiting { effect, step, question, token, refused: None };
                Ok(Some(Next::Waiting(waiting)))
            }
            Some(request) => Err(Halt::Drifted(vec![playback.missing(state, request)])),
            None => Ok(None),
        }
    }

    /// Waits for what still runs on other threads, so that no answer is lost. All waiting
    /// for time to pass ends.
    fn drain(&mut self, mut state: State, workers: Option<&mut Workers<'_, '_>>) -> Result<State, Halt> {
        let Some(workers) = workers else { return Ok(state) };
        workers.stop_waiting();
        while workers.is_busy() {
            if let (_, Ok(Some(event))) = workers.receive() {
                state = self.apply_after(Vec::new(), state, event, None)?;
            }
        }
        Ok(state)
    }
}
