//! Members: the agents that a plan may name as the doers of its steps.

use serde::{Deserialize, Serialize};

use super::{Role, Spec};

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
