//! The end of a turn, where records are appended. A handle remembers the head of each thread that it writes
//! to, and appends there without looking again.

use planwright::journal::{JournalError, Lease, Record, Seal, ThreadId};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, params};

use crate::fault::Fault;
use crate::row::{End, MOST_TURNS, Row, place, too_many_turns};
use crate::specs::Specs;

const MOST_RECORDS: u64 = (1 << 20) - 1;

/// The end of a turn, under one lease.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    thread: i64,
    epoch: u64,
    turn: u32,
    /// How many records the turn has.
    len: u64,
    /// The seal of them all.
    seal: Seal,
}

impl Head {
    /// The head of a turn without records.
    pub fn start(start: Seal, row: &Row, turn: u32) -> Self {
        Head { thread: row.id, epoch: row.epoch, turn, len: 0, seal: start }
    }

    /// The head of a turn, which has to have this many records.
    pub fn find(conn: &Connection, start: Seal, row: &Row, turn: u32, len: u64) -> Result<Self, Fault> {
        if turn >= MOST_TURNS {
            return Err(too_many_turns().into());
        }
        let damaged = |problem: &str| JournalError::at(len, problem);
        let head = Head { len, ..Head::start(start, row, turn) };
        match End::find(conn, place(row.id, turn))? {
            Some(_) if turn >= row.turns => {
                Err(damaged("there are records of a turn that its thread does not have").into())
            }
            Some(end) if end.records != len => Err(JournalError::stale(len, end.records).into()),
            Some(end) => {
                let seal = Seal::from_bytes(&end.seal);
                let seal = seal.ok_or_else(|| damaged("the record before it has no seal"))?;
                Ok(Head { seal, ..head })
            }
            None if turn < row.turns => Err(damaged("the turn is lost").into()),
            None if turn == row.turns && len == 0 => Ok(head),
            None => Err(JournalError::stale(len, 0).into()),
        }
    }

    pub fn is_at(&self, lease: &Lease, turn: u32, index: u64) -> bool {
        self.epoch == lease.epoch() && self.turn == turn && self.len == index
    }

    /// The end of the turn, as it is kept for readers.
    pub fn end(&self) -> End {
        End { records: self.len, seal: self.seal.as_bytes().to_vec() }
    }

    /// Moves behind one more record, sealed with all before it. Gives the record's place.
    fn advance(&mut self, thread: &ThreadId, record: &Record, body: &[u8]) -> Result<i64, JournalError> {
        record.check_place(thread, self.turn, self.len)?;
        let index = u32::try_from(self.len).ok().filter(|_| self.len < MOST_RECORDS);
        let problem = || format!("a turn has no more than {MOST_RECORDS} records");
        let index = index.ok_or_else(|| JournalError::at(self.len, problem()))?;
        (self.seal, self.len) = (self.seal.with(body), self.len + 1);
        Ok(place(self.thread, self.turn) + i64::from(index))
    }

    /// Appends records in a transaction that has checked the lease.
    pub fn append(
        mut self,
        conn: &Connection,
        specs: &mut Specs,
        thread: &ThreadId,
        new: &[Record],
    ) -> Result<Self, Fault> {
        let mut insert = conn.prepare_cached("INSERT INTO record (at, seal, body) VALUES (?1, ?2, ?3)")?;
        for record in new {
            let body = specs.encode(conn, self.len, record)?;
            let at = self.advance(thread, record, &body)?;
            let body = ToSqlOutput::Borrowed(ValueRef::Text(&body));
            insert.execute(params![at, self.seal.as_bytes(), body])?;
        }
        Ok(self)
    }

    /// Appends one or two records in one statement that checks the lease as well. Gives the new head; `None`
    /// if the lease is not in force, or the append needs more than that. Nothing was appended then.
    pub fn append_leased(
        mut self,
        conn: &Connection,
        lease: &Lease,
        new: &[Record],
    ) -> Result<Option<Self>, Fault> {
        let holds_spec = |record| matches!(record, &Record::Header(_) | &Record::SpecChanged(_));
        let sql = match new.len() {
            1 => ONE,
            2 => TWO,
            _ => return Ok(None),
        };
        if new.iter().any(holds_spec) {
            return Ok(None);
        }
        let mut insert = conn.prepare_cached(sql)?;
        insert.raw_bind_parameter(1, self.thread)?;
        insert.raw_bind_parameter(2, self.epoch)?;
        insert.raw_bind_parameter(3, i64::from(self.turn) + 1)?;
        for (nth, record) in new.iter().enumerate() {
            let body = record.encode(self.len)?;
            let at = self.advance(lease.thread(), record, &body)?;
            // SQLite copies what is bound: one body at a time is in memory twice.
            let body = ToSqlOutput::Borrowed(ValueRef::Text(&body));
            insert.raw_bind_parameter(4 + 3 * nth, at)?;
            insert.raw_bind_parameter(5 + 3 * nth, self.seal.as_bytes())?;
            insert.raw_bind_parameter(6 + 3 * nth, body)?;
        }
        match insert.raw_execute() {
            Ok(0) => Ok(None),
            // Another record is at the place already.
            Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation) => {
                Ok(None)
            }
            done => Ok(done.map(|_| Some(self))?),
        }
    }
}

/// With `turns` as a bare column SQLite would use the index of a list, and take several times as long.
const ONE: &str = "INSERT INTO record (at, seal, body) SELECT ?4, ?5, ?6 FROM thread \
     WHERE id = ?1 AND epoch = ?2 AND written = ?2 AND noted = 0 AND turns + 0 = ?3";

const TWO: &str = "INSERT INTO record (at, seal, body) SELECT ?4, ?5, ?6 FROM thread \
     WHERE id = ?1 AND epoch = ?2 AND written = ?2 AND noted = 0 AND turns + 0 = ?3 \
     UNION ALL SELECT ?7, ?8, ?9 FROM thread \
     WHERE id = ?1 AND epoch = ?2 AND written = ?2 AND noted = 0 AND turns + 0 = ?3";
