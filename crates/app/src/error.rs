//! The error of everything here: its class, what is wrong, why, and what to do about it.

use std::fmt;
use std::path::Path;

use serde::Serialize;

use planwright::journal::{JournalError, JournalErrorKind, StoreError};

/// What kind of end an error is, under the name that JSON has for it. The command line makes an exit code of it, a
/// service a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum Class {
    /// A run ended without an answer or with one that was not accepted, or a check found something.
    Failed,
    /// Wrong usage, or a file, spec or setting that cannot be used.
    Unusable,
    /// The model did not answer; the run can go on.
    Interrupted,
    /// A write may or may not have happened and is not repeated.
    InDoubt,
    /// A person has to answer.
    Waiting,
    /// Somebody else has the thread, or the answer came too late or for something else.
    Conflict,
    /// A check could not tell.
    Undecided,
    /// The run was cancelled.
    Cancelled,
}

/// An error for a person.
#[derive(Debug, thiserror::Error)]
#[error("{message}{}", cause.iter().map(|cause| format!(": {cause}")).collect::<String>())]
pub struct Error {
    /// What kind of end it is.
    pub class: Class,
    /// What is wrong.
    pub message: String,
    /// The error that caused it.
    pub cause: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
    /// Whether the store could not be used, whatever was asked of it.
    pub is_of_store: bool,
}

/// What most functions here return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of a class.
    pub fn new(class: Class, problem: impl fmt::Display) -> Self {
        Error { class, message: problem.to_string(), cause: None, hint: None, is_of_store: false }
    }

    /// Wrong usage, or something that cannot be used.
    pub fn unusable(problem: impl fmt::Display) -> Self {
        Error::new(Class::Unusable, problem)
    }

    /// Something that cannot be used because of another error.
    pub fn caused(problem: impl fmt::Display, cause: impl fmt::Display) -> Self {
        Error { cause: Some(cause.to_string()), ..Error::unusable(problem) }
    }

    /// Names the place of what cannot be used.
    pub fn at<E: fmt::Display>(place: impl fmt::Display) -> impl Fn(E) -> Error {
        move |problem| Error::unusable(format!("{place}: {problem}"))
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(self, hint: impl fmt::Display) -> Self {
        Error { hint: Some(hint.to_string()), ..self }
    }

    /// The error as `--json` prints it.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "error": {"code": self.class, "message": self.to_string(), "hint": self.hint},
        })
    }
}

/// Reads a text file. Errors begin with `place`.
///
/// # Errors
/// Where it cannot be read.
pub fn read_text(place: &str, path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| Error::caused(format!("{place}: cannot be read"), error))
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        let kind = if let StoreError::Journal(error) = &error { Some(error.kind()) } else { None };
        use JournalErrorKind::{Damaged, Format, Io, Setup};
        let is_of_store = matches!(kind, Some(Io | Damaged | Format | Setup));
        let (class, hint) = match (&error, kind) {
            (StoreError::AlreadyRunning { can_take_over: true, .. }, _) => (
                Class::Conflict,
                "wait for it, or stop that process; `--take-over` of `threads resume` fences it off",
            ),
            (StoreError::AlreadyRunning { .. }, _) => {
                (Class::Conflict, "wait for it, or end that process: this store has no take-over")
            }
            (StoreError::NoThread { .. }, _) => {
                (Class::Unusable, "`planwright threads list` shows those there are")
            }
            (StoreError::Exists { .. }, _) => (Class::Unusable, "name one that is not there yet"),
            (StoreError::NoTurn { .. }, _) => (Class::Unusable, "`planwright threads show` shows them"),
            (_, Some(JournalErrorKind::Fenced | JournalErrorKind::Stale)) => (
                Class::Conflict,
                "somebody else has gone on with it; look how it stands before you try again",
            ),
            (_, Some(JournalErrorKind::Locked)) => (Class::Conflict, "wait for it, or end that process"),
            (_, Some(JournalErrorKind::Damaged)) => {
                (Class::Unusable, "`planwright threads check` looks at all that is kept")
            }
            (_, Some(JournalErrorKind::Format)) => {
                (Class::Unusable, "the version of planwright that wrote it reads it")
            }
            _ => return Error { is_of_store, ..Error::unusable(error) },
        };
        Error { is_of_store, ..Error::new(class, error).hint(hint) }
    }
}

impl From<JournalError> for Error {
    fn from(error: JournalError) -> Self {
        StoreError::from(error).into()
    }
}
