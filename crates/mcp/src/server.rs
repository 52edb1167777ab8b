//! A server as its tools see it: connected when needed, again within bounds, and compared with its pins before it is
//! called.

use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use planwright::contract::ToolContract;
use planwright::driver::MIN_SECRET_BYTES;
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
/// How long the beginning of a run is held up by a server that is silent.
const PATIENCE: Duration = Duration::from_secs(5);
/// What a variable holds that is no key, whatever its name speaks of.
const SWITCHES: [&str; 9] = ["0", "1", "true", "false", "yes", "no", "on", "off", "none"];

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

/// Refuses a key that is too short to be kept out of what is written down. The longest part of a value counts: the
/// others are words such as `Bearer`.
fn check_length(server: &str, variable: &str, value: &str) -> Result<(), String> {
    if value.split([' ', ';', ',']).any(|part| part.len() >= MIN_SECRET_BYTES) {
        return Ok(());
    }
    Err(format!(
        "the environment variable {variable}, named by [mcp.{server}]: expected a key of at least \
         {MIN_SECRET_BYTES} bytes, found a shorter one, which could not be told from other text and would be \
         shown; what is no key can be an argument: command = \"env\", args = [\"NAME=value\", …]"
    ))
}

impl Server {
    /// Resolves where a server is, and the variables that it is given. `variable` looks one up. Nothing is started.
    ///
    /// # Errors
    /// Names the variable that is not set or holds too short a key, or what of an address cannot be used.
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
        let find_key = |variable_name: &String| {
            let value = find(variable_name)?;
            check_length(name, variable_name, &value).map(|()| Secret::new(value))
        };
        let (target, secrets) = match (&definition.command, &definition.url) {
            (Some(command), None) => {
                let pair = |name: &String| Ok((name.clone(), find(name)?));
                let env = definition.env.iter().map(pair).collect::<Result<Vec<_>, String>>()?;
                let is_key = |(name, value): &&(String, String)| {
                    is_secret_variable(name) && !SWITCHES.contains(&&*value.trim().to_ascii_lowercase())
                };
                let secrets = env.iter().filter(is_key).map(|(name, _)| find_key(name));
                let secrets = secrets.collect::<Result<_, String>>()?;
                let env = env.into_iter().map(|(name, value)| (name, value.into())).collect();
                let (command, args) = (command.clone(), definition.args.clone());
                (Target::Program(Program { command, args, env }), secrets)
            }
            (None, Some(url)) => {
                let token = definition.bearer_token_env.as_ref().map(find_key).transpose()?;
                let pair = |(header, name): (&String, &String)| {
                    let value =
                        if is_credential(header) { find_key(name) } else { find(name).map(Secret::new) };
                    Ok((header.clone(), value?))
                };
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

    /// Opens the pinned tools among these contracts, after a look whether the server still says what was pinned. A
    /// server that is silent for five seconds is not waited for: it is compared at the first call, which waits.
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
        let listed = self.list_soon()?;
        let changed = |listed: Arc<Vec<McpTool>>| {
            tools.iter().filter_map(|tool| tool.find_change(&listed)).collect::<Vec<_>>()
        };
        let changed = listed.map_or_else(Vec::new, changed);
        match changed.is_empty() {
            true => Ok(tools.into_iter().map(|tool| Arc::new(tool) as Arc<dyn Tool>).collect()),
            false => {
                let problem = "the server says something else than was pinned; `planwright mcp pin` pins what it \
                               says now";
                Err(refuse_changed(format!("{problem}\n{}", changed.join("\n"))))
            }
        }
    }

    /// What the server lists, unless it takes longer than a run is held up. It is waited for on a thread of its own,
    /// as long as anybody holds the server.
    fn list_soon(self: &Arc<Self>) -> Result<Option<Arc<Vec<McpTool>>>, ToolError> {
        let (server, (sender, listed)) = (Arc::clone(self), channel());
        let list = move || {
            let stop = || Arc::strong_count(&server) == 1;
            let listed = server.connect(&stop).and_then(|connection| list_tools(&connection, &stop));
            let _ = sender.send(listed);
        };
        let thread = std::thread::Builder::new().name("planwright-mcp-list".to_owned()).spawn(list);
        thread.map_err(|error| {
            let message = format!("no thread to ask the server: {error}");
            ToolError::new(ToolErrorKind::Resources, message).did_not_happen()
        })?;
        listed.recv_timeout(PATIENCE).ok().transpose()
    }

    /// Whether the server has said which tools it has, and lives.
    pub fn has_listed(&self) -> bool {
        self.open_connection().is_some_and(|connection| connection.known_list().is_some())
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
                "{}\n{input}\n{output}effect {effect}, idempotent {idempotent}, approval {approval}\n\
                 egress {:?}, grave {}",
                contract.description, contract.egress, contract.grave
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
