//! A thread that this process has: its lease, and its turns as journals.

use crate::journal::{
    Claim, Journal, JournalError, JournalErrorKind, Lease, Record, RunStatus, Store, StoreError, ThreadId,
};

/// A thread that this process has, until this is dropped; or one that it begins with what is first
/// appended.
pub(super) struct LeasedThread<'a> {
    store: &'a dyn Store,
    thread: &'a ThreadId,
    lease: Option<Lease>,
    /// Why it could not be taken.
    refused: Option<StoreError>,
}

impl<'a> LeasedThread<'a> {
    pub fn claim(store: &'a dyn Store, thread: &'a ThreadId, claim: Claim) -> Result<Self, StoreError> {
        let lease = Some(store.claim(thread, claim)?);
        Ok(LeasedThread { store, thread, lease, refused: None })
    }

    /// A thread that may not be there yet. It is taken with the first append, and begun with that where
    /// it is not.
    pub fn new(store: &'a dyn Store, thread: &'a ThreadId) -> Self {
        LeasedThread { store, thread, lease: None, refused: None }
    }

    /// Begins a thread with its first turns.
    pub fn begin(
        store: &'a dyn Store,
        thread: &'a ThreadId,
        turns: Vec<Vec<Record>>,
    ) -> Result<Self, StoreError> {
        let held = LeasedThread { store, thread, lease: Some(store.begin(thread, turns)?), refused: None };
        match held.turns() {
            0 => Ok(held),
            _ => Err(StoreError::Exists { thread: thread.clone() }),
        }
    }

    /// How many turns the thread had when it was claimed.
    pub fn turns(&self) -> u32 {
        self.lease.as_ref().map_or(0, |lease| lease.turns())
    }

    pub fn turn(&mut self, turn: u32) -> TurnJournal<'_, 'a> {
        TurnJournal { held: self, turn }
    }

    pub fn last(&mut self) -> Result<TurnJournal<'_, 'a>, StoreError> {
        let missing = || StoreError::NoThread { thread: self.thread.clone() };
        let last = self.turns().checked_sub(1).ok_or_else(missing)?;
        Ok(self.turn(last))
    }

    /// Why the thread could not be taken, where that was it.
    pub fn refused(&mut self) -> Option<StoreError> {
        self.refused.take()
    }
}

impl Drop for LeasedThread<'_> {
    fn drop(&mut self) {
        if let Some(lease) = self.lease.take() {
            // A lease that cannot be given back ends with the process.
            let _ = self.store.release(lease);
        }
    }
}

/// One turn of a thread, as the journal of its run.
pub(super) struct TurnJournal<'h, 'a> {
    held: &'h mut LeasedThread<'a>,
    turn: u32,
}

impl Journal for TurnJournal<'_, '_> {
    fn append(&mut self, index: u64, records: Vec<Record>) -> Result<(), JournalError> {
        let LeasedThread { store, thread, lease, refused } = &mut *self.held;
        match lease {
            Some(lease) => store.append(lease, self.turn, index, records).map_err(as_journal),
            None => match store.begin(thread, vec![records]) {
                Ok(taken) => {
                    let there = taken.turns() > 0;
                    *lease = Some(taken);
                    let exists = || as_journal(StoreError::Exists { thread: thread.clone() });
                    if there { Err(exists()) } else { Ok(()) }
                }
                Err(error) => {
                    *refused = Some(error.clone());
                    Err(as_journal(error))
                }
            },
        }
    }

    fn records(&self) -> Result<Vec<Record>, JournalError> {
        self.held.store.records(self.held.thread, self.turn).map_err(as_journal)
    }

    fn conclude(&mut self, index: u64, records: Vec<Record>, status: &RunStatus) -> Result<(), JournalError> {
        match &self.held.lease {
            Some(lease) => {
                self.held.store.conclude(lease, self.turn, index, records, status).map_err(as_journal)
            }
            None if records.is_empty() => Ok(()),
            None => self.append(index, records),
        }
    }
}

fn as_journal(error: StoreError) -> JournalError {
    match error {
        StoreError::Journal(error) => error,
        other => JournalError::new(JournalErrorKind::Stale, "store", other.to_string()),
    }
}
