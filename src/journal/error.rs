//! What can be wrong with a journal.

use std::fmt;

use super::thread_id::ThreadId;

/// What is wrong with a journal or a fixture, and where: `<place>: <problem>`.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
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
    /// There is no store where one is named, or the server is not set up for it; the error says what to do.
    Setup,
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
    /// An error of any kind.
    pub fn new(kind: JournalErrorKind, place: impl Into<String>, problem: impl Into<String>) -> Self {
        JournalError { kind, place: place.into(), problem: problem.into() }
    }

    /// A [`Damaged`](JournalErrorKind::Damaged) error.
    pub fn damaged(place: impl Into<String>, problem: impl Into<String>) -> Self {
        JournalError::new(JournalErrorKind::Damaged, place, problem)
    }

    /// A [`Damaged`](JournalErrorKind::Damaged) error at one record, counted from 0.
    pub fn at(index: u64, problem: impl Into<String>) -> Self {
        JournalError::damaged(format!("journal record {index}"), problem)
    }

    /// A [`Stale`](JournalErrorKind::Stale) error: an append at `index` found `len` records.
    pub fn stale(index: u64, len: u64) -> Self {
        let problem = format!("another writer was here: the journal has {len} records");
        JournalError::new(JournalErrorKind::Stale, format!("journal record {index}"), problem)
    }

    /// A [`Fenced`](JournalErrorKind::Fenced) error.
    pub fn fenced(thread: &ThreadId) -> Self {
        let problem = "another process has taken it over, and nothing more is written here";
        JournalError::new(JournalErrorKind::Fenced, format!("thread {thread}"), problem)
    }

    /// An [`Io`](JournalErrorKind::Io) error.
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

impl fmt::Debug for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
