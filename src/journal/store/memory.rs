//! Threads in memory, for as long as the process lives.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Claim, Lease, Listed, Query, Store, StoreError, ThreadId, check_place, make_title, now_ms};
use crate::journal::{JournalError, Record, RunStatus};

/// Keeps threads while the process lives.
///
/// ```
/// use planwright::journal::{Claim, MemoryStore, Query, Store};
///
/// let store = MemoryStore::new();
/// let lease = store.claim(&"demo".parse()?, Claim::Any)?;
/// assert!(store.claim(&"demo".parse()?, Claim::Any).is_err(), "one writer at a time");
/// store.release(lease)?;
/// assert!(store.list(&Query::default())?.is_empty(), "nothing was written");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct MemoryStore(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    epoch: u64,
    threads: BTreeMap<ThreadId, Thread>,
}

#[derive(Debug, Default)]
struct Thread {
    /// The epoch of the lease under which it is being written to.
    held: Option<u64>,
    turns: Vec<Vec<Record>>,
    created: u64,
    updated: u64,
    /// Where the last turn stood, after so many records of it.
    noted: Option<(u64, RunStatus)>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        MemoryStore::default()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // Nothing is left half-done where a writer panics: every change below is one assignment.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn thread(&self, thread: &ThreadId) -> Result<&Thread, StoreError> {
        let found = self.threads.get(thread).filter(|found| !found.turns.is_empty());
        found.ok_or_else(|| StoreError::NoThread { thread: thread.clone() })
    }

    /// The thread of a lease that still holds.
    fn leased(&mut self, lease: &Lease) -> Result<&mut Thread, StoreError> {
        let thread = self.threads.get_mut(lease.thread());
        thread
            .filter(|thread| thread.held == Some(lease.epoch()))
            .ok_or_else(|| JournalError::fenced(lease.thread()).into())
    }
}

impl Store for MemoryStore {
    fn claim(&self, thread: &ThreadId, claim: Claim) -> Result<Lease, StoreError> {
        let mut kept = self.kept();
        let found = kept.threads.get(thread);
        let known = found.is_some_and(|found| !found.turns.is_empty());
        match claim {
            Claim::New if known => return Err(StoreError::Exists { thread: thread.clone() }),
            Claim::Known | Claim::TakeOver if !known => {
                return Err(StoreError::NoThread { thread: thread.clone() });
            }
            _ => {}
        }
        if claim != Claim::TakeOver && found.is_some_and(|found| found.held.is_some()) {
            let (thread, holder) = (thread.clone(), "this process".to_owned());
            return Err(StoreError::AlreadyRunning { thread, holder, can_take_over: true });
        }
        kept.epoch += 1;
        let epoch = kept.epoch;
        let claimed = kept.threads.entry(thread.clone()).or_default();
        claimed.held = Some(epoch);
        let turns = u32::try_from(claimed.turns.len()).unwrap_or(u32::MAX);
        Ok(Lease::new(thread.clone(), epoch, turns))
    }

    fn release(&self, lease: Lease) -> Result<(), StoreError> {
        let mut kept = self.kept();
        if let Ok(thread) = kept.leased(&lease) {
            thread.held = None;
            if thread.turns.is_empty() {
                kept.threads.remove(lease.thread());
            }
        }
        Ok(())
    }

    fn append(&self, lease: &Lease, turn: u32, index: u64, records: Vec<Record>) -> Result<(), StoreError> {
        let mut kept = self.kept();
        let thread = kept.leased(lease)?;
        let at = turn as usize;
        let len = thread.turns.get(at).map_or(0, |turn| turn.len() as u64);
        if index != len || at > thread.turns.len() {
            return Err(JournalError::stale(index, len).into());
        }
        for (index, record) in (index..).zip(&records) {
            check_place(record, lease.thread(), turn, index)?;
        }
        if records.is_empty() {
            return Ok(());
        }
        if at == thread.turns.len() {
            thread.turns.push(Vec::new());
        }
        thread.turns[at].extend(records);
        thread.updated = now_ms();
        if thread.created == 0 {
            thread.created = thread.updated;
        }
        Ok(())
    }

    fn stands(&self, lease: &Lease, turn: u32, index: u64, standing: &RunStatus) -> Result<(), StoreError> {
        let mut kept = self.kept();
        let thread = kept.leased(lease)?;
        if turn as usize + 1 == thread.turns.len() {
            thread.noted = Some((index, standing.clone()));
        }
        Ok(())
    }

    fn turns(&self, thread: &ThreadId) -> Result<u32, StoreError> {
        Ok(self.kept().thread(thread)?.turns.len() as u32)
    }

    fn records(&self, thread: &ThreadId, turn: u32) -> Result<Vec<Record>, StoreError> {
        let kept = self.kept();
        let found = &kept.thread(thread)?.turns;
        let turns = found.len() as u32;
        let missing = || StoreError::NoTurn { thread: thread.clone(), turn, turns };
        found.get(turn as usize).cloned().ok_or_else(missing)
    }

    fn list(&self, query: &Query) -> Result<Vec<Listed>, StoreError> {
        let kept = self.kept();
        let written = kept.threads.iter().filter(|(_, thread)| !thread.turns.is_empty());
        Ok(query.page(written.map(|(id, thread)| thread.listed(id))))
    }

    fn unnoted(&self) -> Result<Vec<ThreadId>, StoreError> {
        let kept = self.kept();
        let unnoted =
            kept.threads.iter().filter(|(_, thread)| thread.held.is_none() && thread.noted().is_none());
        Ok(unnoted.map(|(id, _)| id.clone()).collect())
    }

    fn delete(&self, lease: Lease) -> Result<(), StoreError> {
        let mut kept = self.kept();
        kept.leased(&lease)?;
        kept.threads.remove(lease.thread());
        Ok(())
    }

    fn vacuum(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn check(&self) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }
}

impl Thread {
    /// Where the last turn stands, where that was noted of all its records.
    fn noted(&self) -> Option<&RunStatus> {
        let len = self.turns.last()?.len() as u64;
        self.noted.as_ref().filter(|(index, _)| *index == len).map(|(_, standing)| standing)
    }

    fn listed(&self, id: &ThreadId) -> Listed {
        let question = match self.turns.first().and_then(|turn| turn.first()) {
            Some(Record::Header(header)) => header.input.question.as_str(),
            _ => "",
        };
        Listed {
            thread: id.clone(),
            title: make_title(question),
            turns: self.turns.len() as u32,
            created: self.created,
            updated: self.updated,
            running: self.held.is_some(),
            standing: self.noted().cloned().unwrap_or(RunStatus::Unfinished),
        }
    }
}
