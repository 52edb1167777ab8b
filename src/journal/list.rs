//! Lists of threads, page by page.

use serde::{Deserialize, Serialize};

use super::{RunStatus, ThreadId};

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
    /// The status of the last turn.
    #[serde(flatten)]
    pub status: RunStatus,
}

impl Listed {
    /// Makes the title of a thread from its first question.
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
        let is_after = |listed: &Listed, after: &Cursor| {
            (rank(listed.key(self.order)), &listed.thread) > (rank(after.at), &after.thread)
        };
        let is_asked_for = |listed: &Listed| {
            (self.statuses.is_empty() || self.statuses.iter().any(|name| name == listed.status.name()))
                && listed.thread.as_str().starts_with(&self.prefix)
                && self.after.as_ref().is_none_or(|after| is_after(listed, after))
        };
        let mut found: Vec<Listed> = all.into_iter().filter(is_asked_for).collect();
        found.sort_by_cached_key(|listed| (rank(listed.key(self.order)), listed.thread.clone()));
        found.truncate(self.limit);
        found
    }
}
