//! A thread that this process has: its lease, and its turns as journals.

use crate::journal::{
    Claim, Journal, JournalError, JournalErrorKind, Lease, Record, Standing, Store, StoreError, ThreadId,
};

/// A thread that this process has, until this is dropped.
pub(super) struct Held<'a> {
    store: &'a dyn Store,
    lease: Option<Lease>,
}

impl<'a> Held<'a> {
    pub fn claim(store: &'a dyn Store, thread: &ThreadId, claim: Claim) -> Result<Self, StoreError> {
        Ok(Held { store, lease: Some(store.claim(thread, claim)?) })
    }

    pub fn lease(&self) -> &Lease {
        self.lease.as_ref().expect("taken only when this is dropped")
    }

    /// How many turns the thread had when it was claimed.
    pub fn turns(&self) -> u32 {
        self.lease().turns
    }

    pub fn turn(&self, turn: u32) -> TurnJournal<'_> {
        TurnJournal { store: self.store, lease: self.lease(), turn }
    }

    pub fn last(&self) -> Result<TurnJournal<'_>, StoreError> {
        let missing = || StoreError::NoThread { thread: self.lease().thread().clone() };
        Ok(self.turn(self.turns().checked_sub(1).ok_or_else(missing)?))
    }
}

impl Held<'_> {
    /// Deletes the thread.
    pub fn delete(mut self) -> Result<(), StoreError> {
        match self.lease.take() {
            Some(lease) => self.store.delete(lease),
            None => Ok(()),
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if let Some(lease) = self.lease.take() {
            // A lease that cannot be given back ends with the process.
            let _ = self.store.release(lease);
        }
    }
}

/// One turn of a thread, as the journal of its run.
pub(super) struct TurnJournal<'a> {
    store: &'a dyn Store,
    lease: &'a Lease,
    turn: u32,
}

impl Journal for TurnJournal<'_> {
    fn append(&mut self, index: u64, records: Vec<Record>) -> Result<(), JournalError> {
        self.store.append(self.lease, self.turn, index, records).map_err(as_journal)
    }

    fn records(&self) -> Result<Vec<Record>, JournalError> {
        self.store.records(self.lease.thread(), self.turn).map_err(as_journal)
    }

    fn stands(&mut self, index: u64, standing: &Standing) -> Result<(), JournalError> {
        self.store.stands(self.lease, self.turn, index, standing).map_err(as_journal)
    }
}

fn as_journal(error: StoreError) -> JournalError {
    match error {
        StoreError::Journal(error) => error,
        other => JournalError::named("store", other.to_string()).of(JournalErrorKind::Stale),
    }
}
