//! What comes of a run, told: the answer or one JSON object on stdout, the rest on stderr.

use std::path::Path;

use serde_json::{Value, json};

use super::args::ShowArgs;
use super::exit::Exit;
use super::failure::{Failure, Outcome};
use super::screen::Screen;
use super::{out, text, trace};
use crate::driver::{Cause, Interrupted, Run, Stopped};
use crate::journal::{Drift, Fixture};
use crate::machine::{ErrorCode, Progress, RunError, State};

/// A run as it was asked for.
pub struct Asked<'a> {
    pub question: &'a str,
    pub agent: &'a str,
    pub model: &'a str,
    pub show: &'a ShowArgs,
    pub journal: Option<&'a Path>,
    pub record: Option<&'a Path>,
}

/// Tells what came of it.
pub fn conclude(asked: &Asked<'_>, screen: &Screen, result: Result<Run, Stopped>) -> Outcome<Exit> {
    screen.clear();
    match result {
        Ok(run) => ended(asked, screen, &run),
        Err(Stopped::Interrupted(interrupted)) => self::interrupted(asked, screen, &interrupted),
        Err(Stopped::Drifted(drifts)) => drifted(asked, &drifts),
        Err(stopped @ Stopped::InDoubt { .. }) => in_doubt(asked, stopped),
        Err(Stopped::Incomplete(problem)) => Err(Failure::unusable(problem)),
        Err(Stopped::Unsaved { error, run }) => {
            ended(asked, screen, &run)?;
            Err(Failure::unusable(error))
        }
        Err(Stopped::Journal(error)) => Err(Failure::unusable(error)),
        Err(Stopped::Fixture(error)) => Err(Failure::unusable(error)),
        Err(stopped) => Err(Failure::unusable(stopped)),
    }
}

fn ended(asked: &Asked<'_>, screen: &Screen, run: &Run) -> Outcome<Exit> {
    let state = run.state();
    show_trace(asked, screen, state);
    if asked.show.json {
        out::print_json(&object(asked, Some(state)))?;
    }
    let Some(error) = run.error() else {
        if !asked.show.json {
            out::print_text(run.answer().unwrap_or_default())?;
        }
        return Ok(Exit::Done);
    };
    let exit = if error.code == ErrorCode::Cancelled { Exit::Cancelled } else { Exit::Failed };
    let problem = anyhow::anyhow!("the run ended without an answer: {error}");
    Err(Failure { exit, error: problem, hint: hint_for(error, asked) })
}

fn hint_for(error: &RunError, asked: &Asked<'_>) -> Option<String> {
    let hint = match error.code {
        ErrorCode::Cancelled => return None,
        ErrorCode::ValidationFailedMaxReplans if asked.model.contains("offline") => {
            "ask in other words, or name the folder to search with --docs DIR"
        }
        ErrorCode::ValidationFailedMaxReplans | ErrorCode::StepFailedMaxReplans => {
            "--max-replans N lets the run try more plans"
        }
        ErrorCode::DeadlineExceeded => "`deadline_seconds` in the spec's limits sets the time",
        _ if asked.show.trace || asked.show.json => return None,
        _ => "--trace shows each transition",
    };
    Some(hint.to_owned())
}

fn interrupted(asked: &Asked<'_>, screen: &Screen, interrupted: &Interrupted) -> Outcome<Exit> {
    show_trace(asked, screen, &interrupted.state);
    if asked.show.json {
        let mut object = object(asked, Some(&interrupted.state));
        let cause = &interrupted.cause;
        object["interrupted"] = json!({
            "effect": interrupted.effect,
            "cause": cause.cause.to_string(),
            "message": cause.message,
            "tries": cause.tries,
            "retry_after_seconds": cause.retry_after.map(|delay| delay.as_secs_f64()),
        });
        out::print_json(&object)?;
    }
    let hint = match (asked.journal, asked.record) {
        (Some(journal), _) => format!("planwright resume {}  goes on where it stopped", quoted(journal)),
        (None, Some(fixture)) if !holds_a_part(fixture) => {
            format!("{} holds a whole run and is left as it was", quoted(fixture))
        }
        (None, Some(fixture)) => format!(
            "what was answered is kept in {}; the same command with --record-mode new_episodes goes on",
            quoted(fixture)
        ),
        (None, None) => "with --journal FILE the run could have been resumed".to_owned(),
    };
    let hint = match advice(interrupted.cause.cause) {
        Some(advice) => format!("{advice}; {hint}"),
        None => hint,
    };
    let error = anyhow::anyhow!("{}", text::line(&interrupted.to_string()));
    Err(Failure { exit: Exit::Interrupted, error, hint: Some(hint) })
}

/// What to look at first.
fn advice(cause: Cause) -> Option<&'static str> {
    match cause {
        Cause::Authentication => {
            Some("check the key in OPENAI_API_KEY, or the variable that --api-key-env names")
        }
        Cause::Quota => Some("check the account's quota and credit"),
        Cause::NotFound => Some("check --base-url (it usually ends in /v1) and --model"),
        Cause::Connection => Some("check that the server runs and --base-url is its address"),
        Cause::Timeout => Some("call_timeout_seconds in the configuration file gives it more time"),
        Cause::BadResponse => Some("check that --base-url is an OpenAI-compatible server"),
        _ => None,
    }
}

/// Whether a fixture holds a run that was interrupted.
fn holds_a_part(path: &Path) -> bool {
    Fixture::load(path)
        .is_ok_and(|fixture| matches!(fixture.outcome, crate::journal::Outcome::Interrupted(_)))
}

fn drifted(asked: &Asked<'_>, drifts: &[Drift]) -> Outcome<Exit> {
    if asked.show.json {
        let mut object = object(asked, None);
        object["drift"] = drifts.iter().map(drift_json).collect();
        out::print_json(&object)?;
    }
    let said: Vec<String> = drifts.iter().map(Drift::to_string).collect();
    let error = anyhow::anyhow!("the replay differs from its recording\n{}", said.join("\n"));
    let hint = "if the change is meant, record anew with --record FILE --record-mode all".to_owned();
    Err(Failure { exit: Exit::Failed, error, hint: Some(hint) })
}

fn in_doubt(asked: &Asked<'_>, stopped: Stopped) -> Outcome<Exit> {
    if let (true, Stopped::InDoubt { effect, tool }) = (asked.show.json, &stopped) {
        let mut object = object(asked, None);
        object["in_doubt"] = json!({"effect": effect, "tool": tool});
        out::print_json(&object)?;
    }
    let hint = "look whether it happened; the journal is left as it is".to_owned();
    Err(Failure { exit: Exit::InDoubt, error: stopped.into(), hint: Some(hint) })
}

fn show_trace(asked: &Asked<'_>, screen: &Screen, state: &State) {
    if asked.show.trace {
        let lines = trace::table(&state.task.trace, None, Some(screen.columns()));
        lines.iter().for_each(|line| out::complain(line));
    }
}

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
fn object(asked: &Asked<'_>, state: Option<&State>) -> Value {
    let task = state.map(|state| &state.task);
    json!({
        "answer": task.and_then(|task| task.artifacts.final_answer.as_ref()),
        "error": task.and_then(|task| task.error()),
        "interrupted": null,
        "in_doubt": null,
        "drift": [],
        "phase": state.map(|state| state.phase.name()),
        // As the run keeps it: without the value of a key.
        "question": task.map_or(asked.question, |task| &task.input.question),
        "now": task.map(|task| &task.input.now),
        "agent": asked.agent,
        "model": asked.model,
        "journal": asked.journal.map(|path| path.display().to_string()),
        "fixture": asked.record.map(|path| path.display().to_string()),
        "counters": task.map(|task| &task.counters),
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
        let of_step =
            |(at, (planned, run)): (usize, (&crate::contract::PlanStep, &crate::machine::StepRun))| {
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

/// A path as it can be typed.
fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    if path.contains(|c: char| c.is_whitespace() || c == '\'') { format!("{path:?}") } else { path }
}
