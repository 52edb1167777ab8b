//! From records to a fixture: folds a journal and renders every request again at the moment it was
//! made.

use std::collections::HashMap;

use super::fold::{header, spec as spec_of};
use super::walk::walk;
use super::{Exchange, Fixture, Frame, JournalError, ModelAnswer, Outcome, Record};
use crate::machine::{EffectId, Event, State, awaited};
use crate::prompt::{Request, RequestBody};
use crate::spec::{CompiledSpec, Digest, Spec};

impl Fixture {
    /// Makes a journal readable. `interrupted` says why the run is unfinished, where it is.
    ///
    /// # Errors
    /// Where the journal does not fold; names the record.
    pub fn of_records(records: &[Record], interrupted: Option<String>) -> Result<Self, JournalError> {
        let header = header(records)?;
        let spec = Spec::clone(spec_of(header, records));
        let rules = spec.clone().check().map_err(|error| JournalError::at(0, error.to_string()))?;
        let mut fixture = Fixture::new(spec, header.input.clone());
        let mut asked: HashMap<EffectId, Request<'_>> = HashMap::new();
        let mut occurrences: HashMap<Digest, u32> = HashMap::new();
        let walked = walk(&rules, header.input.clone(), records.iter().cloned(), |_, state, record| {
            match record {
                Record::Requested { effect, .. } => {
                    let request = render(&rules, state, *effect, &mut fixture)
                        .ok_or("asks for something the run does not wait for")?;
                    asked.insert(*effect, request);
                }
                Record::Answered { event, .. } | Record::Happened(event) => {
                    let request = event.effect().and_then(|effect| asked.remove(&effect));
                    let exchange = exchange(request, event, &mut occurrences)
                        .ok_or("answers something that was not requested")?;
                    fixture.exchanges.push(exchange);
                }
                Record::Header(_) | Record::Resolved { .. } | Record::SpecChanged(_) => {}
            }
            Ok(())
        });
        let (state, _) = walked.map_err(|halted| JournalError::at(halted.record, halted.problem))?;
        let unfinished = || Outcome::Interrupted(interrupted.unwrap_or_else(|| "unfinished".to_owned()));
        fixture.outcome = Outcome::of(&rules, &state).unwrap_or_else(unfinished);
        fixture.trace = state.task.trace;
        Ok(fixture)
    }
}

/// Renders a request, and keeps the constant part of it in the fixture.
fn render<'r>(
    rules: &'r CompiledSpec,
    state: &State,
    id: EffectId,
    fixture: &mut Fixture,
) -> Option<Request<'r>> {
    let request = Request::of(rules, state, awaited(rules, state, id)?)?;
    if let RequestBody::Model { request: model, .. } = &request.body {
        fixture.frames.entry(request.asked.clone()).or_insert_with(|| Frame::of(&model.frame));
    }
    Some(request)
}

/// A request with its answer; `None` where the event answers something else.
fn exchange(
    asked: Option<Request<'_>>,
    event: &Event,
    occurrences: &mut HashMap<Digest, u32>,
) -> Option<Exchange> {
    let Some(Request { effect, asked, digest, body, .. }) = asked else {
        let unasked = matches!(event, Event::Cancelled { .. } | Event::DeadlinePassed);
        return unasked.then(|| Exchange::Happened(event.clone()));
    };
    let mut occurrence = || {
        let count = occurrences.entry(digest).or_default();
        *count += 1;
        *count
    };
    Some(match (body, event.clone()) {
        (RequestBody::Model { request, .. }, event) => {
            let answer = match event {
                Event::ModelReplied { reply, .. } => ModelAnswer::Reply(reply),
                Event::ModelFailed { failure, .. } => ModelAnswer::Failure(failure),
                _ => return None,
            };
            let (occurrence, conversation) = (occurrence(), request.conversation);
            let request = serde_json::from_str(&request.payload).ok()?;
            Exchange::Model { effect, role: asked, digest, occurrence, request, conversation, answer }
        }
        (RequestBody::Tool { tool, input, .. }, Event::ToolReturned { outcome, .. }) => {
            Exchange::Tool { effect, tool, digest, occurrence: occurrence(), input, answer: outcome }
        }
        (RequestBody::Human { question, .. }, Event::HumanAnswered { answer, .. }) => {
            Exchange::Human { effect, occurrence: occurrence(), question, answer }
        }
        (RequestBody::Human { question, .. }, Event::Expired { .. }) => {
            Exchange::Expired { effect, occurrence: occurrence(), question }
        }
        (RequestBody::Wait { delay_ms }, Event::TimePassed { .. }) => {
            Exchange::Waited { effect, occurrence: occurrence(), delay_ms }
        }
        _ => return None,
    })
}
