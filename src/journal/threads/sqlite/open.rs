//! Opening: what is a store of this version's, what is made one, and what is refused.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::fault::Fault;
use super::tx::Tx;
use crate::journal::{Durability, JournalError, JournalErrorKind};

/// What tells a store from other programs' databases: `plan` in ASCII.
const APPLICATION: i32 = 0x706c_616e;

/// The version of the tables. Whatever changes them raises it; see [`crate::journal::JOURNAL_FORMAT`]
/// for the version of what is in the records.
const VERSION: i32 = 1;

/// The tables, and what lists go by: all threads by their time, those that wait for a person by theirs.
///
/// A record's place is one number, of its thread, its turn and its index. So an append goes to the end of
/// one page, and a turn is read in one sweep.
const TABLES: [&str; 6] = [
    "CREATE TABLE thread (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, title TEXT NOT NULL, \
     turns INTEGER NOT NULL, created INTEGER NOT NULL, updated INTEGER NOT NULL, epoch INTEGER NOT NULL, \
     written INTEGER NOT NULL, holder TEXT, noted INTEGER NOT NULL, standing TEXT NOT NULL, \
     seal BLOB NOT NULL, status TEXT NOT NULL, waits INTEGER NOT NULL) STRICT",
    "CREATE TABLE turn (at INTEGER PRIMARY KEY, records INTEGER NOT NULL, seal BLOB NOT NULL) STRICT",
    "CREATE TABLE record (at INTEGER PRIMARY KEY, seal BLOB NOT NULL, body TEXT NOT NULL) STRICT",
    "CREATE TABLE spec (digest BLOB PRIMARY KEY, text TEXT NOT NULL) STRICT, WITHOUT ROWID",
    "CREATE INDEX thread_newest ON thread (updated DESC, name) WHERE turns > 0",
    "CREATE INDEX thread_waiting ON thread (waits, name) WHERE status IN ('waiting', 'in_doubt')",
];

/// Which threads wait for people, as the index has it.
pub(super) const FOR_PEOPLE: &str = "status IN ('waiting', 'in_doubt')";

/// Opens a store, or makes one where there is nothing.
pub(super) fn open(path: &Path, durability: Durability) -> Result<Connection, Fault> {
    ours(path)?;
    super::wal::whole(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_EXRESCODE;
    let conn = Connection::open_with_flags(path, flags)?;
    if conn.is_readonly("main")? && is_writable(path)? {
        // SQLite opens to read what it fails to open to write, whatever the reason was.
        let error = JournalError::named("the store", "cannot be opened to write, only to read");
        return Err(error.of(JournalErrorKind::Io).into());
    }
    conn.busy_timeout(Duration::from_secs(10))?;
    conn.set_prepared_statement_cache_capacity(64);
    conn.execute_batch(
        "PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; \
         PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF;",
    )?;
    make(&conn)?;
    compare(&conn)?;
    write_ahead(&conn)?;
    if durability == Durability::Normal {
        conn.execute_batch("PRAGMA synchronous = NORMAL")?;
    }
    Ok(conn)
}

/// Whether a file is a store, or there is none yet: looked at before SQLite touches it.
fn ours(path: &Path) -> Result<(), JournalError> {
    let fail = |error: std::io::Error| JournalError::io("the store", "cannot be opened", &error);
    let mut head = Vec::new();
    match File::open(path) {
        Ok(file) => drop(file.take(100).read_to_end(&mut head).map_err(fail)?),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(fail(error)),
    }
    if head.is_empty() {
        return Ok(());
    }
    let other = |problem: String| Err(JournalError::named("the store", problem).of(JournalErrorKind::Format));
    if head.len() < 100 || !head.starts_with(b"SQLite format 3\0") {
        return other("expected a database of threads, found a file that is no database".to_owned());
    }
    let number = |at: usize| i32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    if number(68) != APPLICATION {
        return other("expected a database of threads, found another program's".to_owned());
    }
    versioned(number(60))
}

/// Whether a file is one that may be written, however it was opened.
fn is_writable(path: &Path) -> Result<bool, JournalError> {
    use std::io::ErrorKind;
    match File::options().write(true).open(path) {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) => {
            Ok(false)
        }
        Err(error) => Err(JournalError::io("the store", "cannot be opened", &error)),
    }
}

fn versioned(found: i32) -> Result<(), JournalError> {
    if found == VERSION {
        return Ok(());
    }
    let problem = format!("expected store version {VERSION}, found {found}");
    Err(JournalError::named("the store", problem).of(JournalErrorKind::Format))
}

/// Makes the tables where there are none, all in one transaction.
fn make(conn: &Connection) -> Result<(), Fault> {
    if pragma(conn, "application_id")? == APPLICATION {
        return Ok(());
    }
    let tx = Tx::writing(conn)?;
    // Somebody else may have been first.
    if pragma(conn, "application_id")? == 0 {
        for table in TABLES {
            conn.execute_batch(table)?;
        }
        conn.execute_batch(&format!(
            "PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}"
        ))?;
    }
    tx.commit()
}

fn pragma(conn: &Connection, name: &str) -> Result<i32, Fault> {
    Ok(conn.pragma_query_value(None, name, |row| row.get(0))?)
}

/// Whether the tables are as this version makes them.
fn compare(conn: &Connection) -> Result<(), Fault> {
    versioned(pragma(conn, "user_version")?)?;
    let sql = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%'";
    let mut found = conn.prepare(sql)?;
    let mut found: Vec<String> = found.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut tables = TABLES.to_vec();
    found.sort_unstable();
    tables.sort_unstable();
    if found == tables {
        return Ok(());
    }
    Err(JournalError::named("the store", "its tables are not as this version makes them").into())
}

/// Has changes written ahead, beside the database, so that who reads and who writes do not wait for one
/// another.
fn write_ahead(conn: &Connection) -> Result<(), Fault> {
    let mut tries = 0;
    loop {
        let set = conn.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get::<_, String>(0));
        match set {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(mode) => {
                let problem = format!("expected it to write ahead, found journal mode {mode}");
                return Err(JournalError::named("the store", problem).of(JournalErrorKind::Io).into());
            }
            // SQLite does not wait here where others open the store at the same moment.
            Err(error) if is_busy(&error) && tries < 500 => std::thread::sleep(Duration::from_millis(20)),
            Err(error) => return Err(error.into()),
        }
        tries += 1;
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode;
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}
