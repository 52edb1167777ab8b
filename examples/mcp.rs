//! Tools of an MCP server in an agent. Without a server at hand, the program is its own: started with `serve`, it
//! speaks just enough of the protocol to tell the weather.
//!
//!     cargo run --example mcp

use std::error::Error;
use std::io::BufRead;
use std::sync::Arc;

use planwright::agents;
use planwright::prelude::*;
use planwright::spec::McpServer;
use planwright_http::Network;
use planwright_mcp::Server;
use serde_json::{Value, json};

const PLAN: &str = r#"{"goal": "the weather", "steps": [
    {"tool": "weather.today", "input": {"city": "Seoul"}}, {"tool": "final_answer", "input": "say it"}]}"#;

fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args().nth(1).as_deref() == Some("serve") {
        return serve();
    }
    let command = std::env::current_exe()?.to_str().map(str::to_owned);
    let definition = McpServer { command, args: vec!["serve".to_owned()], ..McpServer::default() };
    let server = Arc::new(Server::new("weather", &definition, &Network::default(), &|_| None)?);

    // `planwright mcp pin` writes this into a file, for a person to look at.
    let pins = [("weather".to_owned(), server.list()?)].into();
    let mut spec = agents::shipped("plan-then-execute").ok_or("no such agent")?.with_tools(|_| false);
    spec.mcp.insert("weather".to_owned(), definition);
    spec.take_pins(&pins)?;

    let tools = server.open_tools(&spec.all_tools(), &spec.mcp["weather"].pins)?;
    let model = ScriptedModel::replies([PLAN, r#"{"final": "It is sunny in Seoul."}"#]);
    let agent = tools.into_iter().fold(Agent::builder(spec).model(model), |agent, tool| agent.tool(tool));
    let run = agent.build()?.run("What is the weather in Seoul?")?;
    println!("{}", run.answer().ok_or("no answer")?);
    Ok(())
}

fn serve() -> Result<(), Box<dyn Error>> {
    for line in std::io::stdin().lock().lines() {
        let asked: Value = serde_json::from_str(&line?)?;
        let city = json!({"type": "object", "properties": {"city": {"type": "string"}}});
        let result = match asked["method"].as_str() {
            Some("initialize") => json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                "serverInfo": {"name": "weather", "version": "1"}}),
            Some("tools/list") => {
                json!({"tools": [{"name": "today", "description": "Tells today's weather in a city.",
                "inputSchema": city, "annotations": {"readOnlyHint": true}}]})
            }
            Some("tools/call") => json!({"content": [{"type": "text", "text": "sunny"}]}),
            _ => continue,
        };
        println!("{}", json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}));
    }
    Ok(())
}
