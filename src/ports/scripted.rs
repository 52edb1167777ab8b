//! A model that answers from a list. For tests and benchmarks.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::model::{Cause, Model, ModelError, TokenSink};
use crate::machine::ModelReply;
use crate::prompt::ModelRequest;
use crate::spec::RoleName;

type Answer = Result<ModelReply, ModelError>;

/// A model that gives the answers of a script, in order. A role that has a script of its own is
/// answered from that; the others share one. Where a script is at its end, the request is
/// [unanswered](Cause::Unavailable).
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
pub struct ScriptedModel {
    state: Mutex<Script>,
    forgets: bool,
}

#[derive(Debug, Default)]
struct Script {
    shared: VecDeque<Answer>,
    own: BTreeMap<RoleName, VecDeque<Answer>>,
    seen: Vec<ModelRequest>,
    asked: usize,
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
    ///
    /// ```
    /// use planwright::machine::ModelReply;
    /// use planwright::ports::ScriptedModel;
    /// use serde_json::json;
    ///
    /// let model = ScriptedModel::says([
    ///     ModelReply::calls([("wiki", json!({"input": "Seoul"})), ("calc", json!({"input": "1+1"}))]),
    ///     ModelReply::text("Two, and a capital."),
    /// ]);
    /// assert_eq!(model.remaining(), 2);
    /// ```
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

    /// Adds a reply that asks for these tool calls to the script of one role.
    #[must_use]
    pub fn calls_as<T: Into<String>>(
        self,
        role: RoleName,
        calls: impl IntoIterator<Item = (T, Value)>,
    ) -> Self {
        self.answer_as(role, Ok(ModelReply::calls(calls)))
    }

    /// Adds a reply or an error to the shared script.
    #[must_use]
    pub fn answer(self, answer: Result<ModelReply, ModelError>) -> Self {
        self.script().shared.push_back(answer);
        self
    }

    /// Adds a reply or an error to the script of one role.
    #[must_use]
    pub fn answer_as(self, role: RoleName, answer: Result<ModelReply, ModelError>) -> Self {
        self.script().own.entry(role).or_default().push_back(answer);
        self
    }

    /// Does not keep the requests it sees, as a benchmark wants it.
    #[must_use]
    pub fn forgetting(mut self) -> Self {
        self.forgets = true;
        self
    }

    /// The requests seen so far, in the order in which they came, each with its conversation.
    pub fn seen(&self) -> Vec<ModelRequest> {
        self.script().seen.clone()
    }

    /// How many requests came so far.
    pub fn asked(&self) -> usize {
        self.script().asked
    }

    /// How many answers are left.
    pub fn remaining(&self) -> usize {
        let script = self.script();
        script.shared.len() + script.own.values().map(VecDeque::len).sum::<usize>()
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self, request: &ModelRequest) -> Answer {
        let role = request.frame.role;
        let mut script = self.script();
        script.asked += 1;
        if !self.forgets {
            script.seen.push(request.clone());
        }
        let answers = match script.own.contains_key(&role) {
            true => script.own.get_mut(&role),
            false => Some(&mut script.shared),
        };
        answers.and_then(VecDeque::pop_front).unwrap_or_else(|| {
            let message = format!("the script has no answer to request {}, as {role}", script.asked);
            Err(ModelError::unanswered(Cause::Unavailable, message))
        })
    }
}

impl Model for ScriptedModel {
    fn name(&self) -> &str {
        "scripted"
    }

    fn ask(&self, request: &ModelRequest, tokens: Option<TokenSink<'_>>) -> Result<ModelReply, ModelError> {
        let reply = self.next(request)?;
        if let Some(tokens) = tokens {
            reply.text.split_inclusive(' ').for_each(tokens);
        }
        Ok(reply)
    }
}
