//! Roles: the duties a model is asked to do, each with its prompt and settings.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::contract::AnswerForm;

/// A duty of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoleName {
    /// Says whether the question is in scope.
    Scope,
    /// Says whether the answer needs the earlier turns.
    PreviousContext,
    /// Says what the user wants.
    Intent,
    /// Says which writes the question calls for.
    Grant,
    /// Drafts the plan.
    Planner,
    /// Drafts a new plan after one was sent back with a hint.
    Replanner,
    /// Decides between the steps what becomes of the rest of the plan.
    Orchestrator,
    /// Writes a value that a plan leaves open, out of what the plan says it is shown.
    Executor,
    /// Judges the results or the answer.
    Validator,
    /// Writes the answer.
    Writer,
    /// Answers if no tool was needed.
    Conversation,
    /// Does a step: one of the spec's agents.
    Agent,
}

impl RoleName {
    /// The roles that a spec may have under their own names, in the order a run may ask them.
    pub const ALL: [RoleName; 11] = [
        RoleName::Scope,
        RoleName::PreviousContext,
        RoleName::Intent,
        RoleName::Grant,
        RoleName::Planner,
        RoleName::Replanner,
        RoleName::Orchestrator,
        RoleName::Executor,
        RoleName::Validator,
        RoleName::Writer,
        RoleName::Conversation,
    ];

    /// Whether the role drafts plans.
    pub fn plans(self) -> bool {
        matches!(self, RoleName::Planner | RoleName::Replanner)
    }
}

impl fmt::Display for RoleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// How one duty is put to a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Role {
    /// The instructions: the system message. Data never goes in here.
    pub prompt: String,
    /// The model to ask. Default: the driver's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Sampling temperature, 0 to 2. Default: the server's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Most tokens of the reply. Default: the server's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// The form of the reply. Only the writer has a choice: `"text"`, `"final"` or `{ schema = … }`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<AnswerForm>,
    /// What follows from a missing or unreadable reply. Default: the policy's `on_bad_reply`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<OnFailure>,
}

/// What follows when a role gives no usable reply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// What it was asked for has failed.
    Fail,
    /// It is asked again and shown the exact error, at most `limits.max_repairs` times.
    #[default]
    Repair,
    /// This reply is read in its place.
    Fallback(String),
}
