//! From records to a fixture: folds a journal and renders every request again at the moment it was
//! made.

use std::collections::HashMap;

use serde_json::Value;

use super::record::{header, spec as spec_of};
use super::{
    Exchange, Fixture, Frame, JournalError, ModelAnswer, Outcome, Record, human_digest, tool_digest,
    wait_digest,
};
use crate::machine::{Effect, EffectId, Event, State, awaited, start, transition};
use crate::prompt::{self, Message};
use crate::spec::{CompiledSpec, Digest, Spec};

/// A request as it was rendered, waiting for its answer.
enum Asked {
    Model { role: String, digest: Digest, request: Value, conversation: Vec<Message> },
    Tool { tool: String, digest: Digest, input: Value },
    Human { question: String },
    Wait { delay_ms: u64 },
}

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
        let mut state = start(&rules, header.input.clone()).state;
        let mut asked: HashMap<EffectId, Asked> = HashMap::new();
        let mut occurrences: HashMap<Digest, u32> = HashMap::new();
        for (index, record) in (1..).zip(&records[1..]) {
            let fail = |problem: &str| JournalError::at(index, problem);
            let event = match record {
                Record::Header(_) => return Err(fail("expected no second header")),
                Record::Requested { effect, .. } => {
                    let request = ask(&rules, &state, *effect, &mut fixture)
                        .ok_or_else(|| fail("asks for something the run does not wait for"))?;
                    asked.insert(*effect, request);
                    continue;
                }
                Record::Settled { .. } | Record::SpecChanged(_) => continue,
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
        fixture.outcome = Outcome::of(&rules, &state).unwrap_or_else(unfinished);
        fixture.trace = state.task.trace;
        Ok(fixture)
    }
}

fn ask(rules: &CompiledSpec, state: &State, id: EffectId, fixture: &mut Fixture) -> Option<Asked> {
    let effect = awaited(rules, state, id)?;
    Some(match effect {
        Effect::AskModel { .. } => {
            let request = prompt::request(rules, state, effect)?;
            let role = prompt::asked(rules, state, effect)?;
            fixture.frames.entry(role.clone()).or_insert_with(|| Frame::of(&request.frame));
            let digest = request.digest();
            let payload = serde_json::from_str(&request.payload).ok()?;
            Asked::Model { role, digest, request: payload, conversation: request.conversation }
        }
        Effect::CallTool { .. } => {
            let (tool, input) = prompt::call(rules, state, effect)?;
            let input = input.into_owned();
            Asked::Tool { tool: tool.to_owned(), digest: tool_digest(tool, &input), input }
        }
        Effect::AskHuman { .. } => {
            Asked::Human { question: prompt::question(rules, state, effect)?.to_owned() }
        }
        Effect::Wait { delay_ms, .. } => Asked::Wait { delay_ms },
    })
}

fn exchange(asked: Option<Asked>, event: &Event, occurrences: &mut HashMap<Digest, u32>) -> Option<Exchange> {
    let mut nth = |digest: Digest| {
        let count = occurrences.entry(digest).or_default();
        *count += 1;
        *count
    };
    Some(match (asked, event.clone()) {
        (Some(Asked::Model { role, digest, request, conversation }), event) => {
            let effect = event.effect()?;
            let answer = match event {
                Event::ModelReplied { reply, .. } => ModelAnswer::Reply(reply),
                Event::ModelFailed { failure, .. } => ModelAnswer::Failure(failure),
                _ => return None,
            };
            let occurrence = nth(digest);
            Exchange::Model { effect, role, digest, occurrence, request, conversation, answer }
        }
        (Some(Asked::Tool { tool, digest, input }), Event::ToolReturned { effect, outcome }) => {
            let occurrence = nth(digest);
            Exchange::Tool { effect, tool, digest, occurrence, input, answer: outcome }
        }
        (Some(Asked::Human { question }), Event::HumanAnswered { effect, answer }) => {
            let occurrence = nth(human_digest(&question));
            Exchange::Human { effect, occurrence, question, answer }
        }
        (Some(Asked::Human { question }), Event::Expired { effect }) => {
            let occurrence = nth(human_digest(&question));
            Exchange::Expired { effect, occurrence, question }
        }
        (Some(Asked::Wait { delay_ms }), Event::TimePassed { effect }) => {
            let occurrence = nth(wait_digest(delay_ms));
            Exchange::Waited { effect, occurrence, delay_ms }
        }
        (None, event @ (Event::Cancelled { .. } | Event::DeadlinePassed)) => Exchange::Happened(event),
        _ => return None,
    })
}
