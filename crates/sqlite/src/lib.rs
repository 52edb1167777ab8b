//! Threads in an SQLite database: one file, many processes.
//!
//! - `open.rs`: what is a store and what is refused, `opened.rs` what this process has open, `wal.rs` the
//!   log; `row.rs` what is kept of a thread, `note.rs` where it
//!   stands, `records.rs` its records, `append.rs` how they get there, `specs.rs` what many of them
//!   share; `list.rs` the lists, `check.rs` what is damaged and what is waste, `looks.rs` what of that is
//!   looked for before it is asked.
//! - `claim.rs`: taking a thread and giving it back; `holder.rs`: who has threads.
//!
//! **Invariant:** an append writes its records and nothing else, but the first under a lease.

mod append;
mod check;
mod claim;
mod fault;
mod holder;
mod list;
mod looks;
mod note;
mod open;
mod opened;
mod records;
mod row;
mod specs;
mod tx;
mod wal;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use append::Head;
use fault::Fault;
use holder::Holders;
use looks::Looks;
use note::Note;
use opened::Opened;
use planwright::journal::seal::Seal;
use planwright::journal::{
    Claim, Lease, Listed, Query, Store, StoreError, ThreadId, store::drop_empty_turns,
};
use planwright::journal::{Durability, Record, RunStatus};
use row::Row;
use specs::Specs;

/// Keeps threads in an SQLite database. Beside it there are, while it is in use, its write-ahead log
/// (`-wal`, `-shm`) and a folder of locks (`.holders`).
///
/// Many processes may use it at once, on one machine: the locks are the system's, which over a network
/// file system may be none.
///
/// ```
/// use planwright::journal::{Claim, Durability, SqliteStore, Store};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("threads.db");
/// let (one, other) = (SqliteStore::open(&path, Durability::Full)?, SqliteStore::open(&path, Durability::Full)?);
/// let lease = one.claim(&"demo".parse()?, Claim::Any)?;
/// let said = other.claim(&"demo".parse()?, Claim::Any).unwrap_err().to_string();
/// assert_eq!(said, format!("the thread demo is being run already, by process {}", std::process::id()));
/// one.release(lease)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    conn: Connection,
    _opened: Opened,
    /// What the seals of every turn begin with: so no other store's fit.
    begin: Seal,
    holders: Holders,
    /// Where threads stand that this handle has; written down as they are given back.
    notes: BTreeMap<ThreadId, Note>,
    /// The rows of the threads that this handle has, as it wrote them last.
    rows: BTreeMap<ThreadId, Row>,
    /// Where the threads end that this handle has written to.
    heads: BTreeMap<ThreadId, Head>,
    specs: Specs,
    /// The threads, with the epochs of their leases, that were given back with their last records.
    concluded: BTreeMap<ThreadId, u64>,
    looks: Looks,
    /// What could not be given back, for want of space perhaps: it is with the next claim.
    unreleased: Vec<Lease>,
    /// Whether the system failed: the log may then end with what was not committed.
    failed: bool,
}

/// What stands beside a database, under its name with this end.
fn beside(database: &Path, end: &str) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(end);
    path.into()
}

/// A path without links and without a folder that may change, also where links lead to what is not there
/// yet.
fn real(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    // As many as systems follow.
    for _ in 0..40 {
        if let Ok(real) = path.canonicalize() {
            return real;
        }
        match path.read_link() {
            Ok(to) => path = path.parent().unwrap_or(Path::new("")).join(to),
            Err(_) => break,
        }
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (folder.canonicalize(), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path,
    }
}

impl SqliteStore {
    /// Opens a store, or makes one where there is no file.
    ///
    /// # Errors
    /// Where the file is no database, another program's, or another version's, and where it cannot be
    /// read or made. Nothing is made or changed then.
    pub fn open(path: impl Into<PathBuf>, durability: Durability) -> Result<Self, StoreError> {
        let path = path.into();
        // Whichever way leads to it, its holders and its log are looked for beside the file itself.
        let real = real(&path);
        let holders = Holders::of(&real, durability);
        let opened = open::open(&real, &holders, durability);
        let (conn, opened, begin) = opened.map_err(|fault| fault.at(path.display()))?;
        let inner = Inner {
            conn,
            _opened: opened,
            begin,
            holders,
            notes: BTreeMap::new(),
            rows: BTreeMap::new(),
            heads: BTreeMap::new(),
            specs: Specs::default(),
            concluded: BTreeMap::new(),
            looks: Looks::default(),
            unreleased: Vec::new(),
            failed: false,
        };
        Ok(SqliteStore { path, inner: Mutex::new(inner) })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lets the database grow to so many bytes and no further. An append for which there is no space is
    /// refused, and the store goes on.
    ///
    /// # Errors
    /// Where the database cannot be read.
    pub fn limit(&self, bytes: u64) -> Result<(), StoreError> {
        self.with(|inner| {
            let size: i64 = inner.conn.query_row("PRAGMA page_size", [], |row| row.get(0))?;
            let pages = i64::try_from(bytes).unwrap_or(i64::MAX) / size;
            let set = format!("PRAGMA max_page_count = {}", pages.clamp(1, i64::from(u32::MAX - 1)));
            Ok(inner.conn.query_row(&set, [], |_| Ok(()))?)
        })
    }

    fn with<T>(&self, run: impl FnOnce(&mut Inner) -> Result<T, Fault>) -> Result<T, StoreError> {
        // A transaction that a panic broke off has been undone.
        let mut inner: MutexGuard<'_, Inner> = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let inner = &mut *inner;
        run(inner).map_err(|fault| {
            inner.failed |= fault.is_io();
            fault.at(self.path.display())
        })
    }
}

impl SqliteStore {
    /// The same, for what writes.
    fn write<T>(&self, run: impl FnOnce(&mut Inner) -> Result<T, Fault>) -> Result<T, StoreError> {
        self.with(|inner| {
            inner.tidied()?;
            run(inner)
        })
    }
}

impl Inner {
    /// After the system failed: moves the log into the database and empties it, before anything is written
    /// over what a transaction left in it that was not committed. The next to open it could take the rest of
    /// that for damage. Where others use the log, it stays as it is until they do not.
    pub(crate) fn tidied(&mut self) -> Result<(), Fault> {
        if self.failed {
            self.failed = !open::tidy(&self.conn)?;
        }
        Ok(())
    }
}

impl Store for SqliteStore {
    fn claim(&self, thread: &ThreadId, claim: Claim) -> Result<Lease, StoreError> {
        self.write(|inner| inner.claim(thread, claim))
    }

    fn begin(&self, thread: &ThreadId, turns: Vec<Vec<Record>>) -> Result<Lease, StoreError> {
        let turns = drop_empty_turns(thread, turns)?;
        self.write(|inner| inner.begin(thread, &turns))
    }

    fn conclude(
        &self,
        lease: &Lease,
        turn: u32,
        index: u64,
        records: Vec<Record>,
        standing: &RunStatus,
    ) -> Result<(), StoreError> {
        self.write(|inner| {
            if !inner.conclude(lease, turn, index, &records, standing)? {
                inner.append(lease, turn, index, &records)?;
                let _ = inner.stands(lease, turn, index + records.len() as u64, standing);
            }
            Ok(())
        })
    }

    fn release(&self, lease: Lease) -> Result<(), StoreError> {
        self.with(|inner| inner.release(lease))
    }

    fn append(&self, lease: &Lease, turn: u32, index: u64, records: Vec<Record>) -> Result<(), StoreError> {
        self.write(|inner| inner.append(lease, turn, index, &records))
    }

    fn stands(&self, lease: &Lease, turn: u32, index: u64, standing: &RunStatus) -> Result<(), StoreError> {
        self.with(|inner| inner.stands(lease, turn, index, standing))
    }

    fn turns(&self, thread: &ThreadId) -> Result<u32, StoreError> {
        self.with(|inner| Ok(inner.known(thread)?.turns))
    }

    fn records(&self, thread: &ThreadId, turn: u32) -> Result<Vec<Record>, StoreError> {
        self.with(|inner| inner.records(thread, turn))
    }

    fn list(&self, query: &Query) -> Result<Vec<Listed>, StoreError> {
        self.with(|inner| inner.list(query))
    }

    fn find(&self, thread: &ThreadId) -> Result<Option<Listed>, StoreError> {
        self.with(|inner| inner.find(thread))
    }

    fn unnoted(&self) -> Result<Vec<ThreadId>, StoreError> {
        self.with(|inner| inner.unnoted())
    }

    fn delete(&self, lease: Lease) -> Result<(), StoreError> {
        self.with(|inner| inner.delete(lease))
    }

    fn vacuum(&self) -> Result<(), StoreError> {
        self.write(|inner| inner.vacuum())
    }

    fn check(&self) -> Result<Vec<String>, StoreError> {
        self.with(|inner| inner.check())
    }
}
