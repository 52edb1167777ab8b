//! SQLite's errors as those of a store, and its transactions.

use planwright::journal::JournalErrorKind::{self, Damaged, Io, Setup};
use planwright::journal::{JournalError, StoreError, ThreadId};
use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior, ffi};

/// An error that does not name the file yet.
#[derive(Debug)]
pub(crate) enum Fault {
    Sql(rusqlite::Error),
    Store(StoreError),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Fault::Sql(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Fault::Store(error)
    }
}

impl From<JournalError> for Fault {
    fn from(error: JournalError) -> Self {
        Fault::Store(error.into())
    }
}

impl Fault {
    /// The error of the store in this file.
    pub fn at(self, place: impl std::fmt::Display) -> StoreError {
        match self {
            Fault::Store(StoreError::Journal(error)) => error.within(place).into(),
            Fault::Store(other) => other,
            Fault::Sql(error) => {
                let (kind, problem) = describe(&error);
                JournalError::new(kind, place.to_string(), problem).into()
            }
        }
    }

    /// The fault with the turn in which it was found.
    pub fn in_turn(self, thread: &ThreadId, turn: u32) -> Fault {
        match self {
            Fault::Store(error) => error.in_turn(thread, turn).into(),
            damage if damage.is_damage() => {
                damage.at(format!("thread {thread}, turn {}", u64::from(turn) + 1)).into()
            }
            other => other,
        }
    }

    /// Whether it is damage, which a check reports before it goes on.
    pub fn is_damage(&self) -> bool {
        match self {
            Fault::Store(error) => error.is_damage(),
            Fault::Sql(error) => describe(error).0 == JournalErrorKind::Damaged,
        }
    }

    /// Whether it is one of SQLite's with one of these codes.
    pub fn has_code(&self, codes: &[ErrorCode]) -> bool {
        let Fault::Sql(error) = self else { return false };
        error.sqlite_error_code().is_some_and(|code| codes.contains(&code))
    }
}

const UNREADABLE: &str = "cannot be read or written";

fn describe(error: &rusqlite::Error) -> (JournalErrorKind, String) {
    use ErrorCode::*;
    let (kind, what) = match error.sqlite_error_code() {
        Some(DiskFull) => (Io, "no space is left; nothing was written"),
        Some(DatabaseBusy | DatabaseLocked) => (Io, "another process is writing, and did not end in time"),
        // SQLite does not tell the two apart.
        Some(DatabaseCorrupt) => (Damaged, "the database is damaged, or the disk fails to read it"),
        Some(NotADatabase) => (Setup, "expected a database of threads, found a file that is no database"),
        Some(SystemIoFailure | CannotOpen | ReadOnly | PermissionDenied | OutOfMemory) => (Io, UNREADABLE),
        Some(FileLockingProtocolFailed) => (Io, UNREADABLE),
        // Every other error means that a table does not hold what this crate writes to it.
        _ => (Damaged, "what is kept is not as it was written"),
    };
    // SQLite does not say why a write failed.
    let why = match error.sqlite_error().map(|error| error.extended_code) {
        Some(ffi::SQLITE_IOERR_WRITE | ffi::SQLITE_IOERR_SHMSIZE | ffi::SQLITE_IOERR_TRUNCATE) => {
            " (the disk may be full, or the file may grow no larger)"
        }
        _ => "",
    };
    (kind, format!("{what}: {error}{why}"))
}

/// Begins to write, as the only writer. What is not committed is rolled back.
pub(crate) fn begin_write(conn: &Connection) -> Result<Transaction<'_>, Fault> {
    Ok(Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?)
}
