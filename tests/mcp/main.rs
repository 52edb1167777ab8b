//! Tools of MCP servers: what becomes a contract, what was pinned, and what a server can do wrong.

#[path = "../common/support.rs"]
mod support;

mod contracts;
mod faults;
mod http;
mod programs;
mod runs;
mod stage;
