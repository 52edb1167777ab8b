//! Where the records of one run go.

use serde::{Deserialize, Serialize};

use super::{JournalError, Record, RunStatus};

/// The journal of one run. An append costs the same for the thousandth record as for the first.
pub trait Journal {
    /// Appends records, the first of them at `index`. If the writer is stopped meanwhile, the first few of
    /// them may be there.
    ///
    /// # Errors
    /// [`Stale`](super::JournalErrorKind::Stale) if the journal does not have `index` records; nothing was
    /// appended then. If it cannot be written, the records are removed again, as far as the system allows.
    fn append(&mut self, index: u64, records: Vec<Record>) -> Result<(), JournalError>;

    /// All records, from the first.
    ///
    /// # Errors
    /// If the journal cannot be read; names the place.
    fn records(&self) -> Result<Vec<Record>, JournalError>;

    /// Appends the last records, if there are any, and sets the status of the run, for lists. The status
    /// follows from the records: a journal need not keep it.
    ///
    /// # Errors
    /// Those of [`append`](Journal::append).
    fn conclude(&mut self, index: u64, records: Vec<Record>, _: &RunStatus) -> Result<(), JournalError> {
        if records.is_empty() { Ok(()) } else { self.append(index, records) }
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

    /// The records.
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

/// What an appended record survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// A loss of power, as far as the disk says the truth when it says that it has written.
    #[default]
    Full,
    /// The death of the process. A loss of power may take the last records: what was performed since is
    /// performed again or is in doubt, and a write whose *request* is lost can happen twice.
    Normal,
}

impl std::str::FromStr for Durability {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "full" => Ok(Durability::Full),
            "normal" => Ok(Durability::Normal),
            other => Err(format!("expected full or normal, found {other:?}")),
        }
    }
}
