//! Threads: conversations that outlive their process, each a sequence of runs (turns) of which every
//! one is a journal.
//!
//! - [`Store`]: where threads are kept; [`MemoryStore`] keeps them while the process lives.
//! - [`Lease`]: the right to write to a thread. One writer holds it; all others are refused.
//!
//! **Invariant:** nothing is appended to a thread without its lease, and under a lease that was taken
//! over nothing is appended any more.

mod id;
mod lines;
mod list;
mod memory;

use std::fmt;
use std::fs::File;

pub use id::ThreadId;
pub use lines::LinesStore;
pub use list::{Cursor, Listed, Order, Query, title, waits};
pub use memory::MemoryStore;

use super::{JournalError, JournalErrorKind, Record, RunStatus};

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
        let turns = begun_with(thread, turns)?;
        begin(self, thread, |lease| {
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

/// The right to write to a thread.
#[derive(Debug)]
pub struct Lease {
    /// The thread.
    pub thread: ThreadId,
    /// Grows with every claim of the thread.
    pub epoch: u64,
    /// How many turns the thread had when it was claimed.
    pub turns: u32,
    /// What is locked for as long as the lease lasts, in stores that lock files.
    pub lock: Option<File>,
}

impl Lease {
    /// The thread.
    pub fn thread(&self) -> &ThreadId {
        &self.thread
    }

    /// How many turns the thread had when it was taken.
    pub fn turns(&self) -> u32 {
        self.turns
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

/// The turns that a thread is begun with: up to the last in which there is something.
pub fn begun_with(thread: &ThreadId, mut turns: Vec<Vec<Record>>) -> Result<Vec<Vec<Record>>, JournalError> {
    while turns.last().is_some_and(Vec::is_empty) {
        turns.pop();
    }
    match turns.iter().any(Vec::is_empty) {
        true => Err(JournalError::named(format!("thread {thread}"), "a turn has no records")),
        false => Ok(turns),
    }
}

/// Takes a thread, and where there is none, puts its first turns in.
pub fn begin<S: Store + ?Sized>(
    store: &S,
    thread: &ThreadId,
    put: impl FnOnce(&Lease) -> Result<(), StoreError>,
) -> Result<Lease, StoreError> {
    let lease = match store.claim(thread, Claim::New) {
        Err(StoreError::Exists { .. }) => {
            let lease = store.claim(thread, Claim::Any)?;
            if lease.turns > 0 {
                return Ok(lease);
            }
            // It is there, and what it was is lost: that is said, and nothing put in its place.
            store.release(lease)?;
            store.turns(thread)?;
            return Err(StoreError::Exists { thread: thread.clone() });
        }
        lease => lease?,
    };
    match put(&lease) {
        Ok(()) => Ok(lease),
        Err(error) => {
            // Half of a thread would look like a whole one.
            let _ = store.delete(lease);
            Err(error)
        }
    }
}

/// Whether a record can stand at this place: a header names its thread and turn.
///
/// # Errors
/// Names what it says instead.
pub fn belongs(record: &Record, thread: &ThreadId, turn: u32, index: u64) -> Result<(), JournalError> {
    match record {
        Record::Header(header) if header.thread != thread.as_str() || header.turn != turn => {
            let problem = format!(
                "expected the header of thread {thread}, turn {}, found that of thread {}, turn {}",
                turn + 1,
                header.thread,
                u64::from(header.turn) + 1
            );
            Err(JournalError::at(index, problem))
        }
        _ => Ok(()),
    }
}

/// The refusal of a writer whose thread was taken over.
pub fn fenced(thread: &ThreadId) -> JournalError {
    let problem = "another process has taken it over, and nothing more is written here";
    JournalError::named(format!("thread {thread}"), problem).of(JournalErrorKind::Fenced)
}

/// Milliseconds since 1970, for lists.
pub fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn by(holder: &str) -> String {
    if holder.is_empty() { String::new() } else { format!(", by {holder}") }
}
