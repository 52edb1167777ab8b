//! Tools of MCP servers: how each server is reached, which of its tools are used, and what was pinned of them.
//!
//! A description is text in a planner's prompt, so nothing of a server is shown to a model that its owner has not
//! pinned. The contracts of pinned tools stand among the spec's `tools`; whatever runs the tools compares the pins.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::SpecError;
use crate::contract::{
    ArgumentRole, OutputField, ToolContract, ToolEffect, Trust, canonical, check_name, find_addresses,
    sanitize, sanitize_value,
};

/// The longest time of one call, unless the owner says.
const TIMEOUT_MS: u64 = 60_000;
/// Most bytes of a description: it is part of every prompt.
const MAX_DESCRIPTION: usize = 16_384;
/// Most bytes of a tool as JSON: its schemas are part of prompts too.
const MAX_TOOL: usize = 65_536;

/// The pinned tools of MCP servers, by the servers' names: what `planwright mcp pin` writes.
pub type McpPins = BTreeMap<String, Vec<McpTool>>;

/// An MCP server. Values of variables never stand here, only the names of variables that hold them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct McpServer {
    /// The program to start, which speaks MCP over its standard input and output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The program's arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// The variables that the program is given, with their values. It gets no others but `PATH` and `HOME` (on
    /// Windows those without which no program starts).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// The address of a server that speaks streamable HTTP, instead of a program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Further headers of every request, and the variables that hold their values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The variable that holds the bearer token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bearer_token_env: Option<String>,
    /// The tools that are used, by the server's names for them. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// What the owner says of tools, by the server's names for them. It goes before what the server says.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tool: BTreeMap<String, McpOverride>,
    /// What was pinned, by the names of the contracts in `tools`. Whatever loads the pinned tools fills it in.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub pins: BTreeMap<String, McpPin>,
}

/// What an owner says of one tool, in place of its server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct McpOverride {
    /// The name that follows the server's in the contract's: `read` for `files.read`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What calling it does to the world.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<ToolEffect>,
    /// Whether calling it twice with the same input equals calling it once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
    /// Whether a person must approve each call under `approval = "risky"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs_approval: Option<bool>,
    /// Whether its output may steer the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
    /// What its arguments decide, by JSON pointer. Default: each is a target.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub arguments: BTreeMap<String, ArgumentRole>,
    /// The arguments of a read that leave for a place which they name themselves, by JSON pointer. Default: those
    /// that hold addresses, unless the server says that it reaches nothing beyond itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub egress: Option<Vec<String>>,
    /// Whether nothing others wrote may be part of a write without a person. Default: yes, unless the server says
    /// that it destroys nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grave: Option<bool>,
    /// Who chose the fields of its structured output, by JSON pointer. Default: anyone.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, OutputField>,
    /// Longest time of one call, in milliseconds. Default: a minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Largest output that is kept, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_bytes: Option<u32>,
}

/// What was pinned of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpPin {
    /// The server's name for the tool.
    pub tool: String,
    /// The [digest](McpTool::digest) of the tool as its server listed it.
    pub digest: String,
}

/// A tool as its server lists it. What a server lists beside these members is shown to no model and left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpTool {
    /// The server's name for it.
    pub name: String,
    /// What it does, in the server's words.
    #[serde(default)]
    pub description: String,
    /// JSON schema of its input.
    pub input_schema: Value,
    /// JSON schema of its structured output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// What the server says that a call does to the world.
    #[serde(default)]
    pub annotations: McpHints,
}

/// What a server says that calling a tool does to the world. What it does not say is the careful choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct McpHints {
    /// It changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// What it changes may be lost. A write needs approval unless this is `false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Calling it twice with the same input equals calling it once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// It reaches beyond the server: addresses among the arguments of a read leave with it, unless this is `false`.
    /// Output is untrusted either way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

/// Has an input take no field but those that are named: what a server does not say of one nobody knows.
fn close(input: &mut Value) {
    let Some(keywords) = input.as_object_mut() else { return };
    let says_more = [
        "additionalProperties",
        "unevaluatedProperties",
        "patternProperties",
        "allOf",
        "anyOf",
        "oneOf",
        "$ref",
        "if",
    ];
    if !says_more.iter().any(|keyword| keywords.contains_key(*keyword)) {
        keywords.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
}

impl McpTool {
    /// The SHA-256 digest of name, description, schemas and hints, in hexadecimal.
    pub fn digest(&self) -> String {
        let written = canonical(&serde_json::to_value(self).unwrap_or_default());
        Sha256::digest(written).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The contract of the tool of a server, by what both the server and the owner say.
    ///
    /// # Errors
    /// Where no contract can be made of it: a name or schema that cannot be, or a description that is too long.
    pub fn contract(&self, server: &str, owner: &McpOverride) -> Result<ToolContract, SpecError> {
        let hints = self.annotations;
        let refuse =
            |problem: String| Err(SpecError::at(format!("mcp.{server}.tool.{:?}", self.name), problem));
        let hint = "leave it out by `tools`, a list of those that are used";
        if self.description.len() > MAX_DESCRIPTION {
            let found = self.description.len();
            return refuse(format!(
                "expected a description of at most {MAX_DESCRIPTION} bytes, found {found}; {hint}"
            ));
        }
        let found = serde_json::to_string(self).map_or(0, |written| written.len());
        if found > MAX_TOOL {
            return refuse(format!(
                "expected a tool of at most {MAX_TOOL} bytes with its schemas, found {found}; {hint}"
            ));
        }
        let description = match self.description.trim() {
            "" => format!("{} of the server {server}.", sanitize(&self.name)),
            text => sanitize(text).into_owned(),
        };
        let own_name = owner.name.as_ref().unwrap_or(&self.name);
        let name = format!("{server}.{own_name}");
        if let Err(error) = check_name(&name) {
            return refuse(format!("{}; give it another `name` here, or {hint}", error.problem()));
        }
        let said = if hints.read_only_hint == Some(true) { ToolEffect::Read } else { ToolEffect::Write };
        let effect = owner.effect.unwrap_or(said);
        let writes = effect == ToolEffect::Write;
        let approval = owner.needs_approval.unwrap_or(writes && hints.destructive_hint != Some(false));
        let mut input = sanitize_value(self.input_schema.clone());
        if let Some(keywords) = input.as_object_mut() {
            keywords.entry("type").or_insert_with(|| json!("object"));
        }
        let mut contract = ToolContract::text(&name, &description, effect).input(input);
        contract.output = self.output_schema.clone().map(sanitize_value);
        let reaches_out = !writes && hints.open_world_hint != Some(false);
        contract.egress = owner.egress.clone().unwrap_or_default();
        if reaches_out && owner.egress.is_none() {
            close(&mut contract.input);
            contract.egress = find_addresses(&contract.input);
        }
        contract.grave = owner.grave.unwrap_or(writes && hints.destructive_hint != Some(false));
        contract.arguments = owner.arguments.clone();
        contract.fields = owner.fields.clone();
        contract.idempotent = owner.idempotent.or(hints.idempotent_hint.filter(|says| writes && *says));
        contract.needs_approval = approval;
        contract.trust = owner.trust.unwrap_or_default();
        contract.timeout_ms = Some(owner.timeout_ms.unwrap_or(TIMEOUT_MS));
        contract.max_output_bytes = owner.max_output_bytes.unwrap_or(contract.max_output_bytes);
        match contract.check() {
            Ok(()) => Ok(contract),
            Err(error) => refuse(format!("{error}; {hint}")),
        }
    }
}

impl McpServer {
    /// Whether a tool of the server is used.
    pub fn uses(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|used| used.iter().any(|used| used == tool))
    }

    /// The server as its owner wrote it, without what was pinned.
    #[must_use]
    pub fn without_pins(&self) -> Self {
        McpServer { pins: BTreeMap::new(), ..self.clone() }
    }

    /// The contracts of the tools that are used, in the server's order, each with its pin.
    ///
    /// # Errors
    /// A tool that no contract can be made of, that is listed twice, or that is named here and not listed.
    pub fn contracts(
        &self,
        name: &str,
        listed: &[McpTool],
    ) -> Result<Vec<(ToolContract, McpPin)>, SpecError> {
        let field = format!("mcp.{name}");
        let known: BTreeSet<&str> = listed.iter().map(|tool| tool.name.as_str()).collect();
        let named = self.tools.iter().flatten().chain(self.tool.keys());
        if let Some(unknown) = named.into_iter().find(|named| !known.contains(named.as_str())) {
            let known = known.into_iter().collect::<Vec<_>>().join(", ");
            let problem = format!("the server has no tool {unknown:?}; it has {known}");
            return Err(SpecError::at(field, problem));
        }
        let (mut contracts, mut names) = (Vec::new(), BTreeSet::new());
        for tool in listed.iter().filter(|tool| self.uses(&tool.name)) {
            let contract =
                tool.contract(name, self.tool.get(&tool.name).unwrap_or(&McpOverride::default()))?;
            if !names.insert(contract.name.clone()) {
                return Err(SpecError::at(field, format!("two tools are called {:?}", contract.name)));
            }
            contracts.push((contract, McpPin { tool: tool.name.clone(), digest: tool.digest() }));
        }
        match contracts.is_empty() {
            true => Err(SpecError::at(field, "the server has no tools; leave it out")),
            false => Ok(contracts),
        }
    }

    /// Adds the contracts of pinned tools to a list, and notes what was pinned.
    ///
    /// # Errors
    /// As [`contracts`](McpServer::contracts).
    pub(super) fn take_pins(
        &mut self,
        name: &str,
        listed: &[McpTool],
        tools: &mut Vec<ToolContract>,
    ) -> Result<(), SpecError> {
        self.check_definition(name)?;
        for (contract, pin) in self.contracts(name, listed)? {
            self.pins.insert(contract.name.clone(), pin);
            tools.push(contract);
        }
        Ok(())
    }

    pub(super) fn check(&self, name: &str) -> Result<(), SpecError> {
        self.check_definition(name)?;
        let unpinned = "what the server offers is not pinned; `planwright mcp pin` pins it, for a file with \
                        `--agent FILE`";
        if self.pins.is_empty() { Err(SpecError::at(format!("mcp.{name}"), unpinned)) } else { Ok(()) }
    }

    /// Checks what the owner wrote, before the server is asked or started.
    ///
    /// # Errors
    /// A name that no tool's could begin with, an address that may hold a key, an empty selection of tools, and what
    /// does not go together.
    pub fn check_definition(&self, name: &str) -> Result<(), SpecError> {
        let by_program = !self.args.is_empty() || !self.env.is_empty();
        let by_address = !self.headers.is_empty() || self.bearer_token_env.is_some();
        let is_legal = check_name(name).is_ok() && !name.contains('.');
        let public = "expected a `url` without a query, a fragment or a user: each run keeps it as it is; put keys \
                      into `headers` or `bearer_token_env`";
        let unused = "`tools` names none; leave it out for all that the server has, or leave the server out";
        let rows = [
            (!is_legal, "expected a server's name of letters, digits, `_` or `-`"),
            (self.command.is_some() == self.url.is_some(), "expected either `command` or `url`"),
            (self.url.is_some() && by_program, "`args` and `env` are for a `command`"),
            (self.command.is_some() && by_address, "`headers` and `bearer_token_env` are for a `url`"),
            (self.url.as_deref().is_some_and(may_hold_key), public),
            (self.tools.as_ref().is_some_and(Vec::is_empty), unused),
        ];
        match rows.into_iter().find(|(wrong, _)| *wrong) {
            Some((_, problem)) => Err(SpecError::at(format!("mcp.{name}"), problem)),
            None => Ok(()),
        }
    }
}

/// Whether an address has a part in which keys are put.
fn may_hold_key(url: &str) -> bool {
    let authority = url.split_once("://").map_or(url, |(_, rest)| rest).split('/').next();
    url.contains(['?', '#']) || authority.is_some_and(|authority| authority.contains('@'))
}
