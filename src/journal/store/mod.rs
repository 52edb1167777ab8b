//! Threads: conversations that outlive their process, each a sequence of runs (turns) of which every
//! one is a journal.
//!
//! - [`Store`]: where threads are kept; [`MemoryStore`] keeps them while the process lives.
//! - [`Lease`]: the right to write to a thread. One writer holds it; all others are refused.
//!
//! A store of your own implements [`Store`], and finds here what every store needs: [`Lease::new`],
//! [`check_place`], [`claim_or_begin`], [`drop_empty_turns`], [`make_title`], [`now_ms`], [`waiting_since`];
//! the errors are made by [`JournalError`]'s constructors. One that keeps records as bytes seals them with
//! [`seal`](super::seal); one in files finds [`disk`](super::disk) useful.
//!
//! **Invariant:** nothing is appended to a thread without its lease, and under a lease that was taken
//! over nothing is appended any more.

mod implement;
mod list;
mod memory;
mod thread_id;

use std::any::Any;
use std::fmt;

pub use implement::{check_place, claim_or_begin, drop_empty_turns, make_title, now_ms, random_id};
pub use list::{Cursor, Listed, Order, Query, waiting_since};
pub use memory::MemoryStore;
pub use thread_id::ThreadId;

use super::{JournalError, Record, RunStatus};

/// Where threads are kept. Every method may be called from any thread of execution at any time.
///
/// A turn's records are numbered from 0, turns are numbered from 0. The first append to a turn begins
/// it; turns begin one after the other.
pub trait Store: Send + Sync + fmt::Debug {
    /// Takes a thread, to write to it. A writer that lives keeps it until it gives it back; one whose
    /// process has ended has lost it.
    ///
    /// # Errors
    /// [`StoreError::AlreadyRunning`] where somebody has it; [`StoreError::NoThread`] or
    /// [`StoreError::Exists`], as `claim` says.
    fn claim(&self, thread: &ThreadId, claim: Claim) -> Result<Lease, StoreError>;

    /// Gives a thread back. Nothing happens where the lease was taken over. A thread in which nothing
    /// was written is no thread.
    ///
    /// # Errors
    /// Where the store cannot be written.
    fn release(&self, lease: Lease) -> Result<(), StoreError>;

    /// Takes a thread, and where there is none of this name, begins it with its first turns, each from
    /// its header on: all of that or, where the store can, nothing. Where there is one, nothing is
    /// written; the lease says how many turns it has.
    ///
    /// # Errors
    /// [`StoreError::AlreadyRunning`] where somebody has it, and as [`append`](Store::append).
    fn begin(&self, thread: &ThreadId, turns: Vec<Vec<Record>>) -> Result<Lease, StoreError> {
        let turns = drop_empty_turns(thread, turns)?;
        claim_or_begin(self, thread, |lease| {
            (0..).zip(turns).try_for_each(|(turn, records)| self.append(lease, turn, 0, records))
        })
    }

    /// Appends records to a turn, the first at this index; all of them or, where the writer is stopped
    /// meanwhile, the first few. Costs the same for the thousandth record as for the first.
    ///
    /// # Errors
    /// A [`JournalError`]: [`Fenced`](super::JournalErrorKind::Fenced) where the lease was taken over,
    /// [`Stale`](super::JournalErrorKind::Stale) where the turn is longer or shorter than `index`.
    fn append(&self, lease: &Lease, turn: u32, index: u64, records: Vec<Record>) -> Result<(), StoreError>;

    /// Notes where a turn stands after so many records, for lists. Others may see it only when the
    /// thread is given back.
    ///
    /// # Errors
    /// As [`append`](Store::append).
    fn stands(&self, lease: &Lease, turn: u32, index: u64, standing: &RunStatus) -> Result<(), StoreError>;

    /// Appends what is, as far as its writer knows, the last under a lease, and notes where the turn stands
    /// after it. A store may give the thread back with that; the lease is to be released in any case.
    ///
    /// # Errors
    /// As [`append`](Store::append). That the note could not be written is none: it follows from the records.
    fn conclude(
        &self,
        lease: &Lease,
        turn: u32,
        index: u64,
        records: Vec<Record>,
        standing: &RunStatus,
    ) -> Result<(), StoreError> {
        let after = index + records.len() as u64;
        self.append(lease, turn, index, records)?;
        let _ = self.stands(lease, turn, after, standing);
        Ok(())
    }

    /// How many turns a thread has.
    ///
    /// # Errors
    /// [`StoreError::NoThread`].
    fn turns(&self, thread: &ThreadId) -> Result<u32, StoreError>;

    /// The records of a turn, from the first.
    ///
    /// # Errors
    /// [`StoreError::NoThread`], [`StoreError::NoTurn`], and a [`JournalError`] that names what does not
    /// read.
    fn records(&self, thread: &ThreadId, turn: u32) -> Result<Vec<Record>, StoreError>;

    /// The threads that a query asks for, in its order. Where they stand is what was last noted.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn list(&self, query: &Query) -> Result<Vec<Listed>, StoreError>;

    /// One thread as a list shows it, where it is there.
    ///
    /// # Errors
    /// As [`list`](Store::list).
    fn find(&self, thread: &ThreadId) -> Result<Option<Listed>, StoreError> {
        let query = Query { prefix: thread.to_string(), limit: usize::MAX, ..Query::default() };
        Ok(self.list(&query)?.into_iter().find(|listed| listed.thread == *thread))
    }

    /// Threads that nobody has, and of which nobody has noted where they stand since they were last
    /// written to: their writers were stopped.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn unnoted(&self) -> Result<Vec<ThreadId>, StoreError>;

    /// Deletes a thread with all its turns.
    ///
    /// # Errors
    /// Where the store cannot be written; the thread is then there as it was, or gone whole. Nobody has it.
    fn delete(&self, lease: Lease) -> Result<(), StoreError>;

    /// Gives back the space of what was deleted.
    ///
    /// # Errors
    /// Where the store cannot be written.
    fn vacuum(&self) -> Result<(), StoreError>;

    /// Looks at all that is kept, and says what is damaged, a line each.
    ///
    /// # Errors
    /// Where the store cannot be read at all.
    fn check(&self) -> Result<Vec<String>, StoreError>;
}

/// What a thread is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// To begin it; there must be none of this name.
    New,
    /// To go on with it; it must be there.
    Known,
    /// Either.
    Any,
    /// To go on with it even where somebody has it: they are fenced off, and can append nothing more.
    TakeOver,
}

/// The right to write to a thread. Only a store makes one, in [`Store::claim`].
pub struct Lease {
    thread: ThreadId,
    epoch: u64,
    turns: u32,
    lock: Option<Box<dyn Any + Send + Sync>>,
}

impl Lease {
    /// A lease for a thread that has this many turns. The store chooses the epoch; it has to grow with every
    /// claim of the thread, so that a lease which was taken over can be told from the one in force.
    pub fn new(thread: ThreadId, epoch: u64, turns: u32) -> Self {
        Lease { thread, epoch, turns, lock: None }
    }

    /// The lease with a guard that is dropped with it: a locked file, or whatever else the store has to hold
    /// for as long as the lease lasts.
    #[must_use]
    pub fn with_lock(mut self, lock: impl Any + Send + Sync) -> Self {
        self.lock = Some(Box::new(lock));
        self
    }

    /// The guard that [`with_lock`](Lease::with_lock) put in, if it is of this type.
    pub fn lock<T: Any>(&self) -> Option<&T> {
        self.lock.as_ref()?.downcast_ref()
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

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Lease { thread, epoch, turns, .. } = self;
        f.debug_struct("Lease")
            .field("thread", thread)
            .field("epoch", epoch)
            .field("turns", turns)
            .finish_non_exhaustive()
    }
}

/// What is wrong with a store, or with what is asked of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Somebody has the thread.
    #[error("the thread {thread} is being run already{}", by(.holder))]
    AlreadyRunning {
        /// The thread.
        thread: ThreadId,
        /// Who, where that is known: a process.
        holder: String,
        /// Whether [`Claim::TakeOver`] would take it from them.
        can_take_over: bool,
    },
    /// There is no such thread.
    #[error("there is no thread {thread}")]
    NoThread {
        /// The thread.
        thread: ThreadId,
    },
    /// There is such a thread.
    #[error("there is a thread {thread} already")]
    Exists {
        /// The thread.
        thread: ThreadId,
    },
    /// The thread has no such turn.
    #[error("the thread {thread} has {turns} turns, and none of the number {}", .turn + 1)]
    NoTurn {
        /// The thread.
        thread: ThreadId,
        /// The turn that was asked for, from 0.
        turn: u32,
        /// How many it has.
        turns: u32,
    },
    /// A journal cannot be read or written.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

fn by(holder: &str) -> String {
    if holder.is_empty() { String::new() } else { format!(", by {holder}") }
}
