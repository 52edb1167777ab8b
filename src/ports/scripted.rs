//! A model that answers from a list. For tests and benchmarks.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::model::{Cause, Model, ModelError, TokenSink};
use crate::machine::ModelReply;
use crate::prompt::ModelRequest;
use crate::spec::RoleName;

type Answer = Result<ModelReply, ModelError>;

/// A model that gives the answers of a script, in order. A role with a script of its own is answered from
/// that; the others share one. At the end of its script it is [unavailable](Cause::Unavailable).
///
/// ```
/// use planwright::ports::ScriptedModel;
/// use planwright::spec::RoleName;
///
/// let model = ScriptedModel::new()
///     .reply_as(RoleName::Validator, r#"{"ok": true}"#)
///     .reply("the first reply to anyone else")
///     .reply("the second");
/// assert_eq!(model.remaining(), 3);
/// ```
#[derive(Debug, Default)]
pub struct ScriptedModel(Mutex<Script>);

#[derive(Debug, Default)]
struct Script {
    /// The script of each role; that of the others under `None`.
    answers: BTreeMap<Option<RoleName>, VecDeque<Answer>>,
    seen: Vec<ModelRequest>,
}

impl ScriptedModel {
    /// A model with nothing to say yet.
    pub fn new() -> Self {
        ScriptedModel::default()
    }

    /// A model that replies with these texts, in order, whichever role asks.
    pub fn replies<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        texts.into_iter().fold(ScriptedModel::new(), ScriptedModel::reply)
    }

    /// A model that gives these replies, in order, whichever role asks.
    pub fn says(replies: impl IntoIterator<Item = ModelReply>) -> Self {
        replies.into_iter().fold(ScriptedModel::new(), |model, reply| model.answer(Ok(reply)))
    }

    /// Adds a reply to the shared script.
    #[must_use]
    pub fn reply(self, text: impl Into<String>) -> Self {
        self.answer(Ok(ModelReply::text(text)))
    }

    /// Adds a reply to the script of one role.
    #[must_use]
    pub fn reply_as(self, role: RoleName, text: impl Into<String>) -> Self {
        self.answer_as(role, Ok(ModelReply::text(text)))
    }

    /// Adds a reply that asks for these tool calls to the shared script.
    #[must_use]
    pub fn calls<T: Into<String>>(self, calls: impl IntoIterator<Item = (T, Value)>) -> Self {
        self.answer(Ok(ModelReply::calls(calls)))
    }

    /// Adds a reply or an error to the shared script.
    #[must_use]
    pub fn answer(self, answer: Result<ModelReply, ModelError>) -> Self {
        self.script().answers.entry(None).or_default().push_back(answer);
        self
    }

    /// Adds a reply or an error to the script of one role.
    #[must_use]
    pub fn answer_as(self, role: RoleName, answer: Result<ModelReply, ModelError>) -> Self {
        self.script().answers.entry(Some(role)).or_default().push_back(answer);
        self
    }

    /// The requests so far, in order.
    pub fn seen(&self) -> Vec<ModelRequest> {
        self.script().seen.clone()
    }

    /// How many requests came so far.
    pub fn asked(&self) -> usize {
        self.script().seen.len()
    }

    /// How many answers are left.
    pub fn remaining(&self) -> usize {
        self.script().answers.values().map(VecDeque::len).sum()
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next_answer(&self, request: &ModelRequest) -> Answer {
        let role = request.frame.role;
        let Script { answers, seen } = &mut *self.script();
        seen.push(request.clone());
        let script = if answers.contains_key(&Some(role)) { Some(role) } else { None };
        answers.get_mut(&script).and_then(VecDeque::pop_front).unwrap_or_else(|| {
            let message = format!("the script has no answer to request {}, as {role}", seen.len());
            Err(ModelError::unanswered(Cause::Unavailable, message))
        })
    }
}

impl Model for ScriptedModel {
    fn name(&self) -> &str {
        "scripted"
    }

    fn ask(&self, request: &ModelRequest, tokens: Option<TokenSink<'_>>) -> Result<ModelReply, ModelError> {
        let reply = self.next_answer(request)?;
        if let Some(tokens) = tokens {
            reply.text.split_inclusive(' ').for_each(tokens);
        }
        Ok(reply)
    }
}
