//! The recorder: writes down what is about to be performed, what was answered, and the status of the run.
//!
//! **Invariant:** a request is on record before it is performed, an answer before anything follows from it.

use super::drive::Drive;
use super::run::{Run, Stopped};
use crate::journal::{JournalError, Record, RunStatus, find_unrepeatable};
use crate::machine::{EffectId, Effects, Event, State, admit, transition};
use crate::ports::Signal;
use crate::prompt::Request;

impl<'a> Drive<'a> {
    /// Writes down what is about to be performed, after other records, then queues it.
    pub(super) fn request(
        &mut self,
        mut records: Vec<Record>,
        state: &State,
        effects: Effects,
        asked: &[EffectId],
        queue: &mut Vec<Request<'a>>,
    ) -> Result<(), JournalError> {
        let begins = self.index == 0;
        let at = self.agent.environment.clock.now_ms();
        self.prepare(state, effects, asked, &mut records, queue, at);
        self.append(records)?;
        if begins {
            self.observer.notice(Signal::Entered(state.phase.name()));
        }
        self.show_requests(queue);
        Ok(())
    }

    /// Renders what is about to be performed, with the records that say so; `at` is the time now in
    /// milliseconds since 1970.
    fn prepare(
        &mut self,
        state: &State,
        effects: Effects,
        asked: &[EffectId],
        records: &mut Vec<Record>,
        queue: &mut Vec<Request<'a>>,
        at: u64,
    ) {
        for effect in effects {
            let request = Request::of(self.rules, state, effect)
                .expect("the machine asks only for what the state holds");
            if !asked.contains(&request.effect) {
                if request.is_human() {
                    self.asked_at.push((request.effect, at));
                }
                let (effect, digest) = (request.effect, request.digest);
                records.push(Record::Requested { effect, digest, at: Some(at) });
            }
            queue.push(request);
        }
    }

    /// Moves the run by an event. The event and what the run asks next are written down together, after
    /// other records and before anything is performed. An event that does not fit any more is not written
    /// down. Without a queue, what the run asks next is left for later.
    pub(super) fn apply(
        &mut self,
        mut records: Vec<Record>,
        state: State,
        event: Event,
        mut queue: Option<&mut Vec<Request<'a>>>,
    ) -> Result<State, JournalError> {
        if admit(self.rules, &state, &event).is_err() {
            return Ok(state);
        }
        if let Some(effect) = event.effect().filter(|_| !self.asked_at.is_empty()) {
            self.asked_at.retain(|(asked, _)| *asked != effect);
        }
        // What is written down together has one time: looking at the clock is felt.
        let at = self.agent.environment.clock.now_ms();
        records.push(Record::of_event(event.clone(), Some(at)));
        let (answered, lines) = (event.effect(), state.task.trace.len());
        let nested = self.show_answer(&event);
        let mut step = transition(self.rules, state, event).expect("admitted above");
        let effects = std::mem::take(&mut step.effects);
        let first = queue.as_ref().map_or(0, |queue| queue.len());
        if let Some(queue) = &mut queue {
            self.prepare(&step.state, effects, &[], &mut records, queue, at);
        }
        if step.state.phase.name().is_terminal() {
            let (status, count) = (self.run_status(&step.state), records.len() as u64);
            self.journal.conclude(self.index, records, &status)?;
            self.index += count;
            self.is_noted = true;
        } else {
            self.append(records)?;
        }
        self.show_step(&step, answered, nested, lines);
        if let Some(queue) = queue {
            self.show_requests(&queue[first..]);
        }
        Ok(step.state)
    }

    /// Appends records to the journal.
    pub(super) fn append(&mut self, records: Vec<Record>) -> Result<(), JournalError> {
        let count = records.len() as u64;
        if count > 0 {
            self.journal.append(self.index, records)?;
            self.index += count;
        }
        Ok(())
    }

    /// Notes the status of the run for lists. It follows from the records, so a failure loses nothing.
    pub(super) fn note_status(&mut self, ended: &Result<Run, Stopped>) {
        self.close_open();
        let status = match ended {
            Ok(run) => self.run_status(&run.state),
            Err(Stopped::Interrupted(stopped)) => {
                match find_unrepeatable(self.rules, &stopped.state, stopped.effect) {
                    Some(tool) => RunStatus::InDoubt { effect: stopped.effect, tool },
                    None => self.run_status(&stopped.state),
                }
            }
            Err(_) => return,
        };
        if !self.is_noted {
            let _ = self.journal.conclude(self.index, Vec::new(), &status);
        }
    }

    fn run_status(&self, state: &State) -> RunStatus {
        RunStatus::without_doubts(self.rules, state, &self.unknown, |effect| self.asked_at(effect))
    }
}
