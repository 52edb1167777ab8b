//! `threads show`: the turns of a thread, and its records.

use serde::Serialize;
use serde_json::{Value, json};

use crate::args::{ShowThreadArgs, StoreArgs};
use crate::out::{Exit, stdout_columns};
use crate::trace::answer_line;
use crate::{out, text};
use planwright::contract::excerpt;
use planwright::journal::{Folded, Record, ResolvedAs, RunStatus, StoreError, Unknown, fold};
use planwright::machine::{EffectId, Event, ToolOutcome, awaited, transition};
use planwright::prompt::{Request, RequestBody};
use planwright_app::{Class, Pending, Result, RunLocation, StoredThread, plan_json, result_text, step_text};

/// How much of a record's text is shown, in characters.
const CHARS: usize = 120;

/// A turn, as `--json` prints it.
#[derive(Default, Serialize)]
struct Shown {
    /// From 1.
    turn: u32,
    question: String,
    agent: String,
    run: String,
    status: &'static str,
    answer: Option<String>,
    error: Option<String>,
    unknown: Vec<Unknown>,
    /// Why it does not read.
    problem: Option<String>,
    open: Option<Pending>,
    /// The plan that the turn is at, a step an object.
    plan: Vec<Value>,
    /// The first step that is not finished, from 0.
    current_step: usize,
    is_waiting_human: bool,
    /// The answer, or why there is none, as the user is told.
    result: Option<String>,
    /// Where the beginning of a fork comes from.
    origin: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    records: Option<Vec<Line>>,
}

#[derive(Serialize)]
struct Line {
    /// From 0.
    record: usize,
    kind: &'static str,
    /// The effect that it is about, or nothing.
    effect: String,
    text: String,
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
    let load = |turn| load_turn(&stored, turn, running && turn + 1 == turns, args);
    let shown: Vec<Shown> = wanted.map(load).collect::<Result<_>>()?;
    if args.json {
        out::print_json(&json!({"thread": stored.thread, "turns": shown}))?;
    } else {
        shown.iter().try_for_each(|turn| out::print_text(&turn.lines(&stored, args.full).join("\n")))?;
    }
    Ok(shown.iter().any(|turn| turn.problem.is_some()).then_some(Class::Failed))
}

/// Loads a turn. In one that a process goes on with, what is asked and not answered is being done.
fn load_turn(stored: &StoredThread, turn: u32, running: bool, args: &ShowThreadArgs) -> Result<Shown> {
    // A turn that is damaged does not hide the others.
    let (records, folded) = match stored.threads.store().records(&stored.thread, turn) {
        Ok(records) if records.is_empty() => (records, Err("it has no header".to_owned())),
        Ok(records) => (records.clone(), fold(records).map_err(|error| error.to_string())),
        Err(StoreError::Journal(error)) => (Vec::new(), Err(error.to_string())),
        Err(error) => return Err(error.into()),
    };
    let mut shown = Shown { turn: turn + 1, status: "unreadable", ..Shown::default() };
    if let Some(Record::Header(header)) = records.first() {
        shown.question.clone_from(&header.input.question);
        shown.agent.clone_from(&header.spec.name);
        shown.run.clone_from(&header.run);
        shown.origin = header.origin.as_ref().map(
            |origin| json!({"thread": origin.thread, "turn": origin.turn + 1, "records": origin.records}),
        );
    }
    match folded {
        Err(problem) => shown.problem = Some(problem),
        Ok(folded) => {
            let status = RunStatus::of(&folded);
            shown.status = if running && !status.has_ended() { "running" } else { status.name() };
            let state = &folded.state;
            (shown.plan, shown.result) = (plan_json(state), result_text(state));
            (shown.current_step, shown.is_waiting_human) =
                (state.plan().current_step, state.waits_for_person());
            shown.open = Pending::of(&folded, RunLocation::in_thread(stored)).filter(|_| !running);
            match status {
                RunStatus::Done { answer } => shown.answer = Some(answer),
                RunStatus::Failed { error, unknown } => {
                    (shown.error, shown.unknown) = (Some(error), unknown);
                }
                _ => {}
            }
        }
    }
    shown.records = args.records.then(|| record_lines(&records, most_chars(args.full)));
    Ok(shown)
}

impl Shown {
    /// The turn for people.
    fn lines(&self, stored: &StoredThread, full: bool) -> Vec<String> {
        let head = format!("turn {}  {}  {}", self.turn, self.status, text::line(&self.agent));
        let mut lines = vec![head.trim_end().to_owned()];
        let mut line = |what: &str, text: &str| {
            let indented = text::clean(text).lines().collect::<Vec<_>>().join("\n            ");
            lines.push(format!("  {}{indented}", text::pad(what, 10)));
        };
        if !self.question.is_empty() {
            line("asked", &text::line(&self.question));
        }
        if let Some(origin) = &self.origin {
            let thread = origin["thread"].as_str().unwrap_or_default();
            line(
                "from",
                &text::line(&format!("{thread}, turn {}, {} records", origin["turn"], origin["records"])),
            );
        }
        self.problem.iter().for_each(|problem| line("problem", problem));
        for (at, step) in self.plan.iter().enumerate() {
            line(if at == 0 { "plan" } else { "" }, &step_text(step, full));
        }
        self.answer.iter().for_each(|answer| line("answered", answer));
        self.error.iter().for_each(|error| line("failed", error));
        for Unknown { effect, tool } in &self.unknown {
            let asked = format!("{tool} ({effect}) was asked to change something");
            line("unknown", &format!("{asked}, and nobody knows whether it did"));
        }
        if self.status == "unfinished" {
            line("goes on", &stored.command("resume"));
        }
        if let Some(pending) = &self.open {
            line("waits", &pending.text());
            let until = if pending.expired { "expired" } else { "until" };
            pending.expires.iter().for_each(|end| line(until, &text::time(*end)));
            if !pending.expired {
                line("token", &pending.token);
            }
            line(if pending.expired { "goes on" } else { "answer" }, &pending.commands.join("\n"));
        }
        let records = self.records.iter().flatten();
        if full {
            lines.extend(records.map(|Line { record, kind, effect, text }| {
                let text = text::clean(text).replace('\n', "\n      ");
                format!("  {record}  {kind}  {effect}\n      {text}")
            }));
            return lines;
        }
        let row = |Line { record, kind, effect, text }: &Line| {
            [format!("  {record}"), (*kind).to_owned(), effect.clone(), text::line(text)]
        };
        lines.extend(text::align(records.map(row).collect(), stdout_columns()));
        lines
    }
}

fn most_chars(full: bool) -> usize {
    if full { usize::MAX } else { CHARS }
}

/// The records, a line each. What follows a record that does not fit is shown without the request.
fn record_lines(records: &[Record], most: usize) -> Vec<Line> {
    let mut now: Option<Folded> = None;
    let lines = records.iter().enumerate().map(|(number, record)| {
        let (kind, effect, text) = match record {
            Record::Header(header) => ("header", None, header.input.question.clone()),
            Record::SpecChanged(spec) => ("rules", None, spec.name.clone()),
            Record::Requested { effect, .. } => {
                let asked = now.as_ref().and_then(|now| request_text(now, *effect));
                ("requested", Some(*effect), asked.unwrap_or_default())
            }
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
        };
        match record {
            Record::Header(_) | Record::SpecChanged(_) => now = fold(records[..=number].iter().cloned()).ok(),
            Record::Answered { event, .. } | Record::Happened(event) => {
                now = now.take().and_then(|mut folded| {
                    folded.state = transition(&folded.compiled, folded.state, event.clone()).ok()?.state;
                    Some(folded)
                });
            }
            Record::Requested { .. } | Record::Resolved { .. } => {}
        }
        let effect = effect.map_or_else(String::new, |effect| effect.to_string());
        Line { record: number, kind, effect, text: excerpt(text.trim(), most) }
    });
    lines.collect()
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
        Event::ModelFailed { failure, .. } => {
            format!("failed: {} {}", failure.message, failure.text).trim_end().to_owned()
        }
        Event::ToolReturned { outcome: ToolOutcome::Returned { output, .. }, .. } => output.clone(),
        Event::ToolReturned { outcome: ToolOutcome::Failed { kind, message }, .. } => {
            format!("failed: {kind}: {message}")
        }
        Event::HumanAnswered { answer, .. } => answer_line(answer),
        Event::Cancelled { reason } => format!("cancelled: {reason}"),
        other => other.kind().to_owned(),
    }
}
