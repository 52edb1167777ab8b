//! `trace`: the transitions of a recorded run as a table.

use std::path::Path;

use serde_json::Value;

use crate::args::TraceArgs;
use crate::out::stdout_columns;
use crate::{out, text};
use planwright::contract::{Intent, LabelledPart, PlanStep};
use planwright::journal::{Folded, Outcome, fold};
use planwright::machine::TraceLine;
use planwright_app::{Error, Result, RunFile, answer_line, trace_line_json, variant};

/// The trace of a run, what the user was found to want, and how it ended as phase, result and details.
type Story = (Vec<TraceLine>, Option<Intent>, [String; 3]);

pub fn trace(args: &TraceArgs) -> Result<()> {
    let (lines, intent, ending) = match (&args.file, &args.thread) {
        (Some(file), _) => load(file)?,
        (None, Some(thread)) => {
            let stored = args.store.place()?.thread(thread)?;
            of_folded(stored.fold(args.turn)?, &stored.command("resume"))
        }
        (None, None) => return Err(Error::unusable("expected a file or a thread, found neither")),
    };
    match args.json {
        true => {
            lines.iter().try_for_each(|line| out::print_json_line(&trace_line_json(line, intent.as_ref())))
        }
        false => out::print_lines(&table(&lines, intent.as_ref(), Some(ending), stdout_columns())),
    }
}

/// Reads a fixture, or folds a journal.
fn load(path: &Path) -> Result<Story> {
    match RunFile::load(path)? {
        RunFile::Journal(records) => {
            let folded = fold(records).map_err(Error::at(path.display()))?;
            Ok(of_folded(folded, "planwright resume"))
        }
        RunFile::Fixture(fixture) => Ok((fixture.trace, None, ending(fixture.outcome))),
    }
}

fn of_folded(folded: Folded, resume: &str) -> Story {
    let goes_on = || {
        let phase = folded.state.phase().to_string();
        [phase, "unfinished".to_owned(), format!("`{resume}` goes on")]
    };
    let ending = Outcome::of(&folded.compiled, &folded.state).map_or_else(goes_on, ending);
    (folded.state.trace().to_vec(), folded.state.intent().cloned(), ending)
}

fn ending(outcome: Outcome) -> [String; 3] {
    let (phase, result, details) = match outcome {
        Outcome::Answer(answer) => ("DONE", "answer".to_owned(), answer),
        Outcome::Error(error) => ("ERROR", error.code.to_string(), error.message),
        Outcome::Waiting { question } => ("(waiting)", "for a person".to_owned(), question),
        Outcome::Interrupted(why) => ("(interrupted)", String::new(), why.to_string()),
    };
    [phase.to_owned(), result, details]
}

/// The trace as a table, a line each, cut to `most` columns.
pub fn table(
    lines: &[TraceLine],
    intent: Option<&Intent>,
    ending: Option<[String; 3]>,
    most: Option<usize>,
) -> Vec<String> {
    let row = |(at, line): (usize, &TraceLine)| {
        let (phase, result, details) = row_of(line);
        let intent = intent.filter(|_| matches!(line, TraceLine::Intent { .. }));
        let told = intent.into_iter().flat_map(|intent| {
            [("asked as", intent.rewritten_query.clone()), ("constraints", intent.constraints.clone())]
        });
        let told =
            told.filter_map(|(what, text)| Some([String::new(), String::new(), what.to_owned(), text?]));
        std::iter::once([(at + 1).to_string(), phase.to_owned(), result, details]).chain(told)
    };
    let ending = ending.map(|[phase, result, details]| [String::new(), phase, result, details]);
    let rows = lines.iter().enumerate().flat_map(row).chain(ending);
    let rows = rows
        .map(|[number, phase, result, details]| [number, phase, text::line(&result), text::line(&details)]);
    text::table(["n", "phase", "result", "details"], rows, most)
}

fn row_of(line: &TraceLine) -> (&'static str, String, String) {
    let word = |holds: &bool, yes: &str, no: &str| if *holds { yes } else { no }.to_owned();
    let ok = |ok: &bool| word(ok, "ok", "failed");
    let or_empty = |text: &Option<String>| text.clone().unwrap_or_default();
    match line {
        TraceLine::Plan { ok: good, used_replan_planner, steps, error, .. } => {
            let step = |step: &PlanStep| format!("{} {}", step.tool, step_input(step));
            let steps: Vec<String> = steps.iter().flat_map(|steps| steps.as_slice()).map(step).collect();
            let by = if *used_replan_planner { "(re-planner) " } else { "" };
            ("PLAN", ok(good), format!("{by}{}{}", steps.join(", "), or_empty(error)))
        }
        TraceLine::Execute { ok: good, num_results, num_failed, error, .. } => {
            let failed = if *num_failed > 0 { format!(", {num_failed} failed") } else { String::new() };
            let error = error.as_ref().map_or_else(String::new, |error| format!(": {error}"));
            ("EXECUTE", ok(good), format!("{num_results} results{failed}{error}"))
        }
        TraceLine::Validate { verdict: Some(verdict), .. } => {
            let result = word(&verdict.ok, "accepted", "rejected");
            ("VALIDATE", result, with_hint(&verdict.reason, &verdict.fix_hint))
        }
        TraceLine::Validate { ok: good, error, .. } => ("VALIDATE", ok(good), or_empty(error)),
        TraceLine::ReplanTrigger { replan_count, reason, fix_hint } => {
            ("REPLAN_TRIGGER", format!("replan {replan_count}"), with_hint(reason, fix_hint))
        }
        TraceLine::Scope { in_scope } => ("SCOPE", word(in_scope, "in scope", "out of scope"), String::new()),
        TraceLine::PreviousContext { needed } => {
            ("PREVIOUS_CONTEXT", word(needed, "needed", "not needed"), String::new())
        }
        TraceLine::Intent { intent, needs_tool } => {
            ("INTENT", word(needs_tool, "to be planned", "answered at once"), intent.clone())
        }
        TraceLine::Grant { steps } => {
            let steps = steps.as_slice().iter().map(|step| format!("{} {}", step.tool, step_input(step)));
            ("GRANT", "ok".to_owned(), steps.collect::<Vec<_>>().join(", "))
        }
        TraceLine::Skip { step, tool, same_as } => {
            ("SKIP", step.clone(), format!("{tool}: the same call as {same_as}"))
        }
        TraceLine::Authority { step, tool, by, parts } => {
            let part = |part: &LabelledPart| match part.written_after() {
                Some(_) => format!("; {} {}", part.place, part.tell()),
                None => format!("; {} from {}", part.place, part.tell()),
            };
            let parts: String = parts.iter().map(part).collect();
            ("AUTHORITY", step.clone(), format!("{tool}: {by}{parts}"))
        }
        TraceLine::Fill { step, tool, values } => {
            let values = text::count((*values).into(), "value");
            ("FILL", step.clone(), format!("{tool}: a model wrote {values}"))
        }
        TraceLine::Denied { step, tool, code } => {
            ("DENIED", step.clone(), format!("{tool}: {} ({})", code.message(), code.code()))
        }
        TraceLine::Decision { decision, fallback, remaining, .. } => {
            let fell = fallback.as_ref().map_or_else(String::new, |why| format!(" (fallback: {why})"));
            let rest = remaining.as_ref().map_or_else(String::new, |rest| format!(" → {}", rest.join(", ")));
            ("DECISION", variant(&decision.action), format!("{}{fell}{rest}", decision.reasoning))
        }
        TraceLine::Human { step, answer, .. } => ("HUMAN", step.clone(), answer_line(answer)),
        TraceLine::Expired { step, .. } => ("EXPIRED", step.clone(), "nobody answered in time".to_owned()),
        TraceLine::Fallback { of, error } => ("FALLBACK", of.to_string(), error.clone()),
        TraceLine::Cached { of, step } => ("CACHED", of.to_string(), or_empty(step)),
        TraceLine::Repair { of, repair, error } => {
            ("REPAIR", format!("repair {repair}"), format!("of {of}: {error}"))
        }
        TraceLine::Write { ok: good, final_chars, error } => {
            let chars = final_chars.map_or_else(String::new, |chars| format!("{chars} characters"));
            ("WRITE", ok(good), format!("{chars}{}", or_empty(error)))
        }
        // A kind of line that is newer than this table is shown as it is written.
        other => ("OTHER", String::new(), serde_json::to_string(other).unwrap_or_default()),
    }
}

fn with_hint(reason: &str, hint: &str) -> String {
    match hint.trim() {
        "" => reason.to_owned(),
        hint => format!("{reason} (hint: {hint})"),
    }
}

pub fn step_input(step: &PlanStep) -> String {
    match (&step.input, &step.input_from) {
        (Some(input), _) => value_line(input),
        (None, Some(from)) => format!("← {from}"),
        (None, None) if step.is_hitl() => text::line(step.question()),
        (None, None) => text::line(step.instruction()),
    }
}

pub fn value_line(input: &Value) -> String {
    match input {
        Value::String(text) => format!("\"{}\"", text::line(text)),
        other => other.to_string(),
    }
}
