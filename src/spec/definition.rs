//! The spec as a person writes it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::tools::deserialize_tools;
use super::{Limits, Policy, Prices, Role, Roles};
use crate::contract::{FinalStep, ToolContract};

/// An agent as data: policy, roles, tool contracts and limits.
///
/// ```
/// let spec = planwright::agents::shipped("validated").expect("ships with the crate");
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
    /// The tools that plans may name. An entry may be the name of a shipped tool.
    #[serde(default, deserialize_with = "deserialize_tools")]
    pub tools: Vec<ToolContract>,
    /// The agents that plans may name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<SubAgent>,
    /// What models cost, by name.
    #[serde(default, skip_serializing_if = "Prices::is_empty")]
    pub prices: Prices,
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
        let spec: Spec =
            toml::from_str(text).map_err(|error| SpecError::at("spec", error.to_string().trim()))?;
        spec.clone().check()?;
        Ok(spec)
    }

    /// Keeps the tools for which `keep` is true, here and in nested agents. Policy that asks for a
    /// tool that is left out goes with it.
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
        let known = |name: &str| {
            tools.iter().any(|tool| tool.name == name) || agents.iter().any(|agent| agent.name == name)
        };
        policy.suggestions.retain(|suggestion| known(&suggestion.tool));
        policy.required_calls.retain(|required| known(&required.tool));
        for inner in agents.iter_mut().filter_map(|agent| agent.spec.as_mut()) {
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

/// A contradiction or a value out of range in a spec. Its `Debug` equals its `Display`, so that a failed
/// `unwrap` says what to mend.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct SpecError {
    field: String,
    problem: String,
}

impl SpecError {
    pub(crate) fn at(field: impl Into<String>, problem: impl Into<String>) -> Self {
        SpecError { field: field.into(), problem: problem.into() }
    }

    /// The field, as a path in the spec (`limits.max_replans`).
    pub fn field(&self) -> &str {
        &self.field
    }

    /// The error as the spec sees it that holds this one under `outer`.
    pub(super) fn under(mut self, outer: &str) -> Self {
        self.field = format!("{outer}.{}", self.field);
        self
    }
}

impl fmt::Debug for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
