//! `threads show`: the turns of a thread, and its records.

use crate::args::{ShowThreadArgs, StoreArgs};
use crate::out::{Exit, stdout_columns};
use crate::{out, text};
use planwright::journal::Unknown;
use planwright_app::{Class, RecordLine, Result, ShownThread, ShownTurn, StoredThread, step_text};

/// How much of a record's text is shown, in characters.
const CHARS: usize = 120;

pub fn show(store: &StoreArgs, args: &ShowThreadArgs) -> Result<Exit> {
    let stored = store.place()?.thread(&args.thread)?;
    let record_chars = args.records.then(|| most_chars(args.full));
    let shown = ShownThread::load(&stored, args.turn, record_chars)?;
    let turns = &shown.turns;
    if args.json {
        out::print_json(&shown)?;
    } else {
        turns
            .iter()
            .try_for_each(|turn| out::print_text(&turn_lines(turn, &stored, args.full).join("\n")))?;
    }
    Ok(turns.iter().any(|turn| turn.problem.is_some()).then_some(Class::Failed))
}

/// The turn for people.
fn turn_lines(turn: &ShownTurn, stored: &StoredThread, full: bool) -> Vec<String> {
    let head = format!("turn {}  {}  {}", turn.turn, turn.status, text::line(&turn.agent));
    let mut lines = vec![head.trim_end().to_owned()];
    let mut line = |what: &str, text: &str| {
        let indented = text::clean(text).lines().collect::<Vec<_>>().join("\n            ");
        lines.push(format!("  {}{indented}", text::pad(what, 10)));
    };
    if !turn.question.is_empty() {
        line("asked", &text::line(&turn.question));
    }
    if let Some(origin) = &turn.origin {
        let thread = origin["thread"].as_str().unwrap_or_default();
        line(
            "from",
            &text::line(&format!("{thread}, turn {}, {} records", origin["turn"], origin["records"])),
        );
    }
    turn.problem.iter().for_each(|problem| line("problem", problem));
    for (at, step) in turn.plan.iter().enumerate() {
        line(if at == 0 { "plan" } else { "" }, &step_text(step, full));
    }
    turn.answer.iter().for_each(|answer| line("answered", answer));
    turn.objection.iter().for_each(|objection| line("objection", objection));
    turn.error.iter().for_each(|error| line("failed", error));
    for Unknown { effect, tool } in &turn.unknown {
        let asked = format!("{tool} ({effect}) was asked to change something");
        line("unknown", &format!("{asked}, and nobody knows whether it did"));
    }
    if turn.status == "unfinished" {
        line("goes on", &stored.command("resume"));
    }
    if let Some(pending) = &turn.open {
        line("waits", &pending.text());
        let until = if pending.expired { "expired" } else { "until" };
        pending.expires.iter().for_each(|end| line(until, &text::time(*end)));
        if !pending.expired {
            line("token", &pending.token);
        }
        line(if pending.expired { "goes on" } else { "answer" }, &pending.commands.join("\n"));
    }
    let records = turn.records.iter().flatten();
    if full {
        lines.extend(records.map(|RecordLine { record, kind, effect, text }| {
            let text = text::clean(text).replace('\n', "\n      ");
            format!("  {record}  {kind}  {effect}\n      {text}")
        }));
        return lines;
    }
    let row = |RecordLine { record, kind, effect, text }: &RecordLine| {
        [format!("  {record}"), (*kind).to_owned(), effect.clone(), text::line(text)]
    };
    lines.extend(text::align(records.map(row).collect(), stdout_columns()));
    lines
}

fn most_chars(full: bool) -> usize {
    if full { usize::MAX } else { CHARS }
}
