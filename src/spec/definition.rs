//! The spec as a person writes it.

use serde::{Deserialize, Serialize};

use super::{Limits, Policy, Prices, Role, Roles};
use crate::contract::{FinalStep, ToolContract};

/// An agent as data: policy, roles, tool contracts and limits.
///
/// The `tools` are whole contracts. A spec in TOML may also name shipped tools;
/// [`Spec::from_toml`] looks those up.
///
/// ```
/// use planwright::agents;
///
/// let spec = agents::shipped("validated").expect("ships with the crate");
/// assert_eq!(spec.limits.max_replans, 2);
/// assert!(spec.check().is_ok());
/// ```
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
    /// The model's roles and their prompts.
    pub roles: Roles,
    /// The tools that plans may name.
    #[serde(default)]
    pub tools: Vec<ToolContract>,
    /// The agents that plans may name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<Member>,
    /// What models cost, by name.
    #[serde(default, skip_serializing_if = "Prices::is_empty")]
    pub prices: Prices,
}

impl Spec {
    /// Keeps only those tools for which `keep` is true, in the agents that do steps as well. Policy
    /// that asks for a tool that is left out goes with it.
    ///
    /// ```
    /// let spec = planwright::agents::shipped("validated").unwrap();
    /// let offline = spec.with_tools(|tool| tool.name == "calc");
    /// assert_eq!(offline.tools.len(), 1);
    /// ```
    #[must_use]
    pub fn with_tools(mut self, mut keep: impl FnMut(&ToolContract) -> bool) -> Self {
        self.retain_tools(&mut keep);
        self
    }

    fn retain_tools(&mut self, keep: &mut dyn FnMut(&ToolContract) -> bool) {
        self.tools.retain(|tool| keep(tool));
        let Spec { tools, agents, policy, .. } = self;
        let known = |name: &String| {
            tools.iter().any(|tool| tool.name == *name) || agents.iter().any(|agent| agent.name == *name)
        };
        policy.suggestions.retain(|suggestion| known(&suggestion.tool));
        policy.required_calls.retain(|required| known(&required.tool));
        for inner in self.agents.iter_mut().filter_map(|member| member.spec.as_mut()) {
            inner.retain_tools(keep);
        }
    }

    /// Lists every tool that the spec names, those of the agents that do its steps included, each once.
    pub fn all_tools(&self) -> Vec<&ToolContract> {
        let mut all: Vec<&ToolContract> = Vec::new();
        let inner = self.agents.iter().filter_map(|member| member.spec.as_deref());
        for tool in self.tools.iter().chain(inner.flat_map(Spec::all_tools)) {
            if !all.iter().any(|known| known.name == tool.name) {
                all.push(tool);
            }
        }
        all
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

/// An agent that does a step, behind the same interface as a tool: either a role (one model call
/// under a prompt) or a whole agent with its own tools.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// The name that plans use.
    pub name: String,
    /// What it does and when to use it; planners read this.
    pub description: String,
    /// A role: one model call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// A whole agent: its run hangs under the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<Box<Spec>>,
}
