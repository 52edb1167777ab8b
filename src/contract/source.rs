//! Where something that a tool found comes from.

use serde::{Deserialize, Serialize};

/// A source that an answer can name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Its title, for people.
    pub title: String,
    /// Which document or collection it belongs to: a file, a contract, a site.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
    /// Which part of that document it is (`제5조`): what has been read of the run's outline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Where it can be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

impl Source {
    /// A source of which only the title is known.
    pub fn titled(title: impl Into<String>) -> Self {
        Source { title: title.into(), ..Source::default() }
    }
}
