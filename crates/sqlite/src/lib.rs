//! Threads in an SQLite database: one file, many processes.
//!
//! - `open.rs`: opening, the tables, and what is refused; `holder.rs`: which processes hold threads.
//! - `group.rs`: what is written at the same moment is one group; `handle.rs`: a group is one transaction.
//! - `row.rs`: what a thread has besides its records; `turn.rs`: its records, and the specs that turns share;
//!   `list.rs`: what is asked of all threads.
//!
//! **Invariant:** the database and its write-ahead log are SQLite's own. Nothing here reads or writes them
//! but through SQLite.

mod fault;
mod group;
mod handle;
mod holder;
mod list;
mod open;
mod row;
mod turn;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use planwright::journal::{
    Claim, Durability, Header, JournalError, JournalErrorKind, Lease, Listed, Query, Record, RunStatus, Seal,
    Store, StoreError, ThreadId, drop_empty_turns,
};

use fault::Fault;
use group::Groups;
use handle::{Done, Handle, Job, copy};
use holder::Holders;
use row::{Row, SqlRow};
use rusqlite::Connection;
use turn::{Specs, read_header, read_turn};

/// A store of threads in an SQLite database. While it is in use, SQLite's log (`-wal`, `-shm`) and a folder
/// of locks (`.holders`) stand beside the file.
///
/// Many processes on one machine may use it at once. The locks are those of the system, which a network file
/// system may not have. A database on a medium that cannot be written can be listed and read.
///
/// Runs of one process that append through one store at the same moment share a transaction and its sync. Each
/// append returns when its records are durable, and fails for its own reason alone.
///
/// What a damaged disk does to the database or its log is SQLite's to tell. Records and rows carry seals, so
/// that one that was changed is refused; [`check`](Store::check) runs SQLite's own `integrity_check` as well.
///
/// ```
/// use planwright::journal::{Claim, Durability, Store};
/// use planwright_sqlite::SqliteStore;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("threads.db");
/// let (one, other) = (SqliteStore::open(&path, Durability::Full)?, SqliteStore::open(&path, Durability::Full)?);
/// let lease = one.claim(&"demo".parse()?, Claim::Any)?;
/// let refused = other.claim(&"demo".parse()?, Claim::Any).unwrap_err().to_string();
/// assert_eq!(refused, format!("the thread demo is being run already, by process {}", std::process::id()));
/// one.release(lease)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    handle: Mutex<Handle>,
    groups: Groups<Job, Done>,
}

impl SqliteStore {
    /// Opens a store, or makes one if there is no file or an empty database. Tables, indexes and views that
    /// are not the store's are left alone.
    ///
    /// # Errors
    /// If the file is no database, or another program's, or of another version, and if it cannot be read or
    /// made. Nothing is changed then.
    pub fn open(path: impl Into<PathBuf>, durability: Durability) -> Result<Self, StoreError> {
        let path = path.into();
        let (conn, name) = open::open(&path, durability).map_err(|fault| fault.at(path.display()))?;
        // Links may lead to a database: its holders are beside the file itself.
        let holders = Holders::beside(&path.canonicalize().unwrap_or_else(|_| path.clone()));
        let handle = Handle::new(conn, Seal::new().with(name.as_bytes()), holders);
        Ok(SqliteStore { path, handle: Mutex::new(handle), groups: Groups::new() })
    }

    /// The path that the store was opened with.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Limits the size of the database, in bytes. An append that finds no space is refused, and the store
    /// goes on.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn limit(&self, bytes: u64) -> Result<(), StoreError> {
        self.with(|handle| {
            let size: i64 = handle.conn.query_row("PRAGMA page_size", [], |row| row.get(0))?;
            let pages = i64::try_from(bytes).unwrap_or(i64::MAX) / size;
            let set = format!("PRAGMA max_page_count = {}", pages.clamp(1, i64::from(u32::MAX - 1)));
            Ok(handle.conn.query_row(&set, [], |_| Ok(()))?)
        })
    }

    fn with<T>(&self, run: impl FnOnce(&mut Handle) -> Result<T, Fault>) -> Result<T, StoreError> {
        run(&mut self.lock()).map_err(|fault| fault.at(self.path.display()))
    }

    /// Reads something of a turn that there is.
    fn read<T>(
        &self,
        thread: &ThreadId,
        turn: u32,
        run: impl FnOnce(&Connection, Seal, &mut Specs, &Row, u32) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        self.with(|handle| {
            let _tx = handle.conn.unchecked_transaction()?;
            let row = Row::find_known(&handle.conn, thread)?;
            if turn >= row.turns {
                return Err(StoreError::NoTurn { thread: thread.clone(), turn, turns: row.turns }.into());
            }
            let found = run(&handle.conn, handle.start, &mut handle.specs, &row, turn);
            found.map_err(|fault| fault.in_turn(thread, turn))
        })
    }

    fn lock(&self) -> MutexGuard<'_, Handle> {
        let mut handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        handle.recover();
        handle
    }

    /// Has a job done, alone or with those that come at the same moment.
    fn write(&self, job: Job) -> Done {
        let place = self.path.display();
        self.groups.run(job, |jobs| self.lock().write(jobs, &place)).unwrap_or_else(|| {
            let problem = "cannot be written: what was written at the same moment broke off";
            Err(JournalError::new(JournalErrorKind::Io, place.to_string(), problem).into())
        })
    }

    fn claim_with(
        &self,
        thread: &ThreadId,
        claim: Claim,
        turns: Vec<Vec<Record>>,
    ) -> Result<Lease, StoreError> {
        let lease = self.write(Job::Claim { thread: thread.clone(), claim, turns })?;
        Ok(lease.expect("handle.rs gives a lease for every claim"))
    }
}

impl Store for SqliteStore {
    fn claim(&self, thread: &ThreadId, claim: Claim) -> Result<Lease, StoreError> {
        self.with(|handle| handle.check_claim(thread, claim))?;
        self.claim_with(thread, claim, Vec::new())
    }

    fn begin(&self, thread: &ThreadId, turns: Vec<Vec<Record>>) -> Result<Lease, StoreError> {
        self.claim_with(thread, Claim::Any, drop_empty_turns(thread, turns)?)
    }

    fn append(
        &self,
        lease: &Lease,
        turn: u32,
        index: u64,
        records: Vec<Record>,
        status: Option<&RunStatus>,
    ) -> Result<(), StoreError> {
        let (lease, status) = (copy(lease), status.cloned());
        self.write(Job::Append { lease, turn, index, records, status }).map(drop)
    }

    fn release(&self, lease: Lease) -> Result<(), StoreError> {
        match self.with(|handle| handle.forget(&lease)) {
            Ok(false) => Ok(()),
            // What cannot be read is given back by the next claim.
            _ => self.write(Job::Release(lease)).map(drop),
        }
    }

    fn set_times(&self, lease: &Lease, created: u64, updated: u64) -> Result<(), StoreError> {
        self.with(|handle| handle.set_times(lease, created, updated))
    }

    fn delete(&self, lease: Lease) -> Result<(), StoreError> {
        self.write(Job::Delete(lease)).map(drop)
    }

    fn turns(&self, thread: &ThreadId) -> Result<u32, StoreError> {
        self.with(|handle| Ok(Row::find_known(&handle.conn, thread)?.turns))
    }

    fn records(&self, thread: &ThreadId, turn: u32) -> Result<Vec<Record>, StoreError> {
        self.read(thread, turn, read_turn)
    }

    fn header(&self, thread: &ThreadId, turn: u32) -> Result<Header, StoreError> {
        self.read(thread, turn, read_header)
    }

    fn list(&self, query: &Query) -> Result<Vec<Listed>, StoreError> {
        self.with(|handle| list::list(&handle.conn, &handle.holders, query, &mut handle.is_damaged))
    }

    fn find(&self, thread: &ThreadId) -> Result<Option<Listed>, StoreError> {
        self.with(|handle| {
            let row = Row::find(&handle.conn, thread)?.filter(|row| row.turns > 0);
            row.map(|row| list::show(&handle.conn, row, &handle.holders)).transpose()
        })
    }

    fn list_stale(&self) -> Result<Vec<ThreadId>, StoreError> {
        self.with(|handle| list::list_stale(&handle.conn, &handle.holders))
    }

    fn list_hidden(&self) -> Result<Vec<Listed>, StoreError> {
        // Once the table is read row by row, lists have them.
        self.with(|handle| if handle.is_damaged { Ok(Vec::new()) } else { list::list_hidden(&handle.conn) })
    }

    fn vacuum(&self) -> Result<(), StoreError> {
        self.with(|handle| list::vacuum(&handle.conn, &handle.holders))
    }

    fn check(&self) -> Result<Vec<String>, StoreError> {
        self.with(|handle| {
            // What is remembered of the specs is no proof of what is stored.
            handle.specs = Specs::default();
            list::check(&handle.conn, handle.start, &mut handle.specs)
        })
    }
}
