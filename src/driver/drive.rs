//! Drive: the loop that every run goes through, whether it begins, goes on, is recorded or replayed.
//!
//! ```text
//! requested ──▶ journal ──▶ performed (recording or world) ──▶ admitted ──▶ journal ──▶ transition ──▶ …
//! ```

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Scope;
use std::time::{Duration, Instant};

use super::agent::Agent;
use super::job::CancelToken;
use super::observer::{Observer, Signal};
use super::ports::Unanswered;
use super::prepare::{Prepared, Request};
use super::replay::Playback;
use crate::contract::AnswerForm;
use crate::journal::{Drift, Journal, JournalError, Record};
use crate::machine::{EffectId, EffectKind, Effects, Event, State, Step, StepRun, admit, transition};
use crate::spec::{Execution, RoleName, Rules};

/// Why the loop stops before the end.
pub(super) enum Halt {
    Interrupted { effect: EffectId, cause: Unanswered, state: State },
    Drifted(Vec<Drift>),
    Journal(JournalError),
}

impl From<JournalError> for Halt {
    fn from(error: JournalError) -> Self {
        Halt::Journal(error)
    }
}

/// What a thread brings back.
type Performed = (EffectId, Result<Event, Unanswered>);

/// One run under way.
pub(super) struct Drive<'a> {
    pub agent: &'a Agent,
    pub rules: &'a Rules,
    pub run: String,
    pub journal: &'a mut dyn Journal,
    /// The index of the next record.
    pub index: u64,
    pub observer: &'a dyn Observer,
    pub cancel: CancelToken,
    pub began: Instant,
    pub playback: Option<Playback>,
    /// Whether the world may be asked for what is not recorded.
    pub may_ask: bool,
}

impl Drive<'_> {
    /// Answers what waits, one answer at a time, until the run has ended. `asked` are the effects
    /// that the journal says were requested already.
    pub fn follow(&mut self, state: State, effects: Effects, asked: &[EffectId]) -> Result<State, Halt> {
        if self.rules.policy().execution == Execution::Sequential {
            return self.turn_by_turn(state, effects, asked, None);
        }
        let agent = self.agent.clone();
        let (sender, receiver) = channel();
        std::thread::scope(|scope| {
            let side = Side { agent: &agent, scope, sender, receiver, in_flight: 0 };
            self.turn_by_turn(state, effects, asked, Some(side))
        })
    }

    /// The loop itself, with threads where steps may run side by side.
    fn turn_by_turn(
        &mut self,
        mut state: State,
        effects: Effects,
        asked: &[EffectId],
        mut side: Option<Side<'_, '_>>,
    ) -> Result<State, Halt> {
        let mut queue = Vec::new();
        self.request(&state, effects, asked, &mut queue)?;
        while !state.phase.name().is_terminal() {
            let event = match self.happened() {
                Some(event) => {
                    // What runs beside will be waited for in any case; its answers count.
                    state = self.drain(state, side.as_mut())?;
                    event
                }
                None => match self.next_answer(&state, &mut queue, side.as_mut())? {
                    (_, Ok(event)) => event,
                    (effect, Err(cause)) => {
                        let state = self.drain(state, side.as_mut())?;
                        return Err(Halt::Interrupted { effect, cause, state });
                    }
                },
            };
            let (next, effects) = self.apply(state, event)?;
            state = next;
            self.request(&state, effects, &[], &mut queue)?;
        }
        self.compare(&state)?;
        Ok(state)
    }

    /// A replay that has ended must be the recording.
    fn compare(&self, state: &State) -> Result<(), Halt> {
        let Some(playback) = self.playback.as_ref().filter(|_| !self.may_ask) else { return Ok(()) };
        let parallel = self.rules.policy().execution != Execution::Sequential;
        let drifts = playback.drifts(self.rules, state, parallel);
        if drifts.is_empty() { Ok(()) } else { Err(Halt::Drifted(drifts)) }
    }

    /// Writes down what is about to be performed, then lines it up.
    fn request(
        &mut self,
        state: &State,
        effects: Effects,
        asked: &[EffectId],
        queue: &mut Vec<Prepared>,
    ) -> Result<(), Halt> {
        for effect in effects {
            let prepared = Prepared::of(self.rules, state, effect);
            if !asked.contains(&prepared.id) {
                self.append(&Record::Requested { effect: prepared.id, digest: prepared.digest })?;
            }
            match &prepared.request {
                Request::Model { role, .. } => {
                    self.observer.notice(Signal::Asking { effect: prepared.id, role: *role });
                }
                Request::Tool { step, tool, input } => {
                    self.observer.notice(Signal::Calling { effect: prepared.id, step: *step, tool, input });
                }
            }
            queue.push(prepared);
        }
        Ok(())
    }

    /// What happened that answers no effect: out of the recording in a replay, else out of the
    /// world.
    fn happened(&mut self) -> Option<Event> {
        if let Some(playback) = &mut self.playback
            && let Some(event) = playback.happened()
        {
            return Some(event);
        }
        if !self.may_ask {
            return None;
        }
        if self.cancel.is_cancelled() {
            return Some(Event::Cancelled { reason: "stopped by the user".to_owned() });
        }
        let deadline = Duration::from_secs(u64::from(self.rules.spec().limits.deadline_seconds));
        (self.began.elapsed() > deadline).then_some(Event::DeadlinePassed)
    }

    /// The next answer: a recorded one where there is one, else one of the world's.
    fn next_answer(
        &mut self,
        state: &State,
        queue: &mut Vec<Prepared>,
        side: Option<&mut Side<'_, '_>>,
    ) -> Result<Performed, Halt> {
        if let Some(playback) = &mut self.playback
            && let Some(nth) = playback.first_recorded(queue)
        {
            let prepared = queue.remove(nth);
            let event = playback.answer(&prepared).expect("first_recorded found its recording");
            return Ok((prepared.id, Ok(event)));
        }
        if let (Some(playback), Some(prepared), false) = (&self.playback, queue.first(), self.may_ask) {
            return Err(Halt::Drifted(vec![playback.missing(state, prepared)]));
        }
        if let Some(side) = side
            && (side.in_flight > 0 || queue.len() > 1)
        {
            queue.drain(..).for_each(|prepared| side.perform(self.run.clone(), prepared));
            return Ok(side.receive());
        }
        if queue.is_empty() {
            let problem = "the run waits for an answer, and nothing was asked";
            return Err(Halt::Journal(JournalError::at(self.index, problem)));
        }
        let prepared = queue.remove(0);
        Ok((prepared.id, self.perform_here(&prepared)))
    }

    fn perform_here(&self, prepared: &Prepared) -> Result<Event, Unanswered> {
        let world = &self.agent.world;
        let streams = matches!(prepared.request, Request::Model { role: RoleName::Writer, .. })
            && self.rules.form() == AnswerForm::Text
            && self.observer.wants_tokens();
        if !streams {
            return world.perform(self.rules, &self.run, prepared, None);
        }
        let mut held = String::new();
        let mut sink = |piece: &str| {
            let piece = world.redactor.piece(&mut held, piece);
            if !piece.is_empty() {
                self.observer.notice(Signal::Token(&piece));
            }
        };
        let answer = world.perform(self.rules, &self.run, prepared, Some(&mut sink));
        if !held.is_empty() {
            self.observer.notice(Signal::Token(&held));
        }
        answer
    }

    /// Writes an answer down, then moves the run. An answer that does not fit any more is not
    /// written down.
    fn apply(&mut self, state: State, event: Event) -> Result<(State, Effects), Halt> {
        if admit(self.rules, &state, &event).is_err() {
            return Ok((state, Effects::new()));
        }
        let answers = event.effect();
        let record = match answers {
            Some(_) => Record::Answered(event),
            None => Record::Happened(event),
        };
        self.append(&record)?;
        let (Record::Answered(event) | Record::Happened(event)) = record else {
            unreachable!("made two lines above")
        };
        let lines = state.task.trace.len();
        let step = transition(self.rules, state, event).expect("admitted above");
        self.show(&step, answers, lines);
        Ok((step.state, step.effects))
    }

    fn show(&self, step: &Step, answered: Option<EffectId>, lines_before: usize) {
        let task = &step.state.task;
        if let Some(EffectKind::Step { draft, step: at, .. }) = answered.map(|id| id.kind) {
            let here = draft == task.draft;
            let progress = if here { task.progress.as_ref() } else { task.artifacts.past.last() };
            let slot = progress.and_then(|progress| {
                Some((progress.plan.steps.get(at as usize)?, progress.steps.get(at as usize)?))
            });
            if let Some((planned, run)) = slot {
                let (tool, failed) = (&planned.tool, matches!(run, StepRun::Failed { .. }));
                let output = run.output().unwrap_or_default();
                self.observer.notice(Signal::Finished { step: at, tool, failed, output });
            }
        }
        for line in task.trace.iter().skip(lines_before) {
            self.observer.notice(Signal::Traced(line));
        }
        for taken in &step.moves {
            self.observer.notice(Signal::Entered(taken.to));
        }
    }

    fn append(&mut self, record: &Record) -> Result<(), Halt> {
        self.journal.append(self.index, record)?;
        self.index += 1;
        Ok(())
    }

    /// Waits for what still runs on other threads, so that no answer is lost.
    fn drain(&mut self, mut state: State, side: Option<&mut Side<'_, '_>>) -> Result<State, Halt> {
        let Some(side) = side else { return Ok(state) };
        while side.in_flight > 0 {
            if let (_, Ok(event)) = side.receive() {
                state = self.apply(state, event)?.0;
            }
        }
        Ok(state)
    }
}

/// Threads for what runs side by side.
struct Side<'scope, 'env> {
    agent: &'env Agent,
    scope: &'scope Scope<'scope, 'env>,
    sender: Sender<Performed>,
    receiver: Receiver<Performed>,
    in_flight: usize,
}

impl Side<'_, '_> {
    /// Performs an effect on a thread of its own; here and now where the system has none to give.
    fn perform(&mut self, run: String, prepared: Prepared) {
        self.in_flight += 1;
        let (agent, sender, id) = (self.agent, self.sender.clone(), prepared.id);
        let prepared = std::sync::Arc::new(prepared);
        let (theirs, their_run) = (std::sync::Arc::clone(&prepared), run.clone());
        let spawned = std::thread::Builder::new().spawn_scoped(self.scope, move || {
            let performed = agent.world.perform(&agent.rules, &their_run, &theirs, None);
            let _ = sender.send((id, performed));
        });
        if spawned.is_err() {
            let performed = agent.world.perform(&agent.rules, &run, &prepared, None);
            let _ = self.sender.send((id, performed));
        }
    }
    fn receive(&mut self) -> Performed {
        self.in_flight -= 1;
        self.receiver.recv().expect("this holds a sender itself")
    }
}
