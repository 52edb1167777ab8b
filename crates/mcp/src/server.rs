//! A server as its tools see it: connected when needed, again within bounds, and compared with its pins before it is
//! called.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use planwright::contract::ToolContract;
use planwright::ports::{Secret, Tool, ToolCall, ToolError, ToolErrorKind, ToolOutput};
use planwright::spec::{McpPin, McpServer, McpTool};
use planwright_http::{Bare, Network, is_credential};
use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, RequestParamsMeta, ServerResult};
use serde_json::Value;

use crate::connection::{Connection, SLICE, Target};
use crate::diff::diff_lines;
use crate::list::list_tools;
use crate::log::Log;
use crate::program::Program;
use crate::result::read_result;

/// How often a server is connected to in a minute.
const MOST_STARTS: usize = 5;
const MINUTE: Duration = Duration::from_secs(60);
/// The longest time of a call without a time-out of its own.
const TIME: Duration = Duration::from_secs(30);

/// An MCP server. What shares it shares one connection, which is made when it is first needed.
pub struct Server {
    name: String,
    definition: McpServer,
    target: Target,
    secrets: Vec<Secret>,
    log: Arc<Log>,
    start_time: Duration,
    /// Held while a connection is opened: the state stays free meanwhile.
    opening: Mutex<()>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    connection: Option<Arc<Connection>>,
    starts: Vec<Instant>,
}

/// Whether the value of a variable of this name is a key.
pub fn is_secret_variable(name: &str) -> bool {
    is_credential(name) || name.to_ascii_lowercase().contains("pass")
}

impl Server {
    /// Resolves where a server is, and the variables that it is given. `variable` looks one up. Nothing is started.
    ///
    /// # Errors
    /// Names the variable that is not set, or what of an address cannot be used.
    pub fn new(
        name: &str,
        definition: &McpServer,
        network: &Network,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, String> {
        let find = |variable_name: &String| {
            variable(variable_name).ok_or_else(|| {
                format!("the environment variable {variable_name}, named by [mcp.{name}], is not set")
            })
        };
        let (target, secrets) = match (&definition.command, &definition.url) {
            (Some(command), None) => {
                let pair = |name: &String| Ok((name.clone(), find(name)?));
                let env = definition.env.iter().map(pair).collect::<Result<Vec<_>, String>>()?;
                let secrets = env.iter().filter(|(name, _)| is_secret_variable(name));
                let secrets = secrets.map(|(_, value)| Secret::new(value)).collect();
                let env = env.into_iter().map(|(name, value)| (name, value.into())).collect();
                let (command, args) = (command.clone(), definition.args.clone());
                (Target::Program(Program { command, args, env }), secrets)
            }
            (None, Some(url)) => {
                let token = definition.bearer_token_env.as_ref().map(find).transpose()?.map(Secret::new);
                let pair =
                    |(header, name): (&String, &String)| Ok((header.clone(), Secret::new(find(name)?)));
                let headers = definition.headers.iter().map(pair).collect::<Result<Vec<_>, String>>()?;
                let server = Bare::new(url, token.as_ref(), &headers, network);
                let server = server.map_err(|problem| format!("[mcp.{name}]: {problem}"))?;
                let secrets = server.secrets();
                (Target::Address(Box::new(server)), secrets)
            }
            _ => return Err(format!("[mcp.{name}]: expected either `command` or `url`")),
        };
        let log = Arc::new(Log::new(name, secrets.clone()));
        let (name, definition) = (name.to_owned(), definition.without_pins());
        let (opening, state) = (Mutex::default(), Mutex::default());
        Ok(Server { name, definition, target, secrets, log, start_time: MINUTE, opening, state })
    }

    /// Sets how long the server may take to begin; a minute else.
    #[must_use]
    pub fn start_time(self, start_time: Duration) -> Self {
        Server { start_time, ..self }
    }

    /// The server as its owner wrote it.
    pub fn definition(&self) -> &McpServer {
        &self.definition
    }

    /// The keys that the server is given.
    pub fn secrets(&self) -> Vec<Secret> {
        self.secrets.clone()
    }

    /// Asks the server for its tools.
    ///
    /// # Errors
    /// Where it cannot be asked, or its list is none or too long.
    pub fn list(&self) -> Result<Vec<McpTool>, ToolError> {
        let connection = self.connect(&|| false)?;
        list_tools(&connection, &|| false).map(|listed| listed.to_vec())
    }

    /// Opens the pinned tools among these contracts, after a look whether the server still says what was pinned.
    ///
    /// # Errors
    /// Where it cannot be asked, or says something else: the difference is shown.
    pub fn open_tools(
        self: &Arc<Self>,
        contracts: &[&ToolContract],
        pins: &BTreeMap<String, McpPin>,
    ) -> Result<Vec<Arc<dyn Tool>>, ToolError> {
        let pinned = contracts.iter().filter_map(|contract| Some((*contract, pins.get(&contract.name)?)));
        let tools: Vec<PinnedTool> = pinned
            .map(|(contract, pin)| PinnedTool {
                server: Arc::clone(self),
                contract: contract.clone(),
                pin: pin.clone(),
            })
            .collect();
        let connection = self.connect(&|| false)?;
        let listed = list_tools(&connection, &|| false)?;
        let changed: Vec<String> = tools.iter().filter_map(|tool| tool.find_change(&listed)).collect();
        match changed.is_empty() {
            true => Ok(tools.into_iter().map(|tool| Arc::new(tool) as Arc<dyn Tool>).collect()),
            false => {
                let problem = "the server says something else than was pinned; `planwright mcp pin` pins what it \
                               says now";
                Err(refuse_changed(format!("{problem}\n{}", changed.join("\n"))))
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open_connection(&self) -> Option<Arc<Connection>> {
        self.state().connection.clone().filter(|connection| !connection.is_closed())
    }

    /// The connection. If there is none or it has ended, a new one is opened.
    fn connect(&self, stop: &dyn Fn() -> bool) -> Result<Arc<Connection>, ToolError> {
        if let Some(connection) = self.open_connection() {
            return Ok(connection);
        }
        let _opening = loop {
            match self.opening.try_lock() {
                Ok(opening) => break opening,
                Err(TryLockError::Poisoned(opening)) => break opening.into_inner(),
                Err(TryLockError::WouldBlock) if stop() => return Err(Connection::stopped()),
                Err(TryLockError::WouldBlock) => std::thread::sleep(SLICE),
            }
        };
        if let Some(connection) = self.open_connection() {
            return Ok(connection);
        }
        let ended = self.state().connection.take();
        // Waits for the end of its thread.
        drop(ended);
        self.note_start()?;
        let connection = Arc::new(Connection::open(&self.target, &self.log, self.start_time, stop)?);
        self.state().connection = Some(Arc::clone(&connection));
        Ok(connection)
    }

    /// Notes that the server is started once more, within bounds.
    fn note_start(&self) -> Result<(), ToolError> {
        let starts = &mut self.state().starts;
        starts.retain(|start| start.elapsed() < MINUTE);
        if starts.len() >= MOST_STARTS {
            let message =
                format!("the server ended {MOST_STARTS} times within a minute{}", self.log.last_words());
            return Err(ToolError::new(ToolErrorKind::Connection, message).did_not_happen());
        }
        starts.push(Instant::now());
        Ok(())
    }
}

fn refuse_changed(message: String) -> ToolError {
    ToolError::new("changed", message).did_not_happen()
}

/// A tool of a server, under the contract that a planner was shown.
struct PinnedTool {
    server: Arc<Server>,
    contract: ToolContract,
    pin: McpPin,
}

impl PinnedTool {
    /// The one tool of this name, if the server lists it.
    fn find_in<'l>(&self, listed: &'l [McpTool]) -> Option<&'l McpTool> {
        let mut same_name = listed.iter().filter(|listed| listed.name == self.pin.tool);
        same_name.next().filter(|_| same_name.next().is_none())
    }

    /// Whether the server lists the tool as it was pinned.
    fn is_as_pinned(&self, listed: &[McpTool]) -> bool {
        self.find_in(listed).is_some_and(|now| now.digest() == self.pin.digest)
    }

    /// How the tool differs from what was pinned, if it does. It is for the owner: a model must not read it.
    fn find_change(&self, listed: &[McpTool]) -> Option<String> {
        let (name, tool) = (&self.contract.name, &self.pin.tool);
        if self.is_as_pinned(listed) {
            return None;
        }
        let Some(now) = self.find_in(listed) else {
            return Some(format!(
                "{name}: expected one tool {tool:?} in the server's list, found none or two"
            ));
        };
        let owner = self.server.definition.tool.get(tool).cloned().unwrap_or_default();
        let text = |contract: &ToolContract| {
            let (input, effect) = (format!("{:#}", contract.input), contract.effect);
            let (idempotent, approval) = (contract.is_idempotent(), contract.needs_approval);
            let output = contract.output.as_ref().map_or_else(String::new, |output| format!("{output:#}\n"));
            format!(
                "{}\n{input}\n{output}effect {effect}, idempotent {idempotent}, approval {approval}",
                contract.description
            )
        };
        let difference = match now.contract(&self.server.name, &owner) {
            Ok(contract) => diff_lines(&text(&self.contract), &text(&contract)),
            Err(error) => vec![error.to_string()],
        };
        let unseen = "what it says of its effect changed".to_owned();
        let difference = if difference.is_empty() { vec![unseen] } else { difference };
        Some(format!("{name}:\n  {}", difference.join("\n  ")))
    }

    /// Calls the tool over the connection whose list was compared.
    fn call_over(&self, connection: &Connection, call: &ToolCall<'_>) -> Result<ToolOutput, ToolError> {
        let (stop, begun) = (|| call.is_abandoned(), Instant::now());
        let Value::Object(arguments) = call.input.clone() else {
            return Err(ToolError::input(format!("expected an object, found {}", call.input)));
        };
        if !self.is_as_pinned(&list_tools(connection, &stop)?) {
            let name = &self.contract.name;
            let hint = "`planwright mcp pin --check` shows how";
            return Err(refuse_changed(format!("{name} has changed since it was pinned; {hint}")));
        }
        let mut asked = CallToolRequestParams::new(self.pin.tool.clone()).with_arguments(arguments);
        if let Some(trace) = &call.trace {
            asked.set_traceparent(&trace.to_string());
        }
        let asked = ClientRequest::CallToolRequest(CallToolRequest::new(asked));
        let left = call.timeout.unwrap_or(TIME).saturating_sub(begun.elapsed());
        match connection.ask(asked, left, &stop)? {
            ServerResult::CallToolResult(result) => read_result(result, call.once),
            ServerResult::InputRequiredResult(_) => {
                let problem = "the server asks for more input, which only a person could give";
                Err(ToolError::new(ToolErrorKind::Response, problem))
            }
            _ => Err(ToolError::new(
                ToolErrorKind::Response,
                "expected the result of a call, found another answer",
            )),
        }
    }
}

impl Tool for PinnedTool {
    fn contract(&self) -> ToolContract {
        self.contract.clone()
    }

    /// Calls the tool. If the connection turns out to have ended before the call, the call is made over a new one.
    fn call(&self, call: &ToolCall<'_>) -> Result<ToolOutput, ToolError> {
        let stop = || call.is_abandoned();
        let connection = self.server.connect(&stop)?;
        match self.call_over(&connection, call) {
            Err(error)
                if error.kind == ToolErrorKind::Connection
                    && !error.may_have_happened()
                    && connection.is_closed() =>
            {
                drop(connection);
                self.call_over(&*self.server.connect(&stop)?, call)
            }
            result => result,
        }
    }

    fn secrets(&self) -> Vec<Secret> {
        self.server.secrets()
    }
}
