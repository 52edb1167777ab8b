//! `trace`: the transitions of a recorded run as a table.

use std::path::Path;

use crate::args::TraceArgs;
use crate::exit::Exit;
use crate::screen::{answer_line, step_input};
use crate::style::stdout_columns;
use crate::{out, text};
use planwright::contract::PlanStep;
use planwright::journal::{self, FileJournal, Fixture, Folded, JournalError, Record, ThreadId};
use planwright::machine::TraceLine;
use planwright_app::{Error, Result};

pub fn trace(args: &TraceArgs) -> Result<Exit> {
    let story = match (&args.file, &args.thread) {
        (Some(file), _) => Story::load(file)?,
        (None, Some(thread)) => Story::of_thread(args, thread)?,
        (None, None) => return Err(Error::unusable("expected a file or a thread, found neither")),
    };
    if args.json {
        let json = |line| serde_json::to_string(line).map(|line| line + "\n");
        let lines: Result<String, _> = story.lines.iter().map(json).collect();
        let lines = lines.map_err(|error| Error::caused("the trace cannot be written", error))?;
        out::print(&lines)?;
        return Ok(Exit::Done);
    }
    out::print_lines(&table(&story.lines, Some(&story.ending), stdout_columns()))?;
    Ok(Exit::Done)
}

/// The trace of a run and how it ended: phase, result and details.
struct Story {
    lines: Vec<TraceLine>,
    ending: [String; 3],
}

impl Story {
    /// Reads a fixture, or folds a journal.
    fn load(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path)
            .map_err(|error| Error::caused(format!("{}: cannot be read", path.display()), error))?;
        let unreadable = |problem: String| {
            Error::unusable(format!("{}: {problem}", path.display()))
                .hint("expected a fixture (`run --record`) or a journal (`run --journal`)")
        };
        if is_journal(&bytes) {
            let records = FileJournal::parse(&bytes).map_err(|error| unreadable(error.to_string()))?;
            return Story::of_records(records).map_err(|error| unreadable(error.to_string()));
        }
        let text = String::from_utf8(bytes).map_err(|_| unreadable("is not UTF-8".to_owned()))?;
        let fixture = Fixture::parse(&text).map_err(unreadable)?;
        Ok(Story { ending: ending(&fixture.outcome), lines: fixture.trace })
    }

    /// Folds a turn of a thread.
    fn of_thread(args: &TraceArgs, thread: &ThreadId) -> Result<Self> {
        let stored = args.store.place(&args.config)?.thread(thread)?;
        Ok(Story::of_folded(stored.fold_turn(args.turn)?, &stored.command("resume")))
    }

    /// Folds the records of a run.
    fn of_records(records: Vec<Record>) -> Result<Self, JournalError> {
        Ok(Story::of_folded(journal::fold(records)?, "planwright resume"))
    }

    fn of_folded(folded: Folded, resume: &str) -> Self {
        let ending = match journal::Outcome::of(&folded.rules, &folded.state) {
            Some(outcome) => ending(&outcome),
            None => {
                row3(&folded.state.phase.name().to_string(), "unfinished", &format!("`{resume}` goes on"))
            }
        };
        Story { ending, lines: folded.state.task.trace }
    }
}

/// Whether a file's first line begins with its seal, or, where another version wrote it, with a header.
fn is_journal(bytes: &[u8]) -> bool {
    let seal = bytes.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    bytes.starts_with(b"{\"header\"") || seal == 32 || seal == bytes.len()
}

fn ending(outcome: &journal::Outcome) -> [String; 3] {
    match outcome {
        journal::Outcome::Answer(answer) => row3("DONE", "answer", answer),
        journal::Outcome::Error(error) => row3("ERROR", &error.code.to_string(), &error.message),
        journal::Outcome::Waiting { question } => row3("(waiting)", "for a person", question),
        journal::Outcome::Interrupted(why) => row3("(interrupted)", "", why),
    }
}

fn row3(phase: &str, result: &str, details: &str) -> [String; 3] {
    [phase.to_owned(), text::line(result), text::line(details)]
}

/// The trace as a table, a line each, cut to `most` columns.
pub fn table(lines: &[TraceLine], ending: Option<&[String; 3]>, most: Option<usize>) -> Vec<String> {
    let head = ["n", "phase", "result", "details"].map(str::to_owned).to_vec();
    let numbered = lines.iter().enumerate().map(|(at, line)| {
        let mut row = vec![(at + 1).to_string()];
        row.extend(row_of(line));
        row
    });
    let last = ending.map(|ending| {
        let mut row = vec![String::new()];
        row.extend(ending.iter().cloned());
        row
    });
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(numbered).chain(last).collect();
    text::table(&rows, most)
}

fn row_of(line: &TraceLine) -> [String; 3] {
    let ok = |ok: &bool| if *ok { "ok" } else { "failed" };
    let said = |error: &Option<String>| error.clone().unwrap_or_default();
    match line {
        TraceLine::Plan { ok: good, used_replan_planner, steps, error, .. } => {
            let steps = steps.as_ref().map_or_else(String::new, |steps| {
                let step = |step: &PlanStep| format!("{} {}", step.tool, step_input(step));
                let steps: Vec<String> = steps.as_slice().iter().map(step).collect();
                steps.join(", ")
            });
            let by = if *used_replan_planner { "(re-planner) " } else { "" };
            row3("PLAN", ok(good), &format!("{by}{steps}{}", said(error)))
        }
        TraceLine::Execute { ok: good, num_results, num_failed, error, .. } => {
            let failed = if *num_failed > 0 { format!(", {num_failed} failed") } else { String::new() };
            let error = error.as_ref().map_or_else(String::new, |error| format!(": {error}"));
            row3("EXECUTE", ok(good), &format!("{num_results} results{failed}{error}"))
        }
        TraceLine::Validate { verdict: Some(verdict), .. } => {
            let result = if verdict.ok { "accepted" } else { "rejected" };
            row3("VALIDATE", result, &with_hint(&verdict.reason, &verdict.fix_hint))
        }
        TraceLine::Validate { ok: good, error, .. } => row3("VALIDATE", ok(good), &said(error)),
        TraceLine::ReplanTrigger { replan_count, reason, fix_hint } => {
            row3("REPLAN_TRIGGER", &format!("replan {replan_count}"), &with_hint(reason, fix_hint))
        }
        TraceLine::Scope { in_scope } => {
            row3("SCOPE", if *in_scope { "in scope" } else { "out of scope" }, "")
        }
        TraceLine::PreviousContext { needed } => {
            row3("PREVIOUS_CONTEXT", if *needed { "needed" } else { "not needed" }, "")
        }
        TraceLine::Intent { intent, needs_tool } => {
            row3("INTENT", if *needs_tool { "to be planned" } else { "answered at once" }, intent)
        }
        TraceLine::Skip { step, tool, same_as } => {
            row3("SKIP", step, &format!("{tool}: the same call as {same_as}"))
        }
        TraceLine::Decision { decision, fallback, remaining, .. } => {
            let fell = fallback.as_ref().map_or_else(String::new, |why| format!(" (fallback: {why})"));
            let rest = remaining.as_ref().map_or_else(String::new, |rest| format!(" → {}", rest.join(", ")));
            row3("DECISION", &text::variant(&decision.action), &format!("{}{fell}{rest}", decision.reasoning))
        }
        TraceLine::Human { step, answer, .. } => row3("HUMAN", step, &answer_line(answer)),
        TraceLine::Expired { step, .. } => row3("EXPIRED", step, "nobody answered in time"),
        TraceLine::Fallback { of, error } => row3("FALLBACK", of.as_str(), error),
        TraceLine::Cached { of, step } => row3("CACHED", of.as_str(), step.as_deref().unwrap_or_default()),
        TraceLine::Repair { of, repair, error } => {
            row3("REPAIR", &format!("repair {repair}"), &format!("of {of}: {error}"))
        }
        TraceLine::Write { ok: good, final_chars, error } => {
            let chars = final_chars.map_or_else(String::new, |chars| format!("{chars} characters"));
            row3("WRITE", ok(good), &format!("{chars}{}", said(error)))
        }
    }
}

fn with_hint(reason: &str, hint: &str) -> String {
    match hint.trim() {
        "" => reason.to_owned(),
        hint => format!("{reason} (hint: {hint})"),
    }
}
