//! What is not searched, and why.

use std::fmt;

/// A document that is not searched, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The document's path from the folder; empty if the reason speaks of several documents.
    pub path: String,
    /// Why it was left out.
    pub reason: String,
}

impl Skipped {
    pub(super) fn new(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Skipped { path: path.into(), reason: reason.into() }
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.reason),
            path => write!(f, "not searched: {path}: {}", self.reason),
        }
    }
}

/// A number with commas between groups of three digits: `14,646`.
pub(super) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<&[u8]> = digits.as_bytes().rchunks(3).rev().collect();
    groups.iter().map(|group| String::from_utf8_lossy(group)).collect::<Vec<_>>().join(",")
}
