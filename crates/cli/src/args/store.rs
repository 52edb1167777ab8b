//! Where threads are stored, and the numbers that many commands take.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use planwright::journal::Durability;
use planwright_app::{Result, StorePlace};

const STORE: &str = "Where threads are kept";

/// Where threads are kept.
#[derive(Args, Clone, Debug, Default)]
pub struct StoreArgs {
    /// Where threads are kept: an SQLite file [env: PLANWRIGHT_STORE]
    #[arg(long, global = true, value_name = "PATH", help_heading = STORE)]
    pub store: Option<PathBuf>,
    /// What a record that is kept survives [env: PLANWRIGHT_DURABILITY] [default: full]
    #[arg(long, global = true, value_name = "HOW", help_heading = STORE, value_parser = durability())]
    pub durability: Option<Durability>,
}

/// The configuration file, where no model is asked.
#[derive(Args, Clone, Debug, Default)]
pub struct ConfigArgs {
    /// The configuration file [env: PLANWRIGHT_CONFIG]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

impl StoreArgs {
    pub fn place(&self, config: &ConfigArgs) -> Result<StorePlace> {
        StorePlace::find(self.store.as_deref(), self.durability, config.config.as_deref())
    }
}

fn durability() -> impl TypedValueParser<Value = Durability> {
    let full = PossibleValue::new("full").help("A loss of power");
    let normal =
        PossibleValue::new("normal").help("The death of the process, but perhaps not of the machine");
    PossibleValuesParser::new([full, normal]).try_map(|text| text.parse::<Durability>())
}

/// A turn of a thread, from 1.
pub fn turn() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..)
}
