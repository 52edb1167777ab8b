//! Answers as values.

use std::fmt;

use planwright::contract::{AnswerForm, ContractError};
use planwright::driver::{Agent, Run, Stopped};
use planwright::spec::{RoleName, SpecError};

use crate::schema::{Readable, of_answer};

/// What a writer is told whose form is a type. Its prompt may name another form.
const FORM: &str = "\n\nWhatever is said above about the form of the answer: reply with one JSON object that conforms \
    to the given schema, and nothing else.";

/// The form of a writer whose answer is a `T`, for [`Role::form`](planwright::spec::Role::form).
pub fn form_of<T: Readable>() -> AnswerForm {
    AnswerForm::Schema(of_answer::<T>())
}

/// Agents whose answer is a value.
pub trait Answering {
    /// The agent, answering with a `T`: its writer is given the schema and its reply is read strictly.
    /// [`Run::answer_as`] gives the value, of a run that was resumed or is a turn of a thread too.
    ///
    /// # Errors
    /// The agent has no writer, or `T` is no object.
    fn answering<T: Readable>(&self) -> Result<Agent, SpecError>;

    /// Runs a question to its answer.
    ///
    /// # Errors
    /// [`NoValue`], which holds the run if there is one.
    fn run_as<T: Readable>(&self, question: impl Into<String>) -> Result<T, NoValue> {
        let run = self.answering::<T>()?.run(question)?;
        run.answer_as().map_err(|error| NoValue::NoAnswer { error, run: Box::new(run) })
    }
}

impl Answering for Agent {
    fn answering<T: Readable>(&self) -> Result<Agent, SpecError> {
        let mut spec = self.compiled().spec().clone();
        // Who answers where no tool is needed answers in words.
        spec.roles.remove(&RoleName::Conversation);
        if let Some(writer) = spec.roles.get_mut(&RoleName::Writer) {
            writer.form = Some(form_of::<T>());
            writer.prompt = writer.prompt.trim_end().to_owned() + FORM;
        }
        let agent = self.with_spec(spec)?;
        match agent.compiled().form() {
            AnswerForm::Schema(_) => Ok(agent),
            _ => Err(SpecError::at("roles.writer", "needed: it fills in the answer's form")),
        }
    }
}

/// Why a run gave no value. Its `Debug` is its `Display`.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum NoValue {
    /// The agent cannot answer with such a value.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// There is no run.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// The run has no such answer: it ended in ERROR, waits for a person, or says something else.
    #[error("{error}")]
    NoAnswer {
        /// What was expected, and where.
        error: ContractError,
        /// The run.
        run: Box<Run>,
    },
}

impl fmt::Debug for NoValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
