//! The door of clients that speak the Model Context Protocol: each agent is a tool, and so is the answer to what a
//! person is asked. It is `/mcp` of the service, or stdin and stdout of a process of its own.
//!
//! **Invariant:** nothing but messages of the protocol is written to stdout. A call is made for the key of its own
//! request, never for that of a session.

mod call;
mod http;
mod question;
mod server;
mod tools;

pub(crate) use http::*;

use std::sync::Arc;

use rmcp::service::ServerInitializeError;
use rmcp::transport::async_rw::AsyncRwTransport;

use crate::mcp::server::McpServer;
use crate::options::Options;
use crate::service::Shared;
use planwright_app::{Error, Result};

/// Answers the messages on stdin until it is closed.
///
/// # Errors
/// Where the first message is none of the protocol.
pub(crate) async fn answer_stdin(service: &Shared, options: &Options) -> Result<()> {
    let stdio = AsyncRwTransport::new(tokio::io::stdin(), tokio::io::stdout());
    let stdio = stdio.with_max_line_length(options.max_body_bytes);
    match rmcp::serve_server(McpServer::local(Arc::clone(service)), stdio).await {
        Ok(running) => {
            let _ = running.waiting().await;
            Ok(())
        }
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(Error::caused("the client did not begin as the protocol says", error)
            .hint("a program that speaks MCP starts this command; `planwright run` asks from a terminal")),
    }
}
