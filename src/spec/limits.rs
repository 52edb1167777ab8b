//! Limits: every bound of a run has a name here, and every one is finite.

use serde::{Deserialize, Serialize};

use super::Money;

/// Most replans, repairs, iterations, added steps or tries a run may be allowed.
pub(super) const MAX_TRIES: u32 = 1_000;

/// The bounds of a run. An optional limit that is not set follows from the others (see
/// [`Bounds`]).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// How many new plans one run may try. Zero means the first plan is final. Default: 2.
    pub max_replans: u32,
    /// How often a reply that breaks its contract may be asked for again. Default: 1.
    pub max_repairs: u32,
    /// How often PLAN may be entered. Needed under `horizon = "next"`, refused elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u32>,
    /// How many steps an orchestrator may add to a run. Default: 4.
    #[serde(skip_serializing_if = "is_four")]
    pub max_added_steps: u32,
    /// Most tokens of a run, read and written together. Checked before each model call that runs
    /// alone. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Most money of a run, by the spec's prices. Checked like `max_tokens`. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<Money>,
    /// Most model calls of a run, repairs included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_model_calls: Option<u32>,
    /// Most tool calls of a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tool_calls: Option<u32>,
    /// Most transitions of a run, after which it ends as `MAX_STEPS_EXCEEDED`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_transitions: Option<u32>,
    /// Largest reply that is read, in bytes. Default: 262,144.
    pub max_reply_bytes: u32,
    /// Largest input of a plan step, in bytes. Default: 16,384.
    pub max_input_bytes: u32,
    /// Longest time of a run in seconds, counted anew when it is resumed. The driver ends the run at
    /// the next answer after that. Default: 3,600.
    pub deadline_seconds: u32,
    /// How long a person may take for one answer, in seconds. The machine does not read it: the
    /// driver tells it when the time is over. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_seconds: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_replans: 2,
            max_repairs: 1,
            max_iterations: None,
            max_added_steps: 4,
            max_tokens: None,
            max_cost: None,
            max_model_calls: None,
            max_tool_calls: None,
            max_transitions: None,
            max_reply_bytes: 262_144,
            max_input_bytes: 16_384,
            deadline_seconds: 3_600,
            answer_seconds: None,
        }
    }
}

fn is_four(count: &u32) -> bool {
    *count == 4
}

/// The most that any run can do. Every run whose effects are answered ends within these numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// Most model calls, repairs and those of nested runs included.
    pub model_calls: u32,
    /// Most tool calls, further tries and those of nested runs included.
    pub tool_calls: u32,
    /// Most transitions: one for each answer, the last included.
    pub transitions: u32,
}
