//! What MCP servers list, and what of it is pinned in the file beside the one that names them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::config::is_spec_file;
use crate::error::{Error, Result, read_text};
use crate::settings::Settings;
use planwright::agents;
use planwright::contract::ToolContract;
use planwright::journal::whole::write_whole;
use planwright::spec::{McpOverride, McpPins, McpServer, McpTool, Spec};
use planwright_mcp::diff_lines;

/// What one server lists, beside what was pinned of it.
pub struct McpListing {
    /// The server's name.
    pub server: String,
    /// Its tools as it lists them, each with its contract where one can be made of it, or why not.
    pub tools: Vec<(McpTool, Result<ToolContract, String>)>,
    /// Whether each of them is used.
    pub used: Vec<bool>,
    /// How what it lists differs from what was pinned; nothing where it does not.
    pub changes: Vec<String>,
    /// Whether anything was pinned.
    pub is_pinned: bool,
    /// Why it cannot be pinned as it is, if so.
    pub problem: Option<String>,
}

impl McpListing {
    /// Checks that what is listed can be pinned.
    ///
    /// # Errors
    /// Says why not.
    pub fn check(&self) -> Result<()> {
        self.problem.as_ref().map_or(Ok(()), |problem| Err(Error::unusable(problem)))
    }
}

/// The MCP servers that a file names, with what is pinned of them.
pub struct McpFile {
    /// The file that names the servers: an agent's, or the configuration.
    pub path: PathBuf,
    agent_text: Option<String>,
    servers: BTreeMap<String, McpServer>,
    pins: McpPins,
}

impl McpFile {
    /// Reads which servers a spec file names, or the configuration where `agent` is none.
    ///
    /// # Errors
    /// Where the file names none, or cannot be read.
    pub fn read(agent: Option<&str>, settings: &Settings) -> Result<Self> {
        let (path, agent_text, servers) = match agent {
            Some(file) if is_spec_file(file) => {
                let text = read_text(file, Path::new(file))?;
                let spec = Spec::from_toml_unchecked(&text).map_err(Error::at(file))?;
                let servers = spec.all_mcp().into_iter().map(|(name, server)| (name.clone(), server.clone()));
                (PathBuf::from(file), Some(text), servers.collect())
            }
            Some(name) => {
                let problem = format!("--agent {name}: a shipped agent names no MCP server");
                return Err(Error::unusable(problem)
                    .hint("name a spec file, or leave --agent out for the configuration"));
            }
            None => {
                let path = settings.file.path.clone();
                let none =
                    || Error::unusable("there is no configuration file, and no --agent FILE names servers");
                (path.ok_or_else(none)?, None, settings.file.mcp.clone())
            }
        };
        if servers.is_empty() {
            let problem = format!("{}: names no MCP server", path.display());
            return Err(
                Error::unusable(problem).hint("add a table [mcp.NAME] with `command` and `args`, or `url`")
            );
        }
        for (name, server) in &servers {
            server.check_definition(name).map_err(Error::at(path.display()))?;
        }
        let pins = agents::read_pins(&path).map_err(Error::unusable)?;
        Ok(McpFile { path, agent_text, servers, pins })
    }

    /// Asks the servers for their tools: those of these names, or all.
    ///
    /// # Errors
    /// Where one cannot be asked.
    pub fn list(&self, names: &[String], settings: &Settings) -> Result<Vec<McpListing>> {
        if let Some(unknown) = names.iter().find(|name| !self.servers.contains_key(*name)) {
            let known = self.servers.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            return Err(Error::unusable(format!("no server is called {unknown:?}; there are {known}")));
        }
        let is_asked = |name: &String| names.is_empty() || names.contains(name);
        self.servers
            .iter()
            .filter(|(name, _)| is_asked(name))
            .map(|(name, server)| self.ask(name, server, settings))
            .collect()
    }

    fn ask(&self, name: &str, server: &McpServer, settings: &Settings) -> Result<McpListing> {
        let place = format!("[mcp.{name}]");
        let tools = settings.mcp.server(name, server, &settings.file.network())?.list();
        let tools = tools.map_err(|error| Error::unusable(format!("{place}: {}", error.message)))?;
        let pinned = self.pins.get(name);
        let changes = pinned.map_or_else(Vec::new, |pinned| changes(server, pinned, &tools));
        let used = tools.iter().map(|tool| server.uses(&tool.name)).collect();
        let problem =
            server.contracts(name, &tools).err().map(|error| Error::at(self.path.display())(error).message);
        let none = McpOverride::default();
        let contract = |tool: McpTool| {
            let contract = tool.contract(name, server.tool.get(&tool.name).unwrap_or(&none));
            (tool, contract.map_err(|error| error.to_string()))
        };
        let (server, tools) = (name.to_owned(), tools.into_iter().map(contract).collect());
        Ok(McpListing { server, tools, used, changes, is_pinned: pinned.is_some(), problem })
    }

    /// Pins what was listed, in place of what was pinned of the same servers. Returns where it stands.
    ///
    /// # Errors
    /// Where a contract cannot be made of a tool that is used, the spec does not hold with them, or the file cannot be
    /// written. Nothing is written then.
    pub fn pin(mut self, listed: &[McpListing]) -> Result<PathBuf> {
        let place = self.path.display().to_string();
        for listing in listed {
            listing.check()?;
            let tools = listing.tools.iter().map(|(tool, _)| tool.clone()).collect();
            self.pins.insert(listing.server.clone(), tools);
        }
        self.pins.retain(|name, _| self.servers.contains_key(name));
        let is_whole = self.servers.keys().all(|name| self.pins.contains_key(name));
        if let Some(text) = self.agent_text.as_ref().filter(|_| is_whole) {
            Spec::from_toml_with_pins(text, &self.pins).map_err(Error::at(&place))?;
        }
        let path = agents::pins_path(&self.path);
        let text = visible_json(&serde_json::to_string_pretty(&self.pins).map_err(Error::unusable)?);
        write_whole(&path, text.as_bytes()).map_err(Error::unusable)?;
        Ok(path)
    }
}

/// How the tools that are used differ from those that were pinned.
fn changes(server: &McpServer, pinned: &[McpTool], listed: &[McpTool]) -> Vec<String> {
    fn named<'t>(tools: &'t [McpTool], name: &str) -> Vec<&'t McpTool> {
        tools.iter().filter(|tool| tool.name == name).collect()
    }
    let digests = |tools: &[&McpTool]| tools.iter().map(|tool| tool.digest()).collect::<Vec<_>>();
    let text = |tools: &[&McpTool]| {
        let value = |tool: &McpTool| serde_json::to_value(tool).unwrap_or_default();
        let text = |tool: &&McpTool| format!("{}\n{:#}", tool.description, value(tool));
        tools.iter().map(text).collect::<Vec<_>>().join("\n")
    };
    let mut names: Vec<&str> = pinned.iter().chain(listed).map(|tool| tool.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let mut changes = Vec::new();
    for name in names.into_iter().filter(|name| server.uses(name)) {
        let (before, after) = (named(pinned, name), named(listed, name));
        if digests(&before) != digests(&after) {
            changes.push(format!("{name}:"));
            let diff = diff_lines(&text(&before), &text(&after));
            changes.extend(diff.into_iter().map(|line| format!("  {line}")));
        }
    }
    changes
}

/// JSON in which every character that does not show is written as its number.
fn visible_json(json: &str) -> String {
    let mut text = String::with_capacity(json.len() + 1);
    for c in json.chars() {
        if c == '\n' || planwright::contract::is_shown(c) {
            text.push(c);
        } else {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| text.push_str(&format!("\\u{unit:04x}")));
        }
    }
    text + "\n"
}
