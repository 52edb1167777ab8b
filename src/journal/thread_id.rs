//! The name of a thread.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::contract::is_sanitized;

/// The name of a thread: 1 to 120 bytes, all of them [plain](is_sanitized), no white space at either end, no
/// dash at the beginning, and neither `.` nor `..`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct ThreadId(String);

impl ThreadId {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ThreadId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let problem = match &*text {
            text if text.is_empty() || text.len() > 120 => "has 1 to 120 bytes",
            text if !text.chars().all(is_sanitized) => {
                "has no control characters, and none that turn the direction of writing"
            }
            text if text.trim() != text => "neither begins nor ends with white space",
            "." | ".." => "is neither \".\" nor \"..\", which an address takes for a step on its way",
            text if text.starts_with('-') => {
                "does not begin with a dash, which a command line takes for a flag"
            }
            _ => return Ok(ThreadId(text)),
        };
        Err(format!("a thread's name {problem}, found {text:?}"))
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
