//! Reply: what a model's reply costs, what follows if it does not read, and what follows from what a person
//! says, whichever phase asks.

use super::admit::link_edit;
use super::run::Run;
use super::state::{Asking, Feedback, REJECTED, Repair, StepFailure, StepRun, Task};
use super::vocabulary::{
    Concern, Counters, Effect, EffectKind, ErrorCode, Event, FailureClass, HumanAnswer, ModelReply,
    PhaseName, TraceLine, Usage,
};
use crate::contract::{ContractError, PlanStep, excerpt};
use crate::spec::{CompiledSpec, OnCut, OnExpiry, OnFailure, OnRejection, Policy, RoleName};

/// How much of a bad reply is shown to the model again, in characters.
const SHOWN_CHARS: usize = 4_000;

/// What a model is told of a reply of its own that was cut.
const CUT: &str = "expected a reply that comes to its end, found one that was cut at the token limit: say it in fewer words";

/// The phase that asks a role, and how a run ends that gets no usable reply from it.
fn asked_in(role: RoleName) -> (PhaseName, ErrorCode) {
    match role {
        RoleName::Validator => (PhaseName::Validate, ErrorCode::ValidateError),
        RoleName::Writer | RoleName::Conversation => (PhaseName::Write, ErrorCode::WriteError),
        RoleName::Orchestrator | RoleName::Executor | RoleName::Agent => {
            (PhaseName::Execute, ErrorCode::ExecuteError)
        }
        _ => (PhaseName::Plan, ErrorCode::PlanError),
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

/// A no, in words or by silence.
pub(super) struct No {
    pub reason: String,
    expired: bool,
}

impl No {
    /// The no to those of several calls that a person did not allow, by position: no word of it is a model's.
    pub fn to_calls(positions: &[String]) -> Self {
        No { reason: format!("not allowed: call {}", positions.join(", ")), expired: false }
    }

    /// How the run ends by it, if the policy says that it does.
    pub fn ends_the_run(&self, policy: &Policy) -> Option<ErrorCode> {
        match (self.expired && policy.on_expiry == OnExpiry::Stop, policy.on_rejection) {
            (true, _) => Some(ErrorCode::Expired),
            (false, OnRejection::Stop | OnRejection::Skip) => Some(ErrorCode::Rejected),
            (false, OnRejection::Replan) => None,
        }
    }

    /// Whether a call that is not allowed is left out by itself.
    pub fn skips(&self, policy: &Policy) -> bool {
        policy.on_rejection == OnRejection::Skip && !(self.expired && policy.on_expiry == OnExpiry::Stop)
    }

    /// What a step is recorded as that is not to be done.
    pub fn failure(&self) -> StepFailure {
        StepFailure::new(REJECTED, &self.reason)
    }

    /// What the planner is told.
    pub fn feedback(self, what: &str) -> Feedback {
        let reason = match self.expired {
            false => format!("a person rejected {what}: {}", self.reason),
            true => format!("{what}: {}", self.reason),
        };
        Feedback { reason, fix_hint: self.reason, ..Feedback::default() }
    }
}

impl Run<'_> {
    /// Reads what a model answered: the value, and why the fallback was read in its place, if it was. If it
    /// does not read, asks again or ends the run, as the role says.
    pub fn read_reply<T>(
        &mut self,
        asking: &mut Asking,
        read: impl Fn(&CompiledSpec, &Task, &ModelReply) -> Result<T, ContractError>,
    ) -> Option<(T, Option<String>)> {
        let Some(Effect::AskModel { role, .. }) = self.awaited else { return None };
        let (phase, code) = asked_in(role);
        let (problem, was_cut, broken) = match self.event.take()? {
            Event::ModelReplied { reply, .. } => {
                self.charge(Spender::Role(role), reply.usage, &reply.model, reply.cached);
                if reply.cached {
                    self.line(TraceLine::Cached { of: role, step: None });
                }
                match read(self.compiled, &self.task, &reply) {
                    Ok(value) => return Some((value, None)),
                    Err(error) => (error.to_string(), false, Some((error, reply))),
                }
            }
            Event::ModelFailed { failure, .. } => {
                self.charge(Spender::Role(role), failure.usage, &failure.model, false);
                let (problem, was_cut) = (failure.to_string(), failure.class == FailureClass::Length);
                let came = ModelReply::text(failure.text);
                if was_cut
                    && self.compiled.accepts_cut(role)
                    && let Ok(value) = read(self.compiled, &self.task, &came)
                {
                    self.line(TraceLine::Fallback { of: role, error: problem.clone() });
                    return Some((value, Some(problem)));
                }
                self.task.artifacts.cut_reply = Some(came.text.clone()).filter(|text| !text.is_empty());
                let repairs = was_cut && self.compiled.policy().on_cut == OnCut::Repair;
                (problem, was_cut, repairs.then(|| (ContractError::at("$", CUT), came)))
            }
            other => {
                self.event = Some(other);
                return None;
            }
        };
        if let OnFailure::Fallback(text) = self.compiled.on_failure(role) {
            self.note_failure(phase, problem.clone());
            match read(self.compiled, &self.task, &ModelReply::text(text.as_str())) {
                Ok(value) => {
                    if role != RoleName::Orchestrator {
                        self.line(TraceLine::Fallback { of: role, error: problem.clone() });
                    }
                    return Some((value, Some(problem)));
                }
                // It read when the spec was checked; what it may say depends on the run as well.
                Err(unfit) => self.give_up(code, format!("contract: {problem} (the fallback: {unfit})")),
            }
            return None;
        }
        match broken {
            // The same request would get the same answer.
            None => self.give_up(code, problem),
            Some(_) if asking.ask > self.compiled.repairs(role, was_cut) => {
                self.give_up(code, if was_cut { problem } else { format!("contract: {problem}") });
            }
            Some((error, reply)) => {
                self.note_failure(phase, problem.clone());
                let repair = asking.ask;
                let reply = excerpt(&reply_as_shown(&reply), SHOWN_CHARS);
                *asking = Asking { ask: repair + 1, repair: Some(Box::new(Repair { error, reply })) };
                let line = TraceLine::Repair { of: phase, repair, error: problem };
                self.repair = Some(Box::new(line));
            }
        }
        None
    }

    /// Ends what a reply was needed for and is not to be had: the step whose input it was to fill, else the run.
    fn give_up(&mut self, code: ErrorCode, problem: String) {
        let asked = self.awaited.map(|effect| effect.id().kind);
        let Some(EffectKind::Fill { step, .. }) = asked else { return self.fail(code, problem) };
        self.note_failure(PhaseName::Execute, problem.clone());
        let failed = StepRun::failed(StepFailure::new("reply", problem), 0);
        self.ended = Some(Box::new((step, failed)));
    }

    /// Takes what a person said, or that they said nothing in time, and leaves its line.
    pub fn hear(&mut self, step: &str, about: Concern) -> Option<Result<HumanAnswer, No>> {
        let step = step.to_owned();
        match self.event.take()? {
            Event::HumanAnswered { answer, .. } => {
                self.line(TraceLine::Human { step, about, answer: answer.clone() });
                Some(match answer {
                    HumanAnswer::Reject { reason } => Err(No { reason, expired: false }),
                    answer => Ok(answer),
                })
            }
            Event::Expired { .. } => {
                self.line(TraceLine::Expired { step, about });
                Some(Err(No { reason: "nobody answered in time".to_owned(), expired: true }))
            }
            other => {
                self.event = Some(other);
                None
            }
        }
    }

    /// Puts the steps that a person wrote in the place of those that have not begun.
    pub fn take_edit(&mut self, asked: EffectKind, steps: &[PlanStep]) {
        // They passed this very check before the answer was taken.
        if let Ok(links) = link_edit(self.compiled, &self.task, asked, steps)
            && let Some(progress) = self.task.progress.as_mut()
        {
            progress.replace_pending(steps, links, self.compiled);
        }
    }

    /// Charges what an answer cost.
    pub fn charge(&mut self, by: Spender, usage: Usage, model: &str, cached: bool) {
        let counters = &mut self.task.counters;
        counters.cached_replies = counters.cached_replies.saturating_add(u32::from(cached));
        if usage.is_zero() {
            return;
        }
        self.count(by, usage);
        if let Some(price) = self.compiled.spec().prices.get(model) {
            let cost = usage.cost(price);
            self.task.counters.cost = self.task.counters.cost.plus(cost);
        }
    }

    /// Charges what the run nested in a step has spent since `before`.
    pub fn charge_nested(&mut self, step: u32, before: Counters, now: Counters) {
        let ours = &mut self.task.counters;
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
        match by {
            Spender::Role(role) => task.usage_by_role.entry(role).or_default().add(usage),
            Spender::AgentOf(step) => {
                let agent = task.planned(step).map(|planned| planned.tool.clone());
                agent.into_iter().for_each(|agent| task.usage_by_agent.entry(agent).or_default().add(usage));
            }
        }
    }
}

/// A reply as it is shown to the model again: its words, and the calls it asked for.
fn reply_as_shown(reply: &ModelReply) -> String {
    let calls = reply.tool_calls.iter().map(|call| format!("\n{}({})", call.name, call.arguments));
    let shown: String = std::iter::once(reply.text.clone()).chain(calls).collect();
    shown.trim_start().to_owned()
}
