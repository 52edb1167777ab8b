//! Appending: after a look at the thread, or where this handle's last append ended.

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, params};

use super::Inner;
use super::fault::Fault;
use super::note::Note;
use super::records::{Before, MOST_TURNS, before, fits, of_turn, place, within};
use super::row::{End, Row};
use super::specs::Specs;
use super::tx::Tx;
use planwright::journal::seal::{self, Seal};
use planwright::journal::store::check_place;
use planwright::journal::{JournalError, Lease, Record, RunStatus, ThreadId};

/// Where this handle ended its last append under a lease.
#[derive(Clone, Copy, Debug)]
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
        if let Some(head) = self.heads.get_mut(lease.thread()).filter(|head| head.is_at(lease, turn, index)) {
            match append_to(&self.conn, head, lease, new) {
                Ok(Some(end)) => {
                    *head = end;
                    self.notes.remove(lease.thread());
                    return Ok(());
                }
                Ok(None) => {}
                Err(fault) => {
                    self.heads.remove(lease.thread());
                    return Err(fault);
                }
            }
        }
        self.heads.remove(lease.thread());
        self.concluded.remove(lease.thread());
        self.append_after_a_look(lease, turn, index, new)
    }

    fn append_after_a_look(
        &mut self,
        lease: &Lease,
        turn: u32,
        index: u64,
        new: &[Record],
    ) -> Result<(), Fault> {
        let row = self.rows.remove(lease.thread()).filter(|row| row.epoch == lease.epoch());
        let conn = &self.conn;
        let tx = Tx::writing(conn)?;
        let found = match &row {
            Some(row) if index == 0 && turn == row.turns && turn < MOST_TURNS => Some(Before::begin(row)),
            _ => before(conn, lease.thread(), turn, index)?,
        };
        let before = found.filter(|before| before.epoch == lease.epoch());
        let before = before.ok_or_else(|| JournalError::fenced(lease.thread()))?;
        let seal = fits(conn, self.begin, &before, turn, index)
            .map_err(|error| of_turn(error, lease.thread(), turn))?;
        if new.is_empty() {
            return Ok(());
        }
        let head = Head { thread: before.thread, epoch: lease.epoch(), turn, len: index, seal };
        let head = head.append(conn, &mut self.specs, lease.thread(), new)?;
        if turn == before.turns || before.first {
            let row = begun(conn, row, self.holders.own(), lease, (turn, new))?;
            tx.commit()?;
            self.rows.insert(lease.thread().clone(), row);
        } else {
            tx.commit()?;
        }
        self.notes.remove(lease.thread());
        self.heads.insert(lease.thread().clone(), head);
        Ok(())
    }

    /// Appends the last records, notes where the thread stands and gives it back, all in one transaction.
    /// Gives whether it did: where this handle did not make the last append, or the lease does not hold any
    /// more, or something is at the place already, nothing was done.
    pub fn conclude(
        &mut self,
        lease: &Lease,
        turn: u32,
        index: u64,
        new: &[Record],
        standing: &RunStatus,
    ) -> Result<bool, Fault> {
        let head = self.heads.remove(lease.thread()).filter(|head| head.is_at(lease, turn, index));
        let row = self.rows.remove(lease.thread()).filter(|row| row.epoch == lease.epoch());
        let (Some(head), Some(mut row)) = (head, row) else { return Ok(false) };
        let tx = Tx::writing(&self.conn)?;
        let head = match head.append(&self.conn, &mut self.specs, lease.thread(), new) {
            Err(Fault::Sql(error)) if is_taken(&error) => return Ok(false),
            appended => appended?,
        };
        row.holder = None;
        let note = Note::new(lease.epoch(), turn, head.len, head.seal.as_bytes(), standing);
        if !note.write(&self.conn, &mut row)? {
            return Ok(false);
        }
        tx.commit()?;
        self.notes.remove(lease.thread());
        self.concluded.insert(lease.thread().clone(), lease.epoch());
        Ok(true)
    }

    /// The seal of a turn after so many records, where they are all of the last turn's.
    ///
    /// # Errors
    /// Where the lease does not hold any more.
    pub fn seal_of_all(&self, lease: &Lease, turn: u32, index: u64) -> Result<Option<Vec<u8>>, Fault> {
        let fenced = || JournalError::fenced(lease.thread());
        if let Some(head) = self.heads.get(lease.thread()).filter(|head| head.is_at(lease, turn, index)) {
            let mut epoch = self.conn.prepare_cached("SELECT epoch FROM thread WHERE id = ?1")?;
            let epoch = epoch.query_row([head.thread], |row| row.get::<_, u64>(0)).optional()?;
            epoch.filter(|epoch| *epoch == lease.epoch()).ok_or_else(fenced)?;
            return Ok(Some(head.seal.as_bytes().to_vec()));
        }
        let found = before(&self.conn, lease.thread(), turn, index)?;
        let found = found.filter(|found| found.epoch == lease.epoch()).ok_or_else(fenced)?;
        Ok(found.seal.filter(|_| !found.taken && turn + 1 == found.turns))
    }
}

impl Head {
    /// Before the first record of a turn.
    pub fn begin(seal: Seal, row: &Row, turn: u32) -> Self {
        Head { thread: row.id, epoch: row.epoch, turn, len: 0, seal }
    }

    fn is_at(&self, lease: &Lease, turn: u32, index: u64) -> bool {
        self.epoch == lease.epoch() && self.turn == turn && self.len == index
    }

    /// Keeps with the turn that it ends here.
    pub fn keep(&self, conn: &Connection) -> Result<(), Fault> {
        let end = End { records: self.len, seal: self.seal.as_bytes().to_vec() };
        end.keep(conn, place(self.thread, self.turn))
    }

    /// Goes on behind one more record, sealed with all before it. Gives its place.
    fn takes(&mut self, thread: &ThreadId, record: &Record, body: &[u8]) -> Result<i64, JournalError> {
        check_place(record, thread, self.turn, self.len)?;
        let at = place(self.thread, self.turn) + i64::from(within(self.len)?);
        (self.seal, self.len) = (self.seal.with(body), self.len + 1);
        Ok(at)
    }

    /// Inserts records here, in a transaction that knows that the lease holds.
    pub fn append(
        mut self,
        conn: &Connection,
        specs: &mut Specs,
        thread: &ThreadId,
        new: &[Record],
    ) -> Result<Self, Fault> {
        let mut insert = conn.prepare_cached("INSERT INTO record (at, seal, body) VALUES (?1, ?2, ?3)")?;
        for record in new {
            let body = specs.written(conn, self.len, record)?;
            let at = self.takes(thread, record, &body)?;
            let body = ToSqlOutput::Borrowed(ValueRef::Text(&body));
            insert.execute(params![at, self.seal.as_bytes(), body])?;
        }
        Ok(self)
    }
}

/// `turns` is no bare column here: as one, in a statement that a list's index could serve, an append took
/// several times as long.
const ONE: &str = "INSERT INTO record (at, seal, body) SELECT ?4, ?5, ?6 FROM thread \
     WHERE id = ?1 AND epoch = ?2 AND written = ?2 AND noted = 0 AND turns + 0 = ?3";

const TWO: &str = "INSERT INTO record (at, seal, body) SELECT ?4, ?5, ?6 FROM thread \
     WHERE id = ?1 AND epoch = ?2 AND written = ?2 AND noted = 0 AND turns + 0 = ?3 \
     UNION ALL SELECT ?7, ?8, ?9 FROM thread \
     WHERE id = ?1 AND epoch = ?2 AND written = ?2 AND noted = 0 AND turns + 0 = ?3";

/// Appends where the last append ended, in one statement that also looks whether the lease still holds.
/// Gives where it ends; nothing where it does not hold, or where this is not for it to do, and then
/// nothing was appended.
fn append_to(conn: &Connection, head: &Head, lease: &Lease, new: &[Record]) -> Result<Option<Head>, Fault> {
    let sql = match new {
        [one] if is_small(one) => ONE,
        [one, two] if is_small(one) && is_small(two) => TWO,
        _ => return Ok(None),
    };
    let mut insert = conn.prepare_cached(sql)?;
    let mut head = *head;
    insert.raw_bind_parameter(1, head.thread)?;
    insert.raw_bind_parameter(2, head.epoch)?;
    insert.raw_bind_parameter(3, i64::from(head.turn) + 1)?;
    for (nth, record) in new.iter().enumerate() {
        let body = seal::encode(head.len, record)?;
        let at = head.takes(lease.thread(), record, &body)?;
        // SQLite copies what is bound: one buffer of bytes at a time.
        let body = ToSqlOutput::Borrowed(ValueRef::Text(&body));
        insert.raw_bind_parameter(4 + 3 * nth, at)?;
        insert.raw_bind_parameter(5 + 3 * nth, head.seal.as_bytes())?;
        insert.raw_bind_parameter(6 + 3 * nth, body)?;
    }
    match insert.raw_execute() {
        Ok(0) => Ok(None),
        Err(error) if is_taken(&error) => Ok(None),
        done => Ok(done.map(|_| Some(head))?),
    }
}

/// Whether a record holds no spec.
fn is_small(record: &Record) -> bool {
    !matches!(record, Record::Header(_) | Record::SpecChanged(_))
}

/// Whether there was a record at the place already.
fn is_taken(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation)
}

/// Says in the thread's row that it goes on, once for each lease.
fn begun(
    conn: &Connection,
    row: Option<Row>,
    own: Option<&str>,
    lease: &Lease,
    (turn, new): (u32, &[Record]),
) -> Result<Row, Fault> {
    let found = match row {
        Some(row) => Some(row),
        None => Row::find(conn, lease.thread())?,
    };
    let mut row = found.ok_or_else(|| JournalError::fenced(lease.thread()))?;
    if turn >= row.turns {
        row.keep_end(conn)?;
    }
    row.goes_on(turn as usize, new.first())?;
    // It was given back with what was to be its last record.
    row.holder = row.holder.or_else(|| own.map(str::to_owned));
    if row.save(conn)? { Ok(row) } else { Err(JournalError::fenced(lease.thread()).into()) }
}
