//! Threads in memory.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::store::{Claim, Lease, Store, StoreError};
use super::{JournalError, Listed, Query, Record, RunStatus, ThreadId, system::now_ms};

/// Keeps threads for as long as the process lives.
#[derive(Debug, Default)]
pub struct MemoryStore(Mutex<Threads>);

#[derive(Debug, Default)]
struct Threads {
    epoch: u64,
    by_name: BTreeMap<ThreadId, Thread>,
}

#[derive(Debug, Default)]
struct Thread {
    /// The epoch of the lease in force.
    lease: Option<u64>,
    turns: Vec<Vec<Record>>,
    created: u64,
    updated: u64,
    /// The status of the last turn after so many records.
    status: Option<(u64, RunStatus)>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        MemoryStore::default()
    }

    fn lock(&self) -> MutexGuard<'_, Threads> {
        // No method panics between two changes that belong together.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Threads {
    fn find(&self, thread: &ThreadId) -> Result<&Thread, StoreError> {
        let found = self.by_name.get(thread).filter(|found| !found.turns.is_empty());
        found.ok_or_else(|| StoreError::NoThread { thread: thread.clone() })
    }

    fn find_leased(&mut self, lease: &Lease) -> Result<&mut Thread, StoreError> {
        let found = self.by_name.get_mut(lease.thread());
        let found = found.filter(|found| found.lease == Some(lease.epoch()));
        found.ok_or_else(|| JournalError::fenced(lease.thread()).into())
    }
}

impl Store for MemoryStore {
    fn claim(&self, thread: &ThreadId, claim: Claim) -> Result<Lease, StoreError> {
        let mut threads = self.lock();
        match (claim, threads.find(thread)) {
            (Claim::New, Ok(_)) => return Err(StoreError::Exists { thread: thread.clone() }),
            (Claim::Known | Claim::TakeOver, Err(missing)) => return Err(missing),
            _ => {}
        }
        threads.epoch += 1;
        let epoch = threads.epoch;
        let claimed = threads.by_name.entry(thread.clone()).or_default();
        if claim != Claim::TakeOver && claimed.lease.is_some() {
            let (thread, holder) = (thread.clone(), "this process".to_owned());
            return Err(StoreError::AlreadyRunning { thread, holder, can_take_over: true });
        }
        claimed.lease = Some(epoch);
        Ok(Lease::new(thread.clone(), epoch, claimed.turns.len() as u32))
    }

    fn release(&self, lease: Lease) -> Result<(), StoreError> {
        let mut threads = self.lock();
        if let Ok(thread) = threads.find_leased(&lease) {
            thread.lease = None;
            if thread.turns.is_empty() {
                threads.by_name.remove(lease.thread());
            }
        }
        Ok(())
    }

    fn append(
        &self,
        lease: &Lease,
        turn: u32,
        index: u64,
        records: Vec<Record>,
        status: Option<&RunStatus>,
    ) -> Result<(), StoreError> {
        let mut threads = self.lock();
        let thread = threads.find_leased(lease)?;
        let at = turn as usize;
        let len = thread.turns.get(at).map_or(0, |turn| turn.len() as u64);
        if index != len || at > thread.turns.len() {
            return Err(JournalError::stale(index, len).into());
        }
        (index..).zip(&records).try_for_each(|(at, record)| record.check_place(lease.thread(), turn, at))?;
        let after = index + records.len() as u64;
        if after > index {
            if at == thread.turns.len() {
                thread.turns.push(Vec::new());
            }
            thread.turns[at].extend(records);
            thread.updated = now_ms();
            if thread.created == 0 {
                thread.created = thread.updated;
            }
        }
        if let Some(status) = status.filter(|_| at + 1 == thread.turns.len()) {
            thread.status = Some((after, status.clone()));
        }
        Ok(())
    }

    fn turns(&self, thread: &ThreadId) -> Result<u32, StoreError> {
        Ok(self.lock().find(thread)?.turns.len() as u32)
    }

    fn records(&self, thread: &ThreadId, turn: u32) -> Result<Vec<Record>, StoreError> {
        let threads = self.lock();
        let found = &threads.find(thread)?.turns;
        let turns = found.len() as u32;
        let missing = || StoreError::NoTurn { thread: thread.clone(), turn, turns };
        found.get(turn as usize).cloned().ok_or_else(missing)
    }

    fn list(&self, query: &Query) -> Result<Vec<Listed>, StoreError> {
        let threads = self.lock();
        let written = threads.by_name.iter().filter(|(_, thread)| !thread.turns.is_empty());
        Ok(query.page(written.map(|(id, thread)| thread.list(id))))
    }

    fn list_stale(&self) -> Result<Vec<ThreadId>, StoreError> {
        let threads = self.lock();
        let stale = threads.by_name.iter().filter(|(_, it)| it.lease.is_none() && it.last_status().is_none());
        Ok(stale.map(|(id, _)| id.clone()).collect())
    }

    fn delete(&self, lease: Lease) -> Result<(), StoreError> {
        let mut threads = self.lock();
        threads.find_leased(&lease)?;
        threads.by_name.remove(lease.thread());
        Ok(())
    }

    fn check(&self) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }
}

impl Thread {
    /// The status of the last turn, if it was set after all its records.
    fn last_status(&self) -> Option<&RunStatus> {
        let len = self.turns.last()?.len() as u64;
        self.status.as_ref().filter(|(index, _)| *index == len).map(|(_, status)| status)
    }

    fn list(&self, id: &ThreadId) -> Listed {
        let (question, origin) = match self.turns.first().and_then(|turn| turn.first()) {
            Some(Record::Header(header)) => (header.input.question.as_str(), header.origin.as_ref()),
            _ => ("", None),
        };
        Listed {
            thread: id.clone(),
            title: Listed::make_title(question),
            turns: self.turns.len() as u32,
            created: self.created,
            updated: self.updated,
            running: self.lease.is_some(),
            forked_from: origin.map(|origin| origin.thread.clone()),
            status: self.last_status().cloned().unwrap_or(RunStatus::Unfinished),
        }
    }
}
