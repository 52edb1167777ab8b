//! Who is waited for: the runs that a person has to say something about, the one that has waited longest first.

use serde::Serialize;

use crate::error::Result;
use crate::pending::{Pending, RunLocation};
use crate::store::{StorePlace, list_page};
use planwright::driver::Threads;
use planwright::journal::system::now_ms;
use planwright::journal::{JournalErrorKind, Listed, Order, Query, StoreError};

/// A page of what people are waited for with, as `waiting --json` prints it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct WaitingPage {
    /// The runs.
    pub waiting: Vec<WaitingRun>,
    /// Whether there are more.
    pub more: bool,
    /// The cursor of the page that follows.
    pub next: Option<String>,
    /// The threads that do not read, and why.
    #[serde(skip)]
    pub problems: Vec<String>,
}

/// A run that waits for a person.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct WaitingRun {
    /// What it waits for.
    #[serde(flatten)]
    pub pending: Pending,
    /// The thread.
    pub thread: String,
    /// The turn, from 1.
    pub turn: u32,
    /// Where it stands: `waiting` or `in_doubt`.
    pub status: &'static str,
    /// For how long it has waited.
    pub waited_seconds: u64,
    /// The usual command that answers it.
    pub command: Option<String>,
}

impl WaitingPage {
    /// Loads a page of the threads whose names begin so, after the cursor that the page before gave as `next`. A
    /// thread that does not read hides no other.
    ///
    /// # Errors
    /// Where `after` is no cursor, or the store cannot be read.
    pub fn load(
        place: &StorePlace,
        threads: &Threads,
        prefix: String,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Self> {
        let statuses = ["waiting", "in_doubt"].map(str::to_owned).to_vec();
        let query = Query { statuses, prefix, order: Order::LongestWaiting, ..Query::default() };
        let (listed, next) = list_page(threads, query, after, limit)?;
        let (mut waiting, mut problems) = (Vec::new(), Vec::new());
        for listed in listed {
            let stored = place.thread_of(threads, listed.thread.clone());
            match stored.fold(None) {
                Ok(folded) => {
                    let pending = Pending::of(&folded, RunLocation::in_thread(&stored));
                    waiting.extend(pending.map(|pending| WaitingRun::of(&listed, pending)));
                }
                // Since it was listed it may have been deleted.
                Err(StoreError::NoThread { .. }) => {}
                Err(StoreError::Journal(error)) if error.kind() != JournalErrorKind::Io => {
                    problems.push(format!("{} does not read: {error}", stored.thread));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(WaitingPage { waiting, more: next.is_some(), next, problems })
    }
}

impl WaitingRun {
    fn of(listed: &Listed, pending: Pending) -> Self {
        let waited = now_ms().saturating_sub(listed.key(Order::LongestWaiting));
        WaitingRun {
            thread: listed.thread.to_string(),
            turn: listed.turns,
            status: listed.status.name(),
            waited_seconds: waited / 1000,
            command: pending.commands.first().cloned(),
            pending,
        }
    }
}
