//! What is kept of a thread besides its records: one row, sealed like a record.

use rusqlite::{Connection, OptionalExtension, params};

use super::fault::Fault;
use super::records::{MOST_TURNS, place, too_many, turn_place};
use planwright::journal::Listed;
use planwright::journal::store::{make_title, now_ms, waiting_since};
use planwright::journal::{JournalError, Record, RunStatus, ThreadId};
use planwright::spec::Digest;

/// A row of the table `thread`.
#[derive(Debug)]
pub(super) struct Row {
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
    /// Whether the standing is that of all records.
    pub noted: bool,
    pub standing: RunStatus,
    /// How its last turn ended, where that is noted.
    pub last: Option<End>,
}

/// How many records a turn had when it was noted where it stands, and the seal of them all.
#[derive(Clone, Debug)]
pub(super) struct End {
    pub records: u64,
    pub seal: Vec<u8>,
}

impl End {
    /// Keeps it with the turn whose records begin at a place.
    pub fn keep(&self, conn: &Connection, place: i64) -> Result<(), Fault> {
        let sql = "INSERT OR REPLACE INTO turn (at, records, seal) VALUES (?1, ?2, ?3)";
        conn.prepare_cached(sql)?.execute(params![turn_place(place), self.records, self.seal])?;
        Ok(())
    }

    /// How a turn ends, by its records.
    fn found(conn: &Connection, place: i64) -> Result<Option<End>, Fault> {
        let sql = "SELECT at - ?1 + 1, seal FROM record WHERE at >= ?1 AND at < ?1 + (1 << 20) \
             ORDER BY at DESC LIMIT 1";
        let mut select = conn.prepare_cached(sql)?;
        let end = select.query_row([place], |row| Ok(End { records: row.get(0)?, seal: row.get(1)? }));
        Ok(end.optional()?)
    }
}

pub(super) const COLUMNS: &str =
    "id, name, title, turns, created, updated, epoch, written, holder, noted, standing, seal, records, last";

impl Row {
    pub fn new(name: &ThreadId, epoch: u64, holder: String) -> Self {
        Row {
            id: 0,
            name: name.clone(),
            title: String::new(),
            turns: 0,
            created: 0,
            updated: 0,
            epoch,
            written: 0,
            holder: Some(holder),
            noted: false,
            standing: RunStatus::Unfinished,
            last: None,
        }
    }

    /// Says that a turn is being written to, whose first record may be this.
    ///
    /// # Errors
    /// Where a thread cannot have so many turns.
    pub fn goes_on(&mut self, turn: usize, first: Option<&Record>) -> Result<(), JournalError> {
        let turns = u32::try_from(turn + 1).ok().filter(|turns| *turns <= MOST_TURNS);
        let turns = turns.ok_or_else(too_many)?;
        if turns > self.turns {
            // It is of the turn before, and kept with it.
            self.last = None;
        }
        (self.updated, self.written) = (now_ms(), self.epoch);
        (self.noted, self.standing) = (false, RunStatus::Unfinished);
        self.turns = self.turns.max(turns);
        if self.created == 0 {
            self.created = self.updated;
            if let Some(Record::Header(header)) = first {
                self.title = make_title(&header.input.question);
            }
        }
        Ok(())
    }

    /// The row of a thread, where there is one.
    pub fn find(conn: &Connection, name: &ThreadId) -> Result<Option<Row>, Fault> {
        let sql = format!("SELECT {COLUMNS} FROM thread WHERE name = ?1");
        let found =
            conn.prepare_cached(&sql)?.query_row([name.as_str()], |row| Ok(Row::read(row))).optional()?;
        found.transpose()
    }

    /// A row of a query for [`COLUMNS`].
    pub fn read(row: &rusqlite::Row<'_>) -> Result<Row, Fault> {
        let name: String = row.get(1)?;
        let damaged = || JournalError::named(format!("thread {name}"), UNSEALED);
        let standing: String = row.get(10)?;
        let read = Row {
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
            standing: serde_json::from_str(&standing).map_err(|_| damaged())?,
            last: Some(End { records: row.get(12)?, seal: row.get(13)? }).filter(|end| !end.seal.is_empty()),
        };
        if row.get_ref(11)?.as_blob().ok() == Some(read.seal(&standing).bytes()) {
            Ok(read)
        } else {
            Err(damaged().into())
        }
    }

    fn seal(&self, standing: &str) -> Digest {
        let numbers = [self.created, self.updated, self.epoch, self.written];
        let numbers: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let flags = [u8::from(self.noted), u8::from(self.holder.is_some())];
        let holder = self.holder.as_deref().unwrap_or_default();
        let (records, last) = self.last();
        Digest::of([
            self.name.as_str().as_bytes(),
            self.title.as_bytes(),
            &self.turns.to_le_bytes(),
            &numbers,
            &flags,
            holder.as_bytes(),
            standing.as_bytes(),
            &records.to_le_bytes(),
            last,
        ])
    }

    /// Keeps how its last turn ended with that turn: another is about to begin.
    pub fn keep_end(&self, conn: &Connection) -> Result<(), Fault> {
        let Some(turn) = self.turns.checked_sub(1) else { return Ok(()) };
        let end = match &self.last {
            Some(end) => Some(end.clone()),
            // Its writer was stopped before that was noted.
            None => End::found(conn, place(self.id, turn))?,
        };
        end.map_or(Ok(()), |end| end.keep(conn, place(self.id, turn)))
    }

    /// How its last turn ended, as it is kept.
    fn last(&self) -> (u64, &[u8]) {
        self.last.as_ref().map_or((0, &[]), |end| (end.records, &end.seal))
    }

    /// Writes it down as a new row, where there is none of its name. Gives whether that was so.
    pub fn insert(&mut self, conn: &Connection) -> Result<bool, Fault> {
        let sql = "INSERT INTO thread (name, epoch, title, turns, created, updated, written, holder, noted, \
             standing, records, last, seal, status, waits) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15) \
             ON CONFLICT (name) DO NOTHING";
        if !self.write(conn, sql)? {
            return Ok(false);
        }
        self.id = conn.last_insert_rowid();
        if self.id < MOST {
            return Ok(true);
        }
        Err(JournalError::named(format!("thread {}", self.name), "there is no place for more threads").into())
    }

    /// Writes down who has it, and all of it where it is new.
    pub fn keep(&mut self, conn: &Connection) -> Result<(), Fault> {
        match self.id {
            0 => self.insert(conn).map(drop),
            _ => self.save_holder(conn),
        }
    }

    /// Writes all of it down, where nobody has taken the thread since. Gives whether that was so.
    pub fn save(&self, conn: &Connection) -> Result<bool, Fault> {
        let sql = "UPDATE thread SET title = ?3, turns = ?4, created = ?5, updated = ?6, written = ?7, \
             holder = ?8, noted = ?9, standing = ?10, records = ?11, last = ?12, seal = ?13, status = ?14, \
             waits = ?15 WHERE name = ?1 AND epoch = ?2 AND turns + 0 <= ?4";
        self.write(conn, sql)
    }

    /// Writes down who has it, and nothing that a list goes by.
    pub fn save_holder(&self, conn: &Connection) -> Result<(), Fault> {
        let sql = "UPDATE thread SET epoch = ?2, holder = ?3, seal = ?4 WHERE id = ?1";
        let seal = self.seal(&self.text()?);
        conn.prepare_cached(sql)?.execute(params![self.id, self.epoch, self.holder, seal.bytes()])?;
        Ok(())
    }

    fn text(&self) -> Result<String, JournalError> {
        serde_json::to_string(&self.standing)
            .map_err(|error| JournalError::named(format!("thread {}", self.name), error.to_string()))
    }

    fn write(&self, conn: &Connection, sql: &str) -> Result<bool, Fault> {
        let standing = self.text()?;
        let seal = self.seal(&standing);
        let (records, last) = self.last();
        let changed = conn.prepare_cached(sql)?.execute(params![
            self.name.as_str(),
            self.epoch,
            self.title,
            self.turns,
            self.created,
            self.updated,
            self.written,
            self.holder,
            self.noted,
            standing,
            records,
            last,
            seal.bytes(),
            self.standing.status(),
            waiting_since(&self.standing, self.updated),
        ])?;
        Ok(changed == 1)
    }

    /// What is shown of a row that does not read.
    pub fn damaged(row: &rusqlite::Row<'_>, fault: Fault) -> Result<Listed, Fault> {
        let name = row.get::<_, String>(1).ok().and_then(|name| name.parse().ok());
        let (Some(thread), true) = (name, fault.is_damage()) else { return Err(fault) };
        let problem = fault.at("the store").to_string();
        let (title, turns) = (row.get(2).unwrap_or_default(), row.get(3).unwrap_or_default());
        let (created, updated) = (row.get(4).unwrap_or_default(), row.get(5).unwrap_or_default());
        let standing = RunStatus::Damaged { problem };
        Ok(Listed { thread, title, turns, created, updated, running: false, standing })
    }

    /// As it is shown.
    pub fn listed(&self, running: bool) -> Listed {
        Listed {
            thread: self.name.clone(),
            title: self.title.clone(),
            turns: self.turns,
            created: self.created,
            updated: self.updated,
            running,
            standing: self.standing.clone(),
        }
    }
}

/// Threads have numbers below this, so that there is a place for all their records.
const MOST: i64 = 1 << 27;

const UNSEALED: &str = "what is kept of it is not as it was written";
