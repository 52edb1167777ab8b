//! The threads of a store: listed, read and deleted.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::handle::ThreadHandle;
use super::leased_thread::LeasedThread;
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
pub struct Threads(pub(super) Arc<dyn Store>);

impl Threads {
    /// The threads of this store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Threads(store)
    }

    /// The store.
    pub fn store(&self) -> &dyn Store {
        &*self.0
    }

    /// One thread, there or to be begun.
    pub fn at<'a>(&'a self, thread: &'a ThreadId) -> ThreadHandle<'a> {
        ThreadHandle::new(&*self.0, thread)
    }

    /// A list of threads. The status of a thread whose process was stopped before it could note it is worked
    /// out from the records first.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn list(&self, query: &Query) -> Result<Vec<Listed>, StoreError> {
        let mut damaged = BTreeMap::new();
        for thread in self.0.list_stale()? {
            match self.note_status(&thread) {
                Err(StoreError::Journal(error)) if error.kind() != JournalErrorKind::Io => {
                    damaged.insert(thread, error.to_string());
                }
                // What is being written to again is no reason to list nothing.
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

    /// Works out the status of a thread, and notes it. The thread is taken for no longer than the note
    /// takes: another process that goes on with it meanwhile would be refused.
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

    /// A turn of a thread, folded; the last where none is named.
    ///
    /// # Errors
    /// Where there is no such thread or turn, or its records do not fold.
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
}
