//! A run as `--json` prints it, and what it has spent.

use std::path::Path;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::pending::Subject;
use crate::store::RunLocation;
use planwright::contract::{PlanStep, Source, sanitize};
use planwright::driver::{Run, Stopped};
use planwright::journal::{Difference, Drift, ThreadId};
use planwright::machine::{
    Counters, Decided, EffectId, PhaseName, RunError, State, StepRecord, TraceLine, Usage,
};
use planwright::spec::{Money, Prices};

/// A run as it was asked for.
#[derive(Clone, Copy)]
pub struct RunInfo<'a> {
    /// The question.
    pub question: &'a str,
    /// The agent's name.
    pub agent: &'a str,
    /// What the screen calls the model.
    pub model: &'a str,
    /// Where its records are.
    pub location: RunLocation<'a>,
    /// The fixture that it is recorded to.
    pub fixture: Option<&'a Path>,
    /// What models cost.
    pub prices: &'a Prices,
    /// The currency of the prices.
    pub currency: Option<&'a str>,
    /// Whether the caller shows each transition.
    pub shows_trace: bool,
}

/// The object that `--json` prints for a run. Every field is always there.
#[derive(Debug, Serialize)]
pub struct RunReport<'a> {
    answer: Option<&'a str>,
    error: Option<&'a RunError>,
    interrupted: Option<Value>,
    in_doubt: Option<Value>,
    waiting: Option<Value>,
    drift: Vec<DriftJson<'a>>,
    phase: Option<PhaseName>,
    question: &'a str,
    now: Option<&'a str>,
    agent: &'a str,
    model: &'a str,
    journal: Option<String>,
    thread: Option<&'a ThreadId>,
    fixture: Option<String>,
    counters: Option<&'a Counters>,
    spent: Option<Spent<'a>>,
    sources: &'a [Source],
    orchestration_decisions: &'a [Decided],
    tainted: Option<bool>,
    steps: Vec<StepJson<'a>>,
    trace: &'a [TraceLine],
}

/// A step of any plan, with what came of it.
#[derive(Debug, Serialize)]
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

/// A drift of a replay in `--json`.
#[derive(Debug, Serialize)]
pub struct DriftJson<'a> {
    kind: &'static str,
    message: String,
    #[serde(flatten)]
    difference: Option<DifferenceJson<'a>>,
}

/// Where two values first differ, in `--json`.
#[derive(Debug, Serialize)]
struct DifferenceJson<'a> {
    path: &'a str,
    recorded: &'a str,
    now: &'a str,
}

impl<'a> From<&'a Drift> for DriftJson<'a> {
    fn from(drift: &'a Drift) -> Self {
        let difference = drift.difference().map(DifferenceJson::from);
        DriftJson { kind: drift.kind(), message: drift.to_string(), difference }
    }
}

impl<'a> From<&'a Difference> for DifferenceJson<'a> {
    fn from(Difference { path, recorded, now }: &'a Difference) -> Self {
        DifferenceJson { path, recorded, now }
    }
}

impl<'a> RunReport<'a> {
    /// The report of a run; nothing where the result says nothing of a run, such as a refused answer.
    pub fn of(info: &RunInfo<'a>, result: &'a Result<Run, Stopped>) -> Option<Self> {
        Some(match result {
            Ok(run) => RunReport::of_run(info, run),
            Err(Stopped::Unsaved { run, .. }) => RunReport::of_run(info, run),
            Err(Stopped::Interrupted(stopped)) => {
                let cause = &stopped.cause;
                let interrupted = Some(json!({
                    "effect": stopped.effect, "cause": cause.cause.to_string(), "message": cause.message,
                    "tries": cause.tries,
                    "retry_after_seconds": cause.retry_after.map(|delay| delay.as_secs_f64()),
                }));
                // A write whose time ran out may have happened.
                let in_doubt = info.location.pending().and_then(|pending| match pending.subject {
                    Subject::Question(_) => None,
                    Subject::Doubt(call) => {
                        Some(doubt_json(pending.effect, &call.tool, Some(&pending.token)))
                    }
                });
                RunReport { interrupted, in_doubt, ..RunReport::new(info, Some(&stopped.state)) }
            }
            Err(Stopped::InDoubt { effect, tool }) => {
                let token = info.location.pending().map(|pending| pending.token);
                let in_doubt = Some(doubt_json(*effect, tool, token.as_deref()));
                RunReport { in_doubt, ..RunReport::new(info, None) }
            }
            Err(Stopped::Drifted(drifts)) => {
                let drift = drifts.iter().map(DriftJson::from).collect();
                RunReport { drift, ..RunReport::new(info, None) }
            }
            Err(_) => return None,
        })
    }

    fn of_run(info: &RunInfo<'a>, run: &'a Run) -> Self {
        let waiting = run.waiting().map(|waiting| {
            json!({
                "effect": waiting.effect, "step": u64::from(waiting.step) + 1,
                "question": waiting.question, "token": waiting.token, "refused": waiting.refused,
            })
        });
        RunReport { waiting, ..RunReport::new(info, Some(run.state())) }
    }

    fn new(info: &RunInfo<'a>, state: Option<&'a State>) -> Self {
        RunReport {
            answer: state.and_then(State::answer),
            error: state.and_then(State::error),
            interrupted: None,
            in_doubt: None,
            waiting: None,
            drift: Vec::new(),
            phase: state.map(State::phase),
            // The run's own question is without the value of a key.
            question: state.map_or(info.question, |state| &state.input().question),
            now: state.map(|state| &*state.input().now),
            agent: info.agent,
            model: info.model,
            journal: info.location.journal().map(|path| path.display().to_string()),
            thread: info.location.stored().map(|stored| &stored.thread),
            fixture: info.fixture.map(|path| path.display().to_string()),
            counters: state.map(State::counters),
            spent: state.map(|state| Spent::of(state, info.prices, info.currency)),
            sources: state.map_or(&[], State::sources),
            orchestration_decisions: state.map_or(&[], State::decisions),
            tainted: state.map(State::is_tainted),
            steps: state.map_or_else(Vec::new, list_steps),
            trace: state.map_or(&[], State::trace),
        }
    }
}

fn doubt_json(effect: EffectId, tool: &str, token: Option<&str>) -> Value {
    json!({"effect": effect, "tool": tool, "token": token})
}

/// Every step of every plan, in order.
fn list_steps(state: &State) -> Vec<StepJson<'_>> {
    let steps = state.steps().map(|record| {
        let StepRecord { plan, step_index: at, step: planned, status, output, .. } = record;
        let id = planned.id.is_none().then(|| planned.name(at));
        StepJson { draft: plan + 1, step: at + 1, id, planned, status, output }
    });
    steps.collect()
}

/// What a run has spent, as `--json` prints it. Every field is always there.
#[derive(Debug, Default, Serialize)]
pub struct Spent<'a> {
    tokens: Usage,
    #[serde(serialize_with = "serialize_map")]
    by_role: Vec<(String, Usage)>,
    /// `None` where no price is known.
    cost: Option<Money>,
    currency: Option<&'a str>,
}

fn serialize_map<S: Serializer>(by_role: &[(String, Usage)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(by_role.iter().map(|(role, usage)| (role, usage)))
}

impl<'a> Spent<'a> {
    /// What a run has spent so far: tokens by role and agent, and money where prices are known.
    pub fn of(state: &State, prices: &Prices, currency: Option<&'a str>) -> Self {
        let cost = (!prices.is_empty()).then_some(state.counters().cost);
        let by_role = state.usage_by_name().collect();
        Spent { tokens: state.counters().usage, by_role, cost, currency }
    }

    /// One line for people; `None` where nothing was spent.
    pub fn line(&self) -> Option<String> {
        let Usage { input_tokens, output_tokens, cached_tokens } = self.tokens;
        if self.tokens.is_zero() {
            return None;
        }
        let mut line = format!("{input_tokens} tokens read, {output_tokens} written");
        if cached_tokens > 0 {
            line.push_str(&format!(" ({cached_tokens} of those read were cached)"));
        }
        for (nth, (role, usage)) in self.by_role.iter().enumerate() {
            let separator = if nth == 0 { "; " } else { ", " };
            line.push_str(&format!("{separator}{role} {}+{}", usage.input_tokens, usage.output_tokens));
        }
        if let Some(cost) = self.cost {
            let currency = self.currency.map_or_else(String::new, |text| format!(" {}", sanitize(text)));
            line.push_str(&format!("; cost {cost}{currency}"));
        }
        Some(line)
    }
}
