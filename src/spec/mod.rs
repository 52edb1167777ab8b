//! The spec: every choice an agent may make, as data.
//!
//! A [`Spec`] is what a person writes (as TOML) and what a journal keeps. [`Spec::check`] refuses
//! contradictions once and gives [`CompiledSpec`]: the spec together with all that is worked out from it
//! once, such as the tool index, the contracts' schemas, the constant part of each request with its
//! digest, and the bounds of a run.
//!
//! **Invariant:** nothing in this crate asks which agent runs. Whatever agents may differ in is a
//! field here.

mod approval;
mod bounds;
mod check;
mod compiled;
mod digest;
mod execution;
mod frame;
mod limits;
mod member;
mod money;
mod policy;
mod role;
mod suggest;

pub use approval::{Approval, OnExpiry, OnRejection};
pub use bounds::Bounds;
pub(crate) use compiled::MAX_NESTING;
pub use compiled::{CompiledSpec, Doer, SpecError};
pub use digest::Digest;
pub use execution::Execution;
pub use frame::RequestFrame;
pub use limits::Limits;
pub use member::Member;
pub use money::{Money, Price, Prices};
pub use policy::{
    Containment, Duplicates, Horizon, Intake, IntentPolicy, Memory, OnBadReply, OnExhausted, OnReplan,
    OnStepFailure, Orchestrate, PlanPolicy, Planner, Policy, RequiredCall, StepTries, Suggestion, Validate,
    ValidateAt, Write,
};
pub use role::{OnFailure, Role, RoleName, Roles};
pub use suggest::Suggested;

use serde::{Deserialize, Serialize};

use crate::contract::ToolContract;

/// An agent as data: policy, roles, tool contracts and limits.
///
/// The `tools` are whole contracts. A spec in TOML may also name shipped tools;
/// [`agents::load`](crate::agents::load) looks those up.
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
    /// Checks the spec and works out what follows from it.
    ///
    /// # Errors
    /// The first field that is out of range or contradicts another, by name.
    pub fn check(self) -> Result<CompiledSpec, SpecError> {
        CompiledSpec::of(self)
    }

    /// The most calls that a run can make before its answer.
    pub(crate) fn most_calls_before_the_answer(&self) -> u32 {
        check::most_steps(self).0
    }

    /// The same spec with only those of its tools that `keep` names, in the spec's order; in the
    /// agents that do its steps as well. What asks for a tool that is left out goes with it.
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

    /// Every tool that the spec names, those of the agents that do its steps included, each once.
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
}
