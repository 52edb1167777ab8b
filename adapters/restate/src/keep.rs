//! Keep: the journal of one turn in the store beside Restate, as one attempt of an invocation writes it.
//!
//! **Invariant:** appending the same records again changes nothing, and says so. So an attempt knows whether an effect
//! may have been performed before: its request is on record already.

use std::sync::{Mutex, PoisonError};

use planwright::driver::Threads;
use planwright::journal::{
    Claim, JournalError, JournalErrorKind, Lease, Record, RunStatus, StoreError, ThreadId,
};

/// One turn, to be appended to.
pub(crate) struct Keep {
    threads: Threads,
    thread: ThreadId,
    turn: u32,
    lease: Mutex<Option<Lease>>,
}

impl Keep {
    pub fn new(threads: Threads, thread: ThreadId, turn: u32) -> Self {
        Keep { threads, thread, turn, lease: Mutex::new(None) }
    }

    /// Appends records, the first at `index`, and notes the status if there is one. Gives whether they are new: `false`
    /// if an earlier attempt has appended any of them.
    ///
    /// # Errors
    /// If other records are in their place, or another attempt has the thread meanwhile.
    pub fn append(
        &self,
        index: u64,
        records: Vec<Record>,
        status: Option<&RunStatus>,
    ) -> Result<bool, StoreError> {
        let mut held = self.lease.lock().unwrap_or_else(PoisonError::into_inner);
        let lease = match held.take() {
            Some(lease) => held.insert(lease),
            None if index == 0 && self.turn == 0 && !records.is_empty() => {
                match self.threads.store().begin(&self.thread, vec![records.clone()]) {
                    Ok(lease) if lease.turns() == 0 => {
                        let (lease, next) = (held.insert(lease), records.len() as u64);
                        let noted =
                            status.map(|_| self.threads.store().append(lease, 0, next, Vec::new(), status));
                        return noted.unwrap_or(Ok(())).map(|()| true);
                    }
                    Ok(lease) => held.insert(lease),
                    Err(StoreError::AlreadyRunning { .. }) => held.insert(self.claim()?),
                    Err(error) => return Err(error),
                }
            }
            None => held.insert(self.claim()?),
        };
        match self.threads.store().append(lease, self.turn, index, records.clone(), status) {
            Err(StoreError::Journal(error)) if error.kind() == JournalErrorKind::Stale => {}
            done => return done.map(|()| true),
        }
        let kept = self.threads.store().records(&self.thread, self.turn)?;
        let there = kept.get(index as usize..).unwrap_or_default();
        let same = there.len().min(records.len());
        if there.is_empty() || there[..same] != records[..same] {
            let problem = "expected the records of an earlier attempt, found others: was the worker's agent changed? \
                Register a changed worker as a deployment of its own";
            return Err(JournalError::at(index, problem).into());
        }
        let (next, rest) = (index + same as u64, records[same..].to_vec());
        if next as usize == kept.len() {
            self.threads.store().append(lease, self.turn, next, rest, status)?;
        }
        Ok(false)
    }

    /// Claims the thread. An attempt that has it and is not dead is cut off: Restate has given it up.
    fn claim(&self) -> Result<Lease, StoreError> {
        match self.threads.store().claim(&self.thread, Claim::Known) {
            Err(StoreError::AlreadyRunning { .. }) => {
                self.threads.store().claim(&self.thread, Claim::TakeOver)
            }
            claimed => claimed,
        }
    }

    /// Gives the thread back. A thread that cannot be given back is taken over by the next attempt.
    pub fn release(&self) {
        let lease = self.lease.lock().unwrap_or_else(PoisonError::into_inner).take();
        let _ = lease.map(|lease| self.threads.store().release(lease));
    }
}
