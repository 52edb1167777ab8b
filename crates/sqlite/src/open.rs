//! Opening a database: the tables of a store, and what is refused.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use planwright::journal::JournalErrorKind::{Damaged, Format, Io, Setup};
use planwright::journal::system::{private_options, random_id};
use planwright::journal::{Durability, JournalError, JournalErrorKind};
use rusqlite::ErrorCode::{CannotOpen, DatabaseBusy, DatabaseLocked, ReadOnly};
use rusqlite::{Connection, OpenFlags};

use crate::fault::{Fault, begin_write};

/// Tells a store from other programs' databases: `plan` in ASCII.
const APPLICATION: i32 = 0x706c_616e;

/// The version of the tables, raised by every change of them. The version of what is in the records is
/// [`planwright::journal::JOURNAL_FORMAT`].
const VERSION: i32 = 2;

/// The tables, and the indexes of lists: threads by time, with and without a status, and those that wait for
/// a person.
///
/// The place of a record is one number, of its thread, turn and index: an append writes at the end of one
/// page, and a turn is read in one sweep. How a turn ended is kept in the row of its thread, and moves to
/// `turn` when the next one begins.
const TABLES: [&str; 6] = [
    "CREATE TABLE thread (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, title TEXT NOT NULL, \
     turns INTEGER NOT NULL, created INTEGER NOT NULL, updated INTEGER NOT NULL, epoch INTEGER NOT NULL, \
     written INTEGER NOT NULL, holder TEXT, noted INTEGER NOT NULL, standing TEXT NOT NULL, \
     records INTEGER NOT NULL, last BLOB NOT NULL, seal BLOB NOT NULL, status TEXT NOT NULL, \
     waits INTEGER NOT NULL) STRICT",
    "CREATE TABLE turn (at INTEGER PRIMARY KEY, records INTEGER NOT NULL, seal BLOB NOT NULL) STRICT",
    "CREATE TABLE record (at INTEGER PRIMARY KEY, seal BLOB NOT NULL, body TEXT NOT NULL) STRICT",
    "CREATE TABLE spec (digest BLOB PRIMARY KEY, text TEXT NOT NULL) STRICT, WITHOUT ROWID",
    "CREATE INDEX thread_newest ON thread (noted, updated DESC, name) WHERE turns > 0",
    "CREATE INDEX thread_waiting ON thread (waits, name) WHERE status IN ('waiting', 'in_doubt')",
];

/// The store's own random name, as a view. Seals start with it.
const NAME: &str = "CREATE VIEW store AS SELECT '";

/// The threads of the index `thread_waiting`.
pub(crate) const WAITS_FOR_PERSON: &str = "status IN ('waiting', 'in_doubt')";

/// Opens a store, or makes one of an empty database. Gives its connection and its name.
pub(crate) fn open(path: &Path, durability: Durability) -> Result<(Connection, String), Fault> {
    // SQLite gives its log the mode of the database. If this fails, opening says why.
    let _ = private_options().write(true).create_new(true).open(path);
    let conn = match connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE) {
        Err(fault) if fault.has_code(&[CannotOpen, ReadOnly]) && is_read_only(&beside(path, "-try")) => {
            open_immutable(path)?
        }
        // SQLite falls back to reading, whatever the reason was.
        Ok(conn) if conn.is_readonly("main")? && !is_read_only(path) => {
            return Err(refuse(Io, "cannot be opened to write, only to read"));
        }
        conn => conn?,
    };
    let writable = !conn.is_readonly("main")?;
    let name = find_or_make(&conn, writable)?;
    if writable {
        set_write_ahead(&conn)?;
    }
    if durability == Durability::Normal {
        conn.execute_batch("PRAGMA synchronous = NORMAL")?;
    }
    Ok((conn, name))
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, Fault> {
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_EXRESCODE;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(Duration::from_secs(10))?;
    conn.set_prepared_statement_cache_capacity(64);
    conn.execute_batch(
        "PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA cell_size_check = ON; \
         PRAGMA trusted_schema = OFF",
    )?;
    // Only a read shows whether the file can be used.
    pragma(&conn, "application_id")?;
    Ok(conn)
}

/// Opens a database in a folder that cannot be written, where SQLite cannot make the files that it shares
/// with other processes. A log that stands there would not be read, so it is refused.
fn open_immutable(path: &Path) -> Result<Connection, Fault> {
    if std::fs::metadata(beside(path, "-wal")).is_ok_and(|log| log.len() > 0) {
        let problem = "its log cannot be read on a medium that cannot be written; copy both elsewhere";
        return Err(refuse(Io, problem));
    }
    let name = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let uri = format!("file:{name}?immutable=1");
    connect(uri.as_ref(), OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI)
}

/// Whether the system does not let a file be written, or made. One that was made is removed.
fn is_read_only(path: &Path) -> bool {
    let is_new = !path.exists();
    let opened = File::options().write(true).create(true).truncate(false).open(path);
    if is_new && opened.is_ok() {
        let _ = std::fs::remove_file(path);
    }
    let refused = [ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem];
    opened.is_err_and(|error| refused.contains(&error.kind()))
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(end);
    path.into()
}

/// The name of the store in a database. An empty database is made a store, and the tables of a dump, which does
/// not hold the marks of a database, become one again.
fn find_or_make(conn: &Connection, writable: bool) -> Result<String, Fault> {
    let others = || refuse(Setup, "expected a database of threads, found another program's");
    let (application, version) = (pragma(conn, "application_id")?, pragma(conn, "user_version")?);
    match application {
        APPLICATION if version != VERSION => {
            Err(refuse(Format, &format!("expected store version {VERSION}, found {version}")))
        }
        APPLICATION => {
            let damaged = || refuse(Damaged, "its tables are not as this version makes them");
            find_name(conn)?.ok_or_else(damaged)
        }
        0 if writable => {
            let tx = begin_write(conn)?;
            let tables: i64 = conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
            if tables == 0 {
                conn.execute_batch(&TABLES.join("; "))?;
                conn.execute_batch(&format!("{NAME}{:016x}{:016x}' AS id", random_id(), random_id()))?;
            }
            let name = find_name(conn)?.ok_or_else(others)?;
            conn.pragma_update(None, "application_id", APPLICATION)?;
            conn.pragma_update(None, "user_version", VERSION)?;
            tx.commit()?;
            Ok(name)
        }
        0 => find_name(conn)?.ok_or_else(others),
        _ => Err(others()),
    }
}

fn refuse(kind: JournalErrorKind, problem: &str) -> Fault {
    JournalError::new(kind, "the store", problem).into()
}

fn pragma(conn: &Connection, name: &str) -> Result<i32, Fault> {
    Ok(conn.pragma_query_value(None, name, |row| row.get(0))?)
}

/// The name of the store, if all its tables are there, and no trigger on them.
fn find_name(conn: &Connection) -> Result<Option<String>, Fault> {
    let sql = "SELECT sql FROM sqlite_schema WHERE type <> 'trigger' AND sql IS NOT NULL \
         UNION ALL SELECT '' FROM sqlite_schema WHERE type = 'trigger' \
         AND tbl_name IN ('thread', 'turn', 'record', 'spec')";
    let mut found = conn.prepare(sql)?;
    let found: Vec<String> = found.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let fits = TABLES.iter().all(|table| found.iter().any(|sql| sql == table));
    let name = found.iter().find_map(|sql| sql.strip_prefix(NAME)?.strip_suffix("' AS id"));
    let name = name.filter(|name| name.len() == 32 && fits && !found.iter().any(String::is_empty));
    Ok(name.map(str::to_owned))
}

/// Has SQLite write changes ahead, beside the database, so that readers and writers do not wait for one
/// another.
fn set_write_ahead(conn: &Connection) -> Result<(), Fault> {
    let mut tries = 0;
    loop {
        let set = conn.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get::<_, String>(0));
        match set.map_err(Fault::from) {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(mode) => {
                return Err(refuse(Io, &format!("expected it to write ahead, found journal mode {mode}")));
            }
            // SQLite does not wait here if another process opens the store at the same moment.
            Err(fault) if tries < 500 && fault.has_code(&[DatabaseBusy, DatabaseLocked]) => tries += 1,
            Err(fault) => return Err(fault),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
