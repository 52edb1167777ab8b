//! What may be typed. Every option is explained here, or in `planwright-app` where it holds the options, and nowhere
//! else; the longer texts are in `help/`.

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, RangedI64ValueParser, TypedValueParser};
use clap::{Args, ColorChoice, Parser, Subcommand, ValueEnum};

use planwright::driver::RecordMode;
use planwright::journal::{Durability, ThreadId};
use planwright_app::{AgentChoice, Error, Overrides, Result, StorePlace};

mod export;
mod mcp;
mod serve;
mod threads;
mod view;

pub use export::{ChromeArgs, ExportCommand, ExportedArgs, OtlpArgs};
pub use mcp::{McpCommand, McpServeArgs, ServersArgs};
pub use serve::{KeysCommand, ServeArgs, ServeCommand};
pub use threads::*;
pub use view::{CompareArgs, ExplainArgs, ViewArgs};

/// Runs an LLM agent on a finite state machine, and replays what it did.
#[derive(Parser)]
#[command(name = "planwright", version, after_help = include_str!("help/planwright.txt"))]
#[command(after_long_help = concat!(include_str!("help/planwright.txt"), "\n", include_str!("help/exit_codes.txt")))]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    /// When to use colour; NO_COLOR turns it off too
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub color: ColorChoice,
}

#[derive(Subcommand)]
pub enum Command {
    /// Answer a question
    #[command(after_help = include_str!("help/run.txt"), after_long_help = settings_help(include_str!("help/run.txt")))]
    Run(Box<RunArgs>),
    /// Ask one question after another
    #[command(after_help = include_str!("help/chat.txt"), after_long_help = settings_help(include_str!("help/chat.txt")))]
    Chat(Box<ChatArgs>),
    /// Go on with an interrupted or waiting run from its journal
    #[command(after_help = include_str!("help/resume.txt"))]
    Resume(Box<ResumeArgs>),
    /// List, show, answer, fork and delete the threads that are kept
    #[command(after_help = include_str!("help/threads.txt"))]
    Threads {
        #[command(flatten)]
        store: StoreArgs,
        #[command(subcommand)]
        command: ThreadsCommand,
    },
    /// Prepare a database for threads, or copy threads from one store to another
    #[command(after_help = include_str!("help/store.txt"))]
    Store {
        #[command(flatten)]
        store: StoreArgs,
        #[command(subcommand)]
        command: StoreCommand,
    },
    /// List the runs that wait for people, the longest waiting first
    #[command(after_help = include_str!("help/waiting.txt"))]
    Waiting {
        #[command(flatten)]
        store: StoreArgs,
        #[command(flatten)]
        page: PageArgs,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Answer questions over HTTP
    #[command(after_help = include_str!("help/serve.txt"))]
    Serve(Box<ServeArgs>),
    /// Speak the Model Context Protocol
    Mcp {
        #[command(subcommand)]
        command: McpCommand,
    },
    /// Show what the stored runs have spent
    #[command(after_help = include_str!("help/cost.txt"))]
    Cost(CostArgs),
    /// Check fixtures: does each replay the same under the present rules?
    #[command(after_help = include_str!("help/replay.txt"))]
    Replay(ReplayArgs),
    /// Make a fixture out of a stored run
    #[command(after_help = include_str!("help/fixture_from.txt"))]
    Fixture {
        #[command(flatten)]
        store: StoreArgs,
        #[command(subcommand)]
        command: FixtureCommand,
    },
    /// Show the transitions of a recorded run as a table
    #[command(after_help = include_str!("help/trace.txt"))]
    Trace(TraceArgs),
    /// Look at a run in a browser, or write it as one page that needs no server
    #[command(after_help = include_str!("help/view.txt"))]
    View(ViewArgs),
    /// Compare two runs: where they part, and how
    #[command(after_help = include_str!("help/compare.txt"))]
    Compare(CompareArgs),
    /// Say why a run did what it did: by what each call was allowed, who chose what was put into it, what was refused
    #[command(after_help = include_str!("help/explain.txt"))]
    Explain(ExplainArgs),
    /// Export stored runs as traces
    Export {
        #[command(subcommand)]
        command: ExportCommand,
    },
    /// Draw an agent's phases
    Diagram {
        /// A shipped agent, or a spec file [default: validated]
        #[arg(long, value_name = "NAME|FILE")]
        agent: Option<String>,
        /// The language of the drawing
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// List the shipped agents, or show one
    Agents {
        #[command(subcommand)]
        command: Option<AgentsCommand>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Explore every reachable state of an agent and check the invariants
    Verify {
        /// A shipped agent, or a spec file [default: validated]
        #[arg(long, value_name = "NAME|FILE")]
        agent: Option<String>,
        /// Give up, undecided, where there are more states than this
        #[arg(long, value_name = "N", default_value_t = planwright::machine::explore::MOST_STATES)]
        max_states: usize,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// List the edges of each agent's machine that no fixture takes
    #[command(after_help = include_str!("help/coverage.txt"))]
    Coverage {
        /// Fixtures, or folders of them
        #[arg(required = true, value_name = "FILE|DIR")]
        paths: Vec<PathBuf>,
        /// List the shipped agents without a fixture as well
        #[arg(long)]
        all: bool,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Print the completions of a shell
    #[command(
        after_help = "Example:\n  planwright completions fish > ~/.config/fish/completions/planwright.fish"
    )]
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print a page of the manual
    #[command(
        after_help = "Examples:\n  planwright man | man -l -\n  planwright man threads list | man -l -"
    )]
    Man {
        /// The command that it is about; the program where none is named
        command: Vec<String>,
    },
}

#[derive(Clone, Copy, Default, ValueEnum)]
pub enum Format {
    #[default]
    Mermaid,
    Dot,
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

fn settings_help(examples: &str) -> String {
    let (settings, codes) = (include_str!("help/settings.txt"), include_str!("help/exit_codes.txt"));
    format!("{examples}\n{settings}\n{codes}")
}

/// How a run is shown.
#[derive(Args)]
pub struct ShowArgs {
    /// Print one JSON object instead of the answer
    #[arg(long)]
    pub json: bool,
    /// Print what happens, as it happens: one JSON object a line, the answer in the last
    #[arg(long, conflicts_with = "json")]
    pub events: bool,
    /// Print the transitions as a table on stderr at the end
    #[arg(long)]
    pub trace: bool,
    /// Say nothing on stderr but errors, and what a person is asked
    #[arg(long, short)]
    pub quiet: bool,
    /// Show more on stderr: what the model thinks, what it says beside its calls, and longer results
    #[arg(long, short, conflicts_with = "quiet")]
    pub verbose: bool,
}

#[derive(Subcommand)]
pub enum StoreCommand {
    /// Make the tables in a Postgres database, or bring them to this version
    Migrate,
    /// Copy all threads to another store, and compare them record by record
    #[command(after_help = include_str!("help/store_copy.txt"))]
    Copy {
        /// The store to copy: an SQLite file, or postgres://USER@HOST/DATABASE
        from: PathBuf,
        /// The store to copy to; it is made if there is none
        to: PathBuf,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}

/// Where threads are kept.
#[derive(Clone, Args)]
pub struct StoreArgs {
    /// Where threads are kept: an SQLite file, or postgres://USER@HOST/DATABASE [env: PLANWRIGHT_STORE]
    #[arg(long, global = true, value_name = "PATH", help_heading = "Where threads are kept")]
    store: Option<PathBuf>,
    /// What a record that is kept survives [env: PLANWRIGHT_DURABILITY] [default: full]
    #[arg(long, global = true, value_name = "HOW", help_heading = "Where threads are kept")]
    #[arg(value_parser = durability())]
    durability: Option<Durability>,
    /// The configuration file [env: PLANWRIGHT_CONFIG]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

impl StoreArgs {
    /// The store at another place, which `--store` must not name as well.
    pub fn place_at(&self, path: &Path) -> Result<StorePlace> {
        if self.store.is_some() {
            let problem = "--store: expected two stores, FROM and TO, and found a third";
            return Err(Error::unusable(problem).hint("leave --store out"));
        }
        StorePlace::find(Some(path), self.durability, self.config.as_deref())
    }

    pub fn place(&self) -> Result<StorePlace> {
        StorePlace::find(self.store.as_deref(), self.durability, self.config.as_deref())
    }
}

fn durability() -> impl TypedValueParser<Value = Durability> {
    let values = values([
        ("full", "A loss of power"),
        ("normal", "The death of the process, but perhaps not of the machine"),
    ]);
    PossibleValuesParser::new(values).try_map(|text| text.parse::<Durability>())
}

/// The values that an option may have, each with its help.
fn values<const N: usize>(values: [(&'static str, &'static str); N]) -> [PossibleValue; N] {
    values.map(|(value, help)| PossibleValue::new(value).help(help))
}

/// A turn of a thread, from 1.
fn turn() -> RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..)
}

#[derive(Args)]
pub struct RunArgs {
    /// The question; - reads it from stdin
    #[arg(required_unless_present = "replay")]
    pub question: Option<String>,
    #[command(flatten)]
    pub choice: AgentChoice,
    #[command(flatten)]
    pub settings: Overrides,
    /// The time the models are told, for runs that repeat
    #[arg(long, value_name = "TEXT", conflicts_with = "replay")]
    pub now: Option<String>,
    /// The earlier turns, as a JSON list of {"role": "user" or "assistant", "content": TEXT}
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub history: Option<PathBuf>,
    /// Whose question it is, for the readers of the journal; no model is told
    #[arg(long, value_name = "NAME", conflicts_with = "replay")]
    pub session: Option<String>,
    /// Record the run to a fixture
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub record: Option<PathBuf>,
    /// What to do with the fixture of --record
    #[arg(long, value_parser = record_mode(), default_value = "once", value_name = "MODE", requires = "record")]
    pub record_mode: RecordMode,
    /// Take every answer out of a fixture; ask nobody
    #[arg(long, value_name = "FILE")]
    pub replay: Option<PathBuf>,
    /// Write a journal, so that the run can be resumed
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub journal: Option<PathBuf>,
    /// Keep the run as the next turn of this thread, which its agent may remember
    #[arg(long, conflicts_with_all = ["replay", "record", "journal", "history"])]
    pub thread: Option<ThreadId>,
    #[command(flatten)]
    pub store: StoreArgs,
    #[command(flatten)]
    pub show: ShowArgs,
}

fn record_mode() -> impl TypedValueParser<Value = RecordMode> {
    let modes = values([
        ("none", "Replay only; what was not recorded is an error"),
        ("once", "Record where there is no fixture yet, else replay it"),
        ("new_episodes", "Replay what was recorded, record what is new"),
        ("all", "Record everything anew"),
    ]);
    PossibleValuesParser::new(modes).map(|mode| match &*mode {
        "none" => RecordMode::None,
        "new_episodes" => RecordMode::NewEpisodes,
        "all" => RecordMode::All,
        _ => RecordMode::Once,
    })
}

#[derive(Args)]
pub struct ChatArgs {
    #[command(flatten)]
    pub choice: AgentChoice,
    #[command(flatten)]
    pub settings: Overrides,
    /// Keep the conversation in this thread, and go on where it stands
    #[arg(long)]
    pub thread: Option<ThreadId>,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Print the transitions of every run as a table on stderr
    #[arg(long)]
    pub trace: bool,
    /// Say nothing on stderr but errors
    #[arg(long, short)]
    pub quiet: bool,
    /// Show more on stderr: what the model thinks, what it says beside its calls, and longer results
    #[arg(long, short, conflicts_with = "quiet")]
    pub verbose: bool,
}

#[derive(Args)]
pub struct ResumeArgs {
    /// The journal
    #[arg(value_name = "FILE")]
    pub journal: PathBuf,
    #[command(flatten)]
    pub answer: AnswerArgs,
    #[command(flatten)]
    pub doubt: DoubtArgs,
    #[command(flatten)]
    pub settings: Overrides,
    /// The configuration file [env: PLANWRIGHT_CONFIG]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    #[command(flatten)]
    pub show: ShowArgs,
}

/// An answer, and to which question.
#[derive(Args)]
pub struct AnswerArgs {
    /// Answer the question that a waiting run has asked a person
    #[arg(long, value_name = "TEXT", group = "answer")]
    pub respond: Option<String>,
    /// Say yes to a plan or a call that the run has asked a person to approve
    #[arg(long, group = "answer")]
    pub approve: bool,
    /// Say yes to a call, with this input instead: a JSON value
    #[arg(long, value_name = "FILE", group = "answer")]
    pub edit_input: Option<PathBuf>,
    /// Say yes to these of several calls: positions such as 1,3, or a JSON list such as [1, {"position": 3, "input": …}]
    #[arg(long, value_name = "CALLS", group = "answer")]
    pub approve_calls: Option<String>,
    /// Say no to it, and why; the agent's policy says what follows
    #[arg(long, value_name = "REASON", group = "answer")]
    pub reject: Option<String>,
    /// Say yes, with these steps in place of the remaining ones, or of the plan: a JSON list of plan steps
    #[arg(long, value_name = "FILE", group = "answer")]
    pub edit: Option<PathBuf>,
    /// The token of what is answered; the answer is void for anything else
    #[arg(long, value_name = "TOKEN", requires = "answer")]
    pub token: Option<String>,
}

/// What became of a write that is in doubt.
#[derive(Clone, Args)]
pub struct DoubtArgs {
    /// Of a write in doubt: it happened, and the tool would have returned this
    #[arg(long, value_name = "OUTPUT", group = "answer")]
    pub happened: Option<String>,
    /// Of a write in doubt: it did not happen, and is done now
    #[arg(long, group = "answer")]
    pub did_not_happen: bool,
    /// Of a write in doubt: whatever happened, the run ends here
    #[arg(long, value_name = "REASON", group = "answer")]
    pub stop: Option<String>,
}
