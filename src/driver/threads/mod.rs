//! Threads that outlive their process: conversations in a store, listed, gone on with, forked and pruned,
//! each under one lease at a time.

pub(super) mod earlier;
pub(super) mod handle;

pub use earlier::{
    AskedAt, MAX_HISTORY_BYTES, MAX_MESSAGE_BYTES, MAX_TURNS, find_asked, history, history_until,
};
pub use handle::ThreadHandle;

use std::collections::BTreeMap;
use std::sync::Arc;

use self::handle::LeasedThread;
use super::job::make_run_id;
use crate::journal::{
    Claim, Folded, Header, Journal, JournalError, JournalErrorKind, Listed, Origin, Query, Record, RunStatus,
    Store, StoreError, ThreadId, find_unrepeatable, fold, system::now_ms,
};
use crate::machine::outstanding;
use crate::prompt::Request;

/// The threads of a store.
///
/// ```
/// use std::sync::Arc;
/// use planwright::driver::{Agent, Threads};
/// use planwright::journal::MemoryStore;
/// use planwright_docs::Calc;
/// use planwright_offline::Offline;
///
/// let spec = planwright::agents::shipped("validated").unwrap().with_tools(|tool| tool.name == "calc");
/// let agent = Agent::builder(spec).model(Offline::new()).tool(Calc::new()).build()?;
/// let threads = Threads::new(Arc::new(MemoryStore::new()));
/// let sums = "sums".parse()?;
/// threads.at(&sums).ask(&agent, "12/4+9?")?;
/// threads.at(&sums).ask(&agent, "7*6?")?;
/// assert_eq!(threads.store().turns(&sums)?, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Threads(Arc<dyn Store>);

impl Threads {
    /// The threads of this store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Threads(store)
    }

    /// The store.
    pub fn store(&self) -> &dyn Store {
        &*self.0
    }

    /// One thread. It need not exist yet.
    pub fn at<'a>(&'a self, thread: &'a ThreadId) -> ThreadHandle<'a> {
        ThreadHandle::new(&*self.0, thread)
    }

    /// A list of threads. If a process was stopped before it could note the status of its thread, it is worked
    /// out from the records first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn list(&self, query: &Query) -> Result<Vec<Listed>, StoreError> {
        let mut damaged = BTreeMap::new();
        for thread in self.0.list_stale()? {
            match self.note_status(&thread) {
                Err(StoreError::Journal(error)) if error.kind() != JournalErrorKind::Io => {
                    damaged.insert(thread, error.to_string());
                }
                // A thread that is being written to again is no reason to list nothing.
                _ => {}
            }
        }
        let mut listed = self.0.list(query)?;
        for one in &mut listed {
            if let Some(problem) = damaged.remove(&one.thread) {
                one.status = RunStatus::Damaged { problem };
            }
        }
        Ok(listed)
    }

    /// Works out the status of a thread, and notes it. The thread is taken only while the note is written:
    /// another process that goes on with it meanwhile would be refused.
    fn note_status(&self, thread: &ThreadId) -> Result<(), StoreError> {
        let Some(turn) = self.0.turns(thread)?.checked_sub(1) else { return Ok(()) };
        let folded = fold(self.0.records(thread, turn)?)?;
        let status = RunStatus::of(&folded);
        // Without a note, those who listen hear that its process has left it.
        if status == RunStatus::Unfinished {
            return Ok(());
        }
        let mut leased = LeasedThread::claim(&*self.0, thread, Claim::Known)?;
        match leased.turn(turn).conclude(folded.next_index(), Vec::new(), &status) {
            // It was written to since.
            Err(error) if error.kind() == JournalErrorKind::Stale => Ok(()),
            noted => Ok(noted?),
        }
    }

    /// A turn of a thread, folded; the last unless one is named.
    ///
    /// # Errors
    /// If there is no such thread or turn, or its records do not fold.
    pub fn folded(&self, thread: &ThreadId, turn: Option<u32>) -> Result<Folded, StoreError> {
        let last = self.0.turns(thread)?.saturating_sub(1);
        Ok(fold(self.0.records(thread, turn.unwrap_or(last))?)?)
    }

    /// Deletes a thread that no process has.
    ///
    /// # Errors
    /// [`StoreError::NoThread`], [`StoreError::AlreadyRunning`].
    pub fn delete(&self, thread: &ThreadId) -> Result<(), StoreError> {
        let lease = self.0.claim(thread, Claim::Known)?;
        self.0.delete(lease)
    }

    /// Finds the threads that [`prune`](Threads::prune) would delete: those whose last turn has ended with one of
    /// these statuses (by [`RunStatus::name`]) and that were last written to before a time, in milliseconds since
    /// 1970.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn find_ended(&self, before: u64, statuses: &[&str]) -> Result<Vec<Listed>, StoreError> {
        let mut found = Vec::new();
        // A query without a status finds all threads.
        if statuses.is_empty() {
            return Ok(found);
        }
        let statuses = statuses.iter().map(|&status| status.to_owned()).collect();
        for listed in self.list(&Query { statuses, limit: usize::MAX, ..Query::default() })? {
            if listed.updated < before && !listed.running && self.is_as_listed(&listed)? {
                found.push(listed);
            }
        }
        Ok(found)
    }

    /// Deletes threads that [`find_ended`](Threads::find_ended) has found. A thread is left if a process has it,
    /// or if it was written to since. Gives those deleted.
    ///
    /// # Errors
    /// If the store cannot be read or written. What was deleted by then is gone.
    pub fn prune(&self, ended: Vec<Listed>) -> Result<Vec<Listed>, StoreError> {
        let mut gone = Vec::new();
        for listed in ended {
            let lease = match self.0.claim(&listed.thread, Claim::Known) {
                Err(StoreError::AlreadyRunning { .. } | StoreError::NoThread { .. }) => continue,
                lease => lease?,
            };
            match self.is_as_listed(&listed) {
                Ok(true) => {
                    self.0.delete(lease)?;
                    gone.push(listed);
                }
                other => self.0.release(lease).and(other.map(drop))?,
            }
        }
        Ok(gone)
    }

    /// Whether a thread is as it was listed, and its records say that it has ended as the list does: a list is
    /// old when it is read, and goes by what was noted.
    fn is_as_listed(&self, listed: &Listed) -> Result<bool, StoreError> {
        let now = self.0.find(&listed.thread)?;
        if now.is_none_or(|now| (now.turns, now.updated) != (listed.turns, listed.updated)) {
            return Ok(false);
        }
        match self.folded(&listed.thread, None) {
            Ok(folded) => {
                let status = RunStatus::of(&folded);
                Ok(status.has_ended() && status.name() == listed.status.name())
            }
            Err(StoreError::Journal(error)) if error.kind() == JournalErrorKind::Io => Err(error.into()),
            // What does not read has not ended.
            Err(_) => Ok(false),
        }
    }

    /// Begins a thread with what another holds: all turns before `turn`, and the first `records` records of
    /// it, or all of them. What was asked and not answered by then is asked anew when the new thread goes
    /// on. A write that may not be done twice is in doubt there, also one that only comes next: the other
    /// thread may have made it since. What people allowed there and was not done is not allowed here. The other
    /// thread is left as it is.
    ///
    /// # Errors
    /// [`StoreError::Exists`] if the new name is taken, [`StoreError::NoThread`] and
    /// [`StoreError::NoTurn`], and a [`JournalError`] if there are not so many records.
    pub fn fork(
        &self,
        from: &ThreadId,
        turn: Option<u32>,
        records: Option<u64>,
        to: &ThreadId,
    ) -> Result<(), StoreError> {
        let turn = match turn {
            Some(turn) => turn,
            None => self.0.turns(from)?.saturating_sub(1),
        };
        let (mut copies, mut last) = (Vec::new(), None);
        for at in 0..=turn {
            let whole = self.0.records(from, at)?;
            let len = whole.len() as u64;
            let most = if at == turn { records.unwrap_or(len) } else { len };
            if most == 0 || most > len {
                let problem = format!("expected 1 to {len} records to copy, found {most}");
                return Err(JournalError::damaged(format!("thread {from}, turn {}", at + 1), problem).into());
            }
            let copy = copy_records(whole, most, from, to)?;
            // A copy that does not fold is refused here, and not when the new thread goes on.
            let folded = fold(copy.iter().cloned())?;
            last = Some((folded.next_index(), RunStatus::of(&folded)));
            copies.push(copy);
        }
        let mut begun = LeasedThread::new(&*self.0, to);
        begun.begin(copies)?;
        if let Some((len, status)) = last {
            // It follows from the records: a failure to note it loses nothing.
            let _ = begun.turn(turn).conclude(len, Vec::new(), &status);
        }
        Ok(())
    }
}

/// The beginning of a turn under another thread's name and another id. What is asked and not answered in it
/// is left out, except for a write that may not be done twice.
fn copy_records(
    mut records: Vec<Record>,
    most: u64,
    from: &ThreadId,
    to: &ThreadId,
) -> Result<Vec<Record>, StoreError> {
    records.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    let folded = fold(records.iter().cloned())?;
    let (compiled, state) = (&folded.compiled, &folded.state);
    // Whether such a write happened in the world is as much in doubt here as in the original.
    records.retain(|record| match record {
        Record::Requested { effect, .. } => {
            folded.ledger.find_pending(*effect).is_none()
                || find_unrepeatable(compiled, state, *effect).is_some()
        }
        // No client asked for the copy, and it did not stop.
        Record::Asked(_) | Record::Interrupted { .. } => false,
        _ => true,
    });
    // The original has made the writes that come next, or was allowed to once.
    let next = outstanding(compiled, state).into_iter().filter(|effect| {
        folded.ledger.find_pending(effect.id()).is_none()
            && find_unrepeatable(compiled, state, effect.id()).is_some()
    });
    records.extend(next.filter_map(|effect| Request::of(compiled, state, effect)).map(|request| {
        Record::Requested { effect: request.effect, digest: request.digest, at: Some(now_ms()) }
    }));
    let copied = records.len() as u64;
    if let Some(Record::Header(header)) = records.first_mut() {
        let origin = Origin { thread: from.to_string(), turn: header.turn, records: most, copied };
        let (run, thread) = (make_run_id(), to.to_string());
        **header = Header { run, thread, origin: Some(origin), trace: None, ..Header::clone(header) };
    }
    Ok(records)
}
