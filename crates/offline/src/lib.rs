//! Offline: the model that answers where there is no language model.
//!
//! It works by rule, and says so. It plays every role on the request that a language model gets, and is never
//! told which agent runs.
//!
//! **Invariant:** nothing here does I/O or reads a clock, equal requests get equal replies, and text in a
//! payload is compared and quoted, never followed.

mod agent;
mod answer;
mod arithmetic;
mod evidence;
mod frame;
mod intake;
mod lexicon;
mod markdown;
mod next;
mod payload;
mod plan;
mod planner;
mod question;
mod reading;
mod results;
mod shape;
mod stem;
mod talk;
mod terms;
mod text;

use serde_json::{Value, json};

use planwright::machine::{FailureClass, ModelReply};
use planwright::ports::{Model, ModelError, TokenSink};
use planwright::prompt::ModelRequest;
use planwright::spec::{RequestFrame, RoleName};

use lexicon::say;
use payload::Payload;
use question::Question;
use results::Results;
use text::is_korean;

/// The embedded model: extractive, by rule, in English and Korean. It needs no network and no key.
///
/// ```
/// use planwright::ports::Model;
/// use planwright_offline::Offline;
/// use planwright::prompt::ModelRequest;
/// use planwright::{agents, spec::RoleName};
///
/// let frame = agents::shipped("validated").unwrap().check()?.frame(RoleName::Planner).unwrap().clone();
/// let payload = r#"{"user_question": "What is 345*872?"}"#.to_owned();
/// let request = ModelRequest { frame, payload, conversation: Vec::new(), trace: None };
///
/// let reply = Offline::new().ask(&request, None).unwrap();
/// assert!(reply.text.contains(r#""tool":"calc""#) && reply.text.contains("345*872"));
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
    let payload: Value = serde_json::from_str(&request.payload).unwrap_or_default();
    let payload =
        Payload::parse(&payload).map_err(|why| ModelError::failed(FailureClass::BadRequest, why))?;
    let frame = &request.frame;
    let text = match frame.role {
        RoleName::Scope => intake::scope(&payload).to_string(),
        RoleName::PreviousContext => intake::previous_context(&payload).to_string(),
        RoleName::Intent => intake::intent(frame, &payload),
        // It plans with what only reads.
        RoleName::Grant => r#"{"steps": []}"#.to_owned(),
        RoleName::Planner | RoleName::Replanner if frame.schema.is_none() => {
            return Ok(next::reply(request, &payload));
        }
        RoleName::Planner | RoleName::Replanner => {
            plan::reply(frame, &payload).map_err(|why| ModelError::failed(FailureClass::Refusal, why))?
        }
        RoleName::Orchestrator => agent::orchestrate(frame, &payload).to_string(),
        RoleName::Executor => {
            agent::fill(&payload).map_err(|why| ModelError::failed(FailureClass::NothingFound, why))?
        }
        RoleName::Validator => answer::give_verdict(frame, &payload).to_string(),
        RoleName::Writer
            if frame.schema.as_ref().is_some_and(|form| form["properties"]["final"].is_null()) =>
        {
            let why = "the offline model quotes what it finds and fills in no form: ask a language model";
            return Err(ModelError::failed(FailureClass::Refusal, why));
        }
        RoleName::Writer | RoleName::Conversation => answer(frame, &payload),
        RoleName::Agent => {
            agent::work(&payload).map_err(|why| ModelError::failed(FailureClass::NothingFound, why))?
        }
    };
    Ok(ModelReply::text(text))
}

/// The answer: small talk and handed-over texts in kind, everything else out of the results.
fn answer(frame: &RequestFrame, payload: &Payload<'_>) -> String {
    let talks = frame.role == RoleName::Conversation && payload.results.is_empty();
    let at_once = talk::answer_at_once(payload.question).filter(|_| talks || payload.comes_first());
    let unclear = || talks.then(|| say("unclear", is_korean(payload.question)).to_owned());
    let answer = at_once.or_else(unclear).unwrap_or_else(|| {
        let results = Results::parse(&payload.records());
        let question = Question::parse(payload.query(), results.calculated());
        answer::write(&question, &results, payload.repair)
    });
    if frame.schema.is_some() { json!({"final": answer}).to_string() } else { answer }
}
