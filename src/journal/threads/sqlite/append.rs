//! Appending: after a look at the thread, or where this handle's last append ended.

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, params};

use super::super::list::title;
use super::Inner;
use super::fault::Fault;
use super::records::{Before, MOST_TURNS, before, fits, of_turn, place, within};
use super::row::Row;
use super::specs::Specs;
use super::tx::Tx;
use crate::journal::seal::{self, Seal};
use crate::journal::threads::{belongs, fenced, now};
use crate::journal::{Lease, Record, Standing};

/// Where this handle ended its last append under a lease.
#[derive(Debug)]
pub(super) struct Head {
    thread: i64,
    epoch: u64,
    turn: u32,
    /// How many records the turn has, and the seal of them all.
    len: u64,
    seal: Seal,
}

impl Inner {
    pub fn append(&mut self, lease: &Lease, turn: u32, index: u64, new: &[Record]) -> Result<(), Fault> {
        let head = self.heads.remove(&lease.thread).filter(|head| head.is_at(lease, turn, index));
        if let Some(head) = head
            && self.append_to(head, lease, new)?
        {
            return Ok(());
        }
        self.append_after_a_look(lease, turn, index, new)
    }

    /// Appends where the last append ended, in one statement that also looks whether the lease still holds.
    /// Gives whether it did: where not, or where it is not for this to do, nothing was appended.
    fn append_to(&mut self, mut head: Head, lease: &Lease, new: &[Record]) -> Result<bool, Fault> {
        let sql = match new {
            [one] if is_small(one) => ONE,
            [one, two] if is_small(one) && is_small(two) => TWO,
            _ => return Ok(false),
        };
        let mut insert = self.conn.prepare_cached(sql)?;
        let holds = [head.thread, i64::from(head.turn) + 1];
        let (mut bodies, mut seals) = ([Vec::new(), Vec::new()], [head.seal; 2]);
        insert.raw_bind_parameter(1, holds[0])?;
        insert.raw_bind_parameter(2, head.epoch)?;
        insert.raw_bind_parameter(3, holds[1])?;
        for (nth, record) in new.iter().enumerate() {
            belongs(record, &lease.thread, head.turn, head.len)?;
            bodies[nth] = seal::written(head.len, record)?;
            head.seal = head.seal.with(&bodies[nth]);
            seals[nth] = head.seal;
            let at = place(head.thread, head.turn) + i64::from(within(head.len)?);
            let body = ToSqlOutput::Borrowed(ValueRef::Text(&bodies[nth]));
            insert.raw_bind_parameter(4 + 3 * nth, at)?;
            insert.raw_bind_parameter(5 + 3 * nth, seals[nth].bytes())?;
            insert.raw_bind_parameter(6 + 3 * nth, body)?;
            head.len += 1;
        }
        match insert.raw_execute() {
            Ok(0) => return Ok(false),
            Err(error) if is_taken(&error) => return Ok(false),
            done => done?,
        };
        drop(insert);
        self.notes.remove(&lease.thread);
        self.heads.insert(lease.thread.clone(), head);
        Ok(true)
    }

    fn append_after_a_look(
        &mut self,
        lease: &Lease,
        turn: u32,
        index: u64,
        new: &[Record],
    ) -> Result<(), Fault> {
        let row = self.rows.remove(&lease.thread).filter(|row| row.epoch == lease.epoch);
        let tx = Tx::writing(&self.conn)?;
        let appended = appended(&self.conn, &mut self.specs, row, lease, (turn, index), new)?;
        tx.commit()?;
        self.remember(lease, appended);
        Ok(())
    }

    /// Begins a thread with all of these turns, or with none of them.
    pub fn begin_with(&mut self, lease: &Lease, turns: &[Vec<Record>]) -> Result<(), Fault> {
        let row = self.rows.remove(&lease.thread).filter(|row| row.epoch == lease.epoch);
        let tx = Tx::writing(&self.conn)?;
        let mut last = Appended { row, head: None };
        for (turn, records) in (0..).zip(turns) {
            last = appended(&self.conn, &mut self.specs, last.row, lease, (turn, 0), records)?;
        }
        tx.commit()?;
        self.remember(lease, last);
        Ok(())
    }

    fn remember(&mut self, lease: &Lease, Appended { row, head }: Appended) {
        if let Some(row) = row {
            self.rows.insert(lease.thread.clone(), row);
        }
        if let Some(head) = head {
            self.notes.remove(&lease.thread);
            self.heads.insert(lease.thread.clone(), head);
        }
    }

    /// The seal of a turn after so many records, where they are all of the last turn's.
    ///
    /// # Errors
    /// Where the lease does not hold any more.
    pub fn seal_of_all(&self, lease: &Lease, turn: u32, index: u64) -> Result<Option<Vec<u8>>, Fault> {
        let fenced = || fenced(&lease.thread);
        if let Some(head) = self.heads.get(&lease.thread).filter(|head| head.is_at(lease, turn, index)) {
            let mut epoch = self.conn.prepare_cached("SELECT epoch FROM thread WHERE id = ?1")?;
            let epoch = epoch.query_row([head.thread], |row| row.get::<_, u64>(0)).optional()?;
            epoch.filter(|epoch| *epoch == lease.epoch).ok_or_else(fenced)?;
            return Ok(Some(head.seal.bytes().to_vec()));
        }
        let found = before(&self.conn, &lease.thread, turn, index)?;
        let found = found.filter(|found| found.epoch == lease.epoch).ok_or_else(fenced)?;
        Ok(found.seal.filter(|_| !found.taken && turn + 1 == found.turns))
    }
}

/// What an append leaves to be remembered once it is committed: the row where it was written, and where the
/// thread ends where anything was.
struct Appended {
    row: Option<Row>,
    head: Option<Head>,
}

/// Appends within a transaction.
fn appended(
    conn: &Connection,
    specs: &mut Specs,
    row: Option<Row>,
    lease: &Lease,
    (turn, index): (u32, u64),
    new: &[Record],
) -> Result<Appended, Fault> {
    let found = match &row {
        Some(row) if index == 0 && turn == row.turns && turn < MOST_TURNS => Some(Before::begin(row)),
        _ => before(conn, &lease.thread, turn, index)?,
    };
    let before = found.filter(|before| before.epoch == lease.epoch);
    let before = before.ok_or_else(|| fenced(&lease.thread))?;
    let mut seal = fits(conn, &before, turn, index).map_err(|error| of_turn(error, &lease.thread, turn))?;
    if new.is_empty() {
        return Ok(Appended { row: None, head: None });
    }
    let from = place(before.thread, turn);
    let mut insert = conn.prepare_cached("INSERT INTO record (at, seal, body) VALUES (?1, ?2, ?3)")?;
    for (index, record) in (index..).zip(new) {
        belongs(record, &lease.thread, turn, index)?;
        let body = specs.written(conn, index, record)?;
        seal = seal.with(&body);
        let at = from + i64::from(within(index)?);
        let body = ToSqlOutput::Borrowed(ValueRef::Text(&body));
        insert.execute(params![at, seal.bytes(), body])?;
    }
    let begins = turn == before.turns || before.first;
    let row = if begins { Some(begun(conn, row, lease, turn, new)?) } else { None };
    let (thread, epoch, len) = (before.thread, lease.epoch, index + new.len() as u64);
    Ok(Appended { row, head: Some(Head { thread, epoch, turn, len, seal }) })
}

impl Head {
    fn is_at(&self, lease: &Lease, turn: u32, index: u64) -> bool {
        self.epoch == lease.epoch && self.turn == turn && self.len == index
    }
}

/// `turns` is no bare column here: SQLite would read the statement anew for every number, to see whether
/// a list's index fits.
const ONE: &str = "INSERT INTO record (at, seal, body) SELECT ?4, ?5, ?6 FROM thread \
     WHERE id = ?1 AND epoch = ?2 AND written = ?2 AND noted = 0 AND turns + 0 = ?3";

const TWO: &str = "INSERT INTO record (at, seal, body) SELECT ?4, ?5, ?6 FROM thread \
     WHERE id = ?1 AND epoch = ?2 AND written = ?2 AND noted = 0 AND turns + 0 = ?3 \
     UNION ALL SELECT ?7, ?8, ?9 FROM thread \
     WHERE id = ?1 AND epoch = ?2 AND written = ?2 AND noted = 0 AND turns + 0 = ?3";

/// Whether a record holds no spec.
fn is_small(record: &Record) -> bool {
    !matches!(record, Record::Header(_) | Record::Rules(_))
}

/// Whether there was a record at the place already.
fn is_taken(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation)
}

/// Says in the thread's row that it goes on, once for each lease.
fn begun(
    conn: &Connection,
    row: Option<Row>,
    lease: &Lease,
    turn: u32,
    new: &[Record],
) -> Result<Row, Fault> {
    let found = match row {
        Some(row) => Some(row),
        None => Row::find(conn, &lease.thread)?,
    };
    let mut row = found.ok_or_else(|| fenced(&lease.thread))?;
    (row.updated, row.written) = (now(), lease.epoch);
    (row.noted, row.standing) = (false, Standing::Unfinished);
    row.turns = row.turns.max(turn + 1);
    if row.created == 0 {
        row.created = row.updated;
        if let Some(Record::Header(header)) = new.first() {
            row.title = title(&header.input.question);
        }
    }
    if row.save(conn)? { Ok(row) } else { Err(fenced(&lease.thread).into()) }
}
