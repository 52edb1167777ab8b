//! What comes of a run: the run itself, or why there is none.

use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::contract::ContractError;
use crate::journal::{Drift, Fixture, JournalError, Outcome, Record, StoreError};
use crate::machine::{Counters, EffectId, RunError, State, TraceLine};
use crate::ports::Unanswered;

/// A run that reached DONE or ERROR, or waits for a person.
#[derive(Clone, Debug)]
pub struct Run {
    pub(super) state: State,
    pub(super) records: Vec<Record>,
    pub(super) waiting: Option<Waiting>,
}

/// The question that a run waits with.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Waiting {
    /// The effect that the answer answers.
    pub effect: EffectId,
    /// The step's position in its plan, from 0.
    pub step: u32,
    /// The question.
    pub question: String,
    /// The calls that are asked about together, each tool with its input; none if something else is asked.
    pub calls: Vec<(String, Value)>,
    /// The token of this very question; see [`Resume::token`](super::Resume::token).
    pub token: String,
    /// Why the last answer was refused, if one was given.
    pub refused: Option<String>,
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "waits for a person: {}", self.question)
    }
}

impl Run {
    /// The answer, if there is one.
    pub fn answer(&self) -> Option<&str> {
        self.state.task.artifacts.final_answer.as_deref()
    }

    /// The answer as a value, where the writer's form is a [schema](crate::contract::AnswerForm::Schema).
    ///
    /// # Errors
    /// There is no answer, or it is not the JSON of such a value; the path says where.
    pub fn answer_as<T: DeserializeOwned>(&self) -> Result<T, ContractError> {
        let missing = || match self.outcome() {
            Outcome::Error(error) => format!("the run ended with {error}"),
            Outcome::Waiting { question } => format!("the run waits for a person: {question}"),
            Outcome::Answer(_) | Outcome::Interrupted(_) => "the run has not ended".to_owned(),
        };
        let answer = self.answer().ok_or_else(|| {
            ContractError::at("$", format!("expected an answer, found none: {}", missing()))
        })?;
        serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_str(answer)).map_err(misfit)
    }

    /// What the tool of a step of the last plan returned as data, as a value. A step is `step_1` if the plan gives
    /// no ids.
    ///
    /// # Errors
    /// There is no such step, it has no data, or its data is not such a value; the path says where.
    pub fn output_as<T: DeserializeOwned>(&self, step: &str) -> Result<T, ContractError> {
        let steps = self.state.current_steps().filter(|record| record.step.name(record.step_index) == step);
        let data = steps.filter_map(|record| record.data).last();
        let missing = || ContractError::at("$", format!("expected data of the step {step:?}, found none"));
        serde_path_to_error::deserialize(data.ok_or_else(missing)?).map_err(misfit)
    }

    /// What ended the run without an answer, if anything did.
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

    /// The last state.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Whether the run waits for a person. [`respond`](Run::respond) goes on with it.
    pub fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }

    /// The question that the run waits with, if it does.
    pub fn waiting(&self) -> Option<&Waiting> {
        self.waiting.as_ref()
    }

    /// How the run ended, or what it waits for.
    pub fn outcome(&self) -> Outcome {
        Outcome::ended(&self.state).unwrap_or_else(|| {
            let question = self.waiting.as_ref().map(|waiting| waiting.question.clone());
            Outcome::Waiting { question: question.unwrap_or_default() }
        })
    }

    /// The run's records. Empty if they went to a journal of the caller's.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// The run as a fixture.
    ///
    /// # Errors
    /// If the records went to a journal of the caller's: read them there.
    pub fn fixture(&self) -> Result<Fixture, JournalError> {
        Fixture::of_records(&self.records, self.waiting.as_ref().map(Waiting::to_string))
    }
}

/// Why JSON is not the value that it is read as.
fn misfit(error: serde_path_to_error::Error<serde_json::Error>) -> ContractError {
    let path = error.path().to_string();
    let path = if path == "." { "$".to_owned() } else { format!("$.{path}") };
    let problem = error.into_inner().to_string();
    ContractError::at(path, problem.split(" at line ").next().unwrap_or_default())
}

/// A run that was interrupted: the environment did not answer. Nothing is lost; the journal holds all that
/// was answered, and [`Agent::resume`](super::Agent::resume) goes on from there.
#[derive(Debug)]
#[non_exhaustive]
pub struct Interrupted {
    /// The effect that got no answer.
    pub effect: EffectId,
    /// Why.
    pub cause: Unanswered,
    /// The state that it was interrupted in.
    pub state: Box<State>,
    /// The run's records. Empty if they went to a journal of the caller's.
    pub records: Vec<Record>,
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "interrupted at {} ({}): {}", self.effect, self.state.phase.name(), self.cause)
    }
}

/// Why there is no [`Run`]. Its `Debug` is its `Display`, so that `unwrap()` in a test shows the differences
/// of a replay as the command line does.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Stopped {
    /// The environment did not answer.
    #[error("{0}")]
    Interrupted(Box<Interrupted>),
    /// A replay differs from its recording.
    #[error("{}", .0.iter().map(Drift::to_string).collect::<Vec<_>>().join("\n"))]
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
    /// The agent lacks something that its spec names, or has a tool that is not what the spec takes it for.
    #[error("{0}")]
    Incomplete(String),
    /// What would be written down holds the value of a key. Nothing was written.
    #[error("{place} holds the value of a key, and would be written down with it")]
    Secret {
        /// What holds it.
        place: String,
    },
    /// The run does not wait for a person, so there is nothing to answer.
    #[error("the run does not wait for a person")]
    NotWaiting,
    /// The answer does not fit. The run waits on, and its journal is as it was.
    #[error("the answer is refused: {refusal}; the question is still: {question}")]
    Refused {
        /// The open question.
        question: String,
        /// Why.
        refusal: String,
    },
    /// This was answered before. Nothing has changed.
    #[error("{effect} was answered before; an answer is taken once")]
    AlreadyAnswered {
        /// The effect.
        effect: EffectId,
    },
    /// The time for an answer is over. Nothing has changed; the run goes on without one when it is resumed.
    #[error("nobody answered in time: {question}; resumed, the run goes on without an answer")]
    Expired {
        /// The question.
        question: String,
    },
    /// The token is not that of what is open. Nothing has changed.
    #[error("the token is of another question, of another run, or of nothing that was asked")]
    WrongToken,
    /// Nothing is in doubt, so there is nothing to resolve.
    #[error("nothing is in doubt")]
    NotInDoubt,
    /// The run has ended, so there is nothing to stop.
    #[error("the run has ended")]
    Ended,
    /// The agent's rules are not those that the run began with.
    #[error(
        "the run began under other rules than the agent's: {difference}\ngo on under its own (`Changed::Keep`), or \
         ask for the agent's (`Changed::Adopt`)"
    )]
    Changed {
        /// The first difference.
        difference: String,
    },
    /// What has happened does not fit the rules that were to be adopted.
    #[error("what has happened does not fit the agent's rules: {problem}")]
    Unfit {
        /// What does not fit.
        problem: String,
    },
    /// The thread waits for a person, so it takes no new message.
    #[error("the thread waits for an answer to: {question}")]
    Waiting {
        /// The open question.
        question: String,
    },
    /// The run has ended, and its fixture cannot be written. Nothing that came of the run is lost.
    #[error("{error}")]
    Unsaved {
        /// Why the fixture cannot be written.
        error: JournalError,
        /// The run.
        run: Box<Run>,
    },
    /// The thread's last run was stopped before its end: it has to be resumed or cancelled first.
    #[error("the thread's last run has not ended: go on with it or cancel it first")]
    Unfinished,
    /// This was asked before under the same key. Nothing has changed.
    #[error("this was asked before under the same key")]
    AskedBefore,
    /// The store does not give the thread, or has none of it.
    #[error(transparent)]
    Store(StoreError),
    /// The journal cannot be read or written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The fixture cannot be read or written.
    #[error("{0}")]
    Fixture(JournalError),
}

impl fmt::Debug for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<StoreError> for Stopped {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Journal(error) => Stopped::Journal(error),
            other => Stopped::Store(other),
        }
    }
}

/// Hands a run that came or was interrupted its records.
pub(super) fn attach_records(mut ended: Result<Run, Stopped>, found: Vec<Record>) -> Result<Run, Stopped> {
    match &mut ended {
        Ok(run) => run.records = found,
        Err(Stopped::Interrupted(interrupted)) => interrupted.records = found,
        Err(_) => {}
    }
    ended
}
