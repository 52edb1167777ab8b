//! Roles: the duties a model is asked to do, each with its prompt and settings.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::contract::AnswerForm;

/// A duty of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoleName {
    /// Drafts the plan.
    Planner,
    /// Drafts a new plan after a rejection that came with a hint.
    Replanner,
    /// Judges the results.
    Validator,
    /// Writes the answer.
    Writer,
}

impl RoleName {
    /// Every role, in the order a run may ask them.
    pub const ALL: [RoleName; 4] =
        [RoleName::Planner, RoleName::Replanner, RoleName::Validator, RoleName::Writer];

    /// The name as it is written in specs and fixtures.
    pub fn as_str(self) -> &'static str {
        match self {
            RoleName::Planner => "planner",
            RoleName::Replanner => "replanner",
            RoleName::Validator => "validator",
            RoleName::Writer => "writer",
        }
    }
}

impl fmt::Display for RoleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How one duty is put to a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Role {
    /// The instructions: the system message. Data never goes in here.
    pub prompt: String,
    /// The model to ask; the driver's own unless set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Sampling temperature, 0 to 2; the server's own unless set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Most tokens of the reply; the server's own bound unless set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// The form of the reply. For the writer only; the other roles have one form each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<AnswerForm>,
}

/// The roles of an agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Roles {
    /// Drafts the plan.
    pub planner: Role,
    /// Drafts a new plan where there is a hint; the planner does it where this is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replanner: Option<Role>,
    /// Judges the results; needed under `validate = "verdict"`, refused under `"off"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validator: Option<Role>,
    /// Writes the answer.
    pub writer: Role,
}

impl Roles {
    /// One role, where the agent has it.
    pub fn get(&self, name: RoleName) -> Option<&Role> {
        match name {
            RoleName::Planner => Some(&self.planner),
            RoleName::Replanner => self.replanner.as_ref(),
            RoleName::Validator => self.validator.as_ref(),
            RoleName::Writer => Some(&self.writer),
        }
    }
}
