//! The status of a run, and lists of threads, page by page.

use serde::{Deserialize, Serialize};

use super::fold::{Ledger, find_question};
use super::{Folded, Outcome, ThreadId, Unknown};
use crate::machine::{EffectId, State};
use crate::spec::CompiledSpec;

/// The status of a run, as a list of runs shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "status")]
pub enum RunStatus {
    /// It is under way, or was when its process ended. When resumed, it goes on by itself.
    Unfinished,
    /// A person has to answer.
    Waiting {
        /// The effect that the answer answers.
        effect: EffectId,
        /// The question.
        question: String,
        /// When it was asked, in milliseconds since 1970; 0 if that is unknown.
        since: u64,
    },
    /// A person has to say what became of a write that was requested and not answered, and may not be done
    /// twice.
    InDoubt {
        /// The effect.
        effect: EffectId,
        /// The tool.
        tool: String,
    },
    /// It ended with an answer.
    Done {
        /// The answer.
        answer: String,
    },
    /// It ended without an answer.
    Failed {
        /// Why.
        error: String,
        /// The writes whose outcome is unknown.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unknown: Vec<Unknown>,
    },
    /// Its records do not read. Its thread can be deleted.
    Damaged {
        /// What is wrong, and where.
        problem: String,
    },
}

impl RunStatus {
    /// The status of a folded journal.
    pub fn of(folded: &Folded) -> Self {
        RunStatus::at(&folded.compiled, &folded.state, &folded.ledger)
    }

    pub(crate) fn at(compiled: &CompiledSpec, state: &State, ledger: &Ledger) -> Self {
        match Outcome::ended(state) {
            Some(Outcome::Answer(answer)) => return RunStatus::Done { answer },
            Some(Outcome::Error(error)) => {
                return RunStatus::Failed { error: error.to_string(), unknown: ledger.unknown.clone() };
            }
            _ => {}
        }
        if let Some((effect, tool)) = ledger.doubts(compiled, state).next() {
            return RunStatus::InDoubt { effect, tool };
        }
        let Some((effect, question)) = find_question(compiled, state) else { return RunStatus::Unfinished };
        RunStatus::Waiting { effect, question, since: ledger.asked_at(effect).unwrap_or(0) }
    }

    /// The name, as it is written.
    pub fn name(&self) -> &'static str {
        match self {
            RunStatus::Unfinished => "unfinished",
            RunStatus::Waiting { .. } => "waiting",
            RunStatus::InDoubt { .. } => "in_doubt",
            RunStatus::Done { .. } => "done",
            RunStatus::Failed { .. } => "failed",
            RunStatus::Damaged { .. } => "damaged",
        }
    }

    /// What it says in words: the answer, what is asked, or what is wrong.
    pub fn text(&self) -> &str {
        match self {
            RunStatus::Unfinished => "",
            RunStatus::Waiting { question, .. } => question,
            RunStatus::InDoubt { tool, .. } => tool,
            RunStatus::Done { answer } => answer,
            RunStatus::Failed { error, .. } => error,
            RunStatus::Damaged { problem } => problem,
        }
    }

    /// Whether the run has ended.
    pub fn has_ended(&self) -> bool {
        matches!(self, RunStatus::Done { .. } | RunStatus::Failed { .. })
    }

    /// Since when the run has waited for a person, in milliseconds since 1970; `updated` if that is unknown.
    pub fn waiting_since(&self, updated: u64) -> u64 {
        match self {
            RunStatus::Waiting { since, .. } if *since > 0 => *since,
            _ => updated,
        }
    }
}

/// Which threads a list holds, and in which order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The statuses of the last turn, by [`RunStatus::name`]; empty for all.
    pub statuses: Vec<String>,
    /// What the names begin with.
    pub prefix: String,
    /// The order.
    pub order: Order,
    /// The place that the list begins after.
    pub after: Option<Cursor>,
    /// The most threads.
    pub limit: usize,
}

impl Default for Query {
    fn default() -> Self {
        let (statuses, prefix) = (Vec::new(), String::new());
        Query { statuses, prefix, order: Order::Newest, after: None, limit: 50 }
    }
}

/// The order of a list. Threads with equal times are in the order of their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// The thread that was last written to comes first.
    Newest,
    /// The thread that has waited longest for a person comes first.
    LongestWaiting,
}

/// A place in a list: the last thread of a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// The [key](Listed::key) of the thread.
    pub at: u64,
    /// Its name.
    pub thread: ThreadId,
}

/// A thread in a list. Times are in milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// The name.
    pub thread: ThreadId,
    /// An excerpt of the first question.
    pub title: String,
    /// The number of turns.
    pub turns: u32,
    /// When it was begun.
    pub created: u64,
    /// When it was last written to.
    pub updated: u64,
    /// Whether a writer has it now.
    pub running: bool,
    /// The thread that it is a fork of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<String>,
    /// The status of the last turn.
    #[serde(flatten)]
    pub status: RunStatus,
}

impl Listed {
    /// The title of a thread whose first question this is.
    pub fn make_title(question: &str) -> String {
        crate::contract::excerpt(question.trim(), 80)
    }

    /// The time that an order goes by.
    pub fn key(&self, order: Order) -> u64 {
        match order {
            Order::Newest => self.updated,
            Order::LongestWaiting => self.status.waiting_since(self.updated),
        }
    }

    /// The place in a list.
    pub fn cursor(&self, order: Order) -> Cursor {
        Cursor { at: self.key(order), thread: self.thread.clone() }
    }
}

impl Query {
    /// Picks the threads that the query asks for out of all there are, in its order.
    pub fn page(&self, all: impl IntoIterator<Item = Listed>) -> Vec<Listed> {
        let rank = |at: u64| if self.order == Order::Newest { !at } else { at };
        let place = |listed: &Listed| (rank(listed.key(self.order)), listed.thread.clone());
        let after = self.after.as_ref().map(|after| (rank(after.at), after.thread.clone()));
        let is_asked_for = |listed: &Listed| {
            (self.statuses.is_empty() || self.statuses.iter().any(|name| name == listed.status.name()))
                && listed.thread.as_str().starts_with(&self.prefix)
                && after.as_ref().is_none_or(|after| place(listed) > *after)
        };
        let mut found: Vec<Listed> = all.into_iter().filter(is_asked_for).collect();
        found.sort_by_cached_key(place);
        found.truncate(self.limit);
        found
    }
}
