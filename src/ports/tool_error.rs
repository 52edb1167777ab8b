//! Why a tool call failed, and whether what it was to do may have happened all the same.

use std::fmt;

/// Why a tool call failed.
///
/// A failed write that may not happen twice leaves its run in doubt, unless the tool says that nothing was
/// written:
///
/// ```
/// use planwright::ports::{ToolError, ToolErrorKind};
///
/// let broke_off = ToolError::new(ToolErrorKind::Connection, "the server closed the connection");
/// assert!(broke_off.may_have_happened());
/// let full = ToolError::new("mailbox_full", "the mailbox is full").did_not_happen();
/// assert!(!full.may_have_happened());
/// assert!(!ToolError::input("expected an address").may_have_happened());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: {message}")]
#[non_exhaustive]
pub struct ToolError {
    /// The kind of failure.
    pub kind: ToolErrorKind,
    /// What went wrong. Never holds a key.
    pub message: String,
    did_not_happen: bool,
}

impl ToolError {
    /// A failure of this kind, which says nothing of whether the call had an effect.
    pub fn new(kind: impl Into<ToolErrorKind>, message: impl Into<String>) -> Self {
        ToolError { kind: kind.into(), message: message.into(), did_not_happen: false }
    }

    /// The input was refused before anything was done.
    pub fn input(message: impl Into<String>) -> Self {
        ToolError::new(ToolErrorKind::Input, message).did_not_happen()
    }

    /// Says that the call had no effect: a write may be tried again.
    #[must_use]
    pub fn did_not_happen(mut self) -> Self {
        self.did_not_happen = true;
        self
    }

    /// Whether the call may have had its effect.
    pub fn may_have_happened(&self) -> bool {
        !self.did_not_happen
    }
}

/// The kinds of failure of a tool call. A name of a tool's own is [`Other`](ToolErrorKind::Other).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ToolErrorKind {
    /// The input is not what the tool expects.
    Input,
    /// What was asked for does not exist.
    NotFound,
    /// No answer in time.
    Timeout,
    /// The connection could not be made or broke.
    Connection,
    /// The server answered with an error.
    Http,
    /// The server answered with something that is no answer.
    Response,
    /// A limit of the tool was reached.
    Limit,
    /// The machine gave no thread, memory or file.
    Resources,
    /// The tool panicked.
    Panic,
    /// The tool failed for a reason of its own.
    Internal,
    /// Another kind, in a word.
    Other(String),
}

const NAMES: [(ToolErrorKind, &str); 10] = [
    (ToolErrorKind::Input, "input"),
    (ToolErrorKind::NotFound, "not_found"),
    (ToolErrorKind::Timeout, "timeout"),
    (ToolErrorKind::Connection, "connection"),
    (ToolErrorKind::Http, "http"),
    (ToolErrorKind::Response, "response"),
    (ToolErrorKind::Limit, "limit"),
    (ToolErrorKind::Resources, "resources"),
    (ToolErrorKind::Panic, "panic"),
    (ToolErrorKind::Internal, "internal"),
];

impl ToolErrorKind {
    /// The name under which it is recorded.
    pub fn as_str(&self) -> &str {
        match self {
            ToolErrorKind::Other(name) => name,
            kind => NAMES.iter().find(|(known, _)| known == kind).map_or("internal", |(_, name)| name),
        }
    }
}

impl fmt::Display for ToolErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<&str> for ToolErrorKind {
    fn from(name: &str) -> Self {
        let known = NAMES.into_iter().find(|(_, known)| *known == name).map(|(kind, _)| kind);
        known.unwrap_or_else(|| ToolErrorKind::Other(name.to_owned()))
    }
}

impl PartialEq<&str> for ToolErrorKind {
    fn eq(&self, name: &&str) -> bool {
        self.as_str() == *name
    }
}
