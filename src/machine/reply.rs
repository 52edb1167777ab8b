//! Reply: what a model's reply costs, and what follows where it does not read, whichever phase asks.

use super::run::Run;
use super::state::{Asking, Repair, Task};
use super::vocabulary::{Counters, Effect, ErrorCode, Event, ModelReply, PhaseName, TraceLine, Usage};
use crate::contract::ContractError;
use crate::contract::excerpt;
use crate::spec::{CompiledSpec, OnFailure, RoleName};

/// How much of a bad reply is shown to the model again, in characters.
const SHOWN_CHARS: usize = 4_000;

/// The phase that asks a role.
fn phase_of(role: RoleName) -> PhaseName {
    match role {
        RoleName::Validator => PhaseName::Validate,
        RoleName::Writer | RoleName::Conversation => PhaseName::Write,
        RoleName::Orchestrator | RoleName::Agent => PhaseName::Execute,
        _ => PhaseName::Plan,
    }
}

fn code(phase: PhaseName) -> ErrorCode {
    match phase {
        PhaseName::Plan => ErrorCode::PlanError,
        PhaseName::Validate => ErrorCode::ValidateError,
        PhaseName::Write => ErrorCode::WriteError,
        PhaseName::Execute | PhaseName::Done | PhaseName::Error => ErrorCode::ExecuteError,
    }
}

/// Whom a reply was asked of.
#[derive(Clone, Copy)]
pub(super) enum Spender {
    /// A role.
    Role(RoleName),
    /// The agent that does this step.
    AgentOf(u32),
}

impl Run<'_> {
    /// Reads what a model answered to an effect. Where it does not read, asks again, reads the fallback
    /// or ends the run, as the role says; then there is nothing to read now.
    pub fn read_reply<T>(
        &mut self,
        effect: Option<Effect>,
        asking: &mut Asking,
        read: impl Fn(&CompiledSpec, &Task, &ModelReply) -> Result<T, ContractError>,
    ) -> Option<(T, Option<String>)> {
        let Some(effect @ Effect::AskModel { role, .. }) = effect else { return None };
        let on_failure = self.rules.on_failure(role);
        let (error, shown, repairs) = match self.take_event()? {
            Event::ModelReplied { reply, .. } => {
                self.charge_reply(Spender::Role(role), &reply);
                if reply.cached {
                    self.line(TraceLine::Cached { of: role, step: None });
                }
                match read(self.rules, &self.task, &reply) {
                    Ok(value) => return Some((value, None)),
                    Err(error) => (error.to_string(), reply_as_shown(&reply), Some(error)),
                }
            }
            Event::ModelFailed { failure, .. } => {
                self.charge(Spender::Role(role), failure.usage, &failure.model);
                (failure.to_string(), String::new(), None)
            }
            other => {
                self.give_back(other);
                return None;
            }
        };
        match (on_failure, repairs) {
            (OnFailure::Fallback(text), _) => return self.fall_back(role, text.clone(), error, read),
            (_, Some(broken)) => self.repair(effect, role, asking, broken, &shown),
            // The same request would get the same answer.
            (_, None) => self.fail(code(phase_of(role)), error),
        }
        None
    }

    fn fall_back<T>(
        &mut self,
        role: RoleName,
        text: String,
        error: String,
        read: impl Fn(&CompiledSpec, &Task, &ModelReply) -> Result<T, ContractError>,
    ) -> Option<(T, Option<String>)> {
        self.note_failure(phase_of(role), error.clone());
        match read(self.rules, &self.task, &ModelReply::text(text)) {
            Ok(value) => {
                if role != RoleName::Orchestrator {
                    self.line(TraceLine::Fallback { of: role, error: error.clone() });
                }
                Some((value, Some(error)))
            }
            // It read when the spec was checked; what it may say depends on the run as well.
            Err(unfit) => {
                self.fail(code(phase_of(role)), format!("contract: {error} (the fallback: {unfit})"));
                None
            }
        }
    }

    /// Asks again, or ends the run.
    fn repair(
        &mut self,
        effect: Effect,
        role: RoleName,
        asking: &mut Asking,
        error: ContractError,
        reply: &str,
    ) {
        let of = phase_of(role);
        if asking.ask > self.rules.repairs(role) {
            return self.fail(code(of), format!("contract: {error}"));
        }
        let message = error.to_string();
        self.note_failure(of, message.clone());
        let repair = Repair { error, reply: excerpt(reply, SHOWN_CHARS) };
        *asking = Asking { ask: asking.ask + 1, repair: Some(Box::new(repair)) };
        // A repair that the limits do not allow never happened, so no line tells of it.
        if self.emit(effect.under(effect.id().kind.asked(asking.ask).into())) {
            self.line(TraceLine::Repair { of, repair: asking.ask - 1, error: message });
        }
    }

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

/// A reply as it is shown to the model again: its words, and the calls it asked for.
fn reply_as_shown(reply: &ModelReply) -> String {
    let mut shown = reply.text.clone();
    for call in &reply.tool_calls {
        shown.push_str(&format!("\n{}({})", call.name, call.arguments));
    }
    shown.trim_start().to_owned()
}
