//! What may be typed. Every option is explained here and nowhere else.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::style::Color;
use crate::driver::RecordMode;

const EXAMPLES: &str = "\
Examples:
  planwright run \"How long is 5 km in miles?\"
  planwright run --docs ./notes \"What did we agree on about refunds?\"
  planwright run --base-url http://localhost:11434/v1 --model qwen3 \"상태기계란?\"
  echo \"12/4+9?\" | planwright run --json -
  planwright run --record fixtures/sum.json \"12/4+9?\"
  planwright replay fixtures/
  planwright trace fixtures/sum.json

Without a model, a key and a base URL, an offline model answers with words out of your documents.";

/// Runs an LLM agent on a finite state machine, and replays what it did.
#[derive(Parser)]
#[command(name = "planwright", version, after_help = EXAMPLES, after_long_help = long_help())]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    /// When to use colour; NO_COLOR turns it off too
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub color: Color,
}

fn long_help() -> String {
    format!("{EXAMPLES}\n\n{}", super::exit::Exit::table())
}

#[derive(Subcommand)]
pub enum Command {
    /// Answer a question
    #[command(after_help = RUN_EXAMPLES, after_long_help = run_help())]
    Run(Box<RunArgs>),
    /// Go on with an interrupted run from its journal
    #[command(after_help = RESUME_EXAMPLES)]
    Resume(Box<ResumeArgs>),
    /// Check fixtures: does each replay the same under the present rules?
    #[command(after_help = REPLAY_EXAMPLES)]
    Replay(ReplayArgs),
    /// Show the transitions of a recorded run as a table
    Trace(TraceArgs),
    /// Draw an agent's phases
    Diagram(DiagramArgs),
    /// List the shipped agents, or show one
    Agents(AgentsArgs),
    /// Explore every reachable state of an agent and check the invariants
    Verify(VerifyArgs),
}

impl Command {
    /// Whether results are to be JSON.
    pub fn wants_json(&self) -> bool {
        match self {
            Command::Run(args) => args.show.json,
            Command::Resume(args) => args.show.json,
            Command::Replay(args) => args.json,
            Command::Trace(args) => args.json,
            Command::Verify(args) => args.json,
            Command::Diagram(_) | Command::Agents(_) => false,
        }
    }
}

const RUN_EXAMPLES: &str = "\
Examples:
  planwright run \"How long is 5 km in miles?\"
  planwright run --docs ./notes --agent plan-then-execute \"환불 규정은?\"
  planwright run --journal run.jsonl \"...\"        then, after an interruption:  planwright resume run.jsonl
  planwright run --record sum.json \"12/4+9?\"      later, with no network:  planwright run --replay sum.json
  planwright run --json \"12/4+9?\" | jq .answer

The answer alone goes to stdout, everything else to stderr.";

const SETTINGS: &str = "\
Settings come from flags, else from the environment (OPENAI_API_KEY, OPENAI_BASE_URL, PLANWRIGHT_MODEL),
else from the configuration file: --config FILE, else $PLANWRIGHT_CONFIG, else
$XDG_CONFIG_HOME/planwright/config.toml or ~/.config/planwright/config.toml (%APPDATA% on Windows).
Its keys: base_url, model, api_key_env (the name of a variable, never the key), agent, docs,
structured_output, call_timeout_seconds, connect_timeout_seconds, max_tries, wiki_url, search_url,
search_key_env.";

fn run_help() -> String {
    format!("{RUN_EXAMPLES}\n\n{SETTINGS}\n\n{}", super::exit::Exit::table())
}

const RESUME_EXAMPLES: &str = "\
Examples:
  planwright resume run.jsonl
  planwright resume --base-url http://localhost:8080/v1 --model qwen3 run.jsonl

The run goes on under the rules in its journal. What was answered is not asked again; a write that may
have happened is not repeated (exit code 4).";

const REPLAY_EXAMPLES: &str = "\
Examples:
  planwright replay fixtures/
  planwright replay --agent my-agent.toml fixtures/mine/*.json

Exit codes: 0 all replay the same, 1 some drift (the difference is shown), 2 some cannot be read.";

/// Which model, tools and documents.
#[derive(Args)]
pub struct WorldArgs {
    /// The model to ask [env: PLANWRIGHT_MODEL]
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// An OpenAI-compatible server, such as http://localhost:8080/v1 [env: OPENAI_BASE_URL]
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    /// The environment variable that holds the server's key [default: OPENAI_API_KEY]
    #[arg(long, value_name = "VARIABLE")]
    pub api_key_env: Option<String>,
    /// Answer with the offline model, whatever is configured
    #[arg(long, conflicts_with_all = ["model", "base_url", "api_key_env"])]
    pub offline: bool,
    /// The folder that the tool `docs` searches
    #[arg(long, value_name = "DIR")]
    pub docs: Option<PathBuf>,
    /// The configuration file [env: PLANWRIGHT_CONFIG]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// How a run is shown.
#[derive(Args)]
pub struct ShowArgs {
    /// Print one JSON object instead of the answer
    #[arg(long)]
    pub json: bool,
    /// Print the transitions as a table on stderr at the end
    #[arg(long)]
    pub trace: bool,
    /// Say nothing on stderr but errors
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Args)]
pub struct RunArgs {
    /// The question; - reads it from stdin
    #[arg(required_unless_present = "replay")]
    pub question: Option<String>,
    /// A shipped agent, or a spec file (with a `/` or ending in .toml) [default: validated]
    #[arg(long, value_name = "NAME|FILE")]
    pub agent: Option<String>,
    #[command(flatten)]
    pub world: WorldArgs,
    /// The tools a plan may name, out of those in the agent's spec
    #[arg(long, value_name = "A,B,…")]
    pub tools: Option<String>,
    /// How many new plans the run may try, instead of what the spec says
    #[arg(long, value_name = "N")]
    pub max_replans: Option<u32>,
    /// The time the models are told, for runs that repeat
    #[arg(long, value_name = "TEXT", conflicts_with = "replay")]
    pub now: Option<String>,
    /// Record the run to a fixture
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub record: Option<PathBuf>,
    /// What to do with the fixture of --record
    #[arg(long, value_enum, default_value_t, value_name = "MODE", requires = "record")]
    pub record_mode: Mode,
    /// Take every answer out of a fixture; ask nobody
    #[arg(long, value_name = "FILE")]
    pub replay: Option<PathBuf>,
    /// Write a journal, so that the run can be resumed
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub journal: Option<PathBuf>,
    #[command(flatten)]
    pub show: ShowArgs,
}

/// The record modes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Mode {
    /// Replay only; what was not recorded is an error
    None,
    /// Record where there is no fixture yet, else replay it
    #[default]
    Once,
    /// Replay what was recorded, record what is new
    NewEpisodes,
    /// Record everything anew
    All,
}

impl From<Mode> for RecordMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::None => RecordMode::None,
            Mode::Once => RecordMode::Once,
            Mode::NewEpisodes => RecordMode::NewEpisodes,
            Mode::All => RecordMode::All,
        }
    }
}

#[derive(Args)]
pub struct ResumeArgs {
    /// The journal
    #[arg(value_name = "FILE")]
    pub journal: PathBuf,
    #[command(flatten)]
    pub world: WorldArgs,
    #[command(flatten)]
    pub show: ShowArgs,
}

#[derive(Args)]
pub struct ReplayArgs {
    /// Fixtures, or folders of them
    #[arg(required = true, value_name = "FILE|DIR")]
    pub paths: Vec<PathBuf>,
    /// Replay under this agent instead of the shipped one that the fixture names
    #[arg(long, value_name = "NAME|FILE", conflicts_with = "as_recorded")]
    pub agent: Option<String>,
    /// Replay under the spec in the fixture
    #[arg(long)]
    pub as_recorded: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct TraceArgs {
    /// A fixture or a journal
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
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
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}
