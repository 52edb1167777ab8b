//! The spec as a person writes it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::parse::parse_toml;
use super::tools::{Shipped, deserialize_list, shipped};
use super::{
    Horizon, Limits, McpPins, McpServer, OnExhausted, Orchestrate, Planner, Policy, Price, Role, RoleName,
    SpecError, Validate, ValidateAt,
};
use crate::contract::{FinalStep, ToolContract};

/// An agent as data: policy, roles, tool contracts and limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The agent's name.
    pub name: String,
    /// What it does, in a sentence.
    #[serde(default)]
    pub description: String,
    /// The choices.
    #[serde(default)]
    pub policy: Policy,
    /// The bounds.
    #[serde(default)]
    pub limits: Limits,
    /// The model's roles. There is a planner in any case; any other role is there only if the policy asks
    /// for it. The planner stands in for a missing replanner, the writer for a missing conversation role.
    pub roles: BTreeMap<RoleName, Role>,
    /// The tools that plans may name. An entry may be the name of a shipped tool.
    #[serde(default, deserialize_with = "deserialize_list")]
    pub tools: Vec<ToolContract>,
    /// The agents that plans may name. An entry may be the name of a shipped one: `summarize`.
    #[serde(default, deserialize_with = "deserialize_list", skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<SubAgent>,
    /// The MCP servers whose pinned tools are among `tools`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub mcp: BTreeMap<String, McpServer>,
    /// What models cost, by the name they are asked under.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prices: BTreeMap<String, Price>,
}

impl Spec {
    /// Parses and checks a spec in TOML.
    ///
    /// ```
    /// use planwright::spec::Spec;
    ///
    /// let spec = Spec::from_toml(
    ///     r#"
    ///     name = "clerk"
    ///     tools = ["calc"]
    ///     [roles.planner]
    ///     prompt = "Plan."
    ///     [roles.writer]
    ///     prompt = "Answer."
    ///     [policy]
    ///     validate = "off"
    ///     "#,
    /// )?;
    /// assert_eq!(spec.tools[0].name, "calc");
    /// let error = Spec::from_toml("name = 'mine'\ncolour = 'red'").unwrap_err();
    /// assert!(error.to_string().contains("colour"));
    /// # Ok::<(), planwright::spec::SpecError>(())
    /// ```
    ///
    /// # Errors
    /// What does not parse, with its line; an unknown tool; whatever [`Spec::check`] refuses.
    pub fn from_toml(text: &str) -> Result<Self, SpecError> {
        Spec::from_toml_with_pins(text, &McpPins::new())
    }

    /// Parses and checks a spec in TOML, with the pinned tools of its MCP servers.
    ///
    /// # Errors
    /// Those of [`Spec::from_toml`]; a server without pinned tools.
    pub fn from_toml_with_pins(text: &str, pins: &McpPins) -> Result<Self, SpecError> {
        let mut spec = Spec::from_toml_unchecked(text)?;
        spec.take_pins(pins)?;
        spec.clone().check()?;
        Ok(spec)
    }

    /// Parses a spec in TOML as it is: its MCP servers need not be pinned yet.
    ///
    /// # Errors
    /// What does not parse, with its line.
    #[doc(hidden)]
    pub fn from_toml_unchecked(text: &str) -> Result<Self, SpecError> {
        parse_toml(text).map_err(|error| SpecError::at("spec", error.to_string()))
    }

    /// Adds the contracts of the pinned tools of each MCP server, here and in nested agents. A server that has its
    /// pins already keeps them.
    ///
    /// # Errors
    /// Names the server and the tool that no contract can be made of.
    pub fn take_pins(&mut self, pins: &McpPins) -> Result<(), SpecError> {
        for (name, server) in self.mcp.iter_mut().filter(|(_, server)| server.pins.is_empty()) {
            let Some(listed) = pins.get(name) else { continue };
            server.take_pins(name, listed, &mut self.tools)?;
        }
        self.agents
            .iter_mut()
            .filter_map(|agent| agent.spec.as_mut())
            .try_for_each(|spec| spec.take_pins(pins))
    }

    /// Lists the MCP servers that the spec and its nested agents name.
    pub fn all_mcp(&self) -> Vec<(&String, &McpServer)> {
        let inner = self.agents.iter().filter_map(|agent| agent.spec.as_deref());
        self.mcp.iter().chain(inner.flat_map(Spec::all_mcp)).collect()
    }

    /// Keeps the tools for which `keep` is true, here and in nested agents. Policy that asks for a
    /// tool that is left out goes with it.
    #[must_use]
    pub fn with_tools(mut self, mut keep: impl FnMut(&ToolContract) -> bool) -> Self {
        self.retain_tools(&mut keep);
        self
    }

    fn retain_tools(&mut self, keep: &mut dyn FnMut(&ToolContract) -> bool) {
        self.tools.retain(|tool| keep(tool));
        for server in self.mcp.values_mut() {
            server.pins.retain(|name, _| self.tools.iter().any(|tool| tool.name == *name));
        }
        self.mcp.retain(|_, server| !server.pins.is_empty());
        let known: BTreeSet<String> = self.names().map(str::to_owned).collect();
        self.policy.suggestions.retain(|suggestion| known.contains(&suggestion.tool));
        self.policy.required_calls.retain(|required| known.contains(&required.tool));
        for inner in self.agents.iter_mut().filter_map(|agent| agent.spec.as_mut()) {
            inner.retain_tools(keep);
        }
    }

    /// Lists every tool that the spec and its nested agents name, each once.
    pub fn all_tools(&self) -> Vec<&ToolContract> {
        let mut all: Vec<&ToolContract> = Vec::new();
        let inner = self.agents.iter().filter_map(|agent| agent.spec.as_deref());
        for tool in self.tools.iter().chain(inner.flat_map(Spec::all_tools)) {
            if !all.iter().any(|known| known.name == tool.name) {
                all.push(tool);
            }
        }
        all
    }

    /// The name of a tool that a nested agent declares otherwise than these do.
    pub(super) fn find_ambiguous_tool(&self, known: &[ToolContract]) -> Option<&str> {
        let other =
            |tool: &&ToolContract| known.iter().any(|known| known.name == tool.name && known != *tool);
        let inner = self.agents.iter().filter_map(|agent| agent.spec.as_deref());
        let own = self.tools.iter().find(other).map(|tool| &*tool.name);
        own.or_else(|| inner.into_iter().find_map(|spec| spec.find_ambiguous_tool(known)))
    }

    /// Whether a role, here or in a nested agent, is such.
    pub(super) fn any_role(&self, is_such: &dyn Fn(&Role) -> bool) -> bool {
        let by_agents = |agent: &SubAgent| {
            agent.role.as_ref().is_some_and(is_such)
                || agent.spec.as_ref().is_some_and(|spec| spec.any_role(is_such))
        };
        self.roles.values().any(is_such) || self.agents.iter().any(by_agents)
    }

    /// The most calls of tools and agents before an answer, and which fields say so. A whole plan must hold
    /// every required call. Round by round, the visit of PLAN that says there is enough makes none.
    pub(crate) fn most_calls_before_answer(&self) -> (u32, &'static str) {
        let policy = &self.policy;
        let (a_plan, why) = match policy.planner {
            Planner::ReactText => (1, "`limits.max_iterations`"),
            Planner::Json | Planner::ToolCalls => {
                (self.most_working_steps(), "`limits.max_iterations` with `policy.plan.max_steps`")
            }
        };
        if policy.horizon == Horizon::Whole {
            return (a_plan, "`policy.plan.max_steps`");
        }
        let judged = policy.validate != Validate::Off && policy.validate_at == ValidateAt::Results;
        let last_may_call = judged || policy.on_exhausted == OnExhausted::Write;
        let rounds = self.limits.max_iterations.unwrap_or(1).saturating_sub(u32::from(!last_may_call));
        let added = if policy.orchestrate == Orchestrate::EachStep { self.limits.max_added_steps } else { 0 };
        (rounds.saturating_mul(a_plan).saturating_add(added), why)
    }

    /// The names of tools and agents.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let agents = self.agents.iter().map(|agent| agent.name.as_str());
        self.tools.iter().map(|tool| tool.name.as_str()).chain(agents)
    }

    /// The most steps of one plan that a tool, an agent or a person has to do.
    pub(super) fn most_working_steps(&self) -> u32 {
        let plan = &self.policy.plan;
        match plan.final_step {
            _ if self.tools.is_empty() && self.agents.is_empty() && !self.policy.approval.steps => 0,
            FinalStep::Required => plan.max_steps - 1,
            FinalStep::None => plan.max_steps,
        }
    }
}

/// An agent that does a step, behind the same interface as a tool: either a role (one model call under
/// a prompt) or a whole agent with its own tools.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubAgent {
    /// The name that plans use.
    pub name: String,
    /// What it does and when to use it. Planners read this.
    pub description: String,
    /// A role: one model call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// A whole agent: its run hangs under the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<Box<Spec>>,
}

impl Shipped for SubAgent {
    const EXPECTED: &'static str = "an agent";

    fn all() -> Vec<Self> {
        shipped("agents")
    }

    fn name(&self) -> &str {
        &self.name
    }
}
