//! What can be wrong with a journal.

use std::fmt;

use super::record::{JOURNAL_FORMAT, OLDEST_FORMAT};
use super::store::ThreadId;

/// What is wrong with a journal, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct JournalError {
    kind: JournalErrorKind,
    place: String,
    problem: String,
}

/// The kinds of trouble with a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JournalErrorKind {
    /// It does not read, or not as a run.
    Damaged,
    /// It is of another format than this version's.
    Format,
    /// Another writer has appended to it.
    Stale,
    /// Another process took the thread over; this one may not write to it any more.
    Fenced,
    /// Another writer has it now.
    Locked,
    /// The system failed to read or write it.
    Io,
}

impl JournalError {
    /// An error of any kind, at a named place. The message reads `<place>: <problem>`.
    pub fn new(kind: JournalErrorKind, place: impl Into<String>, problem: impl Into<String>) -> Self {
        JournalError { kind, place: place.into(), problem: problem.into() }
    }

    /// [`Damaged`](JournalErrorKind::Damaged) at one record, counted from 0.
    pub fn at(index: u64, problem: impl Into<String>) -> Self {
        JournalError::damaged(format!("journal record {index}"), problem)
    }

    /// [`Damaged`](JournalErrorKind::Damaged) at a named place.
    pub fn damaged(place: impl Into<String>, problem: impl Into<String>) -> Self {
        JournalError::new(JournalErrorKind::Damaged, place, problem)
    }

    /// [`Format`](JournalErrorKind::Format): the journal is of a format that this version does not read; see
    /// [`check_format`].
    pub fn format(found: u32) -> Self {
        let problem = format!("expected journal format {}, found {found}", JOURNAL_FORMAT);
        JournalError::new(JournalErrorKind::Format, "journal record 0", problem)
    }

    /// [`Stale`](JournalErrorKind::Stale): an append at `index` was refused, because another writer has made
    /// the journal `len` records long.
    pub fn stale(index: u64, len: u64) -> Self {
        let problem = format!("another writer was here: the journal has {len} records");
        JournalError::new(JournalErrorKind::Stale, format!("journal record {index}"), problem)
    }

    /// [`Fenced`](JournalErrorKind::Fenced): the thread was taken over, and this lease is void.
    pub fn fenced(thread: &ThreadId) -> Self {
        let problem = "another process has taken it over, and nothing more is written here";
        JournalError::new(JournalErrorKind::Fenced, format!("thread {thread}"), problem)
    }

    /// [`Locked`](JournalErrorKind::Locked): another writer has the journal open.
    pub fn locked(place: impl Into<String>) -> Self {
        JournalError::new(JournalErrorKind::Locked, place, "another process is writing to it")
    }

    /// [`Io`](JournalErrorKind::Io): the system failed at this place.
    pub fn io(place: impl fmt::Display, what: &str, error: &dyn fmt::Display) -> Self {
        JournalError::new(JournalErrorKind::Io, place.to_string(), format!("{what}: {error}"))
    }

    #[doc(hidden)]
    pub fn named(place: impl Into<String>, problem: impl Into<String>) -> Self {
        JournalError::damaged(place, problem)
    }

    #[doc(hidden)]
    pub fn of(self, kind: JournalErrorKind) -> Self {
        JournalError { kind, ..self }
    }

    /// The error, with a place named before its own.
    #[must_use]
    pub fn within(self, place: impl fmt::Display) -> Self {
        JournalError { place: format!("{place}: {}", self.place), ..self }
    }

    /// The kind of trouble.
    pub fn kind(&self) -> JournalErrorKind {
        self.kind
    }
}

/// Whether this version reads journals of a format: of [`JOURNAL_FORMAT`], and of those before it that it can
/// read.
///
/// # Errors
/// [`Format`](JournalErrorKind::Format) where it does not.
pub fn check_format(found: u32) -> Result<(), JournalError> {
    if (OLDEST_FORMAT..=JOURNAL_FORMAT).contains(&found) { Ok(()) } else { Err(JournalError::format(found)) }
}
