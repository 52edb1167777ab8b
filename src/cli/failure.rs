//! What goes wrong before or beside a run: what it was, why, and what to do about it.

use std::fmt;

use super::exit::Exit;
use crate::journal::StoreError;

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
        let hint = match &error {
            StoreError::AlreadyRunning { .. } => Some("wait for it, or stop that process"),
            StoreError::NoThread { .. } => Some("`planwright threads list` shows those there are"),
            _ => None,
        };
        let exit = match error {
            StoreError::AlreadyRunning { .. } => Exit::Conflict,
            _ => Exit::Unusable,
        };
        Failure { exit, error: error.into(), hint: hint.map(str::to_owned) }
    }
}
