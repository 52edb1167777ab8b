//! Spending: counts what answers cost, in all and under the name of who spent it. It limits nothing;
//! budget.rs does.

use super::event::{ModelReply, Usage};
use super::state::{Counters, Task};
use crate::spec::{CompiledSpec, RoleName};

/// Whom a reply was asked of.
#[derive(Clone, Copy)]
pub(super) enum Spender {
    /// A role.
    Role(RoleName),
    /// The agent that does this step.
    DoerOf(u32),
}

/// Counts what a reply cost.
pub(super) fn spend(task: &mut Task, rules: &CompiledSpec, by: Spender, reply: &ModelReply) {
    task.counters.cached_replies += u32::from(reply.cached);
    charge(task, rules, by, reply.usage, &reply.model);
}

/// Counts what an answer cost, reply or none.
pub(super) fn charge(task: &mut Task, rules: &CompiledSpec, by: Spender, usage: Usage, model: &str) {
    if usage.is_zero() {
        return;
    }
    count(task, by, usage);
    if let Some(price) = rules.spec().prices.get(model) {
        let cost = price.of(usage.input_tokens, usage.output_tokens, usage.cached_tokens);
        task.counters.cost = task.counters.cost.plus(cost);
    }
}

/// Counts what the nested run of a step has spent since `before`.
pub(super) fn include(task: &mut Task, step: u32, before: Counters, inner: &Task) {
    let (ours, now) = (&mut task.counters, inner.counters);
    ours.model_calls += now.model_calls - before.model_calls;
    ours.tool_calls += now.tool_calls - before.tool_calls;
    ours.cached_replies += now.cached_replies - before.cached_replies;
    let spent = now.usage.less(before.usage);
    if !spent.is_zero() {
        ours.cost = ours.cost.plus(now.cost.less(before.cost));
        count(task, Spender::DoerOf(step), spent);
    }
}

/// Counts tokens, in all and under the name of who spent them.
fn count(task: &mut Task, by: Spender, usage: Usage) {
    task.counters.usage.add(usage);
    let step = match by {
        Spender::Role(role) => return task.usage_by_role.entry(role).or_default().add(usage),
        Spender::DoerOf(step) => step as usize,
    };
    let Some(planned) = task.progress.as_ref().and_then(|progress| progress.plan.steps.get(step)) else {
        return;
    };
    match task.usage_by_agent.get_mut(&planned.tool) {
        Some(spent) => spent.add(usage),
        None => drop(task.usage_by_agent.insert(planned.tool.clone(), usage)),
    }
}
