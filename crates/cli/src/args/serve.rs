//! What may be typed behind `serve`.

use std::net::SocketAddr;

use clap::Args;

use super::StoreArgs;
use planwright_app::{AgentChoice, Overrides};

#[derive(Args)]
pub struct ServeArgs {
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8642")]
    pub listen: SocketAddr,
    /// Let anybody ask who reaches an address that is not loopback
    #[arg(long)]
    pub allow_anonymous: bool,
    /// The most runs at once [default: twice the cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=512))]
    pub max_runs: Option<u32>,
    /// The most runs that wait in line; more are told to try later
    #[arg(long, value_name = "N", default_value_t = 256)]
    pub max_waiting: usize,
    /// The most bytes of a request's body
    #[arg(long, value_name = "N", default_value_t = 1 << 20)]
    pub max_body_bytes: usize,
    /// Take no answer without the token of what it answers, that of a step neither
    #[arg(long)]
    pub require_tokens: bool,
    /// How many seconds the reader of a stream may take for what there is, before it is cut off
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub reader_seconds: u64,
    /// Leave turns whose process was killed as they are
    #[arg(long)]
    pub no_resume: bool,
    #[command(flatten)]
    pub choice: AgentChoice,
    #[command(flatten)]
    pub settings: Overrides,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Say nothing on stderr but errors
    #[arg(long, short)]
    pub quiet: bool,
}
