//! The records of a turn, a line each, so that one can choose where to fork.

use serde::Serialize;

use crate::screen::answer_line;
use planwright::contract::excerpt;
use planwright::journal::{Record, ResolvedAs};
use planwright::machine::{EffectId, Event, State, ToolOutcome, awaited, start, transition};
use planwright::prompt::{Request, RequestBody};
use planwright::spec::CompiledSpec;

/// How much of a text is shown, in characters.
const CHARS: usize = 120;

/// A record, as it is shown.
#[derive(Serialize)]
pub struct Line {
    /// From 0.
    #[serde(rename = "record")]
    pub number: usize,
    pub kind: &'static str,
    /// The effect that it is about, or nothing.
    pub effect: String,
    pub text: String,
}

impl Line {
    /// The records, a line each. What follows a record that does not fit is shown without the request.
    pub fn of(records: &[Record]) -> Vec<Self> {
        let mut at = start_state(records);
        records.iter().enumerate().map(|(number, record)| line_of(number, record, &mut at)).collect()
    }
}

/// The rules of a journal, and the state that it starts from.
fn start_state(records: &[Record]) -> Option<(CompiledSpec, State)> {
    let Some(Record::Header(header)) = records.first() else { return None };
    let changed = records.iter().rev().find_map(|record| match record {
        Record::SpecChanged(spec) => Some(spec),
        _ => None,
    });
    let rules = changed.unwrap_or(&header.spec).as_ref().clone().check().ok()?;
    let state = start(&rules, header.input.clone()).state;
    Some((rules, state))
}

fn line_of(number: usize, record: &Record, at: &mut Option<(CompiledSpec, State)>) -> Line {
    let (kind, effect, text) = match record {
        Record::Header(header) => ("header", None, header.input.question.clone()),
        Record::Requested { effect, .. } => {
            let asked = at.as_ref().and_then(|(rules, state)| request_text(rules, state, *effect));
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
        Record::SpecChanged(spec) => ("rules", None, spec.name.clone()),
    };
    if let Record::Answered { event, .. } | Record::Happened(event) = record {
        *at = at.take().and_then(|(rules, state)| {
            let step = transition(&rules, state, event.clone()).ok()?;
            Some((rules, step.state))
        });
    }
    let effect = effect.map_or_else(String::new, |effect| effect.to_string());
    Line { number, kind, effect, text: excerpt(text.trim(), CHARS) }
}

/// Who is asked, and what of a person or a tool.
fn request_text(rules: &CompiledSpec, state: &State, id: EffectId) -> Option<String> {
    let Request { asked, body, .. } = Request::of(rules, state, awaited(rules, state, id)?)?;
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
