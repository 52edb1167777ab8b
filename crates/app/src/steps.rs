//! The steps of a run as people see them: each with what came of it, as JSON and in words; and its trace.

use serde_json::{Value, json};

use planwright::contract::{Intent, excerpt};
use planwright::machine::{EffectId, State, StepRecord, TraceLine};
use planwright::spec::{CompiledSpec, Write};

/// How much of a step is shown on its line, in characters.
const CHARS: usize = 120;

/// A step of any plan, with its name and what came of it.
pub(crate) fn step_json(record: StepRecord<'_>) -> Value {
    let StepRecord { draft, step_index: at, step, status, output, .. } = record;
    let mut object = json!({"draft": draft, "step": at + 1, "id": step.name(at)});
    for (field, value) in json!(step).as_object().into_iter().flatten() {
        object[field] = value.clone();
    }
    (object["status"], object["output"]) = (json!(status), json!(output));
    object
}

/// The plan that a run is at, a step an object: what was planned, its `status`, its `result` or `error`, and
/// what a person answered.
pub fn plan_json(state: &State) -> Vec<Value> {
    let view = |record: StepRecord<'_>| {
        let (step, status, output) = (record.step, record.status, json!(record.output));
        let mut object = step_json(record);
        object["step_id"] = object["step"].clone();
        (object["description"], object["hitl_question"]) =
            (json!(step.description), json!(step.hitl_question));
        let nothing = || Value::Null;
        object["hitl_response"] =
            if step.is_hitl() && status == "completed" { output.clone() } else { nothing() };
        (object["result"], object["error"]) =
            if status == "failed" { (nothing(), output) } else { (output, nothing()) };
        object
    };
    state.current_steps().map(view).collect()
}

/// A step of [`plan_json`] with its status, and below it what came of it, whole or its beginning.
pub fn step_text(step: &Value, whole: bool) -> String {
    let text = |field: &str| step[field].as_str().filter(|text| !text.is_empty());
    let line = |text: &str| excerpt(&text.split_whitespace().collect::<Vec<_>>().join(" "), CHARS);
    let told = ["hitl_question", "task", "description"].iter().find_map(|field| text(field));
    let input = || step["input"].as_str().map_or_else(|| step["input"].to_string(), str::to_owned);
    let told = line(&told.map_or_else(input, str::to_owned));
    let came = text("error").or(text("result"));
    let came = came.map(|came| if whole { came.replace('\n', "\n     ") } else { line(came) });
    let came = came.map_or_else(String::new, |came| format!("\n   → {came}"));
    let (at, who, status) =
        (&step["step"], text("tool").unwrap_or_default(), text("status").unwrap_or_default());
    format!("{at}. {status}  {}: {told}{came}", line(who))
}

/// What the run that asks a person has found by then, whole: each step that has a result, with it. Every line of a
/// result is indented, so that none can pass for the question.
pub fn results_text(state: &State, asked: EffectId) -> String {
    let plan = state.run_of(asked).map(plan_json).unwrap_or_default();
    let results = plan.iter().filter(|step| !step["output"].is_null());
    results.map(|step| step_text(step, true)).collect::<Vec<_>>().join("\n")
}

/// The work of a run whose answer only says how each step stands: the last result that is no person's.
pub fn report_text<'s>(compiled: &CompiledSpec, state: &'s State) -> Option<&'s str> {
    state.answer().filter(|_| compiled.policy().write == Write::Summary)?;
    let is_work = |record: &StepRecord<'_>| record.status == "completed" && !record.step.is_hitl();
    state.current_steps().filter(is_work).filter_map(|record| record.output).last()
}

/// A trace line in JSON. That of the intent says how the question was understood, which the trace itself leaves to
/// the state; that of a refusal says its code in words.
pub fn trace_line_json(line: &TraceLine, intent: Option<&Intent>) -> Value {
    let mut object = json!(line);
    if let (TraceLine::Intent { .. }, Some(intent)) = (line, intent) {
        let fields = [("rewritten_query", &intent.rewritten_query), ("constraints", &intent.constraints)];
        fields
            .into_iter()
            .filter(|(_, text)| text.is_some())
            .for_each(|(key, text)| object[key] = json!(text));
    }
    if let TraceLine::Denied { code, .. } = line {
        object["message"] = json!(code.message());
    }
    object
}
