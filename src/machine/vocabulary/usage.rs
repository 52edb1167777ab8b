//! What a run has spent.

use serde::{Deserialize, Serialize};

use crate::spec::{Money, Price};

/// What model calls cost, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Of the tokens read, those that the server had in its cache.
    pub cached_tokens: u64,
    /// Of the tokens read, those that the server put into its cache, where it bills them apart.
    #[serde(skip_serializing_if = "is_none")]
    pub cache_written_tokens: u64,
    /// Of the tokens read and written, those that are estimated: the server does not count.
    #[serde(skip_serializing_if = "is_none")]
    pub estimated_tokens: u64,
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

impl Usage {
    /// Whether nothing was counted.
    pub fn is_zero(&self) -> bool {
        *self == Usage::default()
    }

    /// What they cost at a price.
    pub fn cost(&self, price: &Price) -> Money {
        let (cached, written) = (self.cached_tokens, self.cache_written_tokens);
        price.of(self.input_tokens, self.output_tokens, cached, written)
    }

    /// Adds what another call cost.
    pub fn add(&mut self, other: Usage) {
        *self = self.each(other, u64::saturating_add);
    }

    /// What was spent since `before`.
    pub(in crate::machine) fn less(self, before: Usage) -> Self {
        self.each(before, u64::saturating_sub)
    }

    fn each(self, other: Usage, count: fn(u64, u64) -> u64) -> Self {
        Usage {
            input_tokens: count(self.input_tokens, other.input_tokens),
            output_tokens: count(self.output_tokens, other.output_tokens),
            cached_tokens: count(self.cached_tokens, other.cached_tokens),
            cache_written_tokens: count(self.cache_written_tokens, other.cache_written_tokens),
            estimated_tokens: count(self.estimated_tokens, other.estimated_tokens),
        }
    }
}

pub(super) fn is_zero(count: &u32) -> bool {
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
    /// Calls that people were asked about.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub questions: u32,
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
