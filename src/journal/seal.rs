//! Seals: every record is written with a digest over itself and all before it. So a record that was
//! changed, moved, lost from the middle or put in from elsewhere does not fit what follows.

use super::{JournalError, Record};
use crate::spec::Digest;

/// The seal of what was written so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seal(Digest);

impl Seal {
    /// Bytes of a seal as it is written in a line.
    pub const WIDTH: usize = 32;

    /// Of nothing yet.
    pub fn new() -> Self {
        Seal(Digest::of([b"planwright-journal".as_slice()]))
    }

    /// With the text of one more record.
    pub fn with(self, text: &[u8]) -> Self {
        Seal(Digest::of([self.0.bytes(), text]))
    }

    /// As it was kept where bytes are.
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        Some(Seal(Digest::of_bytes(bytes.try_into().ok()?)))
    }

    /// As it is kept where bytes are.
    pub fn bytes(&self) -> &[u8] {
        self.0.bytes()
    }

    /// As it is kept where text is.
    pub fn text(self) -> String {
        self.0.to_string()
    }
}

/// A record as its text.
///
/// # Errors
/// Where it has none; names the record.
pub fn written(index: u64, record: &Record) -> Result<Vec<u8>, JournalError> {
    // Most records are of this size: a buffer that grows is copied at every step.
    let mut text = Vec::with_capacity(512);
    serde_json::to_writer(&mut text, record).map_err(|error| JournalError::at(index, error.to_string()))?;
    Ok(text)
}

/// The record of a text whose seal holds.
///
/// # Errors
/// Where the text is no record of this version.
pub fn read(text: &[u8]) -> Result<Record, String> {
    serde_json::from_slice(text).map_err(|error| format!("does not read as a journal record: {error}"))
}

/// The format that a header says it is of, however the rest of it reads.
pub fn format(text: &[u8]) -> Option<u32> {
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
