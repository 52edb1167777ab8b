//! What comes of a run.

use std::fmt;

use crate::journal::{Fixture, JournalError, Outcome, Record};
use crate::machine::{Counters, EffectId, PlanView, RunError, State, TraceLine};

/// A run that reached DONE or ERROR, or waits for a person.
#[derive(Clone, Debug)]
pub struct Run {
    pub(super) state: State,
    pub(super) records: Vec<Record>,
    pub(super) waiting: Option<Waiting>,
}

/// The question that a run waits with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The effect that the answer answers.
    pub effect: EffectId,
    /// The step's position in its plan, from 0.
    pub step: u32,
    /// The question.
    pub question: String,
    /// The token of this very question; see [`Resume::token`](super::Resume::token).
    pub token: String,
    /// Why the last answer was not taken, where one was given.
    pub refused: Option<String>,
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "waits for a person: {}", self.question)
    }
}

impl Run {
    /// The answer, where there is one.
    pub fn answer(&self) -> Option<&str> {
        self.state.task.artifacts.final_answer.as_deref()
    }

    /// What the user is told at the end: the answer, or that the run was stopped and why. `None` where
    /// it waits for a person.
    pub fn result(&self) -> Option<String> {
        self.state.result()
    }

    /// The plan as a to-do list: what is done, what is being done, and for whom the run waits.
    pub fn plan_view(&self) -> PlanView {
        PlanView::of(&self.state)
    }

    /// What ended the run without an answer, where something did.
    pub fn error(&self) -> Option<&RunError> {
        self.state.error()
    }

    /// One line for each phase visit, replan and repair. No timings and no ids: made for snapshots.
    pub fn trace(&self) -> &[TraceLine] {
        &self.state.task.trace
    }

    /// What the run spent.
    pub fn counters(&self) -> &Counters {
        &self.state.task.counters
    }

    /// The last state, whole.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Whether the run waits for a person. [`respond`](Run::respond) goes on with it.
    pub fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }

    /// The question that the run waits with, where it does.
    pub fn waiting(&self) -> Option<&Waiting> {
        self.waiting.as_ref()
    }

    /// How the run ended. One that waits for a person has not ended, and says what it waits for.
    pub fn outcome(&self) -> Outcome {
        let question = || self.waiting.as_ref().map(|waiting| waiting.question.clone()).unwrap_or_default();
        Outcome::ended(&self.state).unwrap_or_else(|| Outcome::Waiting { question: question() })
    }

    /// The run's records. Empty where they went to a journal of the caller's.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// The run as a fixture.
    ///
    /// # Errors
    /// Where the records went to a journal of the caller's: read them there.
    pub fn fixture(&self) -> Result<Fixture, JournalError> {
        Fixture::of_records(&self.records, self.waiting.as_ref().map(Waiting::to_string))
    }
}
