//! Lists of threads: what is asked for, in which order, page by page.

use serde::{Deserialize, Serialize};

use super::ThreadId;
use crate::journal::RunStatus;

/// What a list of threads is to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Only threads whose last turn stands so: words of [`RunStatus::status`]; all where empty.
    pub statuses: Vec<String>,
    /// Only threads whose names begin so.
    pub prefix: String,
    /// In which order.
    pub order: Order,
    /// Only what comes after this in the order.
    pub after: Option<Cursor>,
    /// Most threads.
    pub limit: usize,
}

impl Default for Query {
    fn default() -> Self {
        let (statuses, prefix) = (Vec::new(), String::new());
        Query { statuses, prefix, order: Order::Newest, after: None, limit: 50 }
    }
}

/// In which order threads are listed. Where two are equal, the name decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Those that were written to last come first.
    Newest,
    /// Those that have waited longest for a person come first.
    LongestWaiting,
}

/// A place in a list: the last thread of a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// What the order goes by, of that thread.
    pub at: u64,
    /// Its name.
    pub thread: ThreadId,
}

/// A thread in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// Its name.
    pub thread: ThreadId,
    /// What its first question was, cut short.
    pub title: String,
    /// How many turns it has.
    pub turns: u32,
    /// When it was begun, in milliseconds since 1970.
    pub created: u64,
    /// When it was last written to.
    pub updated: u64,
    /// Whether somebody has it now.
    pub running: bool,
    /// Where its last turn stands.
    #[serde(flatten)]
    pub standing: RunStatus,
}

impl Listed {
    /// What an order goes by.
    pub fn key(&self, order: Order) -> u64 {
        match order {
            Order::Newest => self.updated,
            Order::LongestWaiting => waiting_since(&self.standing, self.updated),
        }
    }

    /// Its place in a list.
    pub fn cursor(&self, order: Order) -> Cursor {
        Cursor { at: self.key(order), thread: self.thread.clone() }
    }
}

/// Since when a thread has waited for a person, in milliseconds since 1970; when it was last written to, if
/// that is not known.
pub fn waiting_since(standing: &RunStatus, updated: u64) -> u64 {
    match standing {
        RunStatus::Waiting { since, .. } if *since > 0 => *since,
        _ => updated,
    }
}

impl Query {
    /// Whether a thread is asked for.
    pub fn asks_for(&self, listed: &Listed) -> bool {
        let status = listed.standing.status();
        (self.statuses.is_empty() || self.statuses.iter().any(|asked| asked == status))
            && listed.thread.as_str().starts_with(&self.prefix)
            && self.after.as_ref().is_none_or(|after| self.is_after(listed, after))
    }

    /// Whether a thread comes after a place in the order.
    fn is_after(&self, listed: &Listed, after: &Cursor) -> bool {
        let at = listed.key(self.order);
        let further = match self.order {
            Order::Newest => at < after.at,
            Order::LongestWaiting => at > after.at,
        };
        further || (at == after.at && listed.thread > after.thread)
    }

    /// What is asked for, out of all there are, in the order.
    pub fn page(&self, all: impl IntoIterator<Item = Listed>) -> Vec<Listed> {
        let mut found: Vec<Listed> = all.into_iter().filter(|listed| self.asks_for(listed)).collect();
        found.sort_by(|a, b| {
            let (one, other) = (a.key(self.order), b.key(self.order));
            let by_time = match self.order {
                Order::Newest => other.cmp(&one),
                Order::LongestWaiting => one.cmp(&other),
            };
            by_time.then_with(|| a.thread.cmp(&b.thread))
        });
        found.truncate(self.limit);
        found
    }
}
