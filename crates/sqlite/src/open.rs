//! Opening: what is a store of this version's, what is made one, and what is refused.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::beside;
use super::fault::Fault;
use super::holder::Holders;
use super::opened::Opened;
use super::tx::Tx;
use super::wal::{self, Log};
use planwright::journal::seal::Seal;
use planwright::journal::store::random_id;
use planwright::journal::{Durability, JournalError, JournalErrorKind, disk};

/// What tells a store from other programs' databases: `plan` in ASCII.
const APPLICATION: i32 = 0x706c_616e;

/// The version of the tables. Whatever changes them raises it; see [`planwright::journal::JOURNAL_FORMAT`]
/// for the version of what is in the records.
const VERSION: i32 = 2;

/// The tables, and what lists go by: threads by their time, those of which it is noted where they stand and
/// those of which it is not; those that wait for a person by theirs.
///
/// A record's place is one number, of its thread, its turn and its index. So an append goes to the end of
/// one page, and a turn is read in one sweep. How a turn ended is noted in its thread's row, and in `turn`
/// when the next begins.
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

/// A store's own name, random, as a view: so it stands on the first page, and changes never. Records are
/// sealed over it, and a log that names another is another's.
const OWN: &str = "CREATE VIEW store AS SELECT '";

/// Which threads wait for people, as the index has it.
pub(super) const FOR_PEOPLE: &str = "status IN ('waiting', 'in_doubt')";

/// Opens a store, or makes one where there is nothing.
pub(super) fn open(
    path: &Path,
    holders: &Holders,
    durability: Durability,
) -> Result<(Connection, Opened, Seal), Fault> {
    let (mut in_file, mut committed, mut is_first) = (None, None, false);
    let opened = Opened::after(path, |path| {
        is_first = true;
        in_file = ours(path)?;
        committed = wal::committed(path);
        Ok(())
    })?;
    emptied(path, holders)?;
    let left = holders.left();
    let log = wal::look(path, || wal::Known {
        in_use: !is_first || holders.any_lives(),
        computer_stopped: left.computer_stopped,
        committed: committed.filter(|_| left.of_this_session),
    })?;
    // SQLite makes its log with the mode of the database. Where this fails, opening it says why.
    let _ = disk::private_options().write(true).create_new(true).open(path);
    let (conn, own) = ready(path, holders, log, in_file.as_deref())?;
    holders.forget_sessions();
    if durability == Durability::Normal {
        conn.execute_batch("PRAGMA synchronous = NORMAL")?;
    }
    Ok((conn, opened, Seal::new().with(own.as_bytes())))
}

/// Makes the store ready to be written to, with its own name.
fn ready(
    path: &Path,
    holders: &Holders,
    log: Log,
    in_file: Option<&str>,
) -> Result<(Connection, String), Fault> {
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
    // Until it is known to be a store whose log this is, the log is not moved into it.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, log != Log::Empty)?;
    configure(&conn)?;
    make(&conn)?;
    let own = compare(&conn)?;
    names_itself(log, in_file, &own)?;
    write_ahead(&conn)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    if log == Log::Torn && !holders.any_lives() {
        tidy(&conn)?;
    }
    Ok((conn, own))
}

/// Whether a log is of the database that it lies beside.
fn names_itself(log: Log, in_file: Option<&str>, own: &str) -> Result<(), JournalError> {
    if log == Log::Empty || in_file.is_none_or(|in_file| in_file == own) {
        return Ok(());
    }
    let problem = "it is another database's; where it is put away, this one is as it was without it";
    Err(JournalError::named("the write-ahead log", problem))
}

/// Has a connection check what it reads and make what it writes last.
fn configure(conn: &Connection) -> Result<(), Fault> {
    conn.busy_timeout(WAITS)?;
    conn.set_prepared_statement_cache_capacity(64);
    // A log that ends with its last commit, whose frames were written once: see `wal.rs`.
    Ok(conn.execute_batch(
        "PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; \
         PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF; \
         PRAGMA cache_spill = OFF; PRAGMA journal_size_limit = 0;",
    )?)
}

/// Where a database was and is no more, no new one is put in its place: what of it is left would be lost.
fn emptied(path: &Path, holders: &Holders) -> Result<(), JournalError> {
    let bytes = |path: &Path| std::fs::metadata(path).ok().map(|found| found.len());
    let damaged = |place: &str, problem: &str| {
        let put = "where it is put away, a new store is made";
        Err(JournalError::named(place, format!("{problem}; {put}")))
    };
    let found = bytes(path);
    if found.unwrap_or(0) > 0 {
        return Ok(());
    }
    if bytes(&beside(path, "-wal")).unwrap_or(0) > 0 {
        return damaged("the write-ahead log", "the database that it is of is lost or empty");
    }
    match found {
        Some(_) if holders.folder().is_dir() => {
            damaged("the store", "there was a database here, and the file is empty")
        }
        Some(_) => Ok(()),
        None => {
            // Of a database that somebody put away nothing is left then.
            let _ = std::fs::remove_dir(holders.folder());
            Ok(())
        }
    }
}

/// Moves the log into the database, so that nobody writes over what a stopped writer had begun. Where
/// somebody uses it, it stays. Gives whether it was moved.
pub(super) fn tidy(conn: &Connection) -> Result<bool, Fault> {
    // A checkpoint takes it for granted that the log has been read.
    pragma(conn, "user_version")?;
    conn.busy_timeout(Duration::ZERO)?;
    let busy = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
    conn.busy_timeout(WAITS)?;
    match busy {
        Err(error) if is_busy(&error) => Ok(false),
        busy => Ok(busy? == 0),
    }
}

/// How long is waited for others that write.
const WAITS: Duration = Duration::from_secs(10);

/// Whether a file is a store, or there is none yet: looked at before SQLite touches it. Gives the store's
/// own name, where it stands on the first page.
fn ours(path: &Path) -> Result<Option<String>, JournalError> {
    let fail = |error: std::io::Error| JournalError::io("the store", "cannot be opened", &error);
    let mut head = Vec::new();
    // To open a pipe waits for somebody to write to it.
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        let problem = "expected a database of threads, found what is no file";
        return Err(JournalError::named("the store", problem).of(JournalErrorKind::Format));
    }
    match File::open(path) {
        Ok(file) => drop(file.take(4_096).read_to_end(&mut head).map_err(fail)?),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(fail(error)),
    }
    if head.is_empty() {
        return Ok(None);
    }
    let other = |problem: String| Err(JournalError::named("the store", problem).of(JournalErrorKind::Format));
    if head.len() < 100 || !head.starts_with(b"SQLite format 3\0") {
        return other("expected a database of threads, found a file that is no database".to_owned());
    }
    let number = |at: usize| i32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    if number(68) != APPLICATION {
        return other("expected a database of threads, found another program's".to_owned());
    }
    versioned(number(60))?;
    let own = head.windows(OWN.len()).position(|bytes| bytes == OWN.as_bytes());
    let own = own.and_then(|at| head.get(at + OWN.len()..at + OWN.len() + 32));
    Ok(own.map(|own| String::from_utf8_lossy(own).into_owned()))
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
    // Somebody else may have been first, be it with a database of their own.
    let tables: i64 = conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if tables == 0 && pragma(conn, "application_id")? == 0 {
        for table in TABLES {
            conn.execute_batch(table)?;
        }
        conn.execute_batch(&format!("{OWN}{:016x}{:016x}' AS id", random_id(), random_id()))?;
        conn.execute_batch(&format!(
            "PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}"
        ))?;
    }
    tx.commit()
}

fn pragma(conn: &Connection, name: &str) -> Result<i32, Fault> {
    Ok(conn.pragma_query_value(None, name, |row| row.get(0))?)
}

/// Whether the tables are as this version makes them. Gives the store's own name.
fn compare(conn: &Connection) -> Result<String, Fault> {
    versioned(pragma(conn, "user_version")?)?;
    let sql = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%'";
    let mut found = conn.prepare(sql)?;
    let found: Vec<String> = found.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let (own, mut found): (Vec<_>, Vec<_>) = found.into_iter().partition(|sql| sql.starts_with(OWN));
    let mut tables = TABLES.to_vec();
    found.sort_unstable();
    tables.sort_unstable();
    let own = match &own[..] {
        [own] => own.strip_prefix(OWN).and_then(|own| own.strip_suffix("' AS id")),
        _ => None,
    };
    match own.filter(|own| own.len() == 32 && found == tables) {
        Some(own) => Ok(own.to_owned()),
        None => Err(JournalError::named("the store", "its tables are not as this version makes them").into()),
    }
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
