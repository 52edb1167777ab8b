//! What a thread has besides its records: one row, sealed like a record, and the ends of its turns.

pub(crate) use planwright::journal::stored::{End, ThreadRow as Row};
use planwright::journal::{JournalError, Lease, Listed, Record, Seal, StoreError, ThreadId};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, params};

use crate::fault::Fault;

/// Threads have smaller numbers than this, so that there is a place for all their records.
const MOST_THREADS: i64 = 1 << 27;

/// The place of the first record of a turn. A thread's number has 27 bits, a turn's 16, an index 20.
pub(crate) fn place(thread: i64, turn: u32) -> i64 {
    (thread << 36) + (i64::from(turn) << 20)
}

/// The end of the turn at a place, by its records.
pub(crate) fn find_end(conn: &Connection, place: i64) -> Result<Option<End>, Fault> {
    let sql = "SELECT at - ?1 + 1, seal FROM record WHERE at >= ?1 AND at < ?1 + (1 << 20) \
         ORDER BY at DESC LIMIT 1";
    select_end(conn, sql, place)
}

/// The end that was kept of the turn at a place.
pub(crate) fn find_kept_end(conn: &Connection, place: i64) -> Result<Option<End>, Fault> {
    select_end(conn, "SELECT records, seal FROM turn WHERE at = ?1 >> 20", place)
}

fn select_end(conn: &Connection, sql: &str, place: i64) -> Result<Option<End>, Fault> {
    let mut select = conn.prepare_cached(sql)?;
    Ok(select.query_row([place], |row| parse_end(row, 0)).optional()?)
}

/// Parses two columns.
fn parse_end(row: &rusqlite::Row<'_>, at: usize) -> rusqlite::Result<End> {
    let seal = Seal::from_bytes(row.get_ref(at + 1)?.as_bytes().unwrap_or_default());
    let unsealed = || rusqlite::Error::InvalidColumnType(at + 1, "seal".to_owned(), Type::Blob);
    Ok(End { records: row.get(at)?, seal: seal.ok_or_else(unsealed)? })
}

/// Keeps the end of the turn at a place: it is no longer the last of its thread.
pub(crate) fn keep_end(end: &End, conn: &Connection, place: i64) -> Result<(), Fault> {
    let sql = "INSERT OR REPLACE INTO turn (at, records, seal) VALUES (?1 >> 20, ?2, ?3)";
    conn.prepare_cached(sql)?.execute(params![place, end.records, end.seal.as_bytes()])?;
    Ok(())
}

/// The row of a thread in the table `thread`.
pub(crate) trait SqlRow: Sized {
    fn find(conn: &Connection, name: &ThreadId) -> Result<Option<Self>, Fault>;

    /// The row of a thread under a lease that is in force.
    fn find_leased(conn: &Connection, lease: &Lease) -> Result<Self, Fault>;

    /// The row of a thread that has turns.
    fn find_known(conn: &Connection, name: &ThreadId) -> Result<Self, Fault>;

    /// Parses a row of the whole table.
    fn parse(row: &rusqlite::Row<'_>) -> Result<Self, Fault>;

    /// Writes the row, whether it is new or not.
    fn save(&mut self, conn: &Connection) -> Result<(), Fault>;

    /// Writes who holds the thread, and nothing that a list goes by. A new row is written whole.
    fn save_holder(&mut self, conn: &Connection) -> Result<(), Fault>;

    /// Deletes the thread with all its turns.
    fn delete(&self, conn: &Connection) -> Result<(), Fault>;
}

impl SqlRow for Row {
    fn find(conn: &Connection, name: &ThreadId) -> Result<Option<Row>, Fault> {
        let mut select = conn.prepare_cached("SELECT * FROM thread WHERE name = ?1")?;
        select.query_row([name.as_str()], |row| Ok(Row::parse(row))).optional()?.transpose()
    }

    fn find_leased(conn: &Connection, lease: &Lease) -> Result<Row, Fault> {
        let row = Row::find(conn, lease.thread())?.filter(|row| row.epoch == lease.epoch());
        row.ok_or_else(|| JournalError::fenced(lease.thread()).into())
    }

    fn find_known(conn: &Connection, name: &ThreadId) -> Result<Row, Fault> {
        let row = Row::find(conn, name)?.filter(|row| row.turns > 0);
        row.ok_or_else(|| StoreError::NoThread { thread: name.clone() }.into())
    }

    fn parse(row: &rusqlite::Row<'_>) -> Result<Row, Fault> {
        let name: String = row.get(1)?;
        let id = row.get(0)?;
        let damaged = || Row::damaged(id, &name);
        let status: String = row.get(10)?;
        let has_end = !row.get_ref(12)?.as_bytes().unwrap_or_default().is_empty();
        let parsed = Row {
            id,
            name: name.parse().map_err(|_| damaged())?,
            title: row.get(2)?,
            turns: row.get(3)?,
            created: row.get(4)?,
            updated: row.get(5)?,
            epoch: row.get(6)?,
            written: row.get(7)?,
            holder: row.get(8)?,
            noted: row.get(9)?,
            status: serde_json::from_slice(status.as_bytes()).map_err(|_| damaged())?,
            last: has_end.then(|| parse_end(row, 11)).transpose().map_err(|_| damaged())?,
        };
        match row.get_ref(13)?.as_blob().ok() == Some(parsed.seal(&status).bytes()) {
            true => Ok(parsed),
            false => Err(damaged().into()),
        }
    }

    fn save(&mut self, conn: &Connection) -> Result<(), Fault> {
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

    fn save_holder(&mut self, conn: &Connection) -> Result<(), Fault> {
        if self.id == 0 {
            return self.save(conn);
        }
        let sql = "UPDATE thread SET epoch = ?2, holder = ?3, seal = ?4 WHERE id = ?1";
        let seal = self.seal(&self.status_text());
        conn.prepare_cached(sql)?.execute(params![self.id, self.epoch, self.holder, seal.bytes()])?;
        Ok(())
    }

    fn delete(&self, conn: &Connection) -> Result<(), Fault> {
        let places = [place(self.id, 0), place(self.id + 1, 0)];
        conn.prepare_cached("DELETE FROM record WHERE at >= ?1 AND at < ?2")?.execute(places)?;
        conn.prepare_cached("DELETE FROM turn WHERE at >= ?1 >> 20 AND at < ?2 >> 20")?.execute(places)?;
        conn.prepare_cached("DELETE FROM thread WHERE id = ?1")?.execute([self.id])?;
        Ok(())
    }
}

/// The row in a list if it cannot be parsed.
pub(crate) fn list_damaged(row: &rusqlite::Row<'_>, fault: Fault) -> Result<Listed, Fault> {
    if !fault.is_damage() {
        return Err(fault);
    }
    let name = String::from_utf8_lossy(row.get_ref(1)?.as_bytes().unwrap_or_default()).into_owned();
    let times = [4, 5].map(|at| row.get(at).unwrap_or_default());
    let (title, turns) = (row.get(2).unwrap_or_default(), row.get(3).unwrap_or_default());
    Ok(Row::list_damaged(row.get(0)?, &name, title, turns, times, fault.at("the store").to_string()))
}

/// Notes that a turn is written to, as [`ThreadRow::open_turn`](Row::open_turn) says.
pub(crate) fn open_turn(
    row: &mut Row,
    conn: &Connection,
    turn: u32,
    first: Option<&Record>,
    holder: Option<&str>,
) -> Result<bool, Fault> {
    row.open_turn(turn, first, holder, |id, last, end| {
        let place = place(id, last);
        let end = end.map_or_else(|| find_end(conn, place), |end| Ok(Some(end)))?;
        end.map_or(Ok(()), |end| keep_end(&end, conn, place))
    })
}

/// The thread that a thread is a fork of, as its first record says.
pub(crate) fn find_origin(row: &Row, conn: &Connection) -> Result<Option<String>, Fault> {
    let sql = "SELECT CASE WHEN json_valid(body) THEN json_extract(body, '$.header.origin.thread') END \
         FROM record WHERE at = ?1";
    let mut select = conn.prepare_cached(sql)?;
    Ok(select.query_row([place(row.id, 0)], |row| Ok(row.get(0).ok())).optional()?.flatten())
}
