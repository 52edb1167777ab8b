//! `threads show`: the turns of a thread, and its records.

use std::io::IsTerminal;

use serde_json::{Value, json};

use super::list::time;
use super::records;
use crate::args::{ShowThreadArgs, StoreArgs};
use crate::exit::Exit;
use crate::failure::Outcome;
use crate::pending::{Open, Stored};
use crate::style::columns;
use crate::{out, text};
use planwright::journal::{Record, RunStatus, StoreError, Unknown, fold};

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
    open: Option<Open>,
    /// Whether a process has the thread and goes on with this turn.
    running: bool,
}

impl Shown {
    fn status(&self) -> &'static str {
        match &self.standing {
            Ok(standing) if self.running && !standing.has_ended() => "running",
            Ok(standing) => standing.status(),
            Err(_) => "unreadable",
        }
    }
}

pub fn show(store: &StoreArgs, args: &ShowThreadArgs) -> Outcome<Exit> {
    let stored = Stored::known(store, args.config.config.as_deref(), &args.thread)?;
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
        let mut read = read(&stored, turn)?;
        if running && turn + 1 == turns {
            // What is asked and not answered is being done.
            (read.running, read.open) = (true, None);
        }
        shown.push(read);
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
    Ok(if reads { Exit::Done } else { Exit::Failed })
}

fn read(stored: &Stored, turn: u32) -> Outcome<Shown> {
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
        open: None,
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
            shown.open = Open::of(&folded);
            shown.standing = Ok(RunStatus::of(&folded));
        }
    }
    Ok(shown)
}

fn lines(turn: &Shown, stored: &Stored, with_records: bool) -> Vec<String> {
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
    let mut said = |what: &str, said: &str| {
        let said = text::clean(said);
        let mut parts = said.lines();
        lines.push(format!("  {}{}", text::pad(what, 10), parts.next().unwrap_or_default()));
        lines.extend(parts.map(|line| format!("            {line}")));
    };
    match &turn.standing {
        Err(problem) => said("problem", problem),
        Ok(RunStatus::Done { answer }) => said("answered", answer),
        Ok(RunStatus::Failed { error, unknown }) => {
            said("failed", error);
            for Unknown { effect, tool } in unknown {
                let asked = format!("{tool} ({effect}) was asked to change something");
                said("unknown", &format!("{asked}, and nobody knows whether it did"));
            }
        }
        Ok(RunStatus::Damaged { problem }) => said("problem", problem),
        Ok(RunStatus::Unfinished) if turn.running => {}
        Ok(RunStatus::Unfinished) => said("goes on", &stored.command("resume")),
        Ok(RunStatus::Waiting { .. } | RunStatus::InDoubt { .. }) => {}
    }
    if let Some(open) = &turn.open {
        said("waits", &open.text());
        if open.has_expired() {
            said("expired", &time(open.expires.unwrap_or_default()));
            said("goes on", &open.commands(stored).join("\n"));
        } else {
            open.expires.iter().for_each(|end| said("until", &time(*end)));
            said("token", &open.token);
            said("answer", &open.commands(stored).join("\n"));
        }
    }
    if with_records {
        lines.extend(table(turn));
    }
    lines
}

fn table(turn: &Shown) -> Vec<String> {
    let stdout = std::io::stdout();
    let own = if stdout.is_terminal() { terminal_size::terminal_size_of(&stdout) } else { None };
    let rows: Vec<Vec<String>> = records::lines(&turn.records)
        .into_iter()
        .map(|line| {
            vec![format!("  {}", line.number), line.kind.to_owned(), line.effect, text::line(&line.text)]
        })
        .collect();
    let most = columns(own);
    text::table(&rows, most)
}

fn object(turn: &Shown, stored: &Stored, with_records: bool) -> Value {
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
    object["open"] = turn.open.as_ref().map_or(Value::Null, |open| open.json(stored));
    if with_records {
        let records = records::lines(&turn.records).into_iter().map(|line| {
            json!({"record": line.number, "kind": line.kind, "effect": line.effect, "text": line.text})
        });
        object["records"] = records.collect();
    }
    object
}
