//! Reading the records of a turn, in one sweep.

use planwright::journal::{JournalError, Record, Seal, StoreError, ThreadId};
use rusqlite::Connection;

use crate::database::Database;
use crate::fault::Fault;
use crate::row::{End, Row, place};
use crate::specs::Specs;
use crate::tx::Tx;

const UNSEALED: &str = "the seal does not fit: this record, or one before it, is not as it was written";

impl Database {
    pub fn records(&mut self, thread: &ThreadId, turn: u32) -> Result<Vec<Record>, Fault> {
        let Database { conn, start, specs, .. } = self;
        let _tx = Tx::read(conn)?;
        let row = Row::find_known(conn, thread)?;
        if turn >= row.turns {
            return Err(StoreError::NoTurn { thread: thread.clone(), turn, turns: row.turns }.into());
        }
        read_turn(conn, *start, specs, &row, turn).map_err(|fault| name_turn(fault, thread, turn))
    }
}

/// Reads a turn, and checks that it is as it was written.
fn read_turn(
    conn: &Connection,
    start: Seal,
    specs: &mut Specs,
    row: &Row,
    turn: u32,
) -> Result<Vec<Record>, Fault> {
    let (from, to) = (place(row.id, turn), place(row.id, turn + 1));
    let is_last = turn + 1 == row.turns;
    let end = if is_last { row.last.clone() } else { End::find_kept(conn, from)? };
    let select = "SELECT at, seal, body FROM record WHERE at >= ?1 AND at < ?2 ORDER BY at";
    let mut select = conn.prepare_cached(select)?;
    let mut rows = select.query([from, to])?;
    let (mut records, mut seal, mut index) = (Vec::new(), start, 0);
    while let Some(found) = rows.next()? {
        let at: i64 = found.get(0)?;
        if u64::try_from(at - from) != Ok(index) {
            return Err(JournalError::at(index, "it is lost").into());
        }
        let (written, body) = (found.get_ref(1)?, found.get_ref(2)?);
        let (written, body) = (written.as_bytes().unwrap_or_default(), body.as_bytes().unwrap_or_default());
        seal = seal.with(body);
        let is_spoilt = |end: &End| end.records == index + 1 && end.seal != seal.as_bytes();
        if seal.as_bytes() != written || end.as_ref().is_some_and(is_spoilt) {
            return Err(JournalError::at(index, UNSEALED).into());
        }
        if index == 0 {
            Record::check_format(body)?;
        }
        let record = specs.decode(conn, index, body)?;
        record.check_place(&row.name, turn, index)?;
        records.push(record);
        index += 1;
    }
    match end {
        Some(end) if index > 0 && end.records <= index => Ok(records),
        // A writer that was stopped noted no end of the last turn.
        None if index > 0 && is_last && !row.noted => Ok(records),
        None if index > 0 => Err(JournalError::at(index, "the note of its end is lost").into()),
        _ => Err(JournalError::at(index, "it is lost, and what follows it").into()),
    }
}

/// Names the turn in which a fault was found.
pub(crate) fn name_turn(fault: Fault, thread: &ThreadId, turn: u32) -> Fault {
    match fault {
        Fault::Store(StoreError::Journal(error)) => {
            error.within(format!("thread {thread}, turn {}", u64::from(turn) + 1)).into()
        }
        other => other,
    }
}
