//! What goes wrong before or beside a run: what it was, why, and what to do about it.

use std::fmt;

use super::exit::Exit;
use planwright::journal::{JournalError, JournalErrorKind, StoreError};

/// An error for a person, with the code the program ends with.
#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    pub error: anyhow::Error,
    pub hint: Option<String>,
}

pub type Outcome<T> = Result<T, Failure>;

impl Failure {
    /// Wrong usage, or something that cannot be used.
    pub fn unusable(problem: impl fmt::Display) -> Self {
        Failure { exit: Exit::Unusable, error: anyhow::anyhow!("{problem}"), hint: None }
    }

    /// The same, caused by another error.
    pub fn caused(what: impl fmt::Display, cause: impl std::error::Error + Send + Sync + 'static) -> Self {
        let error = anyhow::Error::new(cause).context(what.to_string());
        Failure { exit: Exit::Unusable, error, hint: None }
    }

    /// What is wrong with a journal in a file of its own.
    pub fn journal(error: JournalError) -> Self {
        match error.kind() {
            JournalErrorKind::Locked => error.into(),
            _ => Failure::unusable(error),
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl fmt::Display) -> Self {
        self.hint = Some(hint.to_string());
        self
    }

    /// The error, its causes and the hint, a line each.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("planwright: error: {}", self.error)];
        lines.extend(self.error.chain().skip(1).map(|cause| format!("  caused by: {cause}")));
        lines.extend(self.hint.iter().map(|hint| format!("  hint: {hint}")));
        lines
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let (exit, hint) = match &error {
            StoreError::Journal(error) => return Failure::from(error.clone()),
            StoreError::AlreadyRunning { can_take_over: false, .. } => (
                Exit::Conflict,
                "wait for it, or end that process: in a folder of JSON lines nobody takes its thread over",
            ),
            StoreError::AlreadyRunning { can_take_over: true, .. } => (
                Exit::Conflict,
                "wait for it, or stop that process; `--take-over` of `threads resume` fences it off",
            ),
            StoreError::NoThread { .. } => {
                (Exit::Unusable, "`planwright threads list` shows those there are")
            }
            StoreError::Exists { .. } => (Exit::Unusable, "name one that is not there yet"),
            StoreError::NoTurn { .. } => (Exit::Unusable, "`planwright threads show` shows them"),
            _ => return Failure::unusable(error),
        };
        Failure { exit, error: error.into(), hint: Some(hint.to_owned()) }
    }
}

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Self {
        let hint = match error.kind() {
            JournalErrorKind::Fenced | JournalErrorKind::Stale => {
                let hint = "somebody else has gone on with it; look how it stands before you try again";
                return Failure { exit: Exit::Conflict, error: error.into(), hint: Some(hint.to_owned()) };
            }
            JournalErrorKind::Locked => {
                let hint = "wait for it, or end that process";
                return Failure { exit: Exit::Conflict, error: error.into(), hint: Some(hint.to_owned()) };
            }
            JournalErrorKind::Damaged => Some("`planwright threads check` looks at all that is kept"),
            JournalErrorKind::Format => Some("the version of planwright that wrote it reads it"),
            _ => None,
        };
        Failure { exit: Exit::Unusable, error: error.into(), hint: hint.map(str::to_owned) }
    }
}
