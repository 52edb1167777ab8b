//! What may be typed to look at agents and at recorded runs.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::store::{ConfigArgs, StoreArgs, turn};
use planwright::journal::ThreadId;

pub const REPLAY_EXAMPLES: &str = "\
Examples:
  planwright replay fixtures/
  planwright replay --agent my-agent.toml fixtures/mine/*.json
  planwright replay --all-stored
  planwright replay --all-stored --spec mine.toml --store ./threads.db

--all-stored takes every turn of every thread through the present machine, and lists those that would now
take another path, with the first record that does not fit.

Exit codes: 0 all replay the same, 1 some drift (the difference is shown), 2 some cannot be read.";

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
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

pub const COVERAGE_EXAMPLES: &str = "\
Examples:
  planwright coverage fixtures/
  planwright coverage --json fixtures/ | jq '.agents[].missing'

Reachable edges are found by walking the machine under the agent's rules, taken ones by going through the
fixtures. A file coverage.toml in the folder may say why an edge is not taken:
  [[missing]]
  agent = \"validated\"        (or \"*\" for every agent)
  edge = \"EXECUTE --failed--> ERROR\"
  reason = \"only the deadline ends EXECUTE here\"

Exit codes: 0 every edge is taken or explained, 1 some are not (or a reason is stale), 2 unusable input.";

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

pub const TRACE_EXAMPLES: &str = "\
Examples:
  planwright trace fixtures/sum.json
  planwright trace run.jsonl
  planwright trace --thread 보고서 --turn 1";

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
    #[command(flatten)]
    pub config: ConfigArgs,
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

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
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
    #[arg(long, value_name = "N", value_parser = turn())]
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
