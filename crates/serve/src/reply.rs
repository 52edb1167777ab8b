//! Where a turn stands, as a conversation is told.

use serde::Serialize;
use utoipa::ToSchema;

use crate::problem::Result;
use planwright::driver::history_until;
use planwright_app::{Pending, ShownTurn, StoredThread};

/// Where a turn stands.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ChatReply {
    /// `completed`, `waiting_human`, `failed`, `in_doubt`, `unfinished` or `running`.
    #[schema(example = "completed")]
    status: String,
    /// The thread.
    thread_id: String,
    /// The turn, from 1.
    pub turn: u32,
    /// The agent.
    agent: String,
    /// The answer, or in words why there is none.
    result: Option<String>,
    /// Why there is no answer, or why none is waited for any more.
    error: Option<String>,
    /// What the validator said against the answer, if that stands though it was rejected.
    objection: Option<String>,
    /// What a person is asked.
    question: Option<String>,
    /// The token of that question, which an answer to it names.
    pub token: Option<String>,
    /// The conversation: each question and what came of it.
    messages: Vec<String>,
    /// What was asked.
    #[serde(skip)]
    asked: String,
}

/// What the log tells of a run: its status under the names of `--json`, what was asked, and what came of it.
pub(crate) trait Told {
    fn told(&self) -> (&str, &str, Option<&str>);
}

impl Told for ShownTurn {
    fn told(&self) -> (&str, &str, Option<&str>) {
        (self.status, &self.question, self.result.as_deref())
    }
}

impl Told for ChatReply {
    fn told(&self) -> (&str, &str, Option<&str>) {
        let status = match &*self.status {
            "completed" => "done",
            "waiting_human" => "waiting",
            status => status,
        };
        (status, &self.asked, self.result.as_deref())
    }
}

impl ChatReply {
    /// The reply that tells of a turn.
    pub fn of(stored: &StoredThread, turn: ShownTurn) -> Result<Self> {
        let status = match turn.status {
            "done" => "completed",
            "waiting" => "waiting_human",
            status => status,
        };
        let asked = turn.question.clone();
        let open = turn.open.as_ref().filter(|open| !open.expired);
        let question = open.map(Pending::text);
        let earlier = history_until(stored.threads.store(), &stored.thread, turn.turn - 1)?;
        let mut messages: Vec<String> =
            earlier.into_iter().flat_map(|(question, answer)| [question, answer]).collect();
        messages.push(turn.question);
        messages.extend(question.clone().or_else(|| turn.result.clone()));
        let expired = turn.open.as_ref().filter(|open| open.expired).map(|open| {
            format!(
                "the time for an answer is over, and the thread, resumed, goes on without one: {}",
                open.text()
            )
        });
        Ok(ChatReply {
            status: status.to_owned(),
            thread_id: stored.thread.to_string(),
            turn: turn.turn,
            agent: turn.agent,
            result: turn.result,
            error: turn.error.or(expired),
            objection: turn.objection,
            token: open.map(|open| open.token.clone()),
            question,
            messages,
            asked,
        })
    }
}
