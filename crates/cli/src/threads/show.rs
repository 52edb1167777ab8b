//! `threads show`: the turns of a thread, and its records.

use serde_json::{Value, json};

use super::records;
use crate::args::{ShowThreadArgs, StoreArgs};
use crate::exit::Exit;
use crate::style::stdout_columns;
use crate::{out, text};
use planwright::journal::{Record, RunStatus, StoreError, Unknown, fold};
use planwright_app::{Class, Pending, Result, RunLocation, StoredThread};

/// A turn, as it is shown.
struct Shown {
    /// From 1.
    number: u32,
    question: String,
    /// Where it stands, or why it does not read.
    standing: Result<RunStatus, String>,
    agent: String,
    run: String,
    /// The thread, the turn (from 1) and how many records of it, that its beginning was copied from.
    origin: Option<(String, u32, u64)>,
    records: Vec<Record>,
    pending: Option<Pending>,
    /// Whether a process has the thread and goes on with this turn.
    running: bool,
}

impl Shown {
    fn status(&self) -> &'static str {
        match &self.standing {
            Ok(standing) if self.running && !standing.has_ended() => "running",
            Ok(standing) => standing.name(),
            Err(_) => "unreadable",
        }
    }
}

pub fn show(store: &StoreArgs, args: &ShowThreadArgs) -> Result<Exit> {
    let stored = store.place(&args.config)?.thread(&args.thread)?;
    let turns = stored.turns()?;
    let wanted = match args.turn {
        Some(turn) if turn > turns => {
            let thread = stored.thread.clone();
            return Err(StoreError::NoTurn { thread, turn: turn - 1, turns }.into());
        }
        Some(turn) => turn - 1..turn,
        None => 0..turns,
    };
    // One that does not read is shown all the same.
    let listed = stored.threads.store().find(&stored.thread).ok().flatten();
    let running = listed.is_some_and(|listed| listed.running);
    let mut shown = Vec::new();
    for turn in wanted {
        let mut loaded = load_turn(&stored, turn)?;
        if running && turn + 1 == turns {
            // What is asked and not answered is being done.
            (loaded.running, loaded.pending) = (true, None);
        }
        shown.push(loaded);
    }
    if args.json {
        let turns: Vec<Value> = shown.iter().map(|turn| object(turn, &stored, args.records)).collect();
        out::print_json(&json!({"thread": stored.thread, "turns": turns}))?;
    } else {
        for turn in &shown {
            out::print_text(&lines(turn, &stored, args.records).join("\n"))?;
        }
    }
    let reads = shown.iter().all(|turn| turn.standing.is_ok());
    Ok(if reads { Exit::Done } else { Exit::Of(Class::Failed) })
}

fn load_turn(stored: &StoredThread, turn: u32) -> Result<Shown> {
    // A turn that is damaged does not hide the others.
    let (records, problem) = match stored.threads.store().records(&stored.thread, turn) {
        Ok(records) => (records, "it has no header".to_owned()),
        Err(StoreError::Journal(error)) => (Vec::new(), error.to_string()),
        Err(error) => return Err(error.into()),
    };
    let mut shown = Shown {
        number: turn + 1,
        question: String::new(),
        standing: Err(problem),
        agent: String::new(),
        run: String::new(),
        origin: None,
        pending: None,
        records,
        running: false,
    };
    if let Some(Record::Header(header)) = shown.records.first() {
        shown.question.clone_from(&header.input.question);
        shown.agent.clone_from(&header.spec.name);
        shown.run.clone_from(&header.run);
        shown.origin = header.origin.as_ref().map(|from| (from.thread.clone(), from.turn + 1, from.records));
    }
    if shown.records.is_empty() {
        return Ok(shown);
    }
    match fold(shown.records.iter().cloned()) {
        Err(error) => shown.standing = Err(error.to_string()),
        Ok(folded) => {
            shown.pending = Pending::of(&folded);
            shown.standing = Ok(RunStatus::of(&folded));
        }
    }
    Ok(shown)
}

fn lines(turn: &Shown, stored: &StoredThread, with_records: bool) -> Vec<String> {
    let status = turn.status();
    let agent = text::line(&turn.agent);
    let mut lines = vec![format!("turn {}  {status}  {agent}", turn.number).trim_end().to_owned()];
    if !turn.question.is_empty() {
        lines.push(format!("  asked     {}", text::line(&turn.question)));
    }
    if let Some((thread, turn, records)) = &turn.origin {
        let from = text::line(&format!("{thread}, turn {turn}, {records} records"));
        lines.push(format!("  from      {from}"));
    }
    let mut line = |what: &str, text: &str| {
        let text = text::clean(text);
        let mut parts = text.lines();
        lines.push(format!("  {}{}", text::pad(what, 10), parts.next().unwrap_or_default()));
        lines.extend(parts.map(|line| format!("            {line}")));
    };
    match &turn.standing {
        Err(problem) => line("problem", problem),
        Ok(RunStatus::Done { answer }) => line("answered", answer),
        Ok(RunStatus::Failed { error, unknown }) => {
            line("failed", error);
            for Unknown { effect, tool } in unknown {
                let asked = format!("{tool} ({effect}) was asked to change something");
                line("unknown", &format!("{asked}, and nobody knows whether it did"));
            }
        }
        Ok(RunStatus::Damaged { problem }) => line("problem", problem),
        Ok(RunStatus::Unfinished) if turn.running => {}
        Ok(RunStatus::Unfinished) => line("goes on", &stored.command("resume")),
        Ok(RunStatus::Waiting { .. } | RunStatus::InDoubt { .. }) => {}
    }
    if let Some(pending) = &turn.pending {
        let commands = RunLocation::Thread(stored).commands(pending).join("\n");
        line("waits", &pending.text());
        if pending.has_expired() {
            line("expired", &text::time(pending.expires.unwrap_or_default()));
            line("goes on", &commands);
        } else {
            pending.expires.iter().for_each(|end| line("until", &text::time(*end)));
            line("token", &pending.token);
            line("answer", &commands);
        }
    }
    if with_records {
        lines.extend(table(turn));
    }
    lines
}

fn table(turn: &Shown) -> Vec<String> {
    let rows: Vec<Vec<String>> = records::lines(&turn.records)
        .into_iter()
        .map(|line| {
            vec![format!("  {}", line.number), line.kind.to_owned(), line.effect, text::line(&line.text)]
        })
        .collect();
    text::table(&rows, stdout_columns())
}

fn object(turn: &Shown, stored: &StoredThread, with_records: bool) -> Value {
    let mut object = json!({
        "turn": turn.number, "question": turn.question, "agent": turn.agent, "run": turn.run,
        "status": turn.status(),
        "answer": null, "error": null, "unknown": [], "problem": null, "open": null,
        "origin": turn.origin.as_ref().map(|(thread, turn, records)| {
            json!({"thread": thread, "turn": turn, "records": records})
        }),
    });
    match &turn.standing {
        Ok(RunStatus::Done { answer }) => object["answer"] = json!(answer),
        Ok(RunStatus::Failed { error, unknown }) => {
            (object["error"], object["unknown"]) = (json!(error), json!(unknown));
        }
        Ok(_) => {}
        Err(problem) => object["problem"] = json!(problem),
    }
    let commands = |pending: &Pending| RunLocation::Thread(stored).commands(pending);
    object["open"] = json!(turn.pending.as_ref().map(|pending| pending.to_json(commands(pending))));
    if with_records {
        let records = records::lines(&turn.records).into_iter().map(|line| {
            json!({"record": line.number, "kind": line.kind, "effect": line.effect, "text": line.text})
        });
        object["records"] = records.collect();
    }
    object
}
