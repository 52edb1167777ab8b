//! Seals, for stores that keep records as bytes. Every record is stored with a digest over itself and all
//! before it, so a record that was changed, moved, lost from the middle or put in from elsewhere does not
//! fit what follows.
//!
//! ```
//! use planwright::journal::seal::{Seal, decode, encode};
//! # let run = planwright::journal::Record::Happened(planwright::machine::Event::DeadlinePassed);
//! let text = encode(0, &run)?;
//! let seal = Seal::new().with(&text);
//! // Stored: the text and the seal. Read back:
//! assert_eq!(Seal::new().with(&text), seal, "as it was written");
//! assert_eq!(decode(&text)?, run);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt;

use super::{JournalError, Record};
use crate::spec::Digest;

/// The digest of all records so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seal(Digest);

impl Seal {
    /// Bytes of a seal as text.
    pub const WIDTH: usize = 32;

    /// The seal of an empty journal.
    #[allow(clippy::new_without_default)]
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

impl fmt::Display for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Writes a record as the JSON text that is stored and sealed.
///
/// # Errors
/// Where it cannot be written as JSON; names the record.
pub fn encode(index: u64, record: &Record) -> Result<Vec<u8>, JournalError> {
    // Most records are of this size: a buffer that grows is copied at every step.
    let mut text = Vec::with_capacity(512);
    serde_json::to_writer(&mut text, record).map_err(|error| JournalError::at(index, error.to_string()))?;
    Ok(text)
}

/// Reads a record from a text whose seal holds.
///
/// # Errors
/// Where the text is no record of this version.
pub fn decode(text: &[u8]) -> Result<Record, String> {
    serde_json::from_slice(text).map_err(|error| format!("does not read as a journal record: {error}"))
}

/// The journal format that a header names, whether or not the rest of it reads.
pub fn header_format(text: &[u8]) -> Option<u32> {
    #[derive(serde::Deserialize)]
    struct Says {
        format: u32,
    }
    #[derive(serde::Deserialize)]
    struct First {
        header: Says,
    }
    serde_json::from_slice::<First>(text).ok().map(|first| first.header.format)
}
