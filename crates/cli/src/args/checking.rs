//! What may be typed to look at agents and at recorded runs.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{StoreArgs, turn};
use planwright::journal::ThreadId;

#[derive(Args)]
pub struct ReplayArgs {
    /// Fixtures, or folders of them
    #[arg(required_unless_present = "all_stored", value_name = "FILE|DIR")]
    pub paths: Vec<PathBuf>,
    /// Replay under this agent instead of the shipped one that the fixture names; stored runs, instead
    /// of under their own rules
    #[arg(long, visible_alias = "spec", value_name = "NAME|FILE", conflicts_with = "as_recorded")]
    pub agent: Option<String>,
    /// Replay under the spec in the fixture
    #[arg(long, conflicts_with = "all_stored")]
    pub as_recorded: bool,
    /// Take every stored turn through the present machine
    #[arg(long, conflicts_with = "paths")]
    pub all_stored: bool,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct CoverageArgs {
    /// Fixtures, or folders of them
    #[arg(required = true, value_name = "FILE|DIR")]
    pub paths: Vec<PathBuf>,
    /// List the shipped agents without a fixture as well
    #[arg(long)]
    pub all: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct TraceArgs {
    /// A fixture or a journal
    #[arg(value_name = "FILE", required_unless_present = "thread")]
    pub file: Option<PathBuf>,
    /// The last turn of this thread, or the one of --turn
    #[arg(long, conflicts_with = "file")]
    pub thread: Option<ThreadId>,
    /// The turn of the thread, from 1
    #[arg(long, value_name = "N", requires = "thread", value_parser = turn())]
    pub turn: Option<u32>,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Print the trace lines as they are, one JSON object a line
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct DiagramArgs {
    /// A shipped agent, or a spec file [default: validated]
    #[arg(long, value_name = "NAME|FILE")]
    pub agent: Option<String>,
    /// The language of the drawing
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

#[derive(Clone, Copy, Default, ValueEnum)]
pub enum Format {
    #[default]
    Mermaid,
    Dot,
}

#[derive(Args)]
pub struct AgentsArgs {
    #[command(subcommand)]
    pub command: Option<AgentsCommand>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Subcommand)]
pub enum AgentsCommand {
    /// Print an agent's spec as it was written
    Show {
        /// A shipped agent, or a spec file
        #[arg(value_name = "NAME|FILE")]
        agent: String,
        /// Print the whole spec as JSON, its tool contracts and defaults included
        #[arg(long)]
        json: bool,
    },
}

#[derive(Args)]
pub struct VerifyArgs {
    /// A shipped agent, or a spec file [default: validated]
    #[arg(long, value_name = "NAME|FILE")]
    pub agent: Option<String>,
    /// Give up, undecided, where there are more states than this
    #[arg(long, value_name = "N", default_value_t = planwright::machine::explore::MOST_STATES)]
    pub max_states: usize,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Subcommand)]
pub enum FixtureCommand {
    /// Make a fixture out of a turn of a thread
    #[command(after_help = include_str!("../help/fixture_from.txt"))]
    From(FromArgs),
}

#[derive(Args)]
pub struct FromArgs {
    /// The thread
    pub thread: ThreadId,
    /// The turn, from 1 [default: the last]
    #[arg(long, value_name = "N", value_parser = turn())]
    pub turn: Option<u32>,
    /// Where it is written; stdout where no file is named
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write it in the place of the file that is there
    #[arg(long, requires = "output")]
    pub force: bool,
}
