//! What may be typed about stored runs as fixtures.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{ConfigArgs, StoreArgs};
use planwright::journal::ThreadId;

pub const FROM_EXAMPLES: &str = "\
Examples:
  planwright fixture from 보고서 --output fixtures/report.json
  planwright fixture from 보고서 --turn 1 | jq .trace

The values of all keys that are configured now are taken out once more.";

#[derive(Args)]
pub struct FixtureArgs {
    #[command(flatten)]
    pub store: StoreArgs,
    #[command(subcommand)]
    pub command: FixtureCommand,
}

#[derive(Subcommand)]
pub enum FixtureCommand {
    /// Make a fixture out of a turn of a thread
    #[command(after_help = FROM_EXAMPLES)]
    From(FromArgs),
}

#[derive(Args)]
pub struct FromArgs {
    /// The thread
    pub thread: ThreadId,
    /// The turn, from 1 [default: the last]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub turn: Option<u32>,
    /// Where it is written; stdout where no file is named
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write it in the place of the file that is there
    #[arg(long, requires = "output")]
    pub force: bool,
    #[command(flatten)]
    pub config: ConfigArgs,
}
