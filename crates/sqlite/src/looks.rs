//! What reading one thread does not show: that a page says it is shorter than it was, so that the end of a
//! turn, or a name, is missing from it. Seals tell of every other damage, and a note of where a turn
//! stood of its end. So where there is no note, or no such name, SQLite's own accounts are gone through,
//! once for each handle.

use rusqlite::{Connection, OptionalExtension};

use super::fault::Fault;
use super::records::place;
use super::row::Row;
use planwright::journal::{JournalError, JournalErrorKind};

/// What a handle has gone through and found whole.
#[derive(Debug, Default)]
pub(super) struct Looks {
    records: bool,
    names: bool,
}

impl Looks {
    /// Before the end of a turn is taken for its end, where nobody has noted it.
    ///
    /// # Errors
    /// Where records may be missing.
    pub fn at_end(&mut self, conn: &Connection, row: &Row) -> Result<(), Fault> {
        // A record whose place was spoilt has gone behind all others of its thread, or of all threads.
        let sql = "SELECT EXISTS (SELECT 1 FROM record WHERE at >= ?1 AND at < ?2)";
        let behind = [place(row.id, row.turns), place(row.id + 1, 0)];
        let stray: bool = conn.prepare_cached(sql)?.query_row(behind, |found| found.get(0))?;
        if stray || is_nobodys(conn)? {
            return Err(damaged("a record is not at its place").into());
        }
        if !self.records {
            let said: String = conn.query_row("PRAGMA quick_check(record)", [], |said| said.get(0))?;
            if said != "ok" {
                return Err(damaged(&said).into());
            }
            self.records = true;
        }
        Ok(())
    }

    /// Before a name is taken for none of a thread's.
    ///
    /// # Errors
    /// Where names may be missing.
    pub fn at_no_name(&mut self, conn: &Connection) -> Result<(), Fault> {
        if !self.names {
            let sql = "SELECT EXISTS (SELECT 1 FROM thread AS kept NOT INDEXED WHERE NOT EXISTS (SELECT 1 \
                 FROM thread AS found INDEXED BY sqlite_autoindex_thread_1 \
                 WHERE found.name = kept.name AND found.id = kept.id))";
            if conn.query_row(sql, [], |lost| lost.get(0))? {
                return Err(damaged("a thread is not found by its name").into());
            }
            self.names = true;
        }
        Ok(())
    }
}

/// Whether the last of all records is no thread's.
fn is_nobodys(conn: &Connection) -> Result<bool, Fault> {
    let last: Option<i64> =
        conn.prepare_cached("SELECT max(at) FROM record")?.query_row([], |found| found.get(0))?;
    let Some(last) = last else { return Ok(false) };
    let mut turns = conn.prepare_cached("SELECT turns FROM thread WHERE id = ?1")?;
    let turns: Option<u32> = turns.query_row([last >> 36], |found| found.get(0)).optional()?;
    Ok(turns.is_none_or(|turns| (last >> 20) & 0xFFFF >= i64::from(turns)))
}

fn damaged(problem: &str) -> JournalError {
    JournalError::named("the store", format!("{problem}; `threads check` says what is damaged"))
        .of(JournalErrorKind::Damaged)
}
