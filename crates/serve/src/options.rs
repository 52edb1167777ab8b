//! What a service bears, and who may ask.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::log::LogLevel;
use planwright_app::{AgentChoice, Settings, StorePlace};

/// What a service is made of.
pub struct Setup {
    /// Where its threads are kept.
    pub place: StorePlace,
    /// Where its answers come from.
    pub settings: Settings,
    /// The agent that answers where none is named.
    pub choice: AgentChoice,
    /// The configuration file that was named.
    pub config: Option<PathBuf>,
}

/// What a service bears.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The file of the keys. Without one anybody may ask.
    pub keys: PathBuf,
    /// Whether anybody may ask without keys who reaches an address that is not loopback.
    pub allow_anonymous: bool,
    /// The origins whose pages may read, such as `https://chat.example`.
    pub allow_origin: Vec<String>,
    /// The most requests a minute of a key, or of an address where there are no keys.
    pub max_requests: Option<u32>,
    /// How long the head of a request may take to arrive, and then its body.
    pub arrives_within: Duration,
    /// The most runs at once.
    pub max_runs: u32,
    /// The most runs that wait in line.
    pub max_waiting: usize,
    /// The most bytes of a request's body.
    pub max_body_bytes: usize,
    /// The most bytes of a reply to what only reads.
    pub max_reply_bytes: u64,
    /// The most bytes of a question or an answer.
    pub max_question_bytes: usize,
    /// Whether every answer must name the token of what it answers, that of a step too.
    pub require_tokens: bool,
    /// Whether threads are only shown: nobody may ask or answer.
    pub read_only: bool,
    /// Whether turns whose process was killed go on at the start.
    pub resume: bool,
    /// How long a stop waits for what is asked to be answered.
    pub grace: Duration,
    /// How long the reader of a stream may take for what there is, before it is cut off.
    pub reader_patience: Duration,
    /// How much is logged.
    pub log: LogLevel,
    /// Whether the log has the text of questions and answers.
    pub log_texts: bool,
}
