//! The records of a turn: appended to the end of one page, read in one sweep, each with its seal.

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, params};

use super::super::list::title;
use super::fault::Fault;
use super::row::Row;
use super::tx::Tx;
use super::{Inner, Lease, fenced, now};
use crate::journal::seal::{self, Seal};
use crate::journal::threads::belongs;
use crate::journal::{JOURNAL_FORMAT, JournalError, Record, Standing, StoreError, ThreadId};

/// Records of a turn have places of their own, from the first to before the second. Turns are numbered
/// by SQLite, from 1, and there are never so many.
pub(super) fn places(turn: i64) -> (i64, i64) {
    (turn << 32, (turn + 1) << 32)
}

/// What an append looks at first.
struct Before {
    thread: i64,
    epoch: u64,
    turns: u32,
    /// Whether it is the first append under its lease, or since it was noted where the run stands.
    first: bool,
    /// The turn's number, where it was begun.
    turn: Option<i64>,
    /// The seal of the record before the index.
    seal: Option<Vec<u8>>,
    /// Whether there is a record at the index.
    taken: bool,
}

const BEFORE: &str = "SELECT thread.id, epoch, turns, noted OR written <> epoch, turn.id, before.seal, \
     EXISTS (SELECT 1 FROM record WHERE at = (turn.id << 32) + ?3) \
     FROM thread LEFT JOIN turn ON turn.thread = thread.id AND turn.turn = ?2 \
     LEFT JOIN record AS before ON before.at = (turn.id << 32) + ?3 - 1 WHERE name = ?1";

impl Inner {
    pub fn append(&mut self, lease: &Lease, turn: u32, index: u64, new: &[Record]) -> Result<(), Fault> {
        let conn = &self.conn;
        let tx = Tx::writing(conn)?;
        let found = before(conn, &lease.thread, turn, index)?;
        let before = found.filter(|before| before.epoch == lease.epoch);
        let before = before.ok_or_else(|| fenced(&lease.thread))?;
        let mut seal =
            fits(conn, &before, turn, index).map_err(|error| of_turn(error, &lease.thread, turn))?;
        let (from, _) = match before.turn {
            Some(turn) => places(turn),
            None if new.is_empty() => return Ok(()),
            None => {
                let begin = "INSERT INTO turn (thread, turn) VALUES (?1, ?2)";
                conn.prepare_cached(begin)?.execute(params![before.thread, turn])?;
                places(conn.last_insert_rowid())
            }
        };
        let mut insert = conn.prepare_cached("INSERT INTO record (at, seal, body) VALUES (?1, ?2, ?3)")?;
        for (index, record) in (index..).zip(new) {
            belongs(record, &lease.thread, turn, index)?;
            let body = seal::written(index, record)?;
            seal = seal.with(&body);
            let at = from + i64::from(u32::try_from(index).map_err(|_| full(index))?);
            let body = ToSqlOutput::Borrowed(ValueRef::Text(&body));
            insert.execute(params![at, seal.bytes(), body])?;
        }
        if before.turn.is_none() || (before.first && !new.is_empty()) {
            begun(conn, lease, turn, new)?;
        }
        tx.commit()
    }

    pub fn stands(&mut self, lease: &Lease, turn: u32, index: u64, standing: &Standing) -> Result<(), Fault> {
        let conn = &self.conn;
        let tx = Tx::writing(conn)?;
        let mut row = self.leased(lease)?;
        let Some(before) = before(conn, &lease.thread, turn, index)? else { return Ok(()) };
        let (Some(id), Some(seal), false) = (before.turn, before.seal, before.taken) else { return Ok(()) };
        if turn + 1 != row.turns {
            return Ok(());
        }
        conn.prepare_cached("UPDATE turn SET records = ?2, seal = ?3 WHERE id = ?1")?
            .execute(params![id, index, seal])?;
        if row.written == row.epoch && !row.noted {
            row.updated = now();
        }
        (row.noted, row.standing) = (true, standing.clone());
        row.save(conn)?;
        tx.commit()
    }

    pub fn records(&mut self, thread: &ThreadId, turn: u32) -> Result<Vec<Record>, Fault> {
        let _tx = Tx::reading(&self.conn)?;
        let row = known(&self.conn, thread)?;
        if turn >= row.turns {
            return Err(StoreError::NoTurn { thread: thread.clone(), turn, turns: row.turns }.into());
        }
        read(&self.conn, row.id, thread, turn).map_err(|fault| match fault {
            Fault::Store(StoreError::Journal(error)) => of_turn(error, thread, turn).into(),
            other => other,
        })
    }
}

/// The row of a thread in which something was written.
pub(super) fn known(conn: &Connection, thread: &ThreadId) -> Result<Row, Fault> {
    let row = Row::find(conn, thread)?.filter(|row| row.turns > 0);
    row.ok_or_else(|| StoreError::NoThread { thread: thread.clone() }.into())
}

/// The numbers of a thread's turns.
pub(super) fn turns_of(conn: &Connection, thread: i64) -> Result<Vec<i64>, Fault> {
    let mut turns = conn.prepare_cached("SELECT id FROM turn WHERE thread = ?1 ORDER BY turn")?;
    Ok(turns.query_map([thread], |row| row.get(0))?.collect::<Result<_, _>>()?)
}

fn before(conn: &Connection, thread: &ThreadId, turn: u32, index: u64) -> Result<Option<Before>, Fault> {
    let index = u32::try_from(index).map_err(|_| full(index))?;
    let mut select = conn.prepare_cached(BEFORE)?;
    let before = select.query_row(params![thread.as_str(), turn, index], |row| {
        Ok(Before {
            thread: row.get(0)?,
            epoch: row.get(1)?,
            turns: row.get(2)?,
            first: row.get(3)?,
            turn: row.get(4)?,
            seal: row.get(5)?,
            taken: row.get(6)?,
        })
    });
    Ok(before.optional()?)
}

/// The seal that an append goes on from, where nobody was here meanwhile.
fn fits(conn: &Connection, before: &Before, turn: u32, index: u64) -> Result<Seal, JournalError> {
    let lost = |problem: &str| JournalError::at(index, problem);
    match before.turn {
        None if turn < before.turns => Err(lost("the turn is lost")),
        None if index == 0 && turn == before.turns => Ok(Seal::new()),
        None => Err(JournalError::stale(index, 0)),
        Some(_) if turn >= before.turns => Err(lost("the turn is none of its thread's")),
        Some(_) if index > 0 && !before.taken && before.seal.is_some() => {
            let seal = before.seal.as_deref().and_then(Seal::of_bytes);
            seal.ok_or_else(|| lost("the record before it has no seal"))
        }
        Some(id) => {
            let (from, to) = places(id);
            let last = "SELECT max(at) FROM record WHERE at >= ?1 AND at < ?2";
            let last = conn.query_row(last, [from, to], |row| row.get::<_, Option<i64>>(0));
            let len = last.ok().flatten().map_or(0, |last| (last - from).unsigned_abs() + 1);
            Err(JournalError::stale(index, len))
        }
    }
}

/// Says in the thread's row that it goes on, once for each lease.
fn begun(conn: &Connection, lease: &Lease, turn: u32, new: &[Record]) -> Result<(), Fault> {
    let Some(mut row) = Row::find(conn, &lease.thread)? else { return Ok(()) };
    (row.updated, row.written) = (now(), lease.epoch);
    (row.noted, row.standing) = (false, Standing::Unfinished);
    row.turns = row.turns.max(turn + 1);
    if row.created == 0 {
        row.created = row.updated;
        if let Some(Record::Header(header)) = new.first() {
            row.title = title(&header.input.question);
        }
    }
    row.save(conn)
}

/// Reads a turn, and whether it is as it was written.
fn read(conn: &Connection, thread: i64, name: &ThreadId, turn: u32) -> Result<Vec<Record>, Fault> {
    let sql = "SELECT id, records, seal FROM turn WHERE thread = ?1 AND turn = ?2";
    let found = conn.prepare_cached(sql)?.query_row(params![thread, turn], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, Option<u64>>(1)?, row.get::<_, Option<Vec<u8>>>(2)?))
    });
    let Some((id, noted, noted_seal)) = found.optional()? else {
        return Err(JournalError::at(0, "the turn is lost").into());
    };
    let (from, to) = places(id);
    let mut select =
        conn.prepare_cached("SELECT at, seal, body FROM record WHERE at >= ?1 AND at < ?2 ORDER BY at")?;
    let mut rows = select.query([from, to])?;
    let (mut records, mut seal) = (Vec::new(), Seal::new());
    while let Some(row) = rows.next()? {
        let index = records.len() as u64;
        let at: i64 = row.get(0)?;
        if at - from != i64::try_from(index).unwrap_or(i64::MAX) {
            return Err(JournalError::at(index, "it is lost").into());
        }
        let (written, body) = (row.get_ref(1)?, row.get_ref(2)?);
        let (written, body) = (written.as_bytes().unwrap_or_default(), body.as_bytes().unwrap_or_default());
        seal = seal.with(body);
        if seal.bytes() != written {
            return Err(JournalError::at(index, UNSEALED).into());
        }
        if index == 0
            && let Some(other) = seal::format(body).filter(|format| *format != JOURNAL_FORMAT)
        {
            return Err(JournalError::format(other).into());
        }
        let record = seal::read(body).map_err(|problem| JournalError::at(index, problem))?;
        belongs(&record, name, turn, index)?;
        records.push(record);
        if noted == Some(records.len() as u64) && noted_seal.as_deref() != Some(seal.bytes()) {
            return Err(JournalError::at(index, UNSEALED).into());
        }
    }
    let len = records.len() as u64;
    if len == 0 || noted.is_some_and(|noted| noted > len) {
        return Err(JournalError::at(len, "it is lost, and what follows it").into());
    }
    Ok(records)
}

const UNSEALED: &str = "the seal does not fit: this record, or one before it, is not as it was written";

fn of_turn(error: JournalError, thread: &ThreadId, turn: u32) -> JournalError {
    error.within(format!("thread {thread}, turn {}", u64::from(turn) + 1))
}

fn full(index: u64) -> JournalError {
    JournalError::at(index, "a turn has no more than 4,294,967,296 records")
}
