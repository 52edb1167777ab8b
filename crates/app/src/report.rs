//! A run as `--json` prints it, and what it has spent.

use std::path::Path;

use serde::Serialize;
use serde_json::{Value, json};

use crate::agent::PreparedAgent;
use crate::store::RunLocation;
use planwright::contract::{PlanStep, sanitize};
use planwright::driver::{Run, Stopped};
use planwright::journal::Drift;
use planwright::machine::{EffectId, State, StepRecord, Usage};

/// A run as it was asked for.
#[derive(Clone, Copy)]
pub struct RunInfo<'a> {
    /// The question.
    pub question: &'a str,
    /// The agent.
    pub prepared: &'a PreparedAgent,
    /// Where its records are.
    pub location: RunLocation<'a>,
    /// The fixture that it is recorded to.
    pub fixture: Option<&'a Path>,
    /// Whether the caller shows each transition.
    pub shows_trace: bool,
}

/// A step of any plan, with what came of it.
#[derive(Serialize)]
struct StepJson<'a> {
    draft: usize,
    step: usize,
    /// The name of a step that has none of its own in its plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(flatten)]
    planned: &'a PlanStep,
    status: &'static str,
    output: Option<&'a str>,
}

impl<'a> StepJson<'a> {
    fn of(record: StepRecord<'a>) -> Self {
        let StepRecord { plan, step_index: at, step: planned, status, output, .. } = record;
        let id = planned.id.is_none().then(|| planned.name(at));
        StepJson { draft: plan + 1, step: at + 1, id, planned, status, output }
    }
}

/// A drift of a replay in `--json`.
pub fn drift_json(drift: &Drift) -> Value {
    let mut object = json!({"kind": drift.kind(), "message": drift.to_string()});
    if let Some(difference) = drift.difference() {
        object["path"] = json!(difference.path);
        object["recorded"] = json!(difference.recorded);
        object["now"] = json!(difference.now);
    }
    object
}

fn doubt_json(effect: EffectId, tool: &str, token: Option<&str>) -> Value {
    json!({"effect": effect, "tool": tool, "token": token})
}

impl RunInfo<'_> {
    /// The object that `--json` prints for a run; nothing where the result says nothing of a run, such as a refused
    /// answer. Every field is always there.
    pub fn report(&self, result: &Result<Run, Stopped>) -> Option<Value> {
        let (mut interrupted, mut in_doubt, mut waiting) = (None, None, None);
        let mut drift = Vec::new();
        let state = match result {
            Ok(run) => {
                waiting = run.waiting().map(|waiting| {
                    json!({
                        "effect": waiting.effect, "step": u64::from(waiting.step) + 1,
                        "question": waiting.question, "token": waiting.token, "refused": waiting.refused,
                    })
                });
                Some(run.state())
            }
            Err(Stopped::Unsaved { run, .. }) => Some(run.state()),
            Err(Stopped::Interrupted(stopped)) => {
                let cause = &stopped.cause;
                interrupted = Some(json!({
                    "effect": stopped.effect, "cause": cause.cause.to_string(), "message": cause.message,
                    "tries": cause.tries,
                    "retry_after_seconds": cause.retry_after.map(|delay| delay.as_secs_f64()),
                }));
                // A write whose time ran out may have happened.
                in_doubt = self.location.pending().and_then(|pending| {
                    Some(doubt_json(pending.effect, &pending.in_doubt?.tool, Some(&pending.token)))
                });
                Some(&*stopped.state)
            }
            Err(Stopped::InDoubt { effect, tool }) => {
                let token = self.location.pending().map(|pending| pending.token);
                in_doubt = Some(doubt_json(*effect, tool, token.as_deref()));
                None
            }
            Err(Stopped::Drifted(drifts)) => {
                drift = drifts.iter().map(drift_json).collect();
                None
            }
            Err(_) => return None,
        };
        Some(json!({
            "answer": state.and_then(State::answer),
            "error": state.and_then(State::error),
            "interrupted": interrupted,
            "in_doubt": in_doubt,
            "waiting": waiting,
            "drift": drift,
            "phase": state.map(State::phase),
            // The run's own question is without the value of a key.
            "question": state.map_or(self.question, |state| &state.input().question),
            "now": state.map(|state| &*state.input().now),
            "agent": self.prepared.agent.rules().spec().name,
            "model": self.prepared.model,
            "journal": self.location.journal().map(|path| path.display().to_string()),
            "thread": self.location.stored().map(|stored| &stored.thread),
            "fixture": self.fixture.map(|path| path.display().to_string()),
            "counters": state.map(State::counters),
            "spent": state.map(|state| self.spent(state)),
            "sources": state.map_or(&[][..], State::sources),
            "orchestration_decisions": state.map_or(&[][..], State::decisions),
            "tainted": state.map(State::is_tainted),
            "steps": state.into_iter().flat_map(State::steps).map(StepJson::of).collect::<Vec<_>>(),
            "trace": state.map_or(&[][..], State::trace),
        }))
    }

    /// What a run has spent: tokens by role and agent, and money where prices are known.
    fn spent(&self, state: &State) -> Value {
        let cost = (!self.prepared.agent.rules().spec().prices.is_empty()).then_some(state.counters().cost);
        let by_role = state.usage_by_name().map(|(role, usage)| (role, json!(usage)));
        json!({
            "tokens": state.counters().usage, "by_role": by_role.collect::<Value>(), "cost": cost,
            "currency": self.prepared.currency,
        })
    }

    /// What a run has spent, in one line for people; `None` where nothing was spent.
    pub fn spent_line(&self, state: &State) -> Option<String> {
        let Usage { input_tokens, output_tokens, cached_tokens } = state.counters().usage;
        if state.counters().usage.is_zero() {
            return None;
        }
        let mut line = format!("{input_tokens} tokens read, {output_tokens} written");
        if cached_tokens > 0 {
            line.push_str(&format!(" ({cached_tokens} of those read were cached)"));
        }
        let roles = state
            .usage_by_name()
            .map(|(role, usage)| format!("{role} {}+{}", usage.input_tokens, usage.output_tokens));
        let roles: Vec<String> = roles.collect();
        if !roles.is_empty() {
            line.push_str(&format!("; {}", roles.join(", ")));
        }
        if !self.prepared.agent.rules().spec().prices.is_empty() {
            let currency = self.prepared.currency.iter().map(|text| format!(" {}", sanitize(text)));
            line.push_str(&format!("; cost {}{}", state.counters().cost, currency.collect::<String>()));
        }
        Some(line)
    }
}
