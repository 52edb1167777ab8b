//! What a run starts from.

use serde::{Deserialize, Serialize};

/// What a run starts from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The question. It is never rewritten: every role sees it as it was asked.
    pub question: String,
    /// The time of asking with its time zone, as the models are shown it (RFC 9557, such as
    /// `2026-11-20T09:30:00+09:00[Asia/Seoul]`); empty if the models are not to know.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub now: String,
    /// The earlier turns of the thread, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Turn>,
    /// The parts of the material at hand, such as the articles of a contract. The sources of the results
    /// tell which of them have been read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outline: Vec<String>,
    /// Whose question it is, for people; no model is shown it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// For a nested run: the output of an earlier step that it works on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub material: Option<String>,
    /// For a nested run: what the steps before it found, unless chance decides which of them have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// For a nested run: the question of the run that it works for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_behalf_of: Option<String>,
}

impl Input {
    /// A question without earlier turns and without a time.
    pub fn question(question: impl Into<String>) -> Self {
        Input { question: question.into(), ..Input::default() }
    }

    /// Whether the person whose question it is asks in Korean.
    pub fn is_korean(&self) -> bool {
        let asked = self.on_behalf_of.as_deref().unwrap_or(&self.question);
        asked.chars().any(|letter| ('\u{ac00}'..='\u{d7a3}').contains(&letter))
    }
}

impl From<&str> for Input {
    fn from(question: &str) -> Self {
        Input::question(question)
    }
}

impl From<String> for Input {
    fn from(question: String) -> Self {
        Input::question(question)
    }
}

/// What an agent, a tool or a person (`hitl`) found before, and what they were to do.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    pub by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    pub output: String,
}

/// What was said earlier in the thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// Who said it.
    pub role: Speaker,
    /// What they said.
    pub content: String,
    /// Of an answer: whether nothing untrusted had been read for it. One that is not is kept from the roles that a
    /// plan rests on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trusted: bool,
}

impl Turn {
    /// What the person said who asks.
    pub fn user(content: impl Into<String>) -> Self {
        Turn { role: Speaker::User, content: content.into(), trusted: false }
    }

    /// What an agent answered, which may have read what is untrusted.
    pub fn assistant(content: impl Into<String>) -> Self {
        Turn { role: Speaker::Assistant, content: content.into(), trusted: false }
    }

    /// Whether no untrusted text can be in it: the person's own words, or an answer without any.
    pub(crate) fn is_trusted(&self) -> bool {
        self.trusted || self.role == Speaker::User
    }
}

/// Who speaks in a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    /// The person who asks.
    User,
    /// The agent.
    Assistant,
}
