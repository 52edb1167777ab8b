//! A run as `--json` prints it.

use std::path::Path;

use serde::Serialize;
use serde_json::{Value, json};

use crate::location::RunLocation;
use crate::pending::Subject;
use crate::spent::Spent;
use planwright::contract::Source;
use planwright::driver::{Run, Stopped, Waiting};
use planwright::journal::{Difference, Drift, ThreadId};
use planwright::machine::{Counters, Decided, EffectId, PhaseName, RunError, State, TraceLine};
use planwright::spec::Prices;

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
    interrupted: Option<InterruptionJson>,
    in_doubt: Option<DoubtJson>,
    waiting: Option<WaitingJson<'a>>,
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
    steps: Vec<Value>,
    trace: &'a [TraceLine],
}

#[derive(Debug, Serialize)]
struct InterruptionJson {
    effect: EffectId,
    cause: String,
    message: String,
    tries: u32,
    retry_after_seconds: Option<f64>,
}

#[derive(Debug, Serialize)]
struct DoubtJson {
    effect: EffectId,
    tool: String,
    token: Option<String>,
}

#[derive(Debug, Serialize)]
struct WaitingJson<'a> {
    effect: EffectId,
    step: u64,
    question: &'a str,
    token: &'a str,
    refused: Option<&'a str>,
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
pub struct DifferenceJson<'a> {
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
                // A write whose time ran out may have happened.
                let in_doubt = info.location.pending().and_then(|pending| match pending.subject {
                    Subject::Question(_) => None,
                    Subject::Doubt { tool, .. } => {
                        Some(DoubtJson { effect: pending.effect, tool, token: Some(pending.token) })
                    }
                });
                let interrupted = Some(InterruptionJson {
                    effect: stopped.effect,
                    cause: cause.cause.to_string(),
                    message: cause.message.clone(),
                    tries: cause.tries,
                    retry_after_seconds: cause.retry_after.map(|delay| delay.as_secs_f64()),
                });
                RunReport { interrupted, in_doubt, ..RunReport::new(info, Some(&stopped.state)) }
            }
            Err(Stopped::InDoubt { effect, tool }) => {
                let token = info.location.pending().map(|pending| pending.token);
                let in_doubt = Some(DoubtJson { effect: *effect, tool: tool.clone(), token });
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
        RunReport { waiting: run.waiting().map(waiting_json), ..RunReport::new(info, Some(run.state())) }
    }

    fn new(info: &RunInfo<'a>, state: Option<&'a State>) -> Self {
        let task = state.map(|state| &state.task);
        RunReport {
            answer: task.and_then(|task| task.artifacts.final_answer.as_deref()),
            error: task.and_then(|task| task.error()),
            interrupted: None,
            in_doubt: None,
            waiting: None,
            drift: Vec::new(),
            phase: state.map(|state| state.phase.name()),
            // The run's own question is without the value of a key.
            question: task.map_or(info.question, |task| &task.input.question),
            now: task.map(|task| &*task.input.now),
            agent: info.agent,
            model: info.model,
            journal: info.location.journal().map(|path| path.display().to_string()),
            thread: info.location.thread(),
            fixture: info.fixture.map(|path| path.display().to_string()),
            counters: task.map(|task| &task.counters),
            spent: state.map(|state| Spent::of(state, info.prices, info.currency)),
            sources: task.map_or(&[], |task| &task.artifacts.sources),
            orchestration_decisions: task.map_or(&[], |task| &task.decisions),
            tainted: task.map(|task| task.tainted),
            steps: state.map_or_else(Vec::new, steps_json),
            trace: task.map_or(&[], |task| &task.trace),
        }
    }
}

fn waiting_json(waiting: &Waiting) -> WaitingJson<'_> {
    WaitingJson {
        effect: waiting.effect,
        step: u64::from(waiting.step) + 1,
        question: &waiting.question,
        token: &waiting.token,
        refused: waiting.refused.as_deref(),
    }
}

/// Every step of every plan, in order, with what came of it.
fn steps_json(state: &State) -> Vec<Value> {
    let mut steps = Vec::new();
    for (nth, progress) in state.task.artifacts.past.iter().chain(&state.task.progress).enumerate() {
        for (at, (planned, run)) in progress.plan.steps.iter().zip(&progress.steps).enumerate() {
            let mut step = json!({"draft": nth + 1, "step": at + 1, "id": planned.name(at)});
            if let (Some(step), Ok(Value::Object(planned))) =
                (step.as_object_mut(), serde_json::to_value(planned))
            {
                step.extend(planned);
            }
            step["status"] = json!(run.status());
            step["output"] = json!(run.output());
            steps.push(step);
        }
    }
    steps
}
