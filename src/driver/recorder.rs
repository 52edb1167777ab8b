//! The recorder: writes down what is about to be performed, what was answered, and the status of the run.
//!
//! **Invariant:** a request is on record before it is performed, an answer before anything follows from it.

use super::drive::{Drive, Followed, Halt};
use crate::journal::{Record, RunStatus, find_unrepeatable};
use crate::machine::{EffectId, Effects, Event, Refusal, State, admit, transition};
use crate::ports::Signal;
use crate::prompt::Request;

impl<'a> Drive<'a> {
    /// Writes down what is about to be performed, after other records, then lines it up.
    pub(super) fn request(
        &mut self,
        mut records: Vec<Record>,
        state: &State,
        effects: Effects,
        asked: &[EffectId],
        queue: &mut Vec<Request<'a>>,
    ) -> Result<(), Halt> {
        let (first, begins) = (queue.len(), self.index == 0);
        self.prepare(state, effects, asked, &mut records, queue);
        self.append(records)?;
        if begins {
            self.observer.notice(Signal::Entered(state.phase.name()));
        }
        self.show_requests(&queue[first..]);
        Ok(())
    }

    /// Renders what is about to be performed, with the records that say so.
    pub(super) fn prepare(
        &mut self,
        state: &State,
        effects: Effects,
        asked: &[EffectId],
        records: &mut Vec<Record>,
        queue: &mut Vec<Request<'a>>,
    ) {
        for effect in effects {
            let request = Request::of(self.rules, state, effect)
                .expect("the machine asks only for what the state holds");
            if !asked.contains(&request.effect) {
                let at = self.agent.environment.now_ms();
                if request.is_human() {
                    self.asked_at.push((request.effect, at));
                }
                let (effect, digest) = (request.effect, request.digest);
                records.push(Record::Requested { effect, digest, at: Some(at) });
            }
            queue.push(request);
        }
    }

    /// Whether an event fits.
    pub(super) fn admits(&self, state: &State, event: &Event) -> Result<(), Refusal> {
        admit(self.rules, state, event)
    }

    /// Moves the run by an answer. The answer and what the run asks next are written down together,
    /// before anything of it is performed. An answer that does not fit any more is not written down.
    pub(super) fn apply(
        &mut self,
        state: State,
        event: Event,
        queue: &mut Vec<Request<'a>>,
    ) -> Result<State, Halt> {
        self.apply_after(Vec::new(), state, event, Some(queue))
    }

    /// Moves the run by an answer, which is written down after other records; see [`apply`](Drive::apply).
    /// Without a queue, what the run asks next is left for later.
    pub(super) fn apply_after(
        &mut self,
        mut records: Vec<Record>,
        state: State,
        event: Event,
        mut queue: Option<&mut Vec<Request<'a>>>,
    ) -> Result<State, Halt> {
        if self.admits(&state, &event).is_err() {
            return Ok(state);
        }
        if let Some(effect) = event.effect().filter(|_| !self.asked_at.is_empty()) {
            self.asked_at.retain(|(asked, _)| *asked != effect);
        }
        records.push(Record::of_event(event.clone(), Some(self.agent.environment.now_ms())));
        let (answered, lines) = (event.effect(), state.task.trace.len());
        let nested = self.show_answer(&event);
        let mut step = transition(self.rules, state, event).expect("admitted above");
        let effects = std::mem::take(&mut step.effects);
        let first = queue.as_ref().map_or(0, |queue| queue.len());
        if let Some(queue) = &mut queue {
            self.prepare(&step.state, effects, &[], &mut records, queue);
        }
        match step.state.phase.name().is_terminal() {
            true => self.conclude(records, &step.state)?,
            false => self.append(records)?,
        }
        self.show_step(&step, answered, nested, lines);
        if let Some(queue) = queue {
            self.show_requests(&queue[first..]);
        }
        Ok(step.state)
    }

    /// Writes down the last records of the run, and its status.
    fn conclude(&mut self, records: Vec<Record>, state: &State) -> Result<(), Halt> {
        let status = self.run_status(state);
        let count = records.len() as u64;
        self.journal.conclude(self.index, records, &status)?;
        self.index += count;
        self.is_noted = true;
        Ok(())
    }

    /// Appends records to the journal.
    pub(super) fn append(&mut self, records: Vec<Record>) -> Result<(), Halt> {
        let count = records.len() as u64;
        if count > 0 {
            self.journal.append(self.index, records)?;
            self.index += count;
        }
        Ok(())
    }

    /// Notes the status of the run for lists. They work it out from the records where it is missing, so a
    /// failure loses nothing.
    pub(super) fn note_status(&mut self, ended: &Result<Followed, Halt>) {
        self.close_open();
        let status = match ended {
            Ok(Followed { state, .. }) => self.run_status(state),
            Err(Halt::Interrupted(stopped)) => {
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
