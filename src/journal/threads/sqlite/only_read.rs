//! A store beside which nothing can be written: the disk is full, or the folder is not this user's. What is
//! there is read all the same; what would write fails, and says why.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::fault::Fault;
use super::open::{compare, configure};

/// A connection to read with, and the store's own name; `None` where there is no such way. `is_all`: whether
/// nothing is written ahead, and nobody is about to.
pub(super) fn open(path: &Path, is_all: bool) -> Option<(Connection, String)> {
    let found = alone(path);
    let found = if found.is_err() && is_all { as_it_is(path) } else { found };
    found.ok()
}

/// As the only one who uses it: then SQLite keeps its account of the log in memory, and needs no file.
fn alone(path: &Path) -> Result<(Connection, String), Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_EXRESCODE;
    let conn = Connection::open_with_flags(path, flags)?;
    configure(&conn)?;
    conn.busy_timeout(Duration::ZERO)?;
    // It stays as it is until what is in it can be moved, and is known to be this database's.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    conn.execute_batch("PRAGMA locking_mode = EXCLUSIVE")?;
    let own = compare(&conn)?;
    Ok((conn, own))
}

/// As a file that nobody changes.
fn as_it_is(path: &Path) -> Result<(Connection, String), Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_EXRESCODE;
    let conn = Connection::open_with_flags(address(path), flags)?;
    configure(&conn)?;
    let own = compare(&conn)?;
    Ok((conn, own))
}

/// A path as SQLite takes it in an address.
fn address(path: &Path) -> String {
    let mut address = "file:".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => {
                address.push(char::from(*byte))
            }
            other => {
                let _ = write!(address, "%{other:02X}");
            }
        }
    }
    address + "?immutable=1"
}
