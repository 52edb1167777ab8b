//! What may be typed behind `mcp`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::StoreArgs;
use planwright_app::{AgentChoice, Overrides};
use planwright_serve::LogLevel;

#[derive(Subcommand)]
pub enum McpCommand {
    /// Pin what servers say of their tools, in the file beside the one that names them
    #[command(after_help = include_str!("../help/mcp.txt"))]
    Pin {
        #[command(flatten)]
        servers: ServersArgs,
        /// Write nothing; fail where a server says something else than was pinned
        #[arg(long)]
        check: bool,
    },
    /// List the tools that servers offer, and what calling each may do
    #[command(after_help = include_str!("../help/mcp.txt"))]
    List {
        #[command(flatten)]
        servers: ServersArgs,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Be an MCP server on stdin and stdout: each agent is a tool
    #[command(after_help = include_str!("../help/mcp_serve.txt"))]
    Serve(Box<McpServeArgs>),
}

#[derive(Args)]
pub struct McpServeArgs {
    #[command(flatten)]
    pub choice: AgentChoice,
    #[command(flatten)]
    pub settings: Overrides,
    #[command(flatten)]
    pub store: StoreArgs,
    /// How much is logged on stderr, as JSON lines: off, error, info or debug
    #[arg(long, value_name = "LEVEL", default_value_t = LogLevel::Error)]
    pub log: LogLevel,
}

/// Which servers.
#[derive(Args)]
pub struct ServersArgs {
    /// The servers [default: all that the file names]
    #[arg(value_name = "SERVER")]
    pub servers: Vec<String>,
    /// The spec file that names them; without it the configuration file does
    #[arg(long, value_name = "FILE")]
    pub agent: Option<String>,
    /// The configuration file [env: PLANWRIGHT_CONFIG]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}
