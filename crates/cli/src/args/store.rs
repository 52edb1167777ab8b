//! What may be typed about where threads are kept.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use planwright::journal;

const STORE: &str = "Where threads are kept";

/// Where threads are kept.
#[derive(Args, Clone, Debug, Default)]
pub struct StoreArgs {
    /// Where threads are kept: an SQLite file (.db, .sqlite), or a folder of JSON lines (ending in /)
    /// [env: PLANWRIGHT_STORE]
    #[arg(long, global = true, value_name = "PATH", help_heading = STORE)]
    pub store: Option<PathBuf>,
    /// What a record that is kept survives [env: PLANWRIGHT_DURABILITY] [default: full]
    #[arg(long, global = true, value_enum, value_name = "HOW", help_heading = STORE)]
    pub durability: Option<Durability>,
}

/// The same, where no model is asked.
#[derive(Args, Clone, Debug, Default)]
pub struct ConfigArgs {
    /// The configuration file [env: PLANWRIGHT_CONFIG]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// What a record that is kept survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Durability {
    /// A loss of power
    Full,
    /// The death of the process, but perhaps not of the machine
    Normal,
}

impl From<Durability> for journal::Durability {
    fn from(durability: Durability) -> Self {
        match durability {
            Durability::Full => journal::Durability::Full,
            Durability::Normal => journal::Durability::Normal,
        }
    }
}
