//! Threads that outlive their process: conversations in a store, listed, gone on with, forked and pruned,
//! each under one lease at a time.

mod conversation;
mod fork;
mod handle;
mod leased_thread;

pub use conversation::Thread;
pub use handle::{MAX_HISTORY_BYTES, MAX_MESSAGE_BYTES, MAX_TURNS, ThreadHandle, history};

use std::collections::BTreeMap;
use std::sync::Arc;

use self::leased_thread::LeasedThread;
use crate::journal::{
    Claim, Folded, Journal, JournalErrorKind, Listed, Query, RunStatus, Store, StoreError, ThreadId, fold,
};

/// The threads of a store.
///
/// ```
/// use std::sync::Arc;
/// use planwright::driver::{Agent, Threads};
/// use planwright::journal::MemoryStore;
/// use planwright_docs::Calc;
/// use planwright_offline::Offline;
///
/// let spec = planwright::agents::shipped("validated").unwrap().with_tools(|tool| tool.name == "calc");
/// let agent = Agent::builder(spec).model(Offline::new()).tool(Calc::new()).build()?;
/// let threads = Threads::new(Arc::new(MemoryStore::new()));
/// let sums = "sums".parse()?;
/// threads.at(&sums).ask(&agent, "12/4+9?")?;
/// threads.at(&sums).ask(&agent, "7*6?")?;
/// assert_eq!(threads.store().turns(&sums)?, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Threads(Arc<dyn Store>);

/// Which threads are pruned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prune {
    /// Those last written to before this, in milliseconds since 1970.
    pub before: u64,
    /// Those with one of these words as [`RunStatus::name`]. What has not ended is never pruned.
    pub statuses: Vec<String>,
    /// Whether they are only listed, and none is deleted.
    pub dry_run: bool,
}

impl Prune {
    /// All that have ended and were last written to before a time, in milliseconds since 1970.
    pub fn before(before: u64) -> Self {
        let statuses = ["done", "failed"].map(str::to_owned).to_vec();
        Prune { before, statuses, dry_run: false }
    }

    fn covers(&self, status: &RunStatus) -> bool {
        status.has_ended() && self.statuses.iter().any(|word| word == status.name())
    }
}

impl Threads {
    /// The threads of this store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Threads(store)
    }

    /// The store.
    pub fn store(&self) -> &dyn Store {
        &*self.0
    }

    /// One thread. It need not exist yet.
    pub fn at<'a>(&'a self, thread: &'a ThreadId) -> ThreadHandle<'a> {
        ThreadHandle::new(&*self.0, thread)
    }

    /// A list of threads. If a process was stopped before it could note the status of its thread, it is worked
    /// out from the records first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn list(&self, query: &Query) -> Result<Vec<Listed>, StoreError> {
        let mut damaged = BTreeMap::new();
        for thread in self.0.list_stale()? {
            match self.note_status(&thread) {
                Err(StoreError::Journal(error)) if error.kind() != JournalErrorKind::Io => {
                    damaged.insert(thread, error.to_string());
                }
                // A thread that is being written to again is no reason to list nothing.
                _ => {}
            }
        }
        let mut listed = self.0.list(query)?;
        for one in &mut listed {
            if let Some(problem) = damaged.remove(&one.thread) {
                one.status = RunStatus::Damaged { problem };
            }
        }
        Ok(listed)
    }

    /// Works out the status of a thread, and notes it. The thread is taken only while the note is written:
    /// another process that goes on with it meanwhile would be refused.
    fn note_status(&self, thread: &ThreadId) -> Result<(), StoreError> {
        let Some(turn) = self.0.turns(thread)?.checked_sub(1) else { return Ok(()) };
        let folded = fold(self.0.records(thread, turn)?)?;
        let status = RunStatus::of(&folded);
        let mut leased = LeasedThread::claim(&*self.0, thread, Claim::Known)?;
        match leased.turn(turn).conclude(folded.len, Vec::new(), &status) {
            // It was written to since.
            Err(error) if error.kind() == JournalErrorKind::Stale => Ok(()),
            noted => Ok(noted?),
        }
    }

    /// A turn of a thread, folded; the last unless one is named.
    ///
    /// # Errors
    /// If there is no such thread or turn, or its records do not fold.
    pub fn folded(&self, thread: &ThreadId, turn: Option<u32>) -> Result<Folded, StoreError> {
        let last = self.0.turns(thread)?.saturating_sub(1);
        Ok(fold(self.0.records(thread, turn.unwrap_or(last))?)?)
    }

    /// Deletes a thread that no process has.
    ///
    /// # Errors
    /// [`StoreError::NoThread`], [`StoreError::AlreadyRunning`].
    pub fn delete(&self, thread: &ThreadId) -> Result<(), StoreError> {
        let lease = self.0.claim(thread, Claim::Known)?;
        self.0.delete(lease)
    }

    /// Deletes the threads whose last turn has ended. A thread is left if a process has it, if it was written
    /// to after it was listed, or if its records do not say that it has ended. Gives those deleted, as they
    /// were listed.
    ///
    /// # Errors
    /// If the store cannot be read or written. What was deleted by then is gone.
    pub fn prune(&self, what: &Prune) -> Result<Vec<Listed>, StoreError> {
        let mut query = Query { statuses: what.statuses.clone(), ..Query::default() };
        let mut gone = Vec::new();
        loop {
            let page = self.list(&query)?;
            let Some(last) = page.last() else { return Ok(gone) };
            query.after = Some(last.cursor(query.order));
            for listed in page {
                let is_old = listed.updated < what.before && what.covers(&listed.status);
                if is_old && self.prune_one(&listed, what)? {
                    gone.push(listed);
                }
            }
        }
    }

    fn prune_one(&self, listed: &Listed, what: &Prune) -> Result<bool, StoreError> {
        if what.dry_run {
            return Ok(!listed.running && self.is_as_listed(listed, what)?);
        }
        let lease = match self.0.claim(&listed.thread, Claim::Known) {
            Err(StoreError::AlreadyRunning { .. } | StoreError::NoThread { .. }) => return Ok(false),
            lease => lease?,
        };
        match self.is_as_listed(listed, what) {
            Ok(true) => self.0.delete(lease).map(|()| true),
            other => self.0.release(lease).and(other),
        }
    }

    /// Whether a thread is as it was listed, and its records say that it has ended: a list is old when it is
    /// read, and goes by what was noted.
    fn is_as_listed(&self, listed: &Listed, what: &Prune) -> Result<bool, StoreError> {
        let now = self.0.find(&listed.thread)?;
        if now.is_none_or(|now| (now.turns, now.updated) != (listed.turns, listed.updated)) {
            return Ok(false);
        }
        match self.folded(&listed.thread, None) {
            Ok(folded) => Ok(what.covers(&RunStatus::of(&folded))),
            Err(StoreError::Journal(error)) if error.kind() == JournalErrorKind::Io => Err(error.into()),
            // What does not read has not ended.
            Err(_) => Ok(false),
        }
    }
}
