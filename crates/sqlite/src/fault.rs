//! What SQLite says, in the words of a store.

use rusqlite::{ErrorCode, ffi};

use planwright::journal::{JournalError, JournalErrorKind, StoreError};

/// What goes wrong inside, before it is said in which file.
#[derive(Debug)]
pub(super) enum Fault {
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
    /// As the store says it.
    pub fn at(self, place: impl std::fmt::Display) -> StoreError {
        match self {
            Fault::Store(StoreError::Journal(error)) => error.within(place).into(),
            Fault::Store(other) => other,
            Fault::Sql(error) => {
                let (kind, problem) = said(&error);
                JournalError::named(place.to_string(), problem).of(kind).into()
            }
        }
    }

    /// Whether the system failed.
    pub fn is_io(&self) -> bool {
        matches!(self, Fault::Sql(error) if said(error).0 == JournalErrorKind::Io)
    }

    /// Whether it is damage, of which a check makes a line and goes on.
    pub fn is_damage(&self) -> bool {
        match self {
            Fault::Store(StoreError::Journal(error)) => error.kind() != JournalErrorKind::Io,
            Fault::Store(_) => false,
            Fault::Sql(error) => said(error).0 == JournalErrorKind::Damaged,
        }
    }
}

/// The kind and the text of what SQLite says.
fn said(error: &rusqlite::Error) -> (JournalErrorKind, String) {
    let (kind, what) = match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => (JournalErrorKind::Io, "no space is left; nothing was written"),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            (JournalErrorKind::Io, "somebody else is writing, and did not end in time")
        }
        // SQLite says the same of both.
        Some(ErrorCode::DatabaseCorrupt) => {
            (JournalErrorKind::Damaged, "the database is damaged, or the disk fails to read it")
        }
        Some(ErrorCode::NotADatabase) => (JournalErrorKind::Damaged, "this is no database"),
        Some(
            ErrorCode::SystemIoFailure
            | ErrorCode::CannotOpen
            | ErrorCode::ReadOnly
            | ErrorCode::PermissionDenied
            | ErrorCode::OutOfMemory
            | ErrorCode::FileLockingProtocolFailed,
        ) => (JournalErrorKind::Io, "cannot be read or written"),
        // What else can go wrong goes wrong because a table is not as this crate writes it.
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
