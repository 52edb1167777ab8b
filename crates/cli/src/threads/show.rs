//! `threads show`: the turns of a thread, and its records.

use serde::Serialize;
use serde_json::{Value, json};

use crate::args::{ShowThreadArgs, StoreArgs};
use crate::out::{Exit, stdout_columns};
use crate::trace::answer_line;
use crate::{out, text};
use planwright::contract::excerpt;
use planwright::journal::{Folded, Header, Origin, Record, ResolvedAs, RunStatus, StoreError, Unknown, fold};
use planwright::machine::{EffectId, Event, ToolOutcome, awaited, transition};
use planwright::prompt::{Request, RequestBody};
use planwright_app::{Class, Pending, Result, RunLocation, StoredThread};

struct Shown {
    /// From 1.
    number: u32,
    records: Vec<Record>,
    /// Where it stands, and what it waits for; or why it does not read.
    status: Result<(RunStatus, Option<Pending>), String>,
    /// Whether a process has the thread and goes on with this turn.
    running: bool,
}

pub fn show(store: &StoreArgs, args: &ShowThreadArgs) -> Result<Exit> {
    let stored = store.place()?.thread(&args.thread)?;
    let turns = stored.threads.store().turns(&stored.thread)?;
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
    let reads = shown.iter().all(|turn| turn.status.is_ok());
    Ok(if reads { Exit::Done } else { Exit::Of(Class::Failed) })
}

impl Shown {
    fn load(stored: &StoredThread, turn: u32, running: bool) -> Result<Self> {
        // A turn that is damaged does not hide the others.
        let (records, folded) = match stored.threads.store().records(&stored.thread, turn) {
            Ok(records) if records.is_empty() => (records, Err("it has no header".to_owned())),
            Ok(records) => (records.clone(), fold(records).map_err(|error| error.to_string())),
            Err(StoreError::Journal(error)) => (Vec::new(), Err(error.to_string())),
            Err(error) => return Err(error.into()),
        };
        // What is asked and not answered is being done in a turn that runs.
        let pending = |folded: &Folded| Pending::of(folded).filter(|_| !running);
        let status = folded.map(|folded| (RunStatus::of(&folded), pending(&folded)));
        Ok(Shown { number: turn + 1, records, status, running })
    }

    fn header(&self) -> Option<&Header> {
        let Some(Record::Header(header)) = self.records.first() else { return None };
        Some(header)
    }

    /// The records, a line each. What follows a record that does not fit is shown without the request.
    fn record_lines(&self) -> Vec<Line> {
        let mut now: Option<Folded> = None;
        let lines = self.records.iter().enumerate().map(|(number, record)| {
            let line = Line::of(number, record, now.as_ref());
            match record {
                Record::Header(_) | Record::SpecChanged(_) => {
                    now = fold(self.records[..=number].iter().cloned()).ok();
                }
                Record::Answered { event, .. } | Record::Happened(event) => {
                    now = now.take().and_then(|mut folded| {
                        folded.state = transition(&folded.compiled, folded.state, event.clone()).ok()?.state;
                        Some(folded)
                    });
                }
                _ => {}
            }
            line
        });
        lines.collect()
    }

    fn status(&self) -> &'static str {
        match &self.status {
            Ok((status, _)) if self.running && !status.has_ended() => "running",
            Ok((status, _)) => status.name(),
            Err(_) => "unreadable",
        }
    }

    fn lines(&self, stored: &StoredThread, with_records: bool) -> Vec<String> {
        let header = self.header();
        let agent = header.map_or_else(String::new, |header| text::line(&header.spec.name));
        let mut lines =
            vec![format!("turn {}  {}  {agent}", self.number, self.status()).trim_end().to_owned()];
        let mut line = |what: &str, text: &str| {
            let text = text::clean(text);
            let mut parts = text.lines();
            lines.push(format!("  {}{}", text::pad(what, 10), parts.next().unwrap_or_default()));
            lines.extend(parts.map(|line| format!("            {line}")));
        };
        if let Some(header) = header.filter(|header| !header.input.question.is_empty()) {
            line("asked", &text::line(&header.input.question));
        }
        if let Some(origin) = header.and_then(|header| header.origin.as_ref()) {
            let Origin { thread, turn, records } = origin;
            line("from", &text::line(&format!("{thread}, turn {}, {records} records", turn + 1)));
        }
        match self.status.as_ref().map(|(status, _)| status) {
            Err(problem) | Ok(RunStatus::Damaged { problem }) => line("problem", problem),
            Ok(RunStatus::Done { answer }) => line("answered", answer),
            Ok(RunStatus::Failed { error, unknown }) => {
                line("failed", error);
                for Unknown { effect, tool } in unknown {
                    let asked = format!("{tool} ({effect}) was asked to change something");
                    line("unknown", &format!("{asked}, and nobody knows whether it did"));
                }
            }
            Ok(RunStatus::Unfinished) if !self.running => line("goes on", &stored.command("resume")),
            Ok(_) => {}
        }
        if let Ok((_, Some(pending))) = &self.status {
            let commands = RunLocation::Thread(stored).commands(pending).join("\n");
            line("waits", &pending.text());
            if pending.expired {
                line("expired", &text::time(pending.expires.unwrap_or_default()));
                line("goes on", &commands);
            } else {
                pending.expires.iter().for_each(|end| line("until", &text::time(*end)));
                line("token", &pending.token);
                line("answer", &commands);
            }
        }
        if with_records {
            let rows = self.record_lines().into_iter().map(|Line { number, kind, effect, text }| {
                [format!("  {number}"), kind.to_owned(), effect, text::line(&text)]
            });
            lines.extend(text::align(rows.collect(), stdout_columns()));
        }
        lines
    }

    fn to_json(&self, stored: &StoredThread, with_records: bool) -> Value {
        let (answer, error, unknown) = match &self.status {
            Ok((RunStatus::Done { answer }, _)) => (Some(answer), None, &[][..]),
            Ok((RunStatus::Failed { error, unknown }, _)) => (None, Some(error), &unknown[..]),
            _ => (None, None, &[][..]),
        };
        let pending = self.status.as_ref().ok().and_then(|(_, pending)| pending.as_ref());
        let open = |pending: &Pending| pending.to_json(&RunLocation::Thread(stored).commands(pending));
        let header = self.header();
        let origin = header.and_then(|header| header.origin.as_ref()).map(
            |origin| json!({"thread": origin.thread, "turn": origin.turn + 1, "records": origin.records}),
        );
        let mut object = json!({
            "turn": self.number,
            "question": header.map_or("", |header| &header.input.question),
            "agent": header.map_or("", |header| &header.spec.name),
            "run": header.map_or("", |header| &header.run),
            "status": self.status(), "answer": answer, "error": error, "unknown": unknown,
            "problem": self.status.as_ref().err(),
            "open": pending.map(open),
            "origin": origin,
        });
        if with_records {
            object["records"] = json!(self.record_lines());
        }
        object
    }
}

/// How much of a record's text is shown, in characters.
const CHARS: usize = 120;

#[derive(Serialize)]
struct Line {
    /// From 0.
    #[serde(rename = "record")]
    number: usize,
    kind: &'static str,
    /// The effect that it is about, or nothing.
    effect: String,
    text: String,
}

impl Line {
    /// A record, asked in the run as it was folded so far.
    fn of(number: usize, record: &Record, now: Option<&Folded>) -> Self {
        let (kind, effect, text) = match record {
            Record::Header(header) => ("header", None, header.input.question.clone()),
            Record::Requested { effect, .. } => (
                "requested",
                Some(*effect),
                now.and_then(|now| request_text(now, *effect)).unwrap_or_default(),
            ),
            Record::Answered { event, .. } => ("answered", event.effect(), event_text(event)),
            Record::Happened(event) => ("happened", None, event_text(event)),
            Record::Resolved { effect, resolution } => {
                let text = match resolution {
                    ResolvedAs::Happened => "it happened",
                    ResolvedAs::DidNotHappen => "it did not happen",
                    ResolvedAs::Unknown => "nobody knows whether it happened",
                };
                ("settled", Some(*effect), text.to_owned())
            }
            Record::SpecChanged(spec) => ("rules", None, spec.name.clone()),
        };
        let effect = effect.map_or_else(String::new, |effect| effect.to_string());
        Line { number, kind, effect, text: excerpt(text.trim(), CHARS) }
    }
}

/// Who is asked, and what of a person or a tool.
fn request_text(Folded { compiled, state, .. }: &Folded, id: EffectId) -> Option<String> {
    let Request { asked, body, .. } = Request::of(compiled, state, awaited(compiled, state, id)?)?;
    Some(match body {
        RequestBody::Tool { tool, input, .. } => format!("{tool} {input}"),
        RequestBody::Human { question, .. } => question,
        _ => asked,
    })
}

fn event_text(event: &Event) -> String {
    match event {
        Event::ModelReplied { reply, .. } => {
            let calls = reply.tool_calls.iter().map(|call| format!("{} {}", call.name, call.arguments));
            std::iter::once(reply.text.clone()).chain(calls).collect::<Vec<_>>().join(" ")
        }
        Event::ModelFailed { failure, .. } => format!("failed: {}", failure.message),
        Event::ToolReturned { outcome: ToolOutcome::Returned { output, .. }, .. } => output.clone(),
        Event::ToolReturned { outcome: ToolOutcome::Failed { kind, message }, .. } => {
            format!("failed: {kind}: {message}")
        }
        Event::HumanAnswered { answer, .. } => answer_line(answer),
        Event::Cancelled { reason } => format!("cancelled: {reason}"),
        other => other.kind().to_owned(),
    }
}
