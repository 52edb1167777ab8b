//! The records of a turn: appended to the end of one page, read in one sweep, each with its seal.

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, params};

use super::super::list::title;
use super::Inner;
use super::fault::Fault;
use super::row::Row;
use super::specs::Specs;
use super::tx::Tx;
use crate::journal::seal::{self, Seal};
use crate::journal::threads::{belongs, fenced, now};
use crate::journal::{JOURNAL_FORMAT, JournalError, Lease, Record, Standing, StoreError, ThreadId};

/// Where the records of a turn begin. A thread's number has 27 bits, a turn's 16, an index 20.
pub(super) fn place(thread: i64, turn: u32) -> i64 {
    (thread << 36) + (i64::from(turn) << 20)
}

/// Where a turn is noted, by the place of its records.
pub(super) fn turn_place(place: i64) -> i64 {
    place >> 20
}

const MOST_TURNS: u32 = 1 << 16;
const MOST_RECORDS: u64 = (1 << 20) - 1;

/// What an append looks at first.
pub(super) struct Before {
    thread: i64,
    pub epoch: u64,
    pub turns: u32,
    /// Whether it is the first append under its lease, or since it was noted where the run stands.
    first: bool,
    /// The seal of the record before the index.
    pub seal: Option<Vec<u8>>,
    /// Whether there is a record at the index.
    pub taken: bool,
}

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
        let conn = &self.conn;
        let tx = Tx::writing(conn)?;
        let row = self.rows.remove(&lease.thread).filter(|row| row.epoch == lease.epoch);
        let found = match &row {
            Some(row) if index == 0 && turn == row.turns && turn < MOST_TURNS => Some(Before::begin(row)),
            _ => before(conn, &lease.thread, turn, index)?,
        };
        let before = found.filter(|before| before.epoch == lease.epoch);
        let before = before.ok_or_else(|| fenced(&lease.thread))?;
        let mut seal =
            fits(conn, &before, turn, index).map_err(|error| of_turn(error, &lease.thread, turn))?;
        if new.is_empty() {
            return Ok(());
        }
        let from = place(before.thread, turn);
        let mut insert = conn.prepare_cached("INSERT INTO record (at, seal, body) VALUES (?1, ?2, ?3)")?;
        for (index, record) in (index..).zip(new) {
            belongs(record, &lease.thread, turn, index)?;
            let body = self.specs.written(conn, index, record)?;
            seal = seal.with(&body);
            let at = from + i64::from(within(index)?);
            let body = ToSqlOutput::Borrowed(ValueRef::Text(&body));
            insert.execute(params![at, seal.bytes(), body])?;
        }
        if turn == before.turns || before.first {
            let row = begun(conn, row, lease, turn, new)?;
            tx.commit()?;
            self.rows.insert(lease.thread.clone(), row);
        } else {
            tx.commit()?;
        }
        self.notes.remove(&lease.thread);
        let (thread, epoch, len) = (before.thread, lease.epoch, index + new.len() as u64);
        self.heads.insert(lease.thread.clone(), Head { thread, epoch, turn, len, seal });
        Ok(())
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

    pub fn records(&mut self, thread: &ThreadId, turn: u32) -> Result<Vec<Record>, Fault> {
        let _tx = Tx::reading(&self.conn)?;
        let row = known(&self.conn, thread)?;
        if turn >= row.turns {
            return Err(StoreError::NoTurn { thread: thread.clone(), turn, turns: row.turns }.into());
        }
        read(&self.conn, &mut self.specs, row.id, thread, turn).map_err(|fault| match fault {
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

/// What stands before a place, and whether something stands at it.
pub(super) fn before(
    conn: &Connection,
    thread: &ThreadId,
    turn: u32,
    index: u64,
) -> Result<Option<Before>, Fault> {
    if turn >= MOST_TURNS {
        return Err(JournalError::at(0, format!("a thread has no more than {MOST_TURNS} turns")).into());
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
    fn begin(row: &Row) -> Self {
        let Row { id, epoch, turns, .. } = *row;
        Before { thread: id, epoch, turns, first: true, seal: None, taken: false }
    }
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

/// The seal that an append goes on from, where nobody was here meanwhile.
fn fits(conn: &Connection, before: &Before, turn: u32, index: u64) -> Result<Seal, JournalError> {
    let damaged = |problem: &str| JournalError::at(index, problem);
    if turn >= before.turns {
        return match (before.taken, index) {
            (false, 0) if turn == before.turns => Ok(Seal::new()),
            (true, _) => Err(damaged("there are records of a turn that its thread does not have")),
            _ => Err(JournalError::stale(index, 0)),
        };
    }
    if let (Some(seal), false) = (&before.seal, before.taken) {
        return Seal::of_bytes(seal).ok_or_else(|| damaged("the record before it has no seal"));
    }
    let from = place(before.thread, turn);
    let last = "SELECT max(at) FROM record WHERE at >= ?1 AND at < ?2";
    let last = conn.query_row(last, [from, place(before.thread, turn + 1)], |row| row.get(0));
    match last.ok().flatten() {
        Some(last) => Err(JournalError::stale(index, i64::abs_diff(last, from) + 1)),
        None => Err(damaged("the turn is lost")),
    }
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

/// Reads a turn, and whether it is as it was written.
fn read(
    conn: &Connection,
    specs: &mut Specs,
    thread: i64,
    name: &ThreadId,
    turn: u32,
) -> Result<Vec<Record>, Fault> {
    let (from, to) = (place(thread, turn), place(thread, turn + 1));
    let found = conn
        .prepare_cached("SELECT records, seal FROM turn WHERE at = ?1")?
        .query_row([turn_place(from)], |row| Ok((row.get::<_, u64>(0)?, row.get::<_, Vec<u8>>(1)?)));
    let noted = found.optional()?;
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
        let record = specs.read(conn, index, body)?;
        belongs(&record, name, turn, index)?;
        records.push(record);
        if noted.as_ref().is_some_and(|(len, noted)| *len == index + 1 && noted != seal.bytes()) {
            return Err(JournalError::at(index, UNSEALED).into());
        }
    }
    let len = records.len() as u64;
    if noted.is_some_and(|(noted, _)| noted > len) || len == 0 {
        return Err(JournalError::at(len, "it is lost, and what follows it").into());
    }
    Ok(records)
}

const UNSEALED: &str = "the seal does not fit: this record, or one before it, is not as it was written";

fn of_turn(error: JournalError, thread: &ThreadId, turn: u32) -> JournalError {
    error.within(format!("thread {thread}, turn {}", u64::from(turn) + 1))
}

/// An index that has a place.
fn within(index: u64) -> Result<u32, JournalError> {
    let fits = u32::try_from(index).ok().filter(|_| index < MOST_RECORDS);
    fits.ok_or_else(|| JournalError::at(index, format!("a turn has no more than {MOST_RECORDS} records")))
}
