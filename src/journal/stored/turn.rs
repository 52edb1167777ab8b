//! How a turn is read back: record by record, each checked against its seal and its place.

use super::{End, ThreadRow};
use crate::journal::{Header, JournalError, Record, Seal};

/// Checks the records of a turn as they are read, in their order.
#[derive(Debug)]
pub struct TurnReader<'r> {
    row: &'r ThreadRow,
    turn: u32,
    end: Option<End>,
    seal: Seal,
    records: Vec<Record>,
}

impl<'r> TurnReader<'r> {
    /// Begins to read a turn. `start` is the seal of an empty turn; `find_kept` finds the end that was kept of a
    /// turn that is not the last.
    ///
    /// # Errors
    /// Those of `find_kept`.
    pub fn new<E>(
        start: Seal,
        row: &'r ThreadRow,
        turn: u32,
        find_kept: impl FnOnce() -> Result<Option<End>, E>,
    ) -> Result<Self, E> {
        let end = if turn + 1 == row.turns { row.last } else { find_kept()? };
        Ok(TurnReader { row, turn, end, seal: start, records: Vec::new() })
    }

    /// Takes the next record: its index, its seal and its text as they are stored. `decode` reads the text.
    ///
    /// # Errors
    /// [`Damaged`](crate::journal::JournalErrorKind::Damaged), and those of `decode`.
    pub fn take<E: From<JournalError>>(
        &mut self,
        at: i64,
        written: &[u8],
        body: &[u8],
        decode: impl FnOnce(u64) -> Result<Record, E>,
    ) -> Result<(), E> {
        let index = self.records.len() as u64;
        if u64::try_from(at) != Ok(index) {
            return Err(JournalError::at(index, "it is lost").into());
        }
        self.seal = self.seal.with(body);
        let seal = self.seal;
        let is_spoilt = |end: &End| end.records == index + 1 && end.seal != seal;
        if seal.as_bytes() != written || self.end.as_ref().is_some_and(is_spoilt) {
            let problem = "the seal does not fit: this record, or one before it, is not as it was written";
            return Err(JournalError::at(index, problem).into());
        }
        if index == 0 {
            Record::check_format(body)?;
        }
        let record = decode(index)?;
        record.check_place(&self.row.name, self.turn, index)?;
        self.records.push(record);
        Ok(())
    }

    /// The records of the turn, once all that there are were taken.
    ///
    /// # Errors
    /// [`Damaged`](crate::journal::JournalErrorKind::Damaged) if some are lost at the end.
    pub fn finish(self) -> Result<Vec<Record>, JournalError> {
        let (index, is_last) = (self.records.len() as u64, self.turn + 1 == self.row.turns);
        match self.end {
            Some(end) if index > 0 && end.records <= index => Ok(self.records),
            // A writer that was stopped noted no end of the last turn.
            None if index > 0 && is_last && !self.row.noted => Ok(self.records),
            None if index > 0 => Err(JournalError::at(index, "the note of its end is lost")),
            _ => Err(JournalError::at(index, "it is lost, and what follows it")),
        }
    }
}

/// The header of a turn, from its first record: its seal and its text as they are stored. `decode` reads the text.
///
/// # Errors
/// [`Damaged`](crate::journal::JournalErrorKind::Damaged), and those of `decode`.
pub fn check_header<E: From<JournalError>>(
    start: Seal,
    written: &[u8],
    body: &[u8],
    decode: impl FnOnce() -> Result<Record, E>,
) -> Result<Header, E> {
    let damaged = |problem: &str| E::from(JournalError::at(0, problem));
    if start.with(body).as_bytes() != written {
        return Err(damaged("the seal does not fit: this record is not as it was written"));
    }
    Record::check_format(body)?;
    match decode()? {
        Record::Header(header) => Ok(*header),
        _ => Err(damaged("expected a header")),
    }
}
