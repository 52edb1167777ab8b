//! Why a spec is refused.

use std::fmt;

/// A contradiction or a value out of range in a spec. Its `Debug` equals its `Display`, so that a failed
/// `unwrap` says what to mend.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct SpecError {
    field: String,
    problem: String,
}

impl SpecError {
    /// A problem of a field, named by its path.
    #[doc(hidden)]
    pub fn at(field: impl Into<String>, problem: impl Into<String>) -> Self {
        SpecError { field: field.into(), problem: problem.into() }
    }

    /// The field, as a path in the spec (`limits.max_replans`).
    pub fn field(&self) -> &str {
        &self.field
    }

    pub(super) fn under(mut self, outer: &str) -> Self {
        self.field = format!("{outer}.{}", self.field);
        self
    }
}

impl fmt::Debug for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
