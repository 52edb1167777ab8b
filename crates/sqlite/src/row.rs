//! What a thread has besides its records: one row, sealed like a record, and the ends of its turns.

use planwright::journal::system::now_ms;
use planwright::journal::{JournalError, Lease, Listed, Record, RunStatus, Seal, StoreError, ThreadId};
use planwright::spec::Digest;
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, params};

use crate::fault::Fault;

/// Most turns of a thread: a turn's number has 16 bits in a place.
pub(crate) const MOST_TURNS: u32 = 1 << 16;

/// Threads have smaller numbers than this, so that there is a place for all their records.
const MOST_THREADS: i64 = 1 << 27;

/// The place of the first record of a turn. A thread's number has 27 bits, a turn's 16, an index 20.
pub(crate) fn place(thread: i64, turn: u32) -> i64 {
    (thread << 36) + (i64::from(turn) << 20)
}

pub(crate) fn too_many_turns() -> JournalError {
    JournalError::at(0, format!("a thread has no more than {MOST_TURNS} turns"))
}

/// The end of a turn: how many records it has, and the seal of them all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    pub records: u64,
    pub seal: Seal,
}

impl End {
    /// The end of the turn at a place, by its records.
    pub fn find(conn: &Connection, place: i64) -> Result<Option<End>, Fault> {
        let sql = "SELECT at - ?1 + 1, seal FROM record WHERE at >= ?1 AND at < ?1 + (1 << 20) \
             ORDER BY at DESC LIMIT 1";
        End::select(conn, sql, place)
    }

    /// The end that was kept of the turn at a place.
    pub fn find_kept(conn: &Connection, place: i64) -> Result<Option<End>, Fault> {
        End::select(conn, "SELECT records, seal FROM turn WHERE at = ?1 >> 20", place)
    }

    fn select(conn: &Connection, sql: &str, place: i64) -> Result<Option<End>, Fault> {
        let mut select = conn.prepare_cached(sql)?;
        Ok(select.query_row([place], |row| End::parse(row, 0)).optional()?)
    }

    /// Parses two columns.
    fn parse(row: &rusqlite::Row<'_>, at: usize) -> rusqlite::Result<End> {
        let seal = Seal::from_bytes(row.get_ref(at + 1)?.as_bytes().unwrap_or_default());
        let unsealed = || rusqlite::Error::InvalidColumnType(at + 1, "seal".to_owned(), Type::Blob);
        Ok(End { records: row.get(at)?, seal: seal.ok_or_else(unsealed)? })
    }

    /// Keeps the end of the turn at a place: it is no longer the last of its thread.
    pub fn keep(&self, conn: &Connection, place: i64) -> Result<(), Fault> {
        let sql = "INSERT OR REPLACE INTO turn (at, records, seal) VALUES (?1 >> 20, ?2, ?3)";
        conn.prepare_cached(sql)?.execute(params![place, self.records, self.seal.as_bytes()])?;
        Ok(())
    }
}

/// A row of the table `thread`.
#[derive(Debug)]
pub(crate) struct Row {
    /// 0 until the row is written.
    pub id: i64,
    pub name: ThreadId,
    pub title: String,
    pub turns: u32,
    pub created: u64,
    pub updated: u64,
    /// The epoch of the last claim.
    pub epoch: u64,
    /// The epoch under which it was last written to.
    pub written: u64,
    pub holder: Option<String>,
    /// Whether the status is that after all records.
    pub noted: bool,
    pub status: RunStatus,
    /// The end of the last turn, if the status is noted.
    pub last: Option<End>,
}

impl Row {
    pub fn new(name: &ThreadId, epoch: u64) -> Self {
        let (name, title, status) = (name.clone(), String::new(), RunStatus::Unfinished);
        let (holder, noted, last) = (None, false, None);
        let (turns, created, updated, written) = (0, 0, 0, 0);
        Row { id: 0, name, title, turns, created, updated, epoch, written, holder, noted, status, last }
    }

    pub fn find(conn: &Connection, name: &ThreadId) -> Result<Option<Row>, Fault> {
        let mut select = conn.prepare_cached("SELECT * FROM thread WHERE name = ?1")?;
        select.query_row([name.as_str()], |row| Ok(Row::parse(row))).optional()?.transpose()
    }

    /// The row of a thread under a lease that is in force.
    pub fn find_leased(conn: &Connection, lease: &Lease) -> Result<Row, Fault> {
        let row = Row::find(conn, lease.thread())?.filter(|row| row.epoch == lease.epoch());
        row.ok_or_else(|| JournalError::fenced(lease.thread()).into())
    }

    /// The row of a thread that has turns.
    pub fn find_known(conn: &Connection, name: &ThreadId) -> Result<Row, Fault> {
        let row = Row::find(conn, name)?.filter(|row| row.turns > 0);
        row.ok_or_else(|| StoreError::NoThread { thread: name.clone() }.into())
    }

    /// Parses a row of the whole table.
    pub fn parse(row: &rusqlite::Row<'_>) -> Result<Row, Fault> {
        let name: String = row.get(1)?;
        let problem = "what is kept of it is not as it was written";
        let damaged = || JournalError::damaged(format!("thread {name}"), problem);
        let status: String = row.get(10)?;
        let has_end = !row.get_ref(12)?.as_bytes().unwrap_or_default().is_empty();
        let parsed = Row {
            id: row.get(0)?,
            name: name.parse().map_err(|_| damaged())?,
            title: row.get(2)?,
            turns: row.get(3)?,
            created: row.get(4)?,
            updated: row.get(5)?,
            epoch: row.get(6)?,
            written: row.get(7)?,
            holder: row.get(8)?,
            noted: row.get(9)?,
            status: serde_json::from_str(&status).map_err(|_| damaged())?,
            last: has_end.then(|| End::parse(row, 11)).transpose().map_err(|_| damaged())?,
        };
        match row.get_ref(13)?.as_blob().ok() == Some(parsed.seal(&status).bytes()) {
            true => Ok(parsed),
            false => Err(damaged().into()),
        }
    }

    /// The row in a list if it cannot be parsed.
    pub fn list_damaged(row: &rusqlite::Row<'_>, fault: Fault) -> Result<Listed, Fault> {
        let name = row.get::<_, String>(1).ok().and_then(|name| name.parse().ok());
        let (Some(thread), true) = (name, fault.is_damage()) else { return Err(fault) };
        Ok(Listed {
            thread,
            title: row.get(2).unwrap_or_default(),
            turns: row.get(3).unwrap_or_default(),
            created: row.get(4).unwrap_or_default(),
            updated: row.get(5).unwrap_or_default(),
            running: false,
            forked_from: None,
            status: RunStatus::Damaged { problem: fault.at("the store").to_string() },
        })
    }

    /// The row in a list.
    pub fn list(self, running: bool, forked_from: Option<String>) -> Listed {
        let Row { name: thread, title, turns, created, updated, status, .. } = self;
        Listed { thread, title, turns, created, updated, running, forked_from, status }
    }

    /// The thread that it is a fork of, as its first record says.
    pub fn find_origin(&self, conn: &Connection) -> Result<Option<String>, Fault> {
        let sql = "SELECT CASE WHEN json_valid(body) THEN json_extract(body, '$.header.origin.thread') END \
             FROM record WHERE at = ?1";
        let mut select = conn.prepare_cached(sql)?;
        Ok(select.query_row([place(self.id, 0)], |row| Ok(row.get(0).ok())).optional()?.flatten())
    }

    /// Digest of everything in the row.
    fn seal(&self, status: &str) -> Digest {
        let numbers = [self.created, self.updated, self.epoch, self.written];
        let numbers: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let (records, last) = self.kept_end();
        Digest::of([
            self.name.as_str().as_bytes(),
            self.title.as_bytes(),
            &self.turns.to_le_bytes(),
            &numbers,
            &[u8::from(self.noted), u8::from(self.holder.is_some())],
            self.holder.as_deref().unwrap_or_default().as_bytes(),
            status.as_bytes(),
            &records.to_le_bytes(),
            last,
        ])
    }

    fn kept_end(&self) -> (u64, &[u8]) {
        self.last.as_ref().map_or((0, &[]), |end| (end.records, end.seal.as_bytes()))
    }

    fn status_text(&self) -> String {
        serde_json::to_string(&self.status).expect("a status is plain data")
    }

    /// Notes that a turn is written to, and by whom unless the thread has a holder. The first record is
    /// `first`. Gives whether the row has changed.
    pub fn open_turn(
        &mut self,
        conn: &Connection,
        turn: u32,
        first: Option<&Record>,
        holder: Option<&str>,
    ) -> Result<bool, Fault> {
        let Some(first) = first else { return Ok(false) };
        if turn < self.turns && !self.noted && self.written == self.epoch {
            return Ok(false);
        }
        if turn >= self.turns {
            if let Some(last) = self.turns.checked_sub(1) {
                let place = place(self.id, last);
                // A writer that was stopped noted no end.
                let end = self.last.take().map_or_else(|| End::find(conn, place), |end| Ok(Some(end)))?;
                end.map_or(Ok(()), |end| end.keep(conn, place))?;
            }
            self.turns = turn + 1;
        }
        (self.updated, self.written) = (now_ms(), self.epoch);
        (self.noted, self.status) = (false, RunStatus::Unfinished);
        if self.created == 0 {
            self.created = self.updated;
            if let Record::Header(header) = first {
                self.title = Listed::make_title(&header.input.question);
            }
        }
        self.holder = self.holder.take().or_else(|| holder.map(str::to_owned));
        Ok(true)
    }

    /// Notes the status of a turn that ends here, if it is the last.
    pub fn set_status(&mut self, turn: u32, end: End, status: &RunStatus) {
        if self.turns.checked_sub(1) == Some(turn) {
            self.touch();
            (self.noted, self.status, self.last) = (true, status.clone(), Some(end));
        }
    }

    /// Sets the time of the last write, if there was one under this lease.
    pub fn touch(&mut self) {
        if self.written == self.epoch && !self.noted {
            self.updated = now_ms();
        }
    }

    /// Writes the row, whether it is new or not.
    pub fn save(&mut self, conn: &Connection) -> Result<(), Fault> {
        let sql = "INSERT OR REPLACE INTO thread \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)";
        let status = self.status_text();
        let (records, last) = self.kept_end();
        conn.prepare_cached(sql)?.execute(params![
            (self.id != 0).then_some(self.id),
            self.name.as_str(),
            self.title,
            self.turns,
            self.created,
            self.updated,
            self.epoch,
            self.written,
            self.holder,
            self.noted,
            status,
            records,
            last,
            self.seal(&status).bytes(),
            self.status.name(),
            self.status.waiting_since(self.updated),
        ])?;
        self.id = conn.last_insert_rowid();
        if self.id < MOST_THREADS {
            return Ok(());
        }
        let problem = "there is no place for more threads";
        Err(JournalError::damaged(format!("thread {}", self.name), problem).into())
    }

    /// Writes who holds the thread, and nothing that a list goes by. A new row is written whole.
    pub fn save_holder(&mut self, conn: &Connection) -> Result<(), Fault> {
        if self.id == 0 {
            return self.save(conn);
        }
        let sql = "UPDATE thread SET epoch = ?2, holder = ?3, seal = ?4 WHERE id = ?1";
        let seal = self.seal(&self.status_text());
        conn.prepare_cached(sql)?.execute(params![self.id, self.epoch, self.holder, seal.bytes()])?;
        Ok(())
    }

    /// Deletes the thread with all its turns.
    pub fn delete(&self, conn: &Connection) -> Result<(), Fault> {
        let places = [place(self.id, 0), place(self.id + 1, 0)];
        conn.prepare_cached("DELETE FROM record WHERE at >= ?1 AND at < ?2")?.execute(places)?;
        conn.prepare_cached("DELETE FROM turn WHERE at >= ?1 >> 20 AND at < ?2 >> 20")?.execute(places)?;
        conn.prepare_cached("DELETE FROM thread WHERE id = ?1")?.execute([self.id])?;
        Ok(())
    }
}
