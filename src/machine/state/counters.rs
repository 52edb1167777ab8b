//! What a run has spent.

use serde::{Deserialize, Serialize};

use crate::machine::vocabulary::Usage;
use crate::spec::Money;

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// What a run has spent, nested runs included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Plans sent back so far, by rejections and step failures alike.
    pub replans: u32,
    /// Steps that an orchestrator added.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub added_steps: u32,
    /// Model calls asked for.
    pub model_calls: u32,
    /// Of them, those that were answered out of the cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached_replies: u32,
    /// Tool calls asked for, further tries included.
    pub tool_calls: u32,
    /// Transitions made.
    pub transitions: u32,
    /// Tokens, summed over all replies.
    pub usage: Usage,
    /// What they cost, as far as prices are known.
    #[serde(default, skip_serializing_if = "Money::is_zero")]
    pub cost: Money,
}
