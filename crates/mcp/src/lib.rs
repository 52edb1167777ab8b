//! Tools of MCP servers. Each is a tool like any other: blocking, under a contract, with outcomes of the usual kinds.
//!
//! A server's word counts for little. What it lists is compared with what was pinned before a call goes out, what it
//! returns is untrusted and bounded, and what it does wrong hurts its own calls alone. The async runtime of the
//! protocol stays on the server's own thread.
//!
//! **Invariant:** a program gets no variable that its owner has not listed, but for those without which no program
//! starts. No value of a variable stands in a spec, a log or an error.

mod connection;
mod diff;
mod ending;
mod explain;
mod http;
mod lines;
mod list;
mod log;
mod notices;
mod program;
mod result;
mod server;

pub use diff::diff_lines;
pub use ending::end_connections;
pub use server::{Server, is_secret_variable};
