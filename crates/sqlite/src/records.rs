//! The records of a turn: where each has its place, and how they are read, in one sweep.

use rusqlite::{Connection, OptionalExtension};

use super::Inner;
use super::fault::Fault;
use super::looks::Looks;
use super::row::{End, Row};
use super::specs::Specs;
use super::tx::Tx;
use planwright::journal::seal::{self, Seal};
use planwright::journal::store::check_place;
use planwright::journal::{JOURNAL_FORMAT, JournalError, Record, StoreError, ThreadId};

/// Where the records of a turn begin. A thread's number has 27 bits, a turn's 16, an index 20.
pub(super) fn place(thread: i64, turn: u32) -> i64 {
    (thread << 36) + (i64::from(turn) << 20)
}

/// Where a turn is noted, by the place of its records.
pub(super) fn turn_place(place: i64) -> i64 {
    place >> 20
}

pub(super) const MOST_TURNS: u32 = 1 << 16;
const MOST_RECORDS: u64 = (1 << 20) - 1;

/// What an append looks at first.
pub(super) struct Before {
    pub thread: i64,
    pub epoch: u64,
    pub turns: u32,
    /// Whether it is the first append under its lease, or since it was noted where the run stands.
    pub first: bool,
    /// The seal of the record before the index.
    pub seal: Option<Vec<u8>>,
    /// Whether there is a record at the index.
    pub taken: bool,
}

impl Inner {
    pub fn records(&mut self, thread: &ThreadId, turn: u32) -> Result<Vec<Record>, Fault> {
        let _tx = Tx::reading(&self.conn)?;
        let row = known(&self.conn, &mut self.looks, thread)?;
        if turn >= row.turns {
            return Err(StoreError::NoTurn { thread: thread.clone(), turn, turns: row.turns }.into());
        }
        let of = |fault| match fault {
            Fault::Store(StoreError::Journal(error)) => of_turn(error, thread, turn).into(),
            other => other,
        };
        let (records, is_noted) = read(&self.conn, &mut self.specs, self.begin, &row, turn).map_err(of)?;
        if !is_noted {
            self.looks.at_end(&self.conn, &row).map_err(of)?;
        }
        Ok(records)
    }

    /// The row of a thread in which something was written.
    pub fn known(&mut self, thread: &ThreadId) -> Result<Row, Fault> {
        let _tx = Tx::reading(&self.conn)?;
        known(&self.conn, &mut self.looks, thread)
    }
}

fn known(conn: &Connection, looks: &mut Looks, thread: &ThreadId) -> Result<Row, Fault> {
    let found = Row::find(conn, thread)?;
    if found.is_none() {
        looks.at_no_name(conn)?;
    }
    found.filter(|row| row.turns > 0).ok_or_else(|| StoreError::NoThread { thread: thread.clone() }.into())
}

pub(super) fn too_many() -> JournalError {
    JournalError::at(0, format!("a thread has no more than {MOST_TURNS} turns"))
}

/// What stands before a place, and whether something stands at it.
pub(super) fn before(
    conn: &Connection,
    thread: &ThreadId,
    turn: u32,
    index: u64,
) -> Result<Option<Before>, Fault> {
    if turn >= MOST_TURNS {
        return Err(too_many().into());
    }
    // No index is so great that it cannot be too great.
    let at = place(0, turn) + i64::from(within(index.min(MOST_RECORDS - 1))?);
    let sql = "SELECT id, epoch, turns, noted OR written <> epoch FROM thread WHERE name = ?1";
    let before = conn.prepare_cached(sql)?.query_row([thread.as_str()], |row| {
        let (thread, epoch, turns, first) = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
        Ok(Before { thread, epoch, turns, first, seal: None, taken: false })
    });
    let Some(mut before) = before.optional()? else { return Ok(None) };
    let at = place(before.thread, 0) + at;
    let mut select = conn.prepare_cached("SELECT at, seal FROM record WHERE at >= ?1 - 1 AND at <= ?1")?;
    let mut rows = select.query([at])?;
    while let Some(row) = rows.next()? {
        match row.get::<_, i64>(0)? == at {
            true => before.taken = true,
            false if index > 0 => before.seal = row.get(1)?,
            false => {}
        }
    }
    Ok(Some(before))
}

impl Before {
    /// What stands before a new turn. Whether the row is still the thread's is seen as it is saved.
    pub fn begin(row: &Row) -> Self {
        let Row { id, epoch, turns, .. } = *row;
        Before { thread: id, epoch, turns, first: true, seal: None, taken: false }
    }
}

/// The seal that an append goes on from, where nobody was here meanwhile.
pub(super) fn fits(
    conn: &Connection,
    begin: Seal,
    before: &Before,
    turn: u32,
    index: u64,
) -> Result<Seal, JournalError> {
    let damaged = |problem: &str| JournalError::at(index, problem);
    if turn >= before.turns {
        return match (before.taken, index) {
            (false, 0) if turn == before.turns => Ok(begin),
            (true, _) => Err(damaged("there are records of a turn that its thread does not have")),
            _ => Err(JournalError::stale(index, 0)),
        };
    }
    if let (Some(seal), false) = (&before.seal, before.taken) {
        return Seal::from_bytes(seal).ok_or_else(|| damaged("the record before it has no seal"));
    }
    let from = place(before.thread, turn);
    let last = "SELECT max(at) FROM record WHERE at >= ?1 AND at < ?2";
    let last = conn.query_row(last, [from, place(before.thread, turn + 1)], |row| row.get(0));
    match last.ok().flatten() {
        Some(last) => Err(JournalError::stale(index, i64::abs_diff(last, from) + 1)),
        None => Err(damaged("the turn is lost")),
    }
}

/// Reads a turn, and whether it is as it was written. Gives whether somebody has noted where it stands.
fn read(
    conn: &Connection,
    specs: &mut Specs,
    begin: Seal,
    of: &Row,
    turn: u32,
) -> Result<(Vec<Record>, bool), Fault> {
    let (from, to) = (place(of.id, turn), place(of.id, turn + 1));
    let is_last = turn + 1 == of.turns;
    let noted = match is_last {
        true => of.last.clone(),
        false => noted(conn, from)?,
    };
    let mut select =
        conn.prepare_cached("SELECT at, seal, body FROM record WHERE at >= ?1 AND at < ?2 ORDER BY at")?;
    let mut rows = select.query([from, to])?;
    let (mut records, mut seal) = (Vec::new(), begin);
    while let Some(kept) = rows.next()? {
        let index = records.len() as u64;
        let at: i64 = kept.get(0)?;
        if at - from != i64::try_from(index).unwrap_or(i64::MAX) {
            return Err(JournalError::at(index, "it is lost").into());
        }
        let (written, body) = (kept.get_ref(1)?, kept.get_ref(2)?);
        let (written, body) = (written.as_bytes().unwrap_or_default(), body.as_bytes().unwrap_or_default());
        seal = seal.with(body);
        if seal.as_bytes() != written {
            return Err(JournalError::at(index, UNSEALED).into());
        }
        if index == 0
            && let Some(other) = seal::header_format(body).filter(|format| *format != JOURNAL_FORMAT)
        {
            return Err(JournalError::format(other).into());
        }
        let record = specs.read(conn, index, body)?;
        check_place(&record, &of.name, turn, index)?;
        records.push(record);
        if noted.as_ref().is_some_and(|end| end.records == index + 1 && end.seal != seal.as_bytes()) {
            return Err(JournalError::at(index, UNSEALED).into());
        }
    }
    let len = records.len() as u64;
    let missing = noted.as_ref().is_some_and(|end| end.records > len);
    if missing || len == 0 {
        return Err(JournalError::at(len, "it is lost, and what follows it").into());
    }
    match noted {
        Some(end) => Ok((records, end.records == len)),
        // Only the last turn may be one that nobody noted the end of.
        None if of.noted || !is_last => Err(JournalError::at(len, "the note of its end is lost").into()),
        None => Ok((records, false)),
    }
}

/// How a turn ended that is not its thread's last.
fn noted(conn: &Connection, place: i64) -> Result<Option<End>, Fault> {
    let mut select = conn.prepare_cached("SELECT records, seal FROM turn WHERE at = ?1")?;
    let end =
        select.query_row([turn_place(place)], |row| Ok(End { records: row.get(0)?, seal: row.get(1)? }));
    Ok(end.optional()?)
}

const UNSEALED: &str = "the seal does not fit: this record, or one before it, is not as it was written";

pub(super) fn of_turn(error: JournalError, thread: &ThreadId, turn: u32) -> JournalError {
    error.within(format!("thread {thread}, turn {}", u64::from(turn) + 1))
}

/// An index that has a place.
pub(super) fn within(index: u64) -> Result<u32, JournalError> {
    let fits = u32::try_from(index).ok().filter(|_| index < MOST_RECORDS);
    fits.ok_or_else(|| JournalError::at(index, format!("a turn has no more than {MOST_RECORDS} records")))
}
