//! Limits: every bound of a run has a name here, and every one is finite.

use serde::{Deserialize, Serialize};

use super::Money;

/// The bounds of a run. Those left out are worked out from the others (see
/// [`Bounds`](super::Bounds)) or take the default that each names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// How many new plans one run may try. Zero means the first plan is final. 2 unless set.
    pub max_replans: u32,
    /// How often one reply may be asked for again because it broke its contract. 1 unless set.
    pub max_repairs: u32,
    /// How often PLAN may be entered under `horizon = "next"`; needed there, refused elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u32>,
    /// How many steps an orchestrator may add to a run. 4 unless set.
    #[serde(skip_serializing_if = "is_four")]
    pub max_added_steps: u32,
    /// Most tokens of a run, read and written together. Looked at before each model call that runs
    /// beside nothing else; any number unless set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Most money of a run, by the spec's prices; looked at like `max_tokens`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<Money>,
    /// Most model calls of a run, repairs included. Unless set: as many as the other limits allow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_model_calls: Option<u32>,
    /// Most tool calls of a run. Unless set: as many as the other limits allow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tool_calls: Option<u32>,
    /// Most transitions of a run, after which it ends as `MAX_STEPS_EXCEEDED`. Unless set: as many
    /// as the other limits allow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_transitions: Option<u32>,
    /// Largest reply that is read, in bytes. 262,144 unless set.
    pub max_reply_bytes: u32,
    /// Largest input of a plan step, in bytes. 16,384 unless set.
    pub max_input_bytes: u32,
    /// Longest time a run may take in one sitting, in seconds; the driver ends it at the next answer
    /// after that. A run that is resumed begins a new sitting.
    /// 3,600 unless set.
    pub deadline_seconds: u32,
    /// How long a person may take for one answer, in seconds; any time unless set. The machine never
    /// reads it: whoever asks tells it that the time is over.
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
