//! Charge: what answers cost, in all and under the name of who spent it.

use super::run::Run;
use super::state::Task;
use super::vocabulary::{Counters, ModelReply, Usage};
use crate::spec::RoleName;

/// Whom a reply was asked of.
#[derive(Clone, Copy)]
pub(super) enum Spender {
    /// A role.
    Role(RoleName),
    /// The agent that does this step.
    AgentOf(u32),
}

impl Run<'_> {
    /// Charges what a reply cost.
    pub fn charge_reply(&mut self, by: Spender, reply: &ModelReply) {
        let counters = &mut self.task.counters;
        counters.cached_replies = counters.cached_replies.saturating_add(u32::from(reply.cached));
        self.charge(by, reply.usage, &reply.model);
    }

    /// Charges what an answer cost, reply or none.
    pub fn charge(&mut self, by: Spender, usage: Usage, model: &str) {
        if usage.is_zero() {
            return;
        }
        self.count(by, usage);
        if let Some(price) = self.rules.spec().prices.get(model) {
            let cost = price.of(usage.input_tokens, usage.output_tokens, usage.cached_tokens);
            self.task.counters.cost = self.task.counters.cost.plus(cost);
        }
    }

    /// Charges what the run nested in a step has spent since `before`.
    pub fn charge_nested(&mut self, step: u32, before: Counters, inner: &Task) {
        let (ours, now) = (&mut self.task.counters, inner.counters);
        let add =
            |sum: &mut u32, now: u32, before: u32| *sum = sum.saturating_add(now.saturating_sub(before));
        add(&mut ours.model_calls, now.model_calls, before.model_calls);
        add(&mut ours.tool_calls, now.tool_calls, before.tool_calls);
        add(&mut ours.cached_replies, now.cached_replies, before.cached_replies);
        let spent = now.usage.less(before.usage);
        if !spent.is_zero() {
            ours.cost = ours.cost.plus(now.cost.less(before.cost));
            self.count(Spender::AgentOf(step), spent);
        }
    }

    fn count(&mut self, by: Spender, usage: Usage) {
        let task = &mut *self.task;
        task.counters.usage.add(usage);
        let step = match by {
            Spender::Role(role) => return task.usage_by_role.entry(role).or_default().add(usage),
            Spender::AgentOf(step) => step,
        };
        let Some(agent) = task.planned(step).map(|planned| planned.tool.clone()) else { return };
        task.usage_by_agent.entry(agent).or_default().add(usage);
    }
}
