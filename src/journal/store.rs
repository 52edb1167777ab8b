//! Where records go: the journal of one run, and the store of threads. A thread is a sequence of runs (turns),
//! each of them a journal.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Header, JournalError, Listed, Query, Record, RunStatus, ThreadId};

/// The journal of one run. An append costs the same for the thousandth record as for the first.
pub trait Journal {
    /// Appends records, the first of them at `index`. If the writer is stopped meanwhile, the first few of
    /// them may be there.
    ///
    /// # Errors
    /// [`Stale`](super::JournalErrorKind::Stale) if the journal does not have `index` records; nothing was
    /// appended then. If it cannot be written, the records are removed again, as far as the system allows.
    fn append(&mut self, index: u64, records: Vec<Record>) -> Result<(), JournalError>;

    /// All records, from the first.
    ///
    /// # Errors
    /// If the journal cannot be read; names the place.
    fn records(&self) -> Result<Vec<Record>, JournalError>;

    /// Appends the last records, if there are any, and sets the status of the run, for lists. The status
    /// follows from the records: a journal need not keep it.
    ///
    /// # Errors
    /// Those of [`append`](Journal::append).
    fn conclude(&mut self, index: u64, records: Vec<Record>, _: &RunStatus) -> Result<(), JournalError> {
        if records.is_empty() { Ok(()) } else { self.append(index, records) }
    }
}

/// A journal in memory.
#[derive(Clone, Debug, Default)]
pub struct MemoryJournal(Vec<Record>);

impl MemoryJournal {
    /// An empty journal.
    pub fn new() -> Self {
        MemoryJournal::default()
    }

    /// The records.
    pub fn into_records(self) -> Vec<Record> {
        self.0
    }
}

impl From<Vec<Record>> for MemoryJournal {
    fn from(records: Vec<Record>) -> Self {
        MemoryJournal(records)
    }
}

impl Journal for MemoryJournal {
    fn append(&mut self, index: u64, records: Vec<Record>) -> Result<(), JournalError> {
        let len = self.0.len() as u64;
        if index != len {
            return Err(JournalError::stale(index, len));
        }
        if self.0.is_empty() {
            // Most runs are of this size: a list that grows is copied at every step.
            self.0.reserve(32);
        }
        self.0.extend(records);
        Ok(())
    }

    fn records(&self) -> Result<Vec<Record>, JournalError> {
        Ok(self.0.clone())
    }
}

/// What an appended record survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// A loss of power, as far as the disk says the truth when it says that it has written.
    #[default]
    Full,
    /// The death of the process. A loss of power may take the last records: what was performed since is
    /// performed again or is in doubt, and a write whose *request* is lost can happen twice.
    Normal,
}

impl std::str::FromStr for Durability {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "full" => Ok(Durability::Full),
            "normal" => Ok(Durability::Normal),
            other => Err(format!("expected full or normal, found {other:?}")),
        }
    }
}

/// Keeps threads. Every method may be called from any thread of execution at any time.
///
/// Turns and the records of a turn are numbered from 0. The first append to a turn begins it; turns begin one
/// after the other.
///
/// A store of your own finds here what every store needs: [`Lease::new`], [`Record::check_place`],
/// [`Listed::make_title`], [`Query::page`] and [`JournalError`]'s constructors. If it keeps records as bytes,
/// it seals them with a [`Seal`](super::Seal). The suite `journal::conformance` (feature `conformance`) checks
/// it.
///
/// **Invariant:** a thread is written to under its lease alone. Under a lease that was taken over, nothing is
/// written any more.
pub trait Store: Send + Sync + fmt::Debug {
    /// Claims a thread, to write to it. The writer keeps it until it releases it, or its process ends.
    ///
    /// # Errors
    /// [`StoreError::AlreadyRunning`] if another writer has it; [`StoreError::NoThread`] or
    /// [`StoreError::Exists`], as `claim` says.
    fn claim(&self, thread: &ThreadId, claim: Claim) -> Result<Lease, StoreError>;

    /// Gives a thread back, unless it was taken over. A thread without records is deleted.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn release(&self, lease: Lease) -> Result<(), StoreError>;

    /// Claims a thread. If there is none of this name, it is begun with its first turns: all of them or, if
    /// the store can, none. If there is one, nothing is written; the lease says how many turns it has.
    ///
    /// # Errors
    /// [`StoreError::AlreadyRunning`] if another writer has it, and those of [`append`](Store::append).
    fn begin(&self, thread: &ThreadId, turns: Vec<Vec<Record>>) -> Result<Lease, StoreError> {
        let turns = drop_empty_turns(thread, turns)?;
        let lease = match self.claim(thread, Claim::New) {
            Err(exists @ StoreError::Exists { .. }) => {
                let lease = self.claim(thread, Claim::Any)?;
                if lease.turns() > 0 {
                    return Ok(lease);
                }
                // The name is taken, but its turns are lost: nothing may be put in their place.
                self.release(lease)?;
                return Err(exists);
            }
            lease => lease?,
        };
        match (0..).zip(turns).try_for_each(|(turn, records)| self.append(&lease, turn, 0, records, None)) {
            Ok(()) => Ok(lease),
            Err(error) => {
                // Half of a thread would look like a whole one.
                let _ = self.delete(lease);
                Err(error)
            }
        }
    }

    /// Appends records to a turn, the first at `index`: all of them or, if the writer is stopped meanwhile,
    /// the first few. A status is set after the last of them, for lists; that of another turn than the last is
    /// ignored. A store may release the thread with it; the lease is to be released in any case.
    ///
    /// # Errors
    /// A [`JournalError`]: [`Fenced`](super::JournalErrorKind::Fenced) if the lease was taken over,
    /// [`Stale`](super::JournalErrorKind::Stale) if the turn does not have `index` records.
    fn append(
        &self,
        lease: &Lease,
        turn: u32,
        index: u64,
        records: Vec<Record>,
        status: Option<&RunStatus>,
    ) -> Result<(), StoreError>;

    /// The number of turns of a thread.
    ///
    /// # Errors
    /// [`StoreError::NoThread`].
    fn turns(&self, thread: &ThreadId) -> Result<u32, StoreError>;

    /// The records of a turn, from the first.
    ///
    /// # Errors
    /// [`StoreError::NoThread`], [`StoreError::NoTurn`], and a [`JournalError`] that names what does not read.
    fn records(&self, thread: &ThreadId, turn: u32) -> Result<Vec<Record>, StoreError>;

    /// The header of a turn, which is its first record.
    ///
    /// # Errors
    /// Those of [`records`](Store::records).
    fn header(&self, thread: &ThreadId, turn: u32) -> Result<Header, StoreError> {
        let place = || format!("thread {thread}, turn {}", turn + 1);
        match self.records(thread, turn)?.into_iter().next() {
            Some(Record::Header(header)) => Ok(*header),
            _ => Err(JournalError::damaged(place(), "it has no header").into()),
        }
    }

    /// Lists threads, with the statuses that were set last.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn list(&self, query: &Query) -> Result<Vec<Listed>, StoreError>;

    /// Finds one thread as a list shows it.
    ///
    /// # Errors
    /// Those of [`list`](Store::list).
    fn find(&self, thread: &ThreadId) -> Result<Option<Listed>, StoreError> {
        let query = Query { prefix: thread.to_string(), limit: usize::MAX, ..Query::default() };
        Ok(self.list(&query)?.into_iter().find(|listed| listed.thread == *thread))
    }

    /// Lists the threads with stale statuses: no writer has them, and the last one was stopped before it set
    /// a status.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn list_stale(&self) -> Result<Vec<ThreadId>, StoreError>;

    /// Lists the threads that no list shows: what says that they have turns is damaged. A store that lists all that is
    /// stored has none.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn list_hidden(&self) -> Result<Vec<Listed>, StoreError> {
        Ok(Vec::new())
    }

    /// Sets when a thread was begun and last written to, in milliseconds since 1970: one that was copied keeps the
    /// times of its original. A store that keeps no such times leaves it.
    ///
    /// # Errors
    /// Those of [`append`](Store::append).
    fn set_times(&self, _: &Lease, _created: u64, _updated: u64) -> Result<(), StoreError> {
        Ok(())
    }

    /// Deletes a thread with all its turns.
    ///
    /// # Errors
    /// If the store cannot be written. The thread is then released, and is there as it was or gone.
    fn delete(&self, lease: Lease) -> Result<(), StoreError>;

    /// Gives back the space of what was deleted.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn vacuum(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Has what other processes do told, as far as the store hears of it. Gives whether it does; a store that is asked
    /// twice tells the first alone. What is told may come late, twice, or not at all: who needs to know looks from time
    /// to time as well.
    ///
    /// # Errors
    /// If the store cannot be listened to.
    fn listen(&self, _: Box<dyn Fn(Heard) + Send + Sync>) -> Result<bool, StoreError> {
        Ok(false)
    }

    /// Checks everything that is stored. Gives what is damaged, a line each.
    ///
    /// # Errors
    /// If the store cannot be read at all.
    fn check(&self) -> Result<Vec<String>, StoreError>;
}

/// Drops empty turns at the end of those that a thread begins with, for [`Store::begin`].
///
/// # Errors
/// If an empty turn has another behind it.
pub fn drop_empty_turns(
    thread: &ThreadId,
    mut turns: Vec<Vec<Record>>,
) -> Result<Vec<Vec<Record>>, JournalError> {
    turns.truncate(turns.iter().rposition(|turn| !turn.is_empty()).map_or(0, |last| last + 1));
    match turns.iter().any(Vec::is_empty) {
        true => Err(JournalError::damaged(format!("thread {thread}"), "a turn has no records")),
        false => Ok(turns),
    }
}

/// What a store hears of other processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// Something was written of a thread.
    Written(ThreadId),
    /// The process that went on with a thread is gone, and nobody has the thread.
    Left(ThreadId),
}

/// What a thread is claimed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// To begin it: it must not exist.
    New,
    /// To continue it: it must exist.
    Known,
    /// Either.
    Any,
    /// To continue it even if another writer has it, who can append nothing more then.
    TakeOver,
}

/// The right to write to a thread. Only a store makes one, in [`Store::claim`].
#[derive(Debug)]
pub struct Lease {
    thread: ThreadId,
    epoch: u64,
    turns: u32,
}

impl Lease {
    /// Makes a lease for a thread that has this many turns. The epoch has to grow with every claim of the
    /// thread, so that a lease that was taken over can be told from the one in force.
    pub fn new(thread: ThreadId, epoch: u64, turns: u32) -> Self {
        Lease { thread, epoch, turns }
    }

    /// The thread.
    pub fn thread(&self) -> &ThreadId {
        &self.thread
    }

    /// The number of this claim among those of the thread.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// How many turns the thread had when it was claimed.
    pub fn turns(&self) -> u32 {
        self.turns
    }
}

/// What is wrong with a store, or with what is asked of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another writer has the thread.
    #[error("the thread {thread} is being run already{}{holder}", if .holder.is_empty() { "" } else { ", by " })]
    AlreadyRunning {
        /// The thread.
        thread: ThreadId,
        /// The process that has it; empty if it is unknown.
        holder: String,
        /// Whether [`Claim::TakeOver`] would take it from them.
        can_take_over: bool,
    },
    /// The thread does not exist.
    #[error("there is no thread {thread}")]
    NoThread {
        /// The thread.
        thread: ThreadId,
    },
    /// The thread exists.
    #[error("there is a thread {thread} already")]
    Exists {
        /// The thread.
        thread: ThreadId,
    },
    /// The thread has no such turn.
    #[error("the thread {thread} has {turns} turn{}, and none of the number {}", if *.turns == 1 { "" } else { "s" }, .turn + 1)]
    NoTurn {
        /// The thread.
        thread: ThreadId,
        /// The turn, from 0.
        turn: u32,
        /// How many turns there are.
        turns: u32,
    },
    /// A journal cannot be read or written.
    #[error(transparent)]
    Journal(#[from] JournalError),
}
