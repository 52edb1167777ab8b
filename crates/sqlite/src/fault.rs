//! SQLite's errors as those of a store.

use planwright::journal::{JournalError, JournalErrorKind, StoreError};
use rusqlite::{ErrorCode, ffi};

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

    /// Whether it is damage, which a check reports before it goes on.
    pub fn is_damage(&self) -> bool {
        match self {
            Fault::Store(StoreError::Journal(error)) => error.kind() != JournalErrorKind::Io,
            Fault::Store(_) => false,
            Fault::Sql(error) => describe(error).0 == JournalErrorKind::Damaged,
        }
    }

    /// Whether SQLite gave up waiting for another connection.
    pub fn is_busy(&self) -> bool {
        matches!(self.code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
    }

    /// Whether SQLite could not open a file.
    pub fn cannot_open(&self) -> bool {
        matches!(self.code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
    }

    fn code(&self) -> Option<ErrorCode> {
        match self {
            Fault::Sql(error) => error.sqlite_error_code(),
            Fault::Store(_) => None,
        }
    }
}

fn describe(error: &rusqlite::Error) -> (JournalErrorKind, String) {
    let (kind, what) = match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => (JournalErrorKind::Io, "no space is left; nothing was written"),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            (JournalErrorKind::Io, "another process is writing, and did not end in time")
        }
        // SQLite does not tell the two apart.
        Some(ErrorCode::DatabaseCorrupt) => {
            (JournalErrorKind::Damaged, "the database is damaged, or the disk fails to read it")
        }
        Some(ErrorCode::NotADatabase) => {
            (JournalErrorKind::Format, "expected a database of threads, found a file that is no database")
        }
        Some(
            ErrorCode::SystemIoFailure
            | ErrorCode::CannotOpen
            | ErrorCode::ReadOnly
            | ErrorCode::PermissionDenied
            | ErrorCode::OutOfMemory
            | ErrorCode::FileLockingProtocolFailed,
        ) => (JournalErrorKind::Io, "cannot be read or written"),
        // Every other error means that a table does not hold what this crate writes to it.
        _ => (JournalErrorKind::Damaged, "what is kept is not as it was written"),
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
