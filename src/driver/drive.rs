//! Drive: the loop that every run goes through, whether it begins, goes on, is recorded or replayed.
//!
//! ```text
//! requested ──▶ journal ──▶ performed (recording or world) ──▶ admitted ──▶ journal ──▶ transition ──▶ …
//! ```

use std::sync::Arc;

use super::agent::Agent;
use super::prepare::{Prepared, Request};
use super::replay::Playback;
use super::run::{Interrupted, Waiting};
use super::stop::Sitting;
use super::workers::{Performed, Side};
use crate::journal::{Drift, Journal, JournalError, Record, Unknown};
use crate::machine::{EffectId, Effects, Event, State};
use crate::ports::Observer;
use crate::ports::Unanswered;
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

/// Where the loop ends well: at the end, or at a question that nobody answers yet.
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
    /// Stops: the world did not answer.
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
    pub rules: &'a CompiledSpec,
    pub run: String,
    pub journal: &'a mut dyn Journal,
    /// The index of the next record.
    pub index: u64,
    pub observer: &'a dyn Observer,
    pub sitting: Arc<Sitting>,
    pub playback: Option<Playback>,
    /// Whether the world may be asked for what is not recorded.
    pub may_ask: bool,
    /// The tools that nested runs are calling.
    pub nested_calls: Vec<(EffectId, String)>,
    /// Whether it is noted where the run ended.
    pub is_noted: bool,
    /// When people were asked, in milliseconds since 1970.
    pub asked_at: Vec<(EffectId, u64)>,
    /// The writes of which a person has said that nobody knows whether they happened.
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
        if !self.rules.runs_beside() {
            return self.turn_by_turn(state, queue, None);
        }
        let (agent, run, sitting) = (self.agent, self.run.clone(), Arc::clone(&self.sitting));
        std::thread::scope(|scope| {
            let side = Side::new(agent, &run, &sitting, scope);
            self.turn_by_turn(state, queue, Some(side))
        })
    }

    /// The loop itself, with threads where steps may run side by side.
    fn turn_by_turn<'env>(
        &mut self,
        mut state: State,
        mut queue: Vec<Prepared<'a>>,
        mut side: Option<Side<'_, 'env>>,
    ) -> Result<Followed, Halt>
    where
        'a: 'env,
    {
        while !state.phase.name().is_terminal() {
            let next = match self.happened(&state) {
                Some(event) => {
                    // What runs beside will be waited for in any case; its answers count.
                    state = self.drain(state, side.as_mut())?;
                    Next::Event(event)
                }
                None => self.next(&state, &mut queue, side.as_mut())?,
            };
            let event = match next {
                Next::Event(event) => event,
                Next::Again => continue,
                Next::Unanswered(effect, cause) => {
                    let state = self.drain(state, side.as_mut())?;
                    let (state, records) = (Box::new(state), Vec::new());
                    return Err(Halt::Interrupted(Box::new(Interrupted { effect, cause, state, records })));
                }
                Next::Waiting(waiting) => return Ok(Followed { state, waiting: Some(waiting) }),
            };
            if let Event::Expired { effect } = event {
                queue.retain(|prepared| prepared.id != effect);
            }
            state = self.apply(state, event, &mut queue)?;
        }
        self.compare(&state)?;
        Ok(Followed { state, waiting: None })
    }

    /// A replay that has ended must be the recording.
    fn compare(&self, state: &State) -> Result<(), Halt> {
        let Some(playback) = self.playback.as_ref().filter(|_| !self.may_ask) else { return Ok(()) };
        let parallel = self.rules.runs_beside();
        let drifts = playback.drifts(self.rules, state, parallel);
        if drifts.is_empty() { Ok(()) } else { Err(Halt::Drifted(drifts)) }
    }

    /// What happened that nobody said: out of the recording in a replay, else out of the world.
    fn happened(&mut self, state: &State) -> Option<Event> {
        if let Some(playback) = &mut self.playback
            && let Some(event) = playback.happened()
        {
            return Some(event);
        }
        if !self.may_ask {
            return None;
        }
        self.sitting.over().or_else(|| self.expired(state))
    }

    /// What comes next: a recorded answer where there is one, else one of the world's.
    fn next<'env>(
        &mut self,
        state: &State,
        queue: &mut Vec<Prepared<'a>>,
        side: Option<&mut Side<'_, 'env>>,
    ) -> Result<Next, Halt>
    where
        'a: 'env,
    {
        if let Some(next) = self.recorded(state, queue)? {
            return Ok(next);
        }
        let others = queue.iter().filter(|prepared| !prepared.is_human()).count();
        if let Some(side) = side
            && (side.is_busy() || others > 1)
        {
            queue.extract_if(.., |prepared| !prepared.is_human()).for_each(|prepared| side.perform(prepared));
            return Ok(side.receive().into());
        }
        if let Some(at) = queue.iter().position(|prepared| !prepared.is_human()) {
            let prepared = queue.remove(at);
            return Ok((prepared.id, self.perform_here(&prepared)).into());
        }
        self.ask_people(state, queue).ok_or_else(|| {
            let problem = "the run waits for an answer, and nothing was asked";
            Halt::Journal(JournalError::at(self.index, problem))
        })
    }

    /// What comes next in a replay. `None` where the world is to be asked.
    fn recorded(&mut self, state: &State, queue: &mut Vec<Prepared<'a>>) -> Result<Option<Next>, Halt> {
        let Some(playback) = &mut self.playback else { return Ok(None) };
        if let Some(nth) = playback.first_recorded(queue) {
            let prepared = queue.remove(nth);
            let event = playback.answer(&prepared).expect("first_recorded found its recording");
            return Ok(Some(Next::Event(event)));
        }
        if self.may_ask {
            return Ok(None);
        }
        // In a replay no time passes.
        if let Some(at) = queue.iter().position(Prepared::is_wait) {
            return Ok(Some(Next::Event(Event::TimePassed { effect: queue.remove(at).id })));
        }
        let missing = queue.iter().find(|prepared| !prepared.is_human()).or(queue.first());
        match missing {
            Some(Prepared { id, request: Request::Human { step, question }, .. })
                if playback.is_used_up() =>
            {
                let token = self.token(state, *id);
                let (effect, step, question) = (*id, *step, question.clone());
                let waiting = Waiting { effect, step, question, token, refused: None };
                Ok(Some(Next::Waiting(waiting)))
            }
            Some(prepared) => Err(Halt::Drifted(vec![playback.missing(state, prepared)])),
            None => Ok(None),
        }
    }

    /// Waits for what still runs on other threads, so that no answer is lost. Nobody lets time pass
    /// any longer.
    fn drain(&mut self, mut state: State, side: Option<&mut Side<'_, '_>>) -> Result<State, Halt> {
        let Some(side) = side else { return Ok(state) };
        side.hurry();
        while side.is_busy() {
            if let (_, Ok(Some(event))) = side.receive() {
                state = self.apply_after(Vec::new(), state, event, None)?;
            }
        }
        Ok(state)
    }
}
