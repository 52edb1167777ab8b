//! A thread that this process has: its lease, and its turns as journals.

use crate::journal::{
    Claim, Journal, JournalError, JournalErrorKind, Lease, Record, RunStatus, Store, StoreError, ThreadId,
};

/// A thread that this process has until this is dropped, or that it begins with what is first appended.
pub(super) struct LeasedThread<'a> {
    store: &'a dyn Store,
    thread: &'a ThreadId,
    lease: Option<Lease>,
    /// Why it could not be taken, if that failed.
    pub refused: Option<StoreError>,
}

impl<'a> LeasedThread<'a> {
    /// A thread that may not exist yet. It is taken with the first append, and begun with that if it is new.
    pub fn new(store: &'a dyn Store, thread: &'a ThreadId) -> Self {
        LeasedThread { store, thread, lease: None, refused: None }
    }

    pub fn claim(store: &'a dyn Store, thread: &'a ThreadId, claim: Claim) -> Result<Self, StoreError> {
        let lease = Some(store.claim(thread, claim)?);
        Ok(LeasedThread { store, thread, lease, refused: None })
    }

    /// Begins a thread with its first turns.
    pub fn begin(
        store: &'a dyn Store,
        thread: &'a ThreadId,
        turns: Vec<Vec<Record>>,
    ) -> Result<Self, StoreError> {
        let mut begun = LeasedThread::new(store, thread);
        begun.take(turns)?;
        Ok(begun)
    }

    /// Takes the thread and begins it with these turns. It stays taken if it existed.
    fn take(&mut self, turns: Vec<Vec<Record>>) -> Result<(), StoreError> {
        let lease = self.lease.insert(self.store.begin(self.thread, turns)?);
        if lease.turns() > 0 { Err(StoreError::Exists { thread: self.thread.clone() }) } else { Ok(()) }
    }

    /// How many turns the thread had when it was taken.
    pub fn turns(&self) -> u32 {
        self.lease.as_ref().map_or(0, Lease::turns)
    }

    pub fn turn(&mut self, turn: u32) -> TurnJournal<'_, 'a> {
        TurnJournal { leased: self, turn }
    }

    pub fn last(&mut self) -> Result<TurnJournal<'_, 'a>, StoreError> {
        let missing = || StoreError::NoThread { thread: self.thread.clone() };
        let last = self.turns().checked_sub(1).ok_or_else(missing)?;
        Ok(self.turn(last))
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
    leased: &'h mut LeasedThread<'a>,
    turn: u32,
}

impl Journal for TurnJournal<'_, '_> {
    fn append(&mut self, index: u64, records: Vec<Record>) -> Result<(), JournalError> {
        if let Some(lease) = &self.leased.lease {
            return self.leased.store.append(lease, self.turn, index, records).map_err(as_journal);
        }
        self.leased.take(vec![records]).map_err(|error| {
            if self.leased.lease.is_none() {
                self.leased.refused = Some(error.clone());
            }
            as_journal(error)
        })
    }

    fn records(&self) -> Result<Vec<Record>, JournalError> {
        self.leased.store.records(self.leased.thread, self.turn).map_err(as_journal)
    }

    fn conclude(&mut self, index: u64, records: Vec<Record>, status: &RunStatus) -> Result<(), JournalError> {
        match &self.leased.lease {
            Some(lease) => {
                self.leased.store.conclude(lease, self.turn, index, records, status).map_err(as_journal)
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
