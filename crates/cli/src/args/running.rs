//! What may be typed where an agent runs.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::store::{ConfigArgs, StoreArgs};
use crate::indexing::show_progress;
use planwright::driver::RecordMode;
use planwright::journal::ThreadId;
use planwright::spec::Money;
use planwright_app::{AgentChoice, Overrides, Result, Settings};

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
    /// The contract that the contract tools read; a short example where none is named
    #[arg(long, value_name = "FILE")]
    pub contract: Option<PathBuf>,
    /// The standard contract to compare it with; a short example where none is named
    #[arg(long, value_name = "FILE")]
    pub standard: Option<PathBuf>,
    /// Ask the model anew, also where the agent's policy would answer from the cache
    #[arg(long)]
    pub no_cache: bool,
    #[command(flatten)]
    pub config: ConfigArgs,
}

impl WorldArgs {
    pub fn settings(&self) -> Result<Settings> {
        Settings::resolve(&Overrides {
            model: self.model.clone(),
            base_url: self.base_url.clone(),
            api_key_env: self.api_key_env.clone(),
            offline: self.offline,
            docs: self.docs.clone(),
            contract: self.contract.clone(),
            standard: self.standard.clone(),
            no_cache: self.no_cache,
            config: self.config.config.clone(),
        })
        .map(|settings| settings.on_index_progress(show_progress()))
    }
}

/// Which agent, and its limits.
#[derive(Args)]
pub struct AgentArgs {
    /// A shipped agent, or a spec file (with a `/` or ending in .toml) [default: validated]
    #[arg(long, value_name = "NAME|FILE")]
    pub agent: Option<String>,
    /// The tools a plan may name, out of those in the agent's spec
    #[arg(long, value_name = "A,B,…")]
    pub tools: Option<String>,
    /// How many new plans a run may try, instead of what the spec says
    #[arg(long, value_name = "N")]
    pub max_replans: Option<u32>,
    /// Most tokens of a run, read and written together
    #[arg(long, value_name = "N")]
    pub max_tokens: Option<u64>,
    /// Most money of a run, by the prices in the configuration file or the spec
    #[arg(long, value_name = "AMOUNT", value_parser = amount)]
    pub max_cost: Option<Money>,
}

impl AgentArgs {
    pub fn choice(&self) -> AgentChoice {
        AgentChoice {
            agent: self.agent.clone(),
            tools: self.tools.clone(),
            max_replans: self.max_replans,
            max_tokens: self.max_tokens,
            max_cost: self.max_cost,
        }
    }
}

fn amount(text: &str) -> Result<Money, String> {
    serde_json::from_value(serde_json::Value::from(text)).map_err(|error| error.to_string())
}

/// How a run is shown.
#[derive(Args, Clone)]
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
}

#[derive(Args)]
pub struct RunArgs {
    /// The question; - reads it from stdin
    #[arg(required_unless_present = "replay")]
    pub question: Option<String>,
    #[command(flatten)]
    pub of: AgentArgs,
    #[command(flatten)]
    pub world: WorldArgs,
    /// The time the models are told, for runs that repeat
    #[arg(long, value_name = "TEXT", conflicts_with = "replay")]
    pub now: Option<String>,
    /// The earlier turns, as a JSON list of {"role": "user" or "assistant", "content": TEXT}
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub history: Option<PathBuf>,
    /// Whose question it is, for whoever reads the journal; no model is told
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
    const MODES: [(&str, RecordMode, &str); 4] = [
        ("none", RecordMode::None, "Replay only; what was not recorded is an error"),
        ("once", RecordMode::Once, "Record where there is no fixture yet, else replay it"),
        ("new_episodes", RecordMode::NewEpisodes, "Replay what was recorded, record what is new"),
        ("all", RecordMode::All, "Record everything anew"),
    ];
    PossibleValuesParser::new(MODES.map(|(name, _, help)| PossibleValue::new(name).help(help))).map(|text| {
        let mode = MODES.into_iter().find(|(name, ..)| *name == text);
        mode.map_or(RecordMode::Once, |(_, mode, _)| mode)
    })
}

#[derive(Args)]
pub struct ChatArgs {
    #[command(flatten)]
    pub of: AgentArgs,
    #[command(flatten)]
    pub world: WorldArgs,
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
    pub world: WorldArgs,
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
    /// Say no to it, and why; the agent's policy says what follows
    #[arg(long, value_name = "REASON", group = "answer")]
    pub reject: Option<String>,
    /// Say yes, with these steps in place of the remaining ones, or of the plan: a JSON list of plan
    /// steps
    #[arg(long, value_name = "FILE", group = "answer")]
    pub edit: Option<PathBuf>,
    /// The token of what is answered; the answer is void for anything else
    #[arg(long, value_name = "TOKEN", requires = "answer")]
    pub token: Option<String>,
}

/// What became of a write that is in doubt.
#[derive(Args)]
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
