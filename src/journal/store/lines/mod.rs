//! Threads in a folder of JSON-lines files: nothing but files that anybody can read.
//!
//! ```text
//! <root>/=format          which version's it is
//! <root>/=lock            held for a moment by whoever takes or gives back a thread
//! <root>/<thread>/lock    held by whoever has the thread
//! <root>/<thread>/000000.jsonl, 000001.jsonl, …    its turns, each a journal
//! <root>/<thread>/standing.json                    where the last one stood, for lists
//! <root>/<thread>/half                             there while turns are put in that are one: none counts
//! ```
//!
//! - `place.rs`: names and places; `standing.rs` the note for lists; `list.rs` lists and check;
//!   `lock.rs` who has a thread; `whole.rs` what is there whole or not at all.

mod list;
mod lock;
mod place;
mod standing;
mod whole;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{
    Claim, Lease, Listed, Query, Store, StoreError, ThreadId, check_place, claim_or_begin, drop_empty_turns,
    make_title,
};
use crate::journal::{
    Durability, FileJournal, Journal, JournalError, JournalErrorKind, Record, RunStatus, disk, file,
};
use place::io;
use standing::Noted;

/// Keeps threads in a folder: a folder for each thread, a journal file for each turn.
///
/// A thread whose name is of `a`–`z`, `0`–`9`, `.`, `_` and `-` is found under its name, any other under
/// a digest of it; its journals say whose they are. Whoever has a thread holds the system's lock on a
/// file of it, so a thread cannot be taken over from a writer that lives: [`Claim::TakeOver`] is refused
/// as [`StoreError::AlreadyRunning`]. A list reads a little of every thread; for thousands of them there
/// is `SqliteStore`.
///
/// ```
/// use planwright::journal::{Claim, Durability, LinesStore, Query, Store};
///
/// let folder = tempfile::tempdir()?;
/// let store = LinesStore::open(folder.path().join("threads"), Durability::Full)?;
/// let lease = store.claim(&"demo".parse()?, Claim::New)?;
/// store.release(lease)?;
/// assert!(store.list(&Query::default())?.is_empty(), "nothing was written");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct LinesStore {
    root: PathBuf,
    durability: Durability,
    /// The turns that are being written to.
    open: Mutex<BTreeMap<ThreadId, (u32, FileJournal)>>,
}

impl LinesStore {
    /// Opens a folder of threads, or makes one where there is none or an empty one.
    ///
    /// # Errors
    /// Where it is another version's or holds other things, and where it cannot be read or made. Nothing
    /// is made or changed then.
    pub fn open(root: impl Into<PathBuf>, durability: Durability) -> Result<Self, StoreError> {
        let root = root.into();
        place::open(&root, durability)?;
        Ok(LinesStore { root, durability, open: Mutex::new(BTreeMap::new()) })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.root
    }

    fn folder(&self, thread: &ThreadId) -> PathBuf {
        self.root.join(place::folder(thread))
    }

    fn journals(&self) -> MutexGuard<'_, BTreeMap<ThreadId, (u32, FileJournal)>> {
        // A journal that a panic left in the middle of an append is looked at anew by its next.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of the next turn.
    fn next(&self, thread: &ThreadId) -> Result<u32, StoreError> {
        Ok(place::turns(&self.folder(thread))?)
    }

    /// How many records a turn has.
    fn len(&self, thread: &ThreadId, turn: u32) -> Result<u64, StoreError> {
        Ok(match self.journals().get(thread) {
            Some((open, journal)) if *open == turn => journal.len(),
            _ => file::read(&place::turn(&self.folder(thread), turn))?.len() as u64,
        })
    }

    /// How many turns a thread has, of which there is at least one.
    fn known(&self, thread: &ThreadId) -> Result<u32, StoreError> {
        let folder = self.folder(thread);
        let turns = place::turns(&folder)?;
        list::lost(&folder, turns)?;
        if turns == 0 { Err(StoreError::NoThread { thread: thread.clone() }) } else { Ok(turns) }
    }

    /// Makes the name of a file or folder durable, where that is asked for.
    fn sync(&self, path: &Path) -> std::io::Result<()> {
        if self.durability == Durability::Full { disk::sync_folder(path) } else { Ok(()) }
    }

    /// The journal of a turn, at the end of what stands there.
    fn journal(&self, thread: &ThreadId, turn: u32, index: u64) -> Result<FileJournal, StoreError> {
        let folder = self.folder(thread);
        let (path, turns) = (place::turn(&folder, turn), place::turns(&folder)?);
        let journal = match (turn, index) {
            (turn, 0) if turn == turns => {
                list::lost(&folder, turns)?;
                FileJournal::begin(path, false)
            }
            (turn, _) if turn >= turns => Err(JournalError::stale(index, 0)),
            _ => FileJournal::go_on(path, false),
        };
        Ok(journal?.durability(self.durability))
    }
}

impl Store for LinesStore {
    fn claim(&self, thread: &ThreadId, claim: Claim) -> Result<Lease, StoreError> {
        let gate = self.gate(false)?;
        let folder = self.folder(thread);
        // Of what was lost or does not read, the thread is still the one of this name: to be deleted.
        let known = place::turns(&folder)? > 0 || Noted::last(&folder)?.is_some();
        match claim {
            Claim::New if known => return Err(StoreError::Exists { thread: thread.clone() }),
            Claim::Known | Claim::TakeOver if !known => {
                return Err(StoreError::NoThread { thread: thread.clone() });
            }
            _ => {}
        }
        match place::header(&folder) {
            Ok(Some(header)) => {
                let of = |error: JournalError| error.within(folder.display());
                check_place(&Record::Header(header), thread, 0, 0).map_err(of)?;
            }
            Err(error) if error.kind() == JournalErrorKind::Io => return Err(error.into()),
            Ok(None) | Err(_) => {}
        }
        let lock = self.lock(thread, known)?;
        if !known {
            self.clear(&folder)?;
        }
        self.journals().remove(thread);
        drop(gate);
        let turns = place::turns(&folder)?;
        if let (Durability::Full, Some(last)) = (self.durability, turns.checked_sub(1)) {
            file::sync(&place::turn(&folder, last))?;
        }
        Ok(Lease::new(thread.clone(), 0, turns).with_lock(lock))
    }

    fn release(&self, lease: Lease) -> Result<(), StoreError> {
        // Whatever fails below, what was open under this lease is not used under the next.
        self.journals().remove(lease.thread());
        let _gate = self.gate(false)?;
        let folder = self.folder(lease.thread());
        let begun = place::turns(&folder)? > 0 || Noted::last(&folder)?.is_some();
        let empty = lease.lock.is_some() && !begun;
        drop(lease);
        // What is left of a thread that was never begun, or a turn that was never whole.
        if empty { self.take_away(&folder) } else { Ok(()) }
    }

    fn append(&self, lease: &Lease, turn: u32, index: u64, records: Vec<Record>) -> Result<(), StoreError> {
        if lease.lock.is_none() {
            return Err(JournalError::fenced(lease.thread()).into());
        }
        for (index, record) in (index..).zip(&records) {
            check_place(record, lease.thread(), turn, index)?;
        }
        let mut journals = self.journals();
        let mut journal = match journals.remove(lease.thread()) {
            Some((open, journal)) if open == turn => journal,
            _ if records.is_empty() && index == 0 && self.next(lease.thread())? == turn => return Ok(()),
            _ => self.journal(lease.thread(), turn, index)?,
        };
        journal.append(index, records)?;
        // After a failure it is not kept open: what stands there is looked at anew.
        journals.insert(lease.thread().clone(), (turn, journal));
        Ok(())
    }

    fn begin(&self, thread: &ThreadId, turns: Vec<Vec<Record>>) -> Result<Lease, StoreError> {
        let turns = drop_empty_turns(thread, turns)?;
        claim_or_begin(self, thread, |lease| match <[_; 1]>::try_from(turns) {
            Ok([records]) => self.append(lease, 0, 0, records),
            Err(turns) if turns.is_empty() => Ok(()),
            Err(turns) => self.copy(lease, turns),
        })
    }

    fn stands(&self, lease: &Lease, turn: u32, index: u64, standing: &RunStatus) -> Result<(), StoreError> {
        if lease.lock.is_none() {
            return Err(JournalError::fenced(lease.thread()).into());
        }
        let (folder, thread) = (self.folder(lease.thread()), lease.thread().clone());
        let path = place::turn(&folder, turn);
        if self.next(&thread)?.checked_sub(1) != Some(turn) || self.len(&thread, turn)? != index {
            return Ok(());
        }
        let bytes = std::fs::metadata(&path).map_err(|error| io(&path, "cannot be read", &error))?.len();
        let title =
            place::header(&folder)?.map(|header| make_title(&header.input.question)).unwrap_or_default();
        Ok(Noted::new(thread, title, turn + 1, (index, bytes), standing.clone()).save(&folder)?)
    }

    fn turns(&self, thread: &ThreadId) -> Result<u32, StoreError> {
        self.known(thread)
    }

    fn records(&self, thread: &ThreadId, turn: u32) -> Result<Vec<Record>, StoreError> {
        let turns = self.known(thread)?;
        if turn >= turns {
            return Err(StoreError::NoTurn { thread: thread.clone(), turn, turns });
        }
        let (folder, path) = (self.folder(thread), place::turn(&self.folder(thread), turn));
        // Looked at first, for the turn may grow meanwhile.
        let noted = Noted::last(&folder)?.filter(|noted| noted.turns == turn + 1);
        let records = file::read(&path)?;
        if let Some(noted) = noted.filter(|noted| noted.records > records.len() as u64) {
            let problem = format!("expected {} records, found {}", noted.records, records.len());
            return Err(JournalError::named(path.display().to_string(), problem).into());
        }
        for (index, record) in (0..).zip(&records) {
            check_place(record, thread, turn, index).map_err(|error| error.within(path.display()))?;
        }
        Ok(records)
    }

    fn list(&self, query: &Query) -> Result<Vec<Listed>, StoreError> {
        self.listed(query)
    }

    fn find(&self, thread: &ThreadId) -> Result<Option<Listed>, StoreError> {
        self.one(thread)
    }

    fn unnoted(&self) -> Result<Vec<ThreadId>, StoreError> {
        self.not_noted()
    }

    fn delete(&self, lease: Lease) -> Result<(), StoreError> {
        if lease.lock.is_none() {
            return Err(JournalError::fenced(lease.thread()).into());
        }
        let gate = self.gate(false)?;
        let folder = self.folder(lease.thread());
        self.journals().remove(lease.thread());
        drop(lease);
        let gone = self.take_away(&folder);
        drop(gate);
        gone
    }

    fn vacuum(&self) -> Result<(), StoreError> {
        self.cleared()
    }

    fn check(&self) -> Result<Vec<String>, StoreError> {
        self.checked()
    }
}
