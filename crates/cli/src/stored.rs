//! Stored turns, taken through the present machine for `replay --all-stored`. Nothing is asked of the world, and
//! nothing that is stored is changed.

use serde_json::{Value, json};

use crate::style::{Look, Style};
use crate::text;
use planwright::driver::Threads;
use planwright::journal::{Divergence, Record, RunStatus, ThreadId, fold};
use planwright::spec::Spec;
use planwright_app::{Result, visit_threads, with_tools_of};

/// What came of one recording, and how it is shown.
pub struct Checked {
    pub verdict: Verdict,
    pub lines: Vec<String>,
    /// Null for one that is not listed.
    pub json: Value,
}

/// Whether a recording replays.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Same,
    Differs,
    Unreadable,
}

/// Checks every turn of every thread, under another spec than its own if one is named.
pub fn check_turns(threads: &Threads, under: Option<&Spec>, style: Style) -> Result<Vec<Checked>> {
    let mut checked = Vec::new();
    visit_threads(threads, |listed| {
        for turn in 0..listed.turns {
            let result = match threads.store().records(&listed.thread, turn) {
                Ok(records) => compare(&records, under),
                Err(error) => Err(error.to_string()),
            };
            checked.push(show(&listed.thread, turn + 1, result, style));
        }
    })?;
    Ok(checked)
}

/// Where the present machine takes another path than the records; or why they cannot be read.
fn compare(records: &[Record], under: Option<&Spec>) -> Result<Option<Divergence>, String> {
    let under = match (under, records.first()) {
        // Another agent gets the tools that the run had: they are part of every request.
        (Some(under), Some(Record::Header(header))) => Some(with_tools_of(under.clone(), &header.spec)),
        _ => None,
    };
    // What does not fold any more is found where it diverges.
    let has_ended = fold(records.iter().cloned()).is_ok_and(|folded| RunStatus::of(&folded).has_ended());
    Divergence::find(records, under.as_ref(), has_ended).map_err(|error| error.to_string())
}

fn show(thread: &ThreadId, turn: u32, result: Result<Option<Divergence>, String>, style: Style) -> Checked {
    let (divergence, problem) = match result {
        Ok(None) => return Checked { verdict: Verdict::Same, lines: Vec::new(), json: Value::Null },
        Ok(Some(divergence)) => (Some(divergence), None),
        Err(problem) => (None, Some(problem)),
    };
    let (verdict, look, word) = match divergence {
        Some(_) => (Verdict::Differs, Look::Warn, "diverges  "),
        None => (Verdict::Unreadable, Look::Bad, "unreadable"),
    };
    let why = divergence.as_ref().map(Divergence::to_string).or(problem.clone()).unwrap_or_default();
    let place = text::line(&format!("{thread}, turn {turn}"));
    let lines = vec![format!("{}  {place}: {}", style.paint(look, word), text::line(&why))];
    let json = json!({
        "thread": thread, "turn": turn,
        "record": divergence.as_ref().map(|divergence| divergence.record),
        "what": divergence.as_ref().map(|divergence| &divergence.what),
        "difference": null, "problem": problem,
    });
    Checked { verdict, lines, json }
}
