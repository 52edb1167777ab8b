//! Seals, and records as bytes, for stores.

use std::fmt;

use super::error::check_format;
use super::{JournalError, Record, ThreadId};
use crate::spec::Digest;

/// The digest of all records so far. A store keeps one with each record, so that a record that was changed,
/// moved, lost from the middle or put in from elsewhere does not fit what follows.
///
/// ```
/// use planwright::journal::{Record, Seal};
///
/// let record = Record::Happened(planwright::machine::Event::DeadlinePassed);
/// let text = record.encode(0)?;
/// let seal = Seal::new().with(&text);
/// // Stored: the text and the seal. Read back:
/// assert_eq!(Seal::new().with(&text), seal, "as it was written");
/// assert_eq!(Record::decode(&text)?, record);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seal(Digest);

impl Seal {
    /// Bytes of a seal as text.
    pub const WIDTH: usize = 32;

    /// The seal of an empty journal.
    pub fn new() -> Self {
        Seal(Digest::of([b"planwright-journal".as_slice()]))
    }

    /// The seal after the text of one more record.
    #[must_use]
    pub fn with(self, text: &[u8]) -> Self {
        Seal(Digest::of([self.0.bytes(), text]))
    }

    /// The seal that [`as_bytes`](Seal::as_bytes) gave; `None` for another number of bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Some(Seal(Digest::of_bytes(bytes.try_into().ok()?)))
    }

    /// The seal as bytes. As text it is its `Display`.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.bytes()
    }
}

impl Default for Seal {
    fn default() -> Self {
        Seal::new()
    }
}

impl fmt::Display for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Record {
    /// Writes the JSON text that is stored and sealed. `index` is the record's place, for the error.
    ///
    /// # Errors
    /// If it cannot be written as JSON.
    pub fn encode(&self, index: u64) -> Result<Vec<u8>, JournalError> {
        // Most records are of this size: a buffer that grows is copied at every step.
        let mut text = Vec::with_capacity(512);
        serde_json::to_writer(&mut text, self).map_err(|error| JournalError::at(index, error.to_string()))?;
        Ok(text)
    }

    /// Reads a record from a text whose seal fits.
    ///
    /// # Errors
    /// If the text is no record of this version.
    pub fn decode(text: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(text).map_err(|error| format!("does not read as a journal record: {error}"))
    }

    /// Checks the format that the text of a header names. Any other text passes.
    ///
    /// # Errors
    /// [`Format`](super::JournalErrorKind::Format) if this version does not read it.
    pub fn check_format(text: &[u8]) -> Result<(), JournalError> {
        #[derive(serde::Deserialize)]
        struct Named {
            format: u32,
        }
        #[derive(serde::Deserialize)]
        struct First {
            header: Named,
        }
        serde_json::from_slice(text).map_or(Ok(()), |First { header }| check_format(header.format))
    }

    /// Checks that a record may be stored at a place: a header has to name its thread and turn.
    ///
    /// # Errors
    /// [`Damaged`](super::JournalErrorKind::Damaged), with the thread and turn that the header names.
    pub fn check_place(&self, thread: &ThreadId, turn: u32, index: u64) -> Result<(), JournalError> {
        let Record::Header(header) = self else { return Ok(()) };
        if header.thread == thread.as_str() && header.turn == turn {
            return Ok(());
        }
        let (expected, found) = (u64::from(turn) + 1, u64::from(header.turn) + 1);
        let problem = format!(
            "expected the header of thread {thread}, turn {expected}, found that of thread {}, turn {found}",
            header.thread
        );
        Err(JournalError::at(index, problem))
    }
}
