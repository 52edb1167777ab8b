//! What may be typed behind `serve`.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand};

use super::{StoreArgs, parse_until};
use planwright_app::{AgentChoice, Overrides, Result, WRITE_GRACE};
use planwright_serve::{LogLevel, Right};

#[derive(Args)]
pub struct ServeArgs {
    #[command(subcommand)]
    pub command: Option<ServeCommand>,
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8642")]
    pub listen: SocketAddr,
    /// The file of the keys [default: beside the store, such as threads.keys.json; one for all Postgres stores]
    #[arg(long, global = true, value_name = "FILE")]
    pub keys: Option<PathBuf>,
    /// Let anybody ask who reaches an address that is not loopback, though there are no keys
    #[arg(long)]
    pub allow_anonymous: bool,
    /// Let the pages of this origin read, such as https://chat.example; may be given again
    #[arg(long, value_name = "ORIGIN", value_parser = parse_origin)]
    pub allow_origin: Vec<String>,
    /// The most requests a minute that this process takes of a key, or of an address without keys [default: 600; on loopback without keys none]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_requests: Option<u32>,
    /// The most runs at once [default: twice the cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=512))]
    pub max_runs: Option<u32>,
    /// The most runs that wait in line; more are told to try later
    #[arg(long, value_name = "N", default_value_t = 256)]
    pub max_waiting: usize,
    /// The most bytes of a request's body
    #[arg(long, value_name = "N", default_value_t = 1 << 20)]
    pub max_body_bytes: usize,
    /// The most bytes of a reply to what only reads
    #[arg(long, value_name = "N", default_value_t = 16 << 20)]
    pub max_reply_bytes: u64,
    /// The most bytes of a question, or of what a person answers
    #[arg(long, value_name = "N", default_value_t = 64 << 10)]
    pub max_question_bytes: usize,
    /// How long a request's head may take to arrive, and then its body, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..))]
    pub arrive_seconds: u64,
    /// Take no answer without the token of what it answers, that of a step neither
    #[arg(long)]
    pub require_tokens: bool,
    /// How many seconds a stop waits for what models and tools are asked at the moment
    #[arg(long, value_name = "N", default_value_t = WRITE_GRACE.as_secs(), value_parser = clap::value_parser!(u64).range(0..=3600))]
    pub grace_seconds: u64,
    /// How many seconds the reader of a stream may take for what there is, before it is cut off
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub reader_seconds: u64,
    /// Leave turns whose process was killed as they are
    #[arg(long)]
    pub no_resume: bool,
    /// Only show threads: nobody may ask or answer, whatever their key, and nothing goes on
    #[arg(long)]
    pub read_only: bool,
    #[command(flatten)]
    pub choice: AgentChoice,
    #[command(flatten)]
    pub settings: Overrides,
    #[command(flatten)]
    pub store: StoreArgs,
    /// How much is logged on stderr, as JSON lines: off, error, info or debug [default: off on a terminal, error with
    /// --quiet, else info]
    #[arg(long, value_name = "LEVEL")]
    pub log: Option<LogLevel>,
    /// Log the text of questions and answers as well
    #[arg(long)]
    pub log_texts: bool,
    /// Say nothing on stderr but errors
    #[arg(long, short)]
    pub quiet: bool,
}

impl ServeArgs {
    /// How much is logged.
    pub fn log_level(&self) -> LogLevel {
        self.log.unwrap_or_else(|| match (self.quiet, std::io::stderr().is_terminal()) {
            (true, _) => LogLevel::Error,
            (false, true) => LogLevel::Off,
            (false, false) => LogLevel::Info,
        })
    }
    /// The file of the keys.
    pub fn key_file(&self) -> Result<PathBuf> {
        match &self.keys {
            Some(path) => Ok(path.clone()),
            None => self.store.place()?.key_file(),
        }
    }
}

#[derive(Subcommand)]
pub enum ServeCommand {
    /// Make, list and remove the keys that requests bring
    Keys {
        #[command(subcommand)]
        command: KeysCommand,
    },
}

#[derive(Subcommand)]
pub enum KeysCommand {
    /// Make a key and print it once; the file holds its SHA-256
    #[command(
        after_help = "Example:\n  planwright serve keys new --name alice --may run,answer --expires 90d"
    )]
    New {
        /// Its name, of a-z, 0-9, _ and -; its threads are alice:NAME for the command line
        #[arg(long)]
        name: String,
        /// What it may: run, answer, read, admin
        #[arg(long, value_name = "RIGHTS", value_delimiter = ',', required = true, value_parser = Right::from_str)]
        may: Vec<Right>,
        /// Give it the threads of this key instead of its own
        #[arg(long, value_name = "NAME")]
        threads_of: Option<String>,
        /// When it ends: after 90d, 12h, or with the beginning of a day such as 2027-01-31
        #[arg(long, value_name = "AGE|DATE", value_parser = parse_until)]
        expires: Option<u64>,
    },
    /// List the keys
    List {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Remove a key; a service that runs takes it no more
    Remove {
        /// Its name
        name: String,
    },
}

fn parse_origin(text: &str) -> Result<String, String> {
    let host = text.strip_prefix("https://").or(text.strip_prefix("http://"));
    let is_plain =
        |host: &str| !host.is_empty() && host.chars().all(|c| c.is_ascii_graphic() && !"/?#@*".contains(c));
    match host.is_some_and(is_plain) {
        true => Ok(text.to_owned()),
        false => Err("expected a scheme and a host, such as https://chat.example".to_owned()),
    }
}
