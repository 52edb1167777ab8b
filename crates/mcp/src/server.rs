//! A server as its tools see it: connected when needed, again within bounds, and compared with its pins before it is
//! called.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use planwright::contract::ToolContract;
use planwright::ports::{Secret, Tool, ToolCall, ToolError, ToolErrorKind, ToolOutput};
use planwright::spec::{McpHints, McpPin, McpServer, McpTool};
use planwright_http::{Bare, Network, is_credential};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, ListToolsRequest, PaginatedRequestParams,
    RequestParamsMeta, ServerResult,
};
use serde_json::Value;

use crate::connection::{Connection, Target};
use crate::diff::diff_lines;
use crate::log::Log;
use crate::program::Program;
use crate::result::read_result;

/// How often a server is connected to in a minute.
const MOST_STARTS: usize = 5;
const MINUTE: Duration = Duration::from_secs(60);
/// The longest time of a list of tools, and of a call without a time-out of its own.
const TIME: Duration = Duration::from_secs(30);
/// Most pages of a list of tools, and most tools on all of them.
const MOST_PAGES: usize = 50;
const MOST_TOOLS: usize = 1_000;

/// An MCP server. What shares it shares one connection, which is made when it is first needed.
pub struct Server {
    name: String,
    definition: McpServer,
    target: Target,
    secrets: Vec<Secret>,
    log: Arc<Log>,
    start_time: Duration,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    connection: Option<Arc<Connection>>,
    starts: Vec<Instant>,
    /// What the server lists, and when it last did.
    listed: Option<(Arc<Vec<McpTool>>, Instant)>,
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
        let is_secret = |name: &str| is_credential(name) || name.to_ascii_lowercase().contains("pass");
        let (target, secrets) = match (&definition.command, &definition.url) {
            (Some(command), None) => {
                let pair = |name: &String| Ok((name.clone(), find(name)?));
                let env = definition.env.iter().map(pair).collect::<Result<Vec<_>, String>>()?;
                let secrets = env.iter().filter(|(name, _)| is_secret(name));
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
        Ok(Server { name, definition, target, secrets, log, start_time: MINUTE, state: Mutex::default() })
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
        self.listed(&|| false).map(|listed| listed.to_vec())
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
        let listed = self.listed(&|| false)?;
        let changed: Vec<String> = tools.iter().filter_map(|tool| tool.find_change(&listed)).collect();
        match changed.is_empty() {
            true => Ok(tools.into_iter().map(|tool| Arc::new(tool) as Arc<dyn Tool>).collect()),
            false => Err(refuse_changed(&changed.join("\n"))),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection; a new one where there is none or it has ended.
    fn connect(&self) -> Result<Arc<Connection>, ToolError> {
        let mut state = self.state();
        if let Some(connection) = state.connection.as_ref().filter(|connection| !connection.is_closed()) {
            return Ok(Arc::clone(connection));
        }
        state.starts.retain(|start| start.elapsed() < MINUTE);
        if state.starts.len() >= MOST_STARTS {
            let message =
                format!("the server ended {MOST_STARTS} times within a minute{}", self.log.last_words());
            return Err(ToolError::new(ToolErrorKind::Connection, message).did_not_happen());
        }
        state.starts.push(Instant::now());
        (state.listed, state.connection) = (None, None);
        let connection = Arc::new(Connection::open(&self.target, &self.log, self.start_time)?);
        state.connection = Some(Arc::clone(&connection));
        Ok(connection)
    }

    /// What the server lists. It is asked again after a minute, after a new start, and once it says that its tools
    /// have changed.
    fn listed(&self, stop: &dyn Fn() -> bool) -> Result<Arc<Vec<McpTool>>, ToolError> {
        let connection = self.connect()?;
        let is_new = |at: &Instant| at.elapsed() < MINUTE;
        let known = self.state().listed.clone().filter(|(_, at)| is_new(at));
        if let (false, Some((listed, _))) = (connection.take_change(), known) {
            return Ok(listed);
        }
        let listed = Arc::new(list_tools(&connection, stop).map_err(ToolError::did_not_happen)?);
        self.state().listed = Some((Arc::clone(&listed), Instant::now()));
        Ok(listed)
    }
}

/// Reads all pages of the list of tools.
fn list_tools(connection: &Connection, stop: &dyn Fn() -> bool) -> Result<Vec<McpTool>, ToolError> {
    let refuse = |problem: String| Err(ToolError::new(ToolErrorKind::Response, problem));
    let (mut tools, mut cursor) = (Vec::new(), None);
    for _ in 0..MOST_PAGES {
        let page = ListToolsRequest::with_param(PaginatedRequestParams::default().with_cursor(cursor));
        let answer = connection.ask(ClientRequest::ListToolsRequest(page), TIME, stop)?;
        let ServerResult::ListToolsResult(page) = answer else {
            return refuse("expected a list of tools from the server, found another answer".to_owned());
        };
        tools.extend(page.tools.into_iter().map(read_tool));
        cursor = page.next_cursor;
        if tools.len() > MOST_TOOLS {
            return refuse(format!("expected at most {MOST_TOOLS} tools, found more"));
        }
        if cursor.is_none() {
            return Ok(tools);
        }
    }
    refuse(format!("expected a list of tools on at most {MOST_PAGES} pages, found more"))
}

fn read_tool(tool: rmcp::model::Tool) -> McpTool {
    let said = tool.annotations.unwrap_or_default();
    McpTool {
        name: tool.name.into_owned(),
        description: tool.description.or(tool.title.map(Into::into)).unwrap_or_default().into_owned(),
        input_schema: Value::Object((*tool.input_schema).clone()),
        output_schema: tool.output_schema.map(|schema| Value::Object((*schema).clone())),
        annotations: McpHints {
            read_only_hint: said.read_only_hint,
            destructive_hint: said.destructive_hint,
            idempotent_hint: said.idempotent_hint,
            open_world_hint: said.open_world_hint,
        },
    }
}

fn refuse_changed(difference: &str) -> ToolError {
    let message = format!(
        "the server says something else than was pinned; `planwright mcp pin` pins what it says now\n{difference}"
    );
    ToolError::new("changed", message).did_not_happen()
}

/// A tool of a server, under the contract that a planner was shown.
struct PinnedTool {
    server: Arc<Server>,
    contract: ToolContract,
    pin: McpPin,
}

impl PinnedTool {
    /// How the tool differs from what was pinned, if it does.
    fn find_change(&self, listed: &[McpTool]) -> Option<String> {
        let (name, tool) = (&self.contract.name, &self.pin.tool);
        let mut same_name = listed.iter().filter(|listed| listed.name == *tool);
        let (Some(now), None) = (same_name.next(), same_name.next()) else {
            return Some(format!(
                "{name}: expected one tool {tool:?} in the server's list, found none or two"
            ));
        };
        if now.digest() == self.pin.digest {
            return None;
        }
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

    fn try_call(&self, call: &ToolCall<'_>) -> Result<ToolOutput, ToolError> {
        let (stop, begun) = (|| call.is_abandoned(), Instant::now());
        let Value::Object(arguments) = call.input.clone() else {
            return Err(ToolError::input(format!("expected an object, found {}", call.input)));
        };
        let listed = self.server.listed(&stop)?;
        if let Some(change) = self.find_change(&listed) {
            return Err(refuse_changed(&change));
        }
        let mut asked = CallToolRequestParams::new(self.pin.tool.clone()).with_arguments(arguments);
        if let Some(trace) = &call.trace {
            asked.set_traceparent(&trace.to_string());
        }
        let asked = ClientRequest::CallToolRequest(CallToolRequest::new(asked));
        let left = call.timeout.unwrap_or(TIME).saturating_sub(begun.elapsed());
        match self.server.connect()?.ask(asked, left, &stop)? {
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

    /// Calls the tool. Where the connection turns out to have ended before the call, it is made once again.
    fn call(&self, call: &ToolCall<'_>) -> Result<ToolOutput, ToolError> {
        let is_over =
            || self.server.state().connection.as_ref().is_none_or(|connection| connection.is_closed());
        match self.try_call(call) {
            Err(error)
                if error.kind == ToolErrorKind::Connection && !error.may_have_happened() && is_over() =>
            {
                self.try_call(call)
            }
            result => result,
        }
    }

    fn secrets(&self) -> Vec<Secret> {
        self.server.secrets()
    }
}
