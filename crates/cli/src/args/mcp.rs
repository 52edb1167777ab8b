//! What may be typed behind `mcp`.

use clap::{Args, Subcommand};

use super::StoreArgs;
use planwright_app::{AgentChoice, Overrides};
use planwright_serve::LogLevel;

#[derive(Subcommand)]
pub enum McpCommand {
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
