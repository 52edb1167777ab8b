//! The door of clients that speak the Model Context Protocol: each agent is a tool, and so is the answer to what a
//! person is asked. It is `/mcp` of the service, or stdin and stdout of a process of its own.
//!
//! **Invariant:** nothing but messages of the protocol is written to stdout. A call is made for the key of its own
//! request, never for that of a session.

mod call;
mod http;
mod question;
mod server;
mod stdio;
mod tools;

pub(crate) use http::*;

use std::sync::Arc;

use rmcp::service::ServerInitializeError;

use crate::mcp::server::McpServer;
use crate::mcp::stdio::Stdio;
use crate::options::Options;
use crate::service::Shared;
use planwright_app::{Error, Result, WRITE_GRACE};

/// Answers the messages on stdin until it is closed or the process is told to stop, and what runs is brought to its
/// next record.
///
/// # Errors
/// Where the first message is none that begins a session.
pub(crate) async fn answer_stdin(
    service: &Shared,
    options: &Options,
    told_to_stop: impl Future<Output = ()>,
) -> Result<()> {
    let (stdio, closed) = Stdio::open(options.max_body_bytes);
    tokio::pin!(told_to_stop);
    let began = tokio::select! {
        began = rmcp::serve_server(McpServer::local(Arc::clone(service)), stdio) => began,
        () = &mut told_to_stop => return Ok(()),
    };
    let running = match began {
        Ok(running) => running,
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(did_not_begin(error)),
    };
    tokio::select! {
        () = closed.notified() => {}
        () = told_to_stop => {}
    }
    let end = running.cancellation_token();
    service.pool.stop(options.grace, WRITE_GRACE.max(options.grace)).await;
    // Forms are waited for no more.
    service.live.stop();
    // What the calls have come to is sent by then.
    end.cancel();
    let _ = running.waiting().await;
    Ok(())
}

fn did_not_begin(error: ServerInitializeError) -> Error {
    let why = match error {
        ServerInitializeError::ExpectedInitializeRequest(_) => "the first message is no request".to_owned(),
        ServerInitializeError::TransportError { .. } => "stdout cannot be written to".to_owned(),
        ServerInitializeError::InitializeFailed(refused) => refused.message.into_owned(),
        _ => "it gave up".to_owned(),
    };
    Error::unusable(format!("the client did not begin as the protocol says: {why}"))
        .hint("a program that speaks MCP starts this command; `planwright run` asks from a terminal")
}
