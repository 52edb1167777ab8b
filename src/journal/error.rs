//! What can be wrong with a journal.

use std::fmt;

use super::record::{JOURNAL_FORMAT, OLDEST_FORMAT};
use super::thread_id::ThreadId;

/// What is wrong with a journal, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct JournalError {
    kind: JournalErrorKind,
    place: String,
    problem: String,
}

/// The kind of a [`JournalError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JournalErrorKind {
    /// It does not read, or not as a run.
    Damaged,
    /// It is of a format that this version does not read.
    Format,
    /// Another writer has appended to it.
    Stale,
    /// The thread was taken over; this lease is void.
    Fenced,
    /// Another writer has it open.
    Locked,
    /// The system failed to read or write it.
    Io,
}

impl JournalError {
    /// Makes an error of any kind. Its message is `<place>: <problem>`.
    pub fn new(kind: JournalErrorKind, place: impl Into<String>, problem: impl Into<String>) -> Self {
        JournalError { kind, place: place.into(), problem: problem.into() }
    }

    /// Makes a [`Damaged`](JournalErrorKind::Damaged) error.
    pub fn damaged(place: impl Into<String>, problem: impl Into<String>) -> Self {
        JournalError::new(JournalErrorKind::Damaged, place, problem)
    }

    /// Makes a [`Damaged`](JournalErrorKind::Damaged) error at one record, counted from 0.
    pub fn at(index: u64, problem: impl Into<String>) -> Self {
        JournalError::damaged(format!("journal record {index}"), problem)
    }

    /// Makes a [`Stale`](JournalErrorKind::Stale) error: an append at `index` found `len` records.
    pub fn stale(index: u64, len: u64) -> Self {
        let problem = format!("another writer was here: the journal has {len} records");
        JournalError::new(JournalErrorKind::Stale, format!("journal record {index}"), problem)
    }

    /// Makes a [`Fenced`](JournalErrorKind::Fenced) error.
    pub fn fenced(thread: &ThreadId) -> Self {
        let problem = "another process has taken it over, and nothing more is written here";
        JournalError::new(JournalErrorKind::Fenced, format!("thread {thread}"), problem)
    }

    /// Makes an [`Io`](JournalErrorKind::Io) error.
    pub fn io(place: impl fmt::Display, what: &str, error: &dyn fmt::Display) -> Self {
        JournalError::new(JournalErrorKind::Io, place.to_string(), format!("{what}: {error}"))
    }

    /// Puts a place before that of the error.
    #[must_use]
    pub fn within(self, place: impl fmt::Display) -> Self {
        JournalError { place: format!("{place}: {}", self.place), ..self }
    }

    /// The kind.
    pub fn kind(&self) -> JournalErrorKind {
        self.kind
    }
}

/// Refuses a format that this version does not read.
pub(super) fn check_format(found: u32) -> Result<(), JournalError> {
    if (OLDEST_FORMAT..=JOURNAL_FORMAT).contains(&found) {
        return Ok(());
    }
    let problem = format!("expected journal format {JOURNAL_FORMAT}, found {found}");
    Err(JournalError::new(JournalErrorKind::Format, "journal record 0", problem))
}
