//! Postgres's errors as those of a store.

use std::error::Error as _;
use std::fmt::Display;

use planwright::journal::JournalErrorKind::{self, Damaged, Io, Setup};
use planwright::journal::{JournalError, StoreError, ThreadId};
use postgres::error::SqlState;

/// An error that does not name the database yet.
#[derive(Debug)]
pub(crate) enum Fault {
    Sql(postgres::Error),
    Store(StoreError),
}

impl From<postgres::Error> for Fault {
    fn from(error: postgres::Error) -> Self {
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
    /// A fault of the store as a whole.
    pub fn new(kind: JournalErrorKind, problem: impl Into<String>) -> Self {
        JournalError::new(kind, "the store", problem).into()
    }

    /// The error of the store at this address.
    pub fn at(self, place: impl Display) -> StoreError {
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
            Fault::Sql(error) => describe(error).0 == Damaged,
        }
    }

    /// Whether the connection is gone: what was asked may have been done or not.
    pub fn is_lost(&self) -> bool {
        let Fault::Sql(error) = self else { return false };
        let ended = [
            SqlState::ADMIN_SHUTDOWN,
            SqlState::CRASH_SHUTDOWN,
            SqlState::CANNOT_CONNECT_NOW,
            SqlState::IDLE_SESSION_TIMEOUT,
            SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
        ];
        let by_system = error.source().is_some_and(|cause| cause.is::<std::io::Error>());
        error.is_closed() || by_system || error.code().is_some_and(|code| ended.contains(code))
    }

    /// Whether a connection that there was has broken off. One that cannot be made at all has not.
    pub fn is_cut(&self) -> bool {
        use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
        let Fault::Sql(error) = self else { return false };
        let cause = error.source().and_then(|cause| cause.downcast_ref::<std::io::Error>());
        let is_cut = |kind| [BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof].contains(&kind);
        error.is_closed()
            || cause.is_some_and(|cause| is_cut(cause.kind()))
            || error.code() == Some(&SqlState::ADMIN_SHUTDOWN)
    }

    /// Whether it is the server's error of this code.
    pub fn has_code(&self, code: &SqlState) -> bool {
        matches!(self, Fault::Sql(error) if error.code() == Some(code))
    }
}

fn describe(error: &postgres::Error) -> (JournalErrorKind, String) {
    let Some(code) = error.code() else {
        return (Io, format!("the server cannot be reached: {}", chain(error)));
    };
    let (kind, what) = match (code.code(), code.code().get(..2).unwrap_or_default()) {
        ("53100", _) => (Io, "the server has no space left; nothing was written"),
        ("53300", _) => (Io, "the server takes no more connections"),
        ("25006", _) => (Io, "the server is in recovery or read-only, and takes no writes; name the primary"),
        ("55P03" | "57014", _) => (Io, "another process is writing, and did not end in time"),
        ("42501", _) => (Io, "the role has not the privileges that docs/guide/scale.md names"),
        ("3D000", _) => (Io, "there is no such database"),
        ("42P01" | "3F000", _) => {
            (Setup, "there are no tables of planwright; `planwright store migrate` makes them")
        }
        (_, "28") => (Io, "the server does not let the role in"),
        // The server is ending or starting, short of something, or fails to read its disk; a deadlock.
        (_, "08" | "40" | "53" | "57" | "58") => (Io, "cannot be read or written"),
        (_, "XX") => (Damaged, "the database is damaged, or the disk fails to read it"),
        // Every other error means that a table does not hold what this crate writes to it.
        _ => (Damaged, "what is kept is not as it was written"),
    };
    (kind, format!("{what}: {}", chain(error)))
}

/// An error with its causes. None of them holds a password.
pub(crate) fn chain(error: &postgres::Error) -> String {
    match error.as_db_error() {
        Some(error) => error.message().to_owned(),
        None => match error.source() {
            Some(cause) => format!("{error}: {cause}"),
            None => error.to_string(),
        },
    }
}
