//! Offline: the model that answers where there is no language model.
//!
//! It is rules, and says so. It plans by the words of the question, judges by whether results name
//! what the question names, and answers with sentences taken from the results, word for word and
//! with their sources. It reads the same request that a language model gets.
//!
//! **Invariant:** nothing here does I/O or reads a clock, equal requests get equal replies, and
//! text in a payload is only ever compared and quoted, never followed.

mod arithmetic;
mod english;
mod evidence;
mod inline;
mod judge;
mod korean;
mod list;
mod markdown;
mod plan;
mod predicate;
mod question;
mod request;
mod select;
mod shape;
mod terms;
mod text;
mod words;
mod write;

use serde_json::{Value, json};

use crate::driver::{Model, ModelError, TokenSink};
use crate::machine::{FailureClass, ModelReply};
use crate::prompt::ModelRequest;
use crate::spec::RoleName;

use evidence::Evidence;
use question::Question;
use request::Payload;

/// The embedded model: extractive, by rule, in English and Korean. It needs no network and no key.
///
/// ```
/// use planwright::driver::Model;
/// use planwright::model::offline::Offline;
/// use planwright::prompt::ModelRequest;
/// use planwright::{agents, spec::RoleName};
///
/// let rules = agents::shipped("validated").unwrap().check()?;
/// let frame = rules.frame(RoleName::Planner).unwrap().clone();
/// let request = ModelRequest { frame, payload: r#"{"user_question": "What is 345*872?"}"#.to_owned() };
///
/// let reply = Offline::new().ask(&request, None).unwrap();
/// let (plan, _) = rules.plan().read(&reply.text, 10_000).unwrap();
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
        let text = reply(request)?;
        if let Some(sink) = tokens {
            sink(&text);
        }
        Ok(ModelReply::text(text))
    }
}

fn reply(request: &ModelRequest) -> Result<String, ModelError> {
    let bad = |problem: String| ModelError::failed(FailureClass::BadRequest, problem);
    let payload: Value = serde_json::from_str(&request.payload)
        .map_err(|error| bad(format!("payload: expected JSON: {error}")))?;
    let payload = Payload::read(&payload).map_err(bad)?;
    let frame = &request.frame;
    match frame.role {
        RoleName::Planner | RoleName::Replanner => {
            plan::reply(frame, &payload).map_err(|why| ModelError::failed(FailureClass::Refusal, why))
        }
        RoleName::Scope
        | RoleName::PreviousContext
        | RoleName::Intent
        | RoleName::Orchestrator
        | RoleName::Conversation
        | RoleName::Agent => {
            Err(ModelError::failed(FailureClass::Refusal, "the offline model does not know this role"))
        }
        RoleName::Validator => {
            let evidence = Evidence::read(payload.results);
            let question = Question::read(payload.question, evidence.calculated);
            let mut verdict = judge::judge(&question, &evidence);
            if payload.repair {
                verdict.reason = text::line(&verdict.reason, 80);
                verdict.fix_hint = text::line(&verdict.fix_hint, 80);
            }
            let verdict = json!({"ok": verdict.ok, "reason": verdict.reason, "fix_hint": verdict.fix_hint});
            Ok(verdict.to_string())
        }
        RoleName::Writer => {
            let evidence = Evidence::read(payload.results);
            let question = Question::read(payload.question, evidence.calculated);
            let answer = match payload.repair {
                false => write::write(&question, &evidence),
                true => write::write_briefly(&question, &evidence),
            };
            Ok(if frame.schema.is_some() { json!({"final": answer}).to_string() } else { answer })
        }
    }
}
