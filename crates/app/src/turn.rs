//! A turn of a thread as it is shown: `threads show --json`, and a service's view of it.

use serde::Serialize;
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::pending::{Pending, RunLocation};
use crate::report::result_text;
use crate::steps::plan_json;
use crate::store::StoredThread;
use planwright::contract::excerpt;
use planwright::driver::Redactor;
use planwright::journal::{
    Fixture, Folded, Record, ResolvedAs, RunStatus, StoreError, ThreadId, Unknown, fold,
};
use planwright::machine::{AllowedCall, EffectId, Event, HumanAnswer, ToolOutcome, awaited, transition};
use planwright::ports::Secret;
use planwright::prompt::{Request, RequestBody};

/// A turn, as `--json` prints it.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ShownTurn {
    /// From 1.
    pub turn: u32,
    /// What was asked.
    pub question: String,
    /// The agent.
    pub agent: String,
    /// The run's id.
    pub run: String,
    /// Where it stands: `running`, `unreadable`, or the name of a `RunStatus`.
    #[cfg_attr(feature = "schema", schema(value_type = crate::shapes::TurnStatus))]
    pub status: &'static str,
    /// The answer.
    pub answer: Option<String>,
    /// Why there is none.
    pub error: Option<String>,
    /// What the validator said against the answer, if that stands though it was rejected.
    pub objection: Option<String>,
    /// The writes of which nobody knows whether they happened.
    #[cfg_attr(feature = "schema", schema(value_type = Vec<crate::shapes::UnknownWrite>))]
    pub unknown: Vec<Unknown>,
    /// Why it does not read.
    pub problem: Option<String>,
    /// What it waits with.
    pub open: Option<Pending>,
    /// The plan that the turn is at, a step an object.
    #[cfg_attr(feature = "schema", schema(value_type = Vec<crate::shapes::Step>))]
    pub plan: Vec<Value>,
    /// The first step that is not finished, from 0.
    pub current_step: usize,
    /// Whether a step of it waits for a person.
    pub is_waiting_human: bool,
    /// The answer, or why there is none, as the user is told.
    pub result: Option<String>,
    /// Whether it has read untrusted output.
    pub tainted: bool,
    /// Where the beginning of a fork comes from.
    #[cfg_attr(feature = "schema", schema(value_type = Option<crate::shapes::Origin>))]
    pub origin: Option<Value>,
    /// Each record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records: Option<Vec<RecordLine>>,
}

/// A thread with its turns, as `--json` prints it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ShownThread {
    /// Its name.
    #[cfg_attr(feature = "schema", schema(value_type = crate::shapes::ThreadName))]
    pub thread: ThreadId,
    /// The turns.
    pub turns: Vec<ShownTurn>,
}

impl ShownThread {
    /// Loads all turns, or the one that people count from 1, with the first `record_chars` characters of each record
    /// where they are wanted.
    ///
    /// # Errors
    /// Where there is no such thread or turn, or the store cannot be read.
    pub fn load(
        stored: &StoredThread,
        turn: Option<u32>,
        record_chars: Option<usize>,
    ) -> Result<Self, StoreError> {
        let (store, thread) = (stored.threads.store(), stored.thread.clone());
        let turns = store.turns(&thread)?;
        let wanted = match turn {
            Some(turn) if !(1..=turns).contains(&turn) => {
                return Err(StoreError::NoTurn { thread, turn: turn.saturating_sub(1), turns });
            }
            Some(turn) => turn - 1..turn,
            None => 0..turns,
        };
        // One that does not read is shown all the same.
        let running = store.find(&thread).ok().flatten().is_some_and(|listed| listed.running);
        let load = |turn| ShownTurn::load(stored, turn, running && turn + 1 == turns, record_chars);
        Ok(ShownThread { turns: wanted.map(load).collect::<Result<_, _>>()?, thread })
    }
}

/// Makes a fixture of a turn that people count from 1, the last without one, with the values of no key.
///
/// # Errors
/// Where there is no such turn, or its records do not read.
pub fn make_fixture_of(stored: &StoredThread, turn: Option<u32>, keys: Vec<Secret>) -> Result<Fixture> {
    let (turn, records) = stored.records(turn)?;
    let records = Redactor::new(keys).records(records);
    let fixture = fold(records.iter().cloned()).and_then(|folded| {
        let open = Pending::of(&folded, RunLocation::default());
        let open = open.map(|pending| format!("waits for a person: {}", pending.text()));
        Fixture::of_records(&records, open)
    });
    fixture.map_err(Error::at(format!("thread {}, turn {turn}", stored.thread)))
}

/// A record, in a line.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RecordLine {
    /// From 0.
    pub record: usize,
    /// What kind of record it is.
    pub kind: &'static str,
    /// The effect that it is about, or nothing.
    pub effect: String,
    /// What it says, or the beginning of it.
    pub text: String,
}

impl ShownTurn {
    /// Loads a turn, counted from 0, with the first `record_chars` characters of each record where they are wanted.
    /// In a turn that is `running`, what is asked and not answered is being done. What does not read is shown as
    /// that.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn load(
        stored: &StoredThread,
        turn: u32,
        running: bool,
        record_chars: Option<usize>,
    ) -> Result<Self, StoreError> {
        let records = stored.threads.store().records(&stored.thread, turn);
        ShownTurn::of(stored, turn, records, running, record_chars)
    }

    /// Loads a turn, counted from 0, as it was when it had so many records.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn load_until(stored: &StoredThread, turn: u32, until: usize) -> Result<Self, StoreError> {
        let mut records = stored.threads.store().records(&stored.thread, turn)?;
        records.truncate(until);
        ShownTurn::of(stored, turn, Ok(records), false, None)
    }

    fn of(
        stored: &StoredThread,
        turn: u32,
        records: Result<Vec<Record>, StoreError>,
        running: bool,
        record_chars: Option<usize>,
    ) -> Result<Self, StoreError> {
        // A turn that is damaged does not hide the others.
        let (records, folded) = match records {
            Ok(records) if records.is_empty() => (records, Err("it has no header".to_owned())),
            Ok(records) => (records.clone(), fold(records).map_err(|error| error.to_string())),
            Err(StoreError::Journal(error)) => (Vec::new(), Err(error.to_string())),
            Err(error) => return Err(error),
        };
        let mut shown = ShownTurn { turn: turn + 1, status: "unreadable", ..ShownTurn::default() };
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
                shown.objection = state.objection().map(str::to_owned);
                (shown.plan, shown.result, shown.tainted) =
                    (plan_json(state), result_text(state), state.is_tainted());
                for step in state.asked_calls(&folded.compiled) {
                    if let Some(asked) = shown.plan.get_mut(step as usize) {
                        asked["status"] = json!("waiting_human");
                    }
                }
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
        shown.records = record_chars.map(|most| record_lines(&records, most));
        Ok(shown)
    }
}

/// The records, a line each. What follows a record that does not fit is shown without the request.
fn record_lines(records: &[Record], most: usize) -> Vec<RecordLine> {
    let mut now: Option<Folded> = None;
    let lines = records.iter().enumerate().map(|(number, record)| {
        let text = match record {
            Record::Header(header) => header.input.question.clone(),
            Record::Asked(asked) => asked.key.clone(),
            Record::Interrupted { cause, .. } => cause.clone(),
            Record::SpecChanged(spec) => spec.name.clone(),
            Record::Requested { effect, .. } => {
                now.as_ref().and_then(|now| request_text(now, *effect)).unwrap_or_default()
            }
            Record::Answered { event, .. } | Record::Happened { event, .. } => event_text(event),
            Record::Resolved { resolution, .. } => match resolution {
                ResolvedAs::Happened => "it happened",
                ResolvedAs::DidNotHappen => "it did not happen",
                ResolvedAs::Unknown => "nobody knows whether it happened",
            }
            .to_owned(),
        };
        let (kind, effect) = record_kind(record);
        match record {
            Record::Header(_) | Record::SpecChanged(_) => now = fold(records[..=number].iter().cloned()).ok(),
            Record::Answered { event, .. } | Record::Happened { event, .. } => {
                now = now.take().and_then(|mut folded| {
                    folded.state = transition(&folded.compiled, folded.state, event.clone()).ok()?.state;
                    Some(folded)
                });
            }
            Record::Requested { .. }
            | Record::Resolved { .. }
            | Record::Interrupted { .. }
            | Record::Asked(_) => {}
        }
        let effect = effect.map_or_else(String::new, |effect| effect.to_string());
        RecordLine { record: number, kind, effect, text: excerpt(text.trim(), most) }
    });
    lines.collect()
}

/// What kind of record it is, and the effect that it is about.
pub(crate) fn record_kind(record: &Record) -> (&'static str, Option<EffectId>) {
    match record {
        Record::Header(_) => ("header", None),
        Record::Asked(_) => ("asked", None),
        Record::SpecChanged(_) => ("rules", None),
        Record::Requested { effect, .. } => ("requested", Some(*effect)),
        Record::Answered { event, .. } => ("answered", event.effect()),
        Record::Happened { .. } => ("happened", None),
        Record::Resolved { effect, .. } => ("settled", Some(*effect)),
        Record::Interrupted { effect, .. } => ("interrupted", *effect),
    }
}

/// Who is asked, and what of a person or a tool.
fn request_text(Folded { compiled, state, .. }: &Folded, id: EffectId) -> Option<String> {
    let Request { asked, body, .. } = Request::of(compiled, state, awaited(compiled, state, id)?)?;
    Some(match body {
        RequestBody::Tool { tool, input, .. } => format!("{tool} {input}"),
        RequestBody::Human { question, .. } => question,
        _ => asked.into_owned(),
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

/// What a person answered, on one line.
pub fn answer_line(answer: &HumanAnswer) -> String {
    match answer {
        HumanAnswer::Approve => "approved".to_owned(),
        HumanAnswer::ApproveCalls { calls } => {
            let shown = |call: &AllowedCall| match call.input() {
                None => call.position().to_string(),
                Some(input) => format!("{} with another input: {input}", call.position()),
            };
            format!("approved {}", calls.iter().map(shown).collect::<Vec<_>>().join(", "))
        }
        HumanAnswer::EditInput { input } => {
            let input = input.as_str().map_or_else(|| input.to_string(), str::to_owned);
            format!("approved with another input: {input}")
        }
        HumanAnswer::Respond { text } => text.clone(),
        HumanAnswer::Reject { reason } => format!("rejected: {reason}"),
        HumanAnswer::Edit { steps } => {
            let tools: Vec<&str> = steps.iter().map(|step| step.tool.as_str()).collect();
            format!("edited: {}", tools.join(", "))
        }
    }
}
