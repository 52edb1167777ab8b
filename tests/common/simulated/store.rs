//! A store in which writes get lost, torn or unconfirmed, reads fail, and whose process dies.

use std::sync::{Arc, Mutex, MutexGuard};

use planwright::journal::{
    Claim, JournalError, Lease, Listed, Query, Record, RunStatus, Store, StoreError, ThreadId,
};

use super::Dice;

/// How an append may go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The process dies before anything is written.
    DiesBefore,
    /// It dies when the first few records are written.
    DiesAmid,
    /// It dies when all are written, before anybody is told.
    DiesAfter,
    /// Nothing is written, and the process lives.
    Fails,
}

#[derive(Debug)]
pub struct Faulty {
    kept: Arc<dyn Store>,
    now: Mutex<Now>,
}

#[derive(Debug)]
struct Now {
    dice: Dice,
    /// How many faults there may still be.
    left: u32,
    dead: bool,
    /// What the dead process had.
    left_behind: Vec<Lease>,
    /// The faults there were.
    seen: Vec<Fault>,
}

impl Faulty {
    pub fn new(kept: Arc<dyn Store>, dice: Dice, most_faults: u32) -> Self {
        let now = Now { dice, left: most_faults, dead: false, left_behind: Vec::new(), seen: Vec::new() };
        Faulty { kept, now: Mutex::new(now) }
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap()
    }

    /// What there is, for whoever looks from outside.
    pub fn kept(&self) -> &dyn Store {
        &*self.kept
    }

    /// Whether chance has it that something breaks here.
    pub fn breaks(&self, one_in: u64) -> bool {
        let mut now = self.now();
        let breaks = !now.dead && now.left > 0 && now.dice.one_in(one_in);
        now.left -= u32::from(breaks);
        breaks
    }

    /// The process dies: nothing it does reaches the store any more.
    pub fn dies(&self) {
        self.now().dead = true;
    }

    pub fn is_dead(&self) -> bool {
        self.now().dead
    }

    /// Another process begins. What the dead one had is free.
    pub fn begins_again(&self) {
        let mut now = self.now();
        now.dead = false;
        for lease in now.left_behind.drain(..) {
            self.kept.release(lease).expect("what is kept can be written");
        }
    }

    pub fn seen(&self) -> Vec<Fault> {
        self.now().seen.clone()
    }

    /// A lease to be given up by a process that lives. A dead one leaves it behind.
    fn leave(&self, lease: Lease) -> Result<Lease, StoreError> {
        let mut now = self.now();
        if now.dead {
            now.left_behind.push(lease);
            return Err(lost("the process is dead"));
        }
        Ok(lease)
    }

    fn alive(&self) -> Result<(), StoreError> {
        if self.is_dead() { Err(lost("the process is dead")) } else { Ok(()) }
    }
}

fn lost(problem: &str) -> StoreError {
    JournalError::at(0, problem).into()
}

impl Store for Faulty {
    fn claim(&self, thread: &ThreadId, claim: Claim) -> Result<Lease, StoreError> {
        self.alive()?;
        self.kept.claim(thread, claim)
    }

    fn release(&self, lease: Lease) -> Result<(), StoreError> {
        self.kept.release(self.leave(lease)?)
    }

    fn append(
        &self,
        lease: &Lease,
        turn: u32,
        index: u64,
        mut records: Vec<Record>,
        status: Option<&RunStatus>,
    ) -> Result<(), StoreError> {
        self.alive()?;
        let (after, appends) = (index + records.len() as u64, !records.is_empty());
        if appends && !self.breaks(12) {
            self.kept.append(lease, turn, index, records, None)?;
        } else if appends {
            let mut now = self.now();
            let fault = match now.dice.below(4) {
                0 => Fault::DiesBefore,
                1 => Fault::DiesAmid,
                2 => Fault::DiesAfter,
                _ => Fault::Fails,
            };
            now.seen.push(fault);
            now.dead = fault != Fault::Fails;
            let first = now.dice.below(records.len() as u64) as usize;
            drop(now);
            if fault == Fault::DiesAmid {
                records.truncate(first);
            }
            if matches!(fault, Fault::DiesAmid | Fault::DiesAfter) && !records.is_empty() {
                self.kept.append(lease, turn, index, records, None)?;
            }
            return Err(lost("no space left"));
        }
        if status.is_some() && self.breaks(12) {
            // Records without their status are what a writer leaves that was stopped between the two.
            return if appends { Ok(()) } else { Err(lost("no space left")) };
        }
        self.kept.append(lease, turn, after, Vec::new(), status)
    }

    fn turns(&self, thread: &ThreadId) -> Result<u32, StoreError> {
        self.kept.turns(thread)
    }

    fn records(&self, thread: &ThreadId, turn: u32) -> Result<Vec<Record>, StoreError> {
        self.alive()?;
        if self.breaks(40) {
            return Err(lost("cannot be read"));
        }
        self.kept.records(thread, turn)
    }

    fn list(&self, query: &Query) -> Result<Vec<Listed>, StoreError> {
        self.kept.list(query)
    }

    fn list_stale(&self) -> Result<Vec<ThreadId>, StoreError> {
        self.kept.list_stale()
    }

    fn delete(&self, lease: Lease) -> Result<(), StoreError> {
        self.kept.delete(self.leave(lease)?)
    }

    fn check(&self) -> Result<Vec<String>, StoreError> {
        self.kept.check()
    }
}
