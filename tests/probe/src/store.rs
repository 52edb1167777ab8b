//! A store in memory that keeps its records as sealed text.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use planwright::journal::system::now_ms;
use planwright::journal::{
    Claim, JournalError, Lease, Listed, Query, Record, RunStatus, Seal, Store, StoreError, ThreadId,
};

/// Threads on a shelf.
#[derive(Debug, Default)]
pub struct Shelf(Mutex<Shelved>);

#[derive(Debug, Default)]
struct Shelved {
    epoch: u64,
    threads: BTreeMap<ThreadId, Thread>,
}

#[derive(Debug, Default)]
struct Thread {
    leased: Option<u64>,
    turns: Vec<Vec<(Vec<u8>, Seal)>>,
    title: String,
    forked_from: Option<String>,
    created: u64,
    updated: u64,
    /// The status of the last turn after so many records.
    noted: Option<(usize, RunStatus)>,
}

impl Thread {
    fn status(&self) -> Option<&RunStatus> {
        let len = self.turns.last()?.len();
        self.noted.as_ref().filter(|(at, _)| *at == len).map(|(_, status)| status)
    }
}

impl Shelf {
    fn lock(&self) -> MutexGuard<'_, Shelved> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shelved {
    fn written(&self, thread: &ThreadId) -> Result<&Thread, StoreError> {
        let found = self.threads.get(thread).filter(|found| !found.turns.is_empty());
        found.ok_or_else(|| StoreError::NoThread { thread: thread.clone() })
    }

    fn leased(&mut self, lease: &Lease) -> Result<&mut Thread, StoreError> {
        let found = self.threads.get_mut(lease.thread());
        let found = found.filter(|found| found.leased == Some(lease.epoch()));
        found.ok_or_else(|| JournalError::fenced(lease.thread()).into())
    }
}

impl Store for Shelf {
    fn claim(&self, thread: &ThreadId, claim: Claim) -> Result<Lease, StoreError> {
        let mut shelf = self.lock();
        match (claim, shelf.written(thread)) {
            (Claim::New, Ok(_)) => return Err(StoreError::Exists { thread: thread.clone() }),
            (Claim::Known | Claim::TakeOver, Err(missing)) => return Err(missing),
            _ => {}
        }
        if claim != Claim::TakeOver && shelf.threads.get(thread).is_some_and(|found| found.leased.is_some()) {
            let (thread, holder) = (thread.clone(), "this process".to_owned());
            return Err(StoreError::AlreadyRunning { thread, holder, can_take_over: true });
        }
        shelf.epoch += 1;
        let epoch = shelf.epoch;
        let found = shelf.threads.entry(thread.clone()).or_default();
        found.leased = Some(epoch);
        Ok(Lease::new(thread.clone(), epoch, found.turns.len() as u32))
    }

    fn release(&self, lease: Lease) -> Result<(), StoreError> {
        let mut shelf = self.lock();
        if let Ok(thread) = shelf.leased(&lease) {
            thread.leased = None;
            if thread.turns.is_empty() {
                shelf.threads.remove(lease.thread());
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
        let mut shelf = self.lock();
        let thread = shelf.leased(lease)?;
        let at = turn as usize;
        let len = thread.turns.get(at).map_or(0, Vec::len) as u64;
        if index != len || at > thread.turns.len() {
            return Err(JournalError::stale(index, len).into());
        }
        let last = thread.turns.get(at).and_then(|turn| turn.last());
        let mut seal = last.map_or_else(Seal::new, |(_, seal)| *seal);
        let mut sealed = Vec::new();
        for (index, record) in (index..).zip(&records) {
            record.check_place(lease.thread(), turn, index)?;
            let text = record.encode(index)?;
            seal = seal.with(&text);
            sealed.push((text, seal));
        }
        if !records.is_empty() {
            thread.updated = now_ms();
            if thread.turns.is_empty() {
                thread.created = thread.updated;
                if let Some(Record::Header(header)) = records.first() {
                    thread.title = Listed::make_title(&header.input.question);
                    thread.forked_from = header.origin.as_ref().map(|origin| origin.thread.clone());
                }
            }
            if at == thread.turns.len() {
                thread.turns.push(Vec::new());
            }
            thread.turns[at].extend(sealed);
        }
        if let Some(status) = status.filter(|_| at + 1 == thread.turns.len()) {
            thread.noted = Some((thread.turns[at].len(), status.clone()));
        }
        Ok(())
    }

    fn turns(&self, thread: &ThreadId) -> Result<u32, StoreError> {
        Ok(self.lock().written(thread)?.turns.len() as u32)
    }

    fn records(&self, thread: &ThreadId, turn: u32) -> Result<Vec<Record>, StoreError> {
        let shelf = self.lock();
        let found = &shelf.written(thread)?.turns;
        let turns = found.len() as u32;
        let missing = || StoreError::NoTurn { thread: thread.clone(), turn, turns };
        let mut seal = Seal::new();
        let mut records = Vec::new();
        for (index, (text, written)) in (0..).zip(found.get(turn as usize).ok_or_else(missing)?) {
            seal = seal.with(text);
            if seal != *written {
                return Err(JournalError::at(index, "the seal does not fit").within("the shelf").into());
            }
            records.push(Record::decode(text).map_err(|problem| JournalError::at(index, problem))?);
        }
        Ok(records)
    }

    fn list(&self, query: &Query) -> Result<Vec<Listed>, StoreError> {
        let shelf = self.lock();
        let written = shelf.threads.iter().filter(|(_, thread)| !thread.turns.is_empty());
        Ok(query.page(written.map(|(id, thread)| Listed {
            thread: id.clone(),
            title: thread.title.clone(),
            turns: thread.turns.len() as u32,
            created: thread.created,
            updated: thread.updated,
            running: thread.leased.is_some(),
            forked_from: thread.forked_from.clone(),
            status: thread.status().cloned().unwrap_or(RunStatus::Unfinished),
        })))
    }

    fn list_stale(&self) -> Result<Vec<ThreadId>, StoreError> {
        let shelf = self.lock();
        let unnoted = shelf.threads.iter().filter(|(_, thread)| thread.leased.is_none());
        Ok(unnoted.filter(|(_, thread)| thread.status().is_none()).map(|(id, _)| id.clone()).collect())
    }

    fn delete(&self, lease: Lease) -> Result<(), StoreError> {
        let mut shelf = self.lock();
        shelf.leased(&lease)?;
        shelf.threads.remove(lease.thread());
        Ok(())
    }

    fn check(&self) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }
}
