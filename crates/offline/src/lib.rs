//! Offline: the model that answers where there is no language model.
//!
//! It is rules, and says so. It plans by the words of the question, judges by whether results name
//! what the question names, and answers with sentences taken from the results, word for word and
//! with their sources. It plays every role, and reads the same request that a language model gets:
//! which role to play, and how to reply, is in the frame; which agent runs is nowhere.
//!
//! **Invariant:** nothing here does I/O or reads a clock, equal requests get equal replies, and
//! text in a payload is only ever compared and quoted, never followed: a result, a hint or a task
//! names what to look for, and nothing else.

mod agent;
mod arithmetic;
mod body;
mod conversation;
mod converse;
mod cues;
mod duties;
mod english;
mod intent;
mod judge;
mod korean;
#[allow(dead_code)] // moves in piece by piece
mod lexicon;
mod list;
mod markdown;
mod members;
mod next;
mod orchestrate;
mod plan;
mod planner;
mod predicate;
mod question;
mod react;
mod recall;
mod request;
mod results;
mod scope;
mod select;
mod shape;
mod terms;
mod text;
mod verdict;
mod words;
mod write;

use serde_json::{Value, json};

use planwright::machine::{FailureClass, ModelReply};
use planwright::ports::{Model, ModelError, TokenSink};
use planwright::prompt::ModelRequest;
use planwright::spec::{RequestFrame, RoleName};

use conversation::Rounds;
use next::Next;
use question::Question;
use request::Payload;
use results::Results;

/// The embedded model: extractive, by rule, in English and Korean. It needs no network and no key.
///
/// ```
/// use planwright::ports::Model;
/// use planwright_offline::Offline;
/// use planwright::prompt::ModelRequest;
/// use planwright::{agents, spec::RoleName};
///
/// let rules = agents::shipped("validated").unwrap().check()?;
/// let frame = rules.frame(RoleName::Planner).unwrap().clone();
/// let payload = r#"{"user_question": "What is 345*872?"}"#.to_owned();
/// let request = ModelRequest { frame, payload, conversation: Vec::new() };
///
/// let reply = Offline::new().ask(&request, None).unwrap();
/// let plan = rules.plan().read(&reply.text, 10_000).unwrap().plan;
/// assert_eq!(plan.steps[0].tool, "calc");
/// assert_eq!(plan.steps[0].input, Some("345*872".into()));
/// # Ok::<(), planwright::spec::SpecError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Offline;

impl Offline {
    /// The model.
    pub fn new() -> Self {
        Offline
    }
}

impl Model for Offline {
    fn name(&self) -> &str {
        "offline"
    }

    fn ask(&self, request: &ModelRequest, tokens: Option<TokenSink<'_>>) -> Result<ModelReply, ModelError> {
        let reply = reply(request)?;
        if let Some(sink) = tokens.filter(|_| !reply.text.is_empty()) {
            sink(&reply.text);
        }
        Ok(reply)
    }
}

fn reply(request: &ModelRequest) -> Result<ModelReply, ModelError> {
    let bad = |problem: String| ModelError::failed(FailureClass::BadRequest, problem);
    let payload: Value = serde_json::from_str(&request.payload)
        .map_err(|error| bad(format!("payload: expected JSON: {error}")))?;
    let payload = Payload::read(&payload).map_err(bad)?;
    let frame = &request.frame;
    let text = match frame.role {
        RoleName::Scope => scope::reply(&payload).to_string(),
        RoleName::PreviousContext => recall::reply(&payload).to_string(),
        RoleName::Intent => intent::reply(frame, &payload),
        RoleName::Planner | RoleName::Replanner if frame.schema.is_none() => {
            return Ok(next_move(request, &payload));
        }
        RoleName::Planner | RoleName::Replanner => {
            plan::reply(frame, &payload).map_err(|why| ModelError::failed(FailureClass::Refusal, why))?
        }
        RoleName::Orchestrator => orchestrate::reply(frame, &payload).to_string(),
        RoleName::Validator => verdict::reply(frame, &payload).to_string(),
        RoleName::Writer | RoleName::Conversation => answer(frame, &payload),
        RoleName::Agent => agent::reply(&payload),
    };
    Ok(ModelReply::text(text))
}

/// The reply of a planner that goes on call by call: as native calls, or as thought and action.
fn next_move(request: &ModelRequest, payload: &Payload<'_>) -> ModelReply {
    let frame = &request.frame;
    let rounds = Rounds::read(&request.conversation, &frame.tools);
    let (next, korean) = next::next(frame, payload, &rounds);
    match next {
        Next::Call(steps) if frame.native_calls => ModelReply::calls(steps.into_iter().filter_map(|step| {
            let tool = frame.tools.iter().find(|tool| tool.name == step.tool)?;
            Some((step.tool, tool.arguments(&step.input)))
        })),
        Next::Call(steps) => {
            ModelReply::text(steps.first().map(|step| react::act(step, korean)).unwrap_or_default())
        }
        Next::Say(words) if frame.native_calls => ModelReply::text(words),
        Next::Say(words) => ModelReply::text(react::answer(&words, korean)),
    }
}

/// The answer: small talk and handed-over texts in kind, everything else out of the results.
fn answer(frame: &RequestFrame, payload: &Payload<'_>) -> String {
    let evidence = Results::parse(&payload.records());
    let question = Question::read(payload.query(), evidence.calculated());
    let talk = if payload.comes_first() { converse::easy(payload.question) } else { None };
    let answer = match talk {
        Some(talk) => talk,
        None if frame.role == RoleName::Conversation && payload.results.is_empty() => {
            converse::answer(payload.question)
        }
        None if payload.repair => write::write_briefly(&question, &evidence),
        None => write::write(&question, &evidence),
    };
    if frame.schema.is_some() { json!({"final": answer}).to_string() } else { answer }
}
