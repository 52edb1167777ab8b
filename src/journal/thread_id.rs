//! The name of a thread.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::contract::is_sanitized;

/// The name of a thread, as its user calls it: 1 to 120 bytes, all of them [plain](is_sanitized), no white
/// space at either end, no dash at the beginning.
///
/// ```
/// use planwright::journal::ThreadId;
///
/// let thread: ThreadId = "보고서-3".parse()?;
/// assert_eq!(thread.as_str(), "보고서-3");
/// assert!(" x".parse::<ThreadId>().is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct ThreadId(String);

const MOST_BYTES: usize = 120;

impl ThreadId {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ThreadId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let fail = |problem: &str| Err(format!("a thread's name {problem}, found {text:?}"));
        if text.is_empty() || text.len() > MOST_BYTES {
            return fail(&format!("has 1 to {MOST_BYTES} bytes"));
        }
        if !text.chars().all(is_sanitized) {
            return fail("has no control characters, and none that turn the direction of writing");
        }
        if text.trim() != text {
            return fail("neither begins nor ends with white space");
        }
        if text.starts_with('-') {
            return fail("does not begin with a dash, which a command line takes for a flag");
        }
        Ok(ThreadId(text))
    }
}

impl FromStr for ThreadId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.to_owned().try_into()
    }
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
