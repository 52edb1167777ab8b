//! Where records go.

use super::Record;

/// A journal that one run is written to. Appending costs the same for the thousandth record as for
/// the first.
pub trait Journal {
    /// Appends a record at the index it names. A writer that has missed a record is refused.
    ///
    /// # Errors
    /// Where the journal is longer or shorter than `index`, or cannot be written.
    fn append(&mut self, index: u64, record: &Record) -> Result<(), JournalError>;

    /// All records, from the first.
    ///
    /// # Errors
    /// Where the journal cannot be read; names the place.
    fn records(&self) -> Result<Vec<Record>, JournalError>;
}

/// What is wrong with a journal, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct JournalError {
    place: String,
    problem: String,
}

impl JournalError {
    /// An error at one record, counted from 0.
    pub fn at(index: u64, problem: impl Into<String>) -> Self {
        JournalError { place: format!("journal record {index}"), problem: problem.into() }
    }

    /// An error at a named place.
    pub(crate) fn named(place: impl Into<String>, problem: impl Into<String>) -> Self {
        JournalError { place: place.into(), problem: problem.into() }
    }

    pub(super) fn stale(index: u64, len: u64) -> Self {
        JournalError::at(index, format!("another writer was here: the journal has {len} records"))
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

impl Journal for MemoryJournal {
    fn append(&mut self, index: u64, record: &Record) -> Result<(), JournalError> {
        let len = self.0.len() as u64;
        if index != len {
            return Err(JournalError::stale(index, len));
        }
        self.0.push(record.clone());
        Ok(())
    }

    fn records(&self) -> Result<Vec<Record>, JournalError> {
        Ok(self.0.clone())
    }
}
