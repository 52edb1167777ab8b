//! A run as a JSON object, for `--json`.

use serde_json::{Value, json};

use super::cost::Spent;
use super::report::Asked;
use planwright::contract::PlanStep;
use planwright::journal::Drift;
use planwright::machine::{Progress, State, StepRun};

/// A drift for machines.
pub fn drift_json(drift: &Drift) -> Value {
    let mut value = json!({"kind": drift.kind(), "message": drift.to_string()});
    if let Some(difference) = drift.difference() {
        value["path"] = json!(difference.path);
        value["recorded"] = json!(difference.recorded);
        value["now"] = json!(difference.now);
    }
    value
}

/// The object that `--json` prints. Every field is always there.
pub fn object(asked: &Asked<'_>, state: Option<&State>) -> Value {
    let task = state.map(|state| &state.task);
    json!({
        "answer": task.and_then(|task| task.artifacts.final_answer.as_ref()),
        "error": task.and_then(|task| task.error()),
        "interrupted": null,
        "in_doubt": null,
        "waiting": null,
        "drift": [],
        "phase": state.map(|state| state.phase.name()),
        // As the run keeps it: without the value of a key.
        "question": task.map_or(asked.question, |task| &task.input.question),
        "now": task.map(|task| &task.input.now),
        "agent": asked.agent,
        "model": asked.model,
        "journal": asked.kept.journal().map(|path| path.display().to_string()),
        "thread": asked.kept.thread(),
        "fixture": asked.record.map(|path| path.display().to_string()),
        "counters": task.map(|task| &task.counters),
        "spent": state.map(|state| Spent::of(state, asked.prices).json(asked.currency)),
        "sources": task.map_or(&[][..], |task| &task.artifacts.sources),
        "orchestration_decisions": task.map_or(&[][..], |task| &task.decisions),
        "tainted": task.map(|task| task.tainted),
        "steps": state.map_or_else(Vec::new, steps),
        "trace": task.map_or(&[][..], |task| &task.trace),
    })
}

/// Every step of every plan, in order, with what came of it.
fn steps(state: &State) -> Vec<Value> {
    let plans = state.task.artifacts.past.iter().chain(&state.task.progress);
    let of_plan = |(nth, progress): (usize, &Progress)| {
        let steps = progress.plan.steps.iter().zip(&progress.steps).enumerate();
        let of_step = |(at, (planned, run)): (usize, (&PlanStep, &StepRun))| {
            let mut step = json!({"draft": nth + 1, "step": at + 1, "id": planned.name(at)});
            if let (Some(step), Ok(Value::Object(planned))) =
                (step.as_object_mut(), serde_json::to_value(planned))
            {
                step.extend(planned);
            }
            step["status"] = json!(run.status());
            step["output"] = json!(run.output());
            step
        };
        steps.map(of_step).collect::<Vec<Value>>()
    };
    plans.enumerate().flat_map(of_plan).collect()
}
