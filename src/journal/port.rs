//! Where the records of one run go.

use std::fmt;

use super::Record;
use super::run_status::RunStatus;

/// A journal that one run is written to. Appending costs the same for the thousandth record as for
/// the first.
pub trait Journal {
    /// Appends records, the first of them at the index it names. They are durable together, or where
    /// the writer is stopped meanwhile, the first few of them are. A writer that has missed a record is
    /// refused.
    ///
    /// # Errors
    /// Where the journal is longer or shorter than `index`; then nothing was appended. And where it cannot be
    /// written: then the records are taken away again as far as the system lets it, and where it does
    /// not, they may be there when the journal is next opened. Nothing was performed on their word.
    fn append(&mut self, index: u64, records: Vec<Record>) -> Result<(), JournalError>;

    /// All records, from the first.
    ///
    /// # Errors
    /// Where the journal cannot be read; names the place.
    fn records(&self) -> Result<Vec<Record>, JournalError>;

    /// Where the run stands after so many records, for lists. It follows from the records alone: a
    /// journal may keep it or not.
    ///
    /// # Errors
    /// Where it cannot be written.
    fn stands(&mut self, _index: u64, _standing: &RunStatus) -> Result<(), JournalError> {
        Ok(())
    }

    /// Appends the last records of a run, and notes where it stands after them.
    ///
    /// # Errors
    /// As [`append`](Journal::append). That the note could not be written is none.
    fn conclude(
        &mut self,
        index: u64,
        records: Vec<Record>,
        standing: &RunStatus,
    ) -> Result<(), JournalError> {
        let after = index + records.len() as u64;
        self.append(index, records)?;
        let _ = self.stands(after, standing);
        Ok(())
    }
}

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
    /// [`check_format`](super::check_format).
    pub fn format(found: u32) -> Self {
        let problem = format!("expected journal format {}, found {found}", super::JOURNAL_FORMAT);
        JournalError::new(JournalErrorKind::Format, "journal record 0", problem)
    }

    /// [`Stale`](JournalErrorKind::Stale): an append at `index` was refused, because another writer has made
    /// the journal `len` records long.
    pub fn stale(index: u64, len: u64) -> Self {
        let problem = format!("another writer was here: the journal has {len} records");
        JournalError::new(JournalErrorKind::Stale, format!("journal record {index}"), problem)
    }

    /// [`Fenced`](JournalErrorKind::Fenced): the thread was taken over, and this lease is void.
    pub fn fenced(thread: &super::ThreadId) -> Self {
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

/// A journal in memory.
#[derive(Clone, Debug, Default)]
pub struct MemoryJournal(Vec<Record>);

impl MemoryJournal {
    /// An empty journal.
    pub fn new() -> Self {
        MemoryJournal::default()
    }

    /// The records, handed over.
    pub fn into_records(self) -> Vec<Record> {
        self.0
    }
}

impl From<Vec<Record>> for MemoryJournal {
    fn from(records: Vec<Record>) -> Self {
        MemoryJournal(records)
    }
}

impl Journal for MemoryJournal {
    fn append(&mut self, index: u64, records: Vec<Record>) -> Result<(), JournalError> {
        let len = self.0.len() as u64;
        if index != len {
            return Err(JournalError::stale(index, len));
        }
        self.0.extend(records);
        Ok(())
    }

    fn records(&self) -> Result<Vec<Record>, JournalError> {
        Ok(self.0.clone())
    }
}
