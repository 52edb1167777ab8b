//! What comes of a run.

use std::fmt;

use super::ports::Unanswered;
use crate::journal::{Drift, Fixture, FixtureError, JournalError, Outcome, Record};
use crate::machine::{Counters, EffectId, RunError, State, TraceLine};

/// A run that reached DONE or ERROR.
#[derive(Debug)]
pub struct Run {
    pub(super) state: State,
    pub(super) records: Vec<Record>,
}

impl Run {
    /// The answer, where there is one.
    pub fn answer(&self) -> Option<&str> {
        self.state.task.artifacts.final_answer.as_deref()
    }

    /// What ended the run without an answer, where something did.
    pub fn error(&self) -> Option<&RunError> {
        self.state.task.error()
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

    /// How the run ended.
    pub fn outcome(&self) -> Outcome {
        Outcome::of(&self.state).expect("the loop ends in DONE or ERROR, and ERROR has an error")
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
        Fixture::of_records(&self.records, None)
    }
}

/// A run that was interrupted: the world did not answer. Nothing is lost; the journal holds all
/// that was answered, and [`Agent::resume`](super::Agent::resume) goes on from there.
#[derive(Debug)]
pub struct Interrupted {
    /// The effect that got no answer.
    pub effect: EffectId,
    /// Why.
    pub cause: Unanswered,
    /// Where the run stands.
    pub state: Box<State>,
    /// The run's records. Empty where they went to a journal of the caller's.
    pub records: Vec<Record>,
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "interrupted at {} ({}): {}", self.effect, self.state.phase.name(), self.cause)
    }
}

/// Why there is no [`Run`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Stopped {
    /// The world did not answer.
    #[error("{0}")]
    Interrupted(Box<Interrupted>),
    /// A replay differs from its recording.
    #[error("{}", said(.0))]
    Drifted(Vec<Drift>),
    /// A write was requested and it is not known whether it happened. It is not done again.
    #[error(
        "{effect} is in doubt: {tool} was asked to change something, no answer was recorded, and it may not be \
         done twice"
    )]
    InDoubt {
        /// The effect.
        effect: EffectId,
        /// The tool.
        tool: String,
    },
    /// The agent lacks something that its spec names.
    #[error("{0}")]
    Incomplete(String),
    /// The run has ended, and its fixture cannot be written. Nothing that came of the run is lost.
    #[error("{error}")]
    Unsaved {
        /// Why the fixture cannot be written.
        error: FixtureError,
        /// The run.
        run: Box<Run>,
    },
    /// The journal cannot be read or written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The fixture cannot be read or written.
    #[error(transparent)]
    Fixture(#[from] FixtureError),
}

fn said(drifts: &[Drift]) -> String {
    drifts.iter().map(Drift::to_string).collect::<Vec<_>>().join("\n")
}
