//! What may be typed. Every option is explained here and nowhere else.

use clap::{ColorChoice, Parser, Subcommand};

use crate::exit::exit_codes;

mod checking;
mod running;
mod store;
mod thread;
mod threads;

pub use checking::{
    AgentsArgs, AgentsCommand, CoverageArgs, DiagramArgs, FixtureArgs, FixtureCommand, Format, FromArgs,
    ReplayArgs, TraceArgs, VerifyArgs,
};
use checking::{COVERAGE_EXAMPLES, FROM_EXAMPLES, REPLAY_EXAMPLES, TRACE_EXAMPLES};
pub use running::{AnswerArgs, ChatArgs, DoubtArgs, ResumeArgs, RunArgs, ShowArgs, WorldArgs};
pub use store::{ConfigArgs, StoreArgs};
pub use thread::{
    AnswerThreadArgs, CancelArgs, ForkArgs, ResolveArgs, ResumeThreadArgs, RulesArgs, ShowThreadArgs,
};
pub use threads::{
    CheckArgs, DeleteArgs, ListArgs, PageArgs, PruneArgs, ThreadsArgs, ThreadsCommand, WaitingArgs,
};
use threads::{THREADS_EXAMPLES, WAITING_EXAMPLES};

const EXAMPLES: &str = "\
Examples:
  planwright run \"How long is 5 km in miles?\"
  planwright run --docs ./notes \"What did we agree on about refunds?\"
  planwright run --base-url http://localhost:11434/v1 --model qwen3 \"상태기계란?\"
  echo \"12/4+9?\" | planwright run --json -
  planwright run --record fixtures/sum.json \"12/4+9?\"
  planwright replay fixtures/
  planwright trace fixtures/sum.json
  planwright chat --thread 보고서 --docs ./notes
  planwright waiting

Without a model, a key and a base URL, an offline model answers with words out of your documents.";

/// Runs an LLM agent on a finite state machine, and replays what it did.
#[derive(Parser)]
#[command(name = "planwright", version, after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{}", exit_codes()))]
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
    #[command(after_help = RUN_EXAMPLES, after_long_help = settings_help(RUN_EXAMPLES))]
    Run(Box<RunArgs>),
    /// Ask one question after another
    #[command(after_help = CHAT_EXAMPLES, after_long_help = settings_help(CHAT_EXAMPLES))]
    Chat(Box<ChatArgs>),
    /// Go on with an interrupted or waiting run from its journal
    #[command(after_help = RESUME_EXAMPLES)]
    Resume(Box<ResumeArgs>),
    /// List, show, answer, fork and delete the threads that are kept
    #[command(after_help = THREADS_EXAMPLES)]
    Threads(Box<ThreadsArgs>),
    /// List the runs that wait for people, the longest waiting first
    #[command(after_help = WAITING_EXAMPLES)]
    Waiting(WaitingArgs),
    /// Check fixtures: does each replay the same under the present rules?
    #[command(after_help = REPLAY_EXAMPLES)]
    Replay(ReplayArgs),
    /// Make a fixture out of a stored run
    #[command(after_help = FROM_EXAMPLES)]
    Fixture(FixtureArgs),
    /// Show the transitions of a recorded run as a table
    #[command(after_help = TRACE_EXAMPLES)]
    Trace(TraceArgs),
    /// Draw an agent's phases
    Diagram(DiagramArgs),
    /// List the shipped agents, or show one
    Agents(AgentsArgs),
    /// Explore every reachable state of an agent and check the invariants
    Verify(VerifyArgs),
    /// List the edges of each agent's machine that no fixture takes
    #[command(after_help = COVERAGE_EXAMPLES)]
    Coverage(CoverageArgs),
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
            Command::Coverage(args) => args.json,
            Command::Threads(args) => args.command.wants_json(),
            Command::Waiting(args) => args.json,
            Command::Fixture(_) | Command::Chat(_) | Command::Diagram(_) | Command::Agents(_) => false,
        }
    }
}

const RUN_EXAMPLES: &str = "\
Examples:
  planwright run \"How long is 5 km in miles?\"
  planwright run --docs ./notes --agent plan-then-execute \"환불 규정은?\"
  planwright run --journal run.jsonl \"...\"        then, after an interruption:  planwright resume run.jsonl
  planwright run --thread 보고서 \"...\"             kept with the thread's earlier turns; see planwright threads
  planwright run --record sum.json \"12/4+9?\"      later, with no network:  planwright run --replay sum.json
  planwright run --json \"12/4+9?\" | jq .answer
  planwright run --events \"12/4+9?\" | jq -r .type

The answer alone goes to stdout, everything else to stderr. Where a person is asked and nobody sits at the
terminal, the run ends waiting (exit code 5); `planwright resume --token TOKEN
--respond TEXT FILE` answers and goes on.";

const CHAT_EXAMPLES: &str = "\
Examples:
  planwright chat --docs ./notes
  planwright chat --thread 보고서        goes on where the thread stands, also in another process
  printf '%s\\n' \"12/4+9?\" \"7*6?\" | planwright chat

A line is a question, or the answer to the question that the agent has asked a person (`reject: REASON`
says no). /trace shows the transitions of the last run, /history what is remembered, /help the commands,
/quit ends; so does the end of the input. In a thread whose last question was stopped before its answer,
/resume goes on with it and /cancel ends it. The exit code is that of the last question.";

const SETTINGS: &str = "\
Settings come from flags, else from the environment (OPENAI_API_KEY, OPENAI_BASE_URL, PLANWRIGHT_MODEL),
else from the configuration file: --config FILE, else $PLANWRIGHT_CONFIG, else
$XDG_CONFIG_HOME/planwright/config.toml or ~/.config/planwright/config.toml (%APPDATA% on Windows).
Its keys: base_url, model, api_key_env (the name of a variable, never the key), agent, docs,
structured_output, call_timeout_seconds, connect_timeout_seconds, max_tries, wiki_url, search_url,
search_key_env, currency; tables: [prices.\"MODEL\"] with input, output and cached, for a million tokens each;
[cache] with folder, entries and bytes, for agents whose policy says `enable_cache`; [embeddings] with model,
base_url and api_key_env, for `hybrid_search`; contract and standard, the files that the contract tools read;
[persistence] with mode (memory or sqlite), path and durability (full or normal), where threads are kept.
Under sqlite every run is kept, under memory only one with --thread.";

fn settings_help(examples: &str) -> String {
    format!("{examples}\n\n{SETTINGS}\n\n{}", exit_codes())
}

const RESUME_EXAMPLES: &str = "\
Examples:
  planwright resume run.jsonl
  planwright resume --token TOKEN --respond \"좋습니다\" run.jsonl
  planwright resume --token TOKEN --approve run.jsonl
  planwright resume --token TOKEN --reject \"too expensive\" run.jsonl
  planwright resume --base-url http://localhost:8080/v1 --model qwen3 run.jsonl

The run goes on under the rules in its journal. What was answered is not asked again; a write that may
have happened is not repeated (exit code 4). --respond, --approve, --reject, --edit and --edit-input answer
the question that a waiting run has asked a person; an answer that does not fit is refused, and the run
waits on (exit code 5).";
