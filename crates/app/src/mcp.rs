//! The MCP servers of a process: who defined each, and the one connection to it.
//!
//! **Invariant:** no program is started and no address asked that stands in a record alone. What a journal or a
//! fixture holds of a server is compared with what its owner wrote in a spec file or the configuration.

use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::config::variable;
use crate::error::{Error, Result};
use planwright::contract::ToolContract;
use planwright::ports::Tool;
use planwright::spec::{McpServer, Spec};
use planwright_http::Network;
use planwright_mcp::Server;

/// The servers of a process. Runs that name the same one share its connection.
#[derive(Default)]
pub(crate) struct McpServers {
    owned: Mutex<Vec<(String, McpServer)>>,
    open: Mutex<Vec<(String, Arc<Server>)>>,
}

fn lock<T>(list: &Mutex<T>) -> MutexGuard<'_, T> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

impl McpServers {
    /// Notes that an owner defined these servers: they may be used.
    pub fn own<'s>(&self, servers: impl IntoIterator<Item = (&'s String, &'s McpServer)>) {
        let mut owned = lock(&self.owned);
        for (name, server) in servers {
            let entry = (name.clone(), server.without_pins());
            if !owned.contains(&entry) {
                owned.push(entry);
            }
        }
    }

    /// Opens the pinned tools of all servers of a spec, which are asked side by side. `warnings` hears of those that
    /// are not waited for.
    pub fn open_tools<'s>(
        &self,
        spec: &'s Spec,
        network: &Network,
        warnings: &mut Vec<String>,
    ) -> Result<Vec<Arc<dyn Tool>>> {
        let (contracts, mut servers, mut tools) = (spec.all_tools(), Vec::new(), Vec::new());
        for (name, definition) in spec.all_mcp() {
            if !lock(&self.owned).contains(&(name.clone(), definition.without_pins())) {
                let problem = format!(
                    "the record names an MCP server {name:?} that neither the configuration nor the agent's file defines"
                );
                let hint = "name the file that defines it with --mcp FILE: no program is started because a record says so";
                return Err(Error::unusable(problem).hint(hint));
            }
            servers.push((name, definition, self.server(name, definition, network)?));
        }
        let opened = std::thread::scope(|scope| {
            let open = |&(_, definition, ref server): &(&String, &'s McpServer, Arc<Server>)| {
                let (server, pins) = (Arc::clone(server), &definition.pins);
                let contracts: Vec<&ToolContract> =
                    contracts.iter().filter(|tool| pins.contains_key(&tool.name)).copied().collect();
                scope.spawn(move || server.open_tools(&contracts, pins))
            };
            let asked: Vec<_> = servers.iter().map(open).collect();
            asked
                .into_iter()
                .map(|asked| asked.join().unwrap_or_else(|panic| resume_unwind(panic)))
                .collect::<Vec<_>>()
        });
        for ((name, _, server), opened) in servers.iter().zip(opened) {
            tools
                .extend(opened.map_err(|error| Error::unusable(format!("[mcp.{name}]: {}", error.message)))?);
            if !server.has_listed() {
                warnings.push(format!(
                    "[mcp.{name}]: the server is silent so far; a call of its tools waits for it"
                ));
            }
        }
        Ok(tools)
    }

    pub fn server(&self, name: &str, definition: &McpServer, network: &Network) -> Result<Arc<Server>> {
        let mut open = lock(&self.open);
        let is_same = |(known, server): &&(String, Arc<Server>)| {
            known == name && *server.definition() == definition.without_pins()
        };
        if let Some((_, server)) = open.iter().find(is_same) {
            return Ok(Arc::clone(server));
        }
        let find = |name: &str| variable(name).ok().flatten();
        let server = Server::new(name, definition, network, &find).map_err(Error::unusable)?;
        let server = Arc::new(server);
        open.push((name.to_owned(), Arc::clone(&server)));
        Ok(server)
    }
}
