//! From records to a fixture: folds a journal and renders every request again at the moment it was
//! made.

use std::collections::HashMap;

use serde_json::Value;

use super::fixture::{Exchange, Fixture, Frame, ModelAnswer, Outcome, tool_digest};
use super::{JournalError, Record};
use crate::machine::{Effect, EffectId, Event, State, awaited, start, transition};
use crate::prompt;
use crate::spec::{Digest, RoleName, Rules, Spec};

/// A request as it was rendered, waiting for its answer.
enum Asked {
    Model { role: RoleName, digest: Digest, request: Value },
    Tool { tool: String, digest: Digest, input: Value },
}

impl Fixture {
    /// Makes a journal readable. `interrupted` says why the run is unfinished, where it is.
    ///
    /// # Errors
    /// Where the journal does not fold; names the record.
    pub fn of_records(records: &[Record], interrupted: Option<String>) -> Result<Self, JournalError> {
        let Some((Record::Header(header), rest)) = records.split_first() else {
            return Err(JournalError::at(0, "expected a header"));
        };
        let spec = Spec::clone(&header.spec);
        let rules = spec.clone().check().map_err(|error| JournalError::at(0, error.to_string()))?;
        let mut fixture = Fixture::new(spec, header.input.clone());
        let mut state = start(&rules, header.input.clone()).state;
        let mut asked: HashMap<EffectId, Asked> = HashMap::new();
        let mut occurrences: HashMap<Digest, u32> = HashMap::new();
        for (index, record) in (1..).zip(rest) {
            let fail = |problem: &str| JournalError::at(index, problem);
            let event = match record {
                Record::Header(_) => return Err(fail("expected no second header")),
                Record::Requested { effect, .. } => {
                    let request = ask(&rules, &state, *effect, &mut fixture)
                        .ok_or_else(|| fail("asks for something the run does not wait for"))?;
                    asked.insert(*effect, request);
                    continue;
                }
                Record::Answered(event) | Record::Happened(event) => event,
            };
            let request = event.effect().and_then(|effect| asked.remove(&effect));
            let exchange = exchange(request, event, &mut occurrences)
                .ok_or_else(|| fail("answers something that was not requested"))?;
            fixture.exchanges.push(exchange);
            state = match transition(&rules, state, event.clone()) {
                Ok(step) => step.state,
                Err(refused) => return Err(fail(&refused.to_string())),
            };
        }
        let unfinished = || Outcome::Interrupted(interrupted.unwrap_or_else(|| "unfinished".to_owned()));
        fixture.outcome = Outcome::of(&state).unwrap_or_else(unfinished);
        fixture.trace = state.task.trace;
        Ok(fixture)
    }
}

fn ask(rules: &Rules, state: &State, id: EffectId, fixture: &mut Fixture) -> Option<Asked> {
    match awaited(rules, state, id)? {
        Effect::AskModel { role, .. } => {
            let request = prompt::render(rules, state, role)?;
            fixture.frames.entry(role).or_insert_with(|| Frame::of(&request.frame));
            let payload = serde_json::from_str(&request.payload).ok()?;
            Some(Asked::Model { role, digest: request.digest(), request: payload })
        }
        Effect::AskHuman { .. } | Effect::Wait { .. } => None,
        Effect::CallTool { step, .. } => {
            let (tool, input) = prompt::tool_call(state, step)?;
            let input = input.into_owned();
            Some(Asked::Tool { tool: tool.to_owned(), digest: tool_digest(tool, &input), input })
        }
    }
}

fn exchange(asked: Option<Asked>, event: &Event, occurrences: &mut HashMap<Digest, u32>) -> Option<Exchange> {
    let mut nth = |digest: Digest| {
        let count = occurrences.entry(digest).or_default();
        *count += 1;
        *count
    };
    Some(match (asked, event.clone()) {
        (Some(Asked::Model { role, digest, request }), Event::ModelReplied { effect, reply }) => {
            let (occurrence, answer) = (nth(digest), ModelAnswer::Reply(reply));
            Exchange::Model { effect, role, digest, occurrence, request, answer }
        }
        (Some(Asked::Model { role, digest, request }), Event::ModelFailed { effect, failure }) => {
            let (occurrence, answer) = (nth(digest), ModelAnswer::Failure(failure));
            Exchange::Model { effect, role, digest, occurrence, request, answer }
        }
        (Some(Asked::Tool { tool, digest, input }), Event::ToolReturned { effect, outcome }) => {
            let occurrence = nth(digest);
            Exchange::Tool { effect, tool, digest, occurrence, input, answer: outcome }
        }
        (None, event @ (Event::Cancelled { .. } | Event::DeadlinePassed)) => Exchange::Happened(event),
        _ => return None,
    })
}
