//! What an append survives.

use serde::{Deserialize, Serialize};

/// What survives of a record once it is appended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// It survives a loss of power: the system was told to put it on the disk, and said it did. What
    /// the disk itself holds back is out of reach.
    #[default]
    Full,
    /// It survives the death of the process, but perhaps not of the machine: the last records may be
    /// missing after a loss of power. What is missing is then missing from the end, so the run goes on
    /// from before them, and what had been performed since is performed again or is in doubt. Of a
    /// write whose *request* is lost nobody knows any more: it can happen twice.
    Normal,
}

impl std::str::FromStr for Durability {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "full" => Ok(Durability::Full),
            "normal" => Ok(Durability::Normal),
            other => Err(format!("expected full or normal, found {other:?}")),
        }
    }
}
