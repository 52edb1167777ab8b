//! A server that does wrong what it is told to, and its tools.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use planwright::contract::ToolContract;
use planwright::ports::{Tool, ToolCall, ToolError, ToolOutput};
use planwright::spec::{McpOverride, McpPin, McpServer, McpTool};
use planwright_http::Network;
use planwright_mcp::Server;
use serde_json::json;

/// The program of the server, with its arguments.
pub fn definition(fault: &str, state: Option<&Path>) -> McpServer {
    let state = state.map(|path| path.display().to_string());
    // The Korean name is no name of a tool of ours.
    let named = McpOverride { name: Some("read".to_owned()), ..McpOverride::default() };
    McpServer {
        command: Some(env!("CARGO_BIN_EXE_hostile-mcp-server").to_owned()),
        args: [fault.to_owned()].into_iter().chain(state).collect(),
        tool: [("읽기".to_owned(), named)].into(),
        ..McpServer::default()
    }
}

pub fn server_of(definition: &McpServer) -> Arc<Server> {
    Arc::new(Server::new("hostile", definition, &Network::default(), &|_| None).unwrap())
}

pub fn server(fault: &str, state: Option<&Path>) -> Arc<Server> {
    server_of(&definition(fault, state))
}

/// The contracts and pins of what a server lists now.
pub fn pin(definition: &McpServer, listed: &[McpTool]) -> (Vec<ToolContract>, BTreeMap<String, McpPin>) {
    let pinned = definition.contracts("hostile", listed).unwrap();
    let pins = pinned.iter().map(|(contract, pin)| (contract.name.clone(), pin.clone())).collect();
    (pinned.into_iter().map(|(contract, _)| contract).collect(), pins)
}

/// The tools of a server as it is now.
pub fn open(server: &Arc<Server>) -> Vec<Arc<dyn Tool>> {
    let (contracts, pins) = pin(server.definition(), &server.list().unwrap());
    server.open_tools(&contracts.iter().collect::<Vec<_>>(), &pins).unwrap()
}

/// Calls `hostile.echo`, within so long.
pub fn call_within(tools: &[Arc<dyn Tool>], text: &str, time: Duration) -> Result<ToolOutput, ToolError> {
    let echo = tools.iter().find(|tool| tool.contract().name == "hostile.echo").unwrap();
    let input = json!({"text": text});
    echo.call(&ToolCall { timeout: Some(time), ..ToolCall::new(&input, "run/step.1") })
}

pub fn call(tools: &[Arc<dyn Tool>], text: &str) -> Result<ToolOutput, ToolError> {
    call_within(tools, text, Duration::from_secs(30))
}

/// Expects that a decent call is answered.
#[track_caller]
pub fn expect_alive(tools: &[Arc<dyn Tool>]) {
    assert_eq!(call(tools, "안녕").unwrap().text, "안녕");
}
