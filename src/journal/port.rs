//! Where the records of one run go.

use super::run_status::RunStatus;
use super::{JournalError, Record};

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
