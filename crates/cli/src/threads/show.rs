//! `threads show`: the turns of a thread, and its records.

use serde_json::{Value, json};

use super::records::Line;
use crate::args::{ShowThreadArgs, StoreArgs};
use crate::out::{Exit, stdout_columns};
use crate::{out, text};
use planwright::journal::{Record, RunStatus, StoreError, Unknown, fold};
use planwright_app::{Class, Pending, Result, RunLocation, StoredThread};

/// A turn, as it is shown.
#[derive(Default)]
struct Shown {
    /// From 1.
    number: u32,
    question: String,
    /// Where it stands, or nothing if it does not read.
    status: Option<RunStatus>,
    /// Why it does not read.
    problem: Option<String>,
    agent: String,
    run: String,
    /// The thread, the turn (from 1) and how many records of it, that its beginning was copied from.
    origin: Option<(String, u32, u64)>,
    records: Vec<Record>,
    pending: Option<Pending>,
    /// Whether a process has the thread and goes on with this turn.
    running: bool,
}

pub fn show(store: &StoreArgs, args: &ShowThreadArgs) -> Result<Exit> {
    let stored = store.place()?.thread(&args.thread)?;
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
    let load = |turn| Shown::load(&stored, turn, running && turn + 1 == turns);
    let shown: Vec<Shown> = wanted.map(load).collect::<Result<_>>()?;
    if args.json {
        let turns: Value = shown.iter().map(|turn| turn.to_json(&stored, args.records)).collect();
        out::print_json(&json!({"thread": stored.thread, "turns": turns}))?;
    } else {
        shown.iter().try_for_each(|turn| out::print_text(&turn.lines(&stored, args.records).join("\n")))?;
    }
    let reads = shown.iter().all(|turn| turn.status.is_some());
    Ok(if reads { Exit::Done } else { Exit::Of(Class::Failed) })
}

impl Shown {
    fn load(stored: &StoredThread, turn: u32, running: bool) -> Result<Self> {
        // A turn that is damaged does not hide the others.
        let (records, problem) = match stored.threads.store().records(&stored.thread, turn) {
            Ok(records) => (records, "it has no header".to_owned()),
            Err(StoreError::Journal(error)) => (Vec::new(), error.to_string()),
            Err(error) => return Err(error.into()),
        };
        let mut shown = Shown { number: turn + 1, running, ..Shown::default() };
        if let Some(Record::Header(header)) = records.first() {
            shown.question.clone_from(&header.input.question);
            shown.agent.clone_from(&header.spec.name);
            shown.run.clone_from(&header.run);
            let origin = header.origin.as_ref();
            shown.origin = origin.map(|from| (from.thread.clone(), from.turn + 1, from.records));
        }
        match fold(records.iter().cloned()) {
            _ if records.is_empty() => shown.problem = Some(problem),
            Err(error) => shown.problem = Some(error.to_string()),
            Ok(folded) => {
                // What is asked and not answered is being done in a turn that runs.
                shown.pending = Pending::of(&folded).filter(|_| !running);
                shown.status = Some(RunStatus::of(&folded));
            }
        }
        Ok(Shown { records, ..shown })
    }

    fn status(&self) -> &'static str {
        match &self.status {
            Some(status) if self.running && !status.has_ended() => "running",
            Some(status) => status.name(),
            None => "unreadable",
        }
    }

    fn lines(&self, stored: &StoredThread, with_records: bool) -> Vec<String> {
        let (status, agent) = (self.status(), text::line(&self.agent));
        let mut lines = vec![format!("turn {}  {status}  {agent}", self.number).trim_end().to_owned()];
        let mut line = |what: &str, text: &str| {
            let text = text::clean(text);
            let mut parts = text.lines();
            lines.push(format!("  {}{}", text::pad(what, 10), parts.next().unwrap_or_default()));
            lines.extend(parts.map(|line| format!("            {line}")));
        };
        if !self.question.is_empty() {
            line("asked", &text::line(&self.question));
        }
        if let Some((thread, turn, records)) = &self.origin {
            line("from", &text::line(&format!("{thread}, turn {turn}, {records} records")));
        }
        match &self.status {
            None => line("problem", self.problem.as_deref().unwrap_or_default()),
            Some(RunStatus::Done { answer }) => line("answered", answer),
            Some(RunStatus::Failed { error, unknown }) => {
                line("failed", error);
                for Unknown { effect, tool } in unknown {
                    let asked = format!("{tool} ({effect}) was asked to change something");
                    line("unknown", &format!("{asked}, and nobody knows whether it did"));
                }
            }
            Some(RunStatus::Damaged { problem }) => line("problem", problem),
            Some(RunStatus::Unfinished) if !self.running => line("goes on", &stored.command("resume")),
            Some(_) => {}
        }
        if let Some(pending) = &self.pending {
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
            let row = |line: Line| {
                [format!("  {}", line.number), line.kind.to_owned(), line.effect, text::line(&line.text)]
            };
            let rows = Line::of(&self.records).into_iter().map(row);
            lines.extend(text::align(rows.collect(), stdout_columns()));
        }
        lines
    }

    fn to_json(&self, stored: &StoredThread, with_records: bool) -> Value {
        let (answer, error, unknown) = match &self.status {
            Some(RunStatus::Done { answer }) => (Some(answer), None, &[][..]),
            Some(RunStatus::Failed { error, unknown }) => (None, Some(error), &unknown[..]),
            _ => (None, None, &[][..]),
        };
        let commands = |pending: &Pending| RunLocation::Thread(stored).commands(pending);
        let origin = self.origin.as_ref();
        let origin =
            origin.map(|(thread, turn, records)| json!({"thread": thread, "turn": turn, "records": records}));
        let mut object = json!({
            "turn": self.number, "question": self.question, "agent": self.agent, "run": self.run,
            "status": self.status(), "answer": answer, "error": error, "unknown": unknown,
            "problem": self.problem,
            "open": self.pending.as_ref().map(|pending| pending.to_json(commands(pending))),
            "origin": origin,
        });
        if with_records {
            object["records"] = json!(Line::of(&self.records));
        }
        object
    }
}
