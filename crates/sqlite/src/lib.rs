//! Threads in an SQLite database: one file, many processes.
//!
//! - `open.rs`: opening, the tables, and what is refused; `holder.rs`: which processes hold threads.
//! - `row.rs`: what a thread has besides its records; `turn.rs`: its records; `specs.rs`: the specs that turns
//!   share.
//! - `database.rs`: one handle of a store; `list.rs` and `integrity.rs`: what else it does.
//!
//! **Invariant:** the database and its write-ahead log are SQLite's own. Nothing here reads or writes them
//! but through SQLite.

mod database;
mod fault;
mod holder;
mod integrity;
mod list;
mod open;
mod row;
mod specs;
mod turn;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use database::Database;
use fault::Fault;
use planwright::journal::{
    Claim, Durability, Lease, Listed, Query, Record, RunStatus, Store, StoreError, ThreadId, drop_empty_turns,
};
use row::Row;

/// A store of threads in an SQLite database. While it is in use, SQLite's log (`-wal`, `-shm`) and a folder
/// of locks (`.holders`) stand beside the file.
///
/// Many processes on one machine may use it at once. The locks are those of the system, which a network file
/// system may not have. A database on a medium that cannot be written can be listed and read.
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
    database: Mutex<Database>,
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
        let database = Database::open(&path, durability).map_err(|fault| fault.at(path.display()))?;
        Ok(SqliteStore { path, database: Mutex::new(database) })
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
        self.with(|database| {
            let size: i64 = database.conn.query_row("PRAGMA page_size", [], |row| row.get(0))?;
            let pages = i64::try_from(bytes).unwrap_or(i64::MAX) / size;
            let set = format!("PRAGMA max_page_count = {}", pages.clamp(1, i64::from(u32::MAX - 1)));
            Ok(database.conn.query_row(&set, [], |_| Ok(()))?)
        })
    }

    fn with<T>(&self, run: impl FnOnce(&mut Database) -> Result<T, Fault>) -> Result<T, StoreError> {
        // A transaction that a panic broke off has been rolled back.
        let mut database = self.database.lock().unwrap_or_else(PoisonError::into_inner);
        run(&mut database).map_err(|fault| fault.at(self.path.display()))
    }
}

impl Store for SqliteStore {
    fn claim(&self, thread: &ThreadId, claim: Claim) -> Result<Lease, StoreError> {
        self.with(|database| database.claim(thread, claim))
    }

    fn begin(&self, thread: &ThreadId, turns: Vec<Vec<Record>>) -> Result<Lease, StoreError> {
        let turns = drop_empty_turns(thread, turns)?;
        self.with(|database| database.begin(thread, &turns))
    }

    fn conclude(
        &self,
        lease: &Lease,
        turn: u32,
        index: u64,
        records: Vec<Record>,
        status: &RunStatus,
    ) -> Result<(), StoreError> {
        self.with(|database| database.conclude(lease, turn, index, &records, status))
    }

    fn release(&self, lease: Lease) -> Result<(), StoreError> {
        self.with(|database| database.release(lease))
    }

    fn append(&self, lease: &Lease, turn: u32, index: u64, records: Vec<Record>) -> Result<(), StoreError> {
        self.with(|database| database.append(lease, turn, index, &records))
    }

    fn turns(&self, thread: &ThreadId) -> Result<u32, StoreError> {
        self.with(|database| Ok(Row::find_known(&database.conn, thread)?.turns))
    }

    fn records(&self, thread: &ThreadId, turn: u32) -> Result<Vec<Record>, StoreError> {
        self.with(|database| database.records(thread, turn))
    }

    fn list(&self, query: &Query) -> Result<Vec<Listed>, StoreError> {
        self.with(|database| database.list(query))
    }

    fn find(&self, thread: &ThreadId) -> Result<Option<Listed>, StoreError> {
        self.with(|database| database.find(thread))
    }

    fn list_stale(&self) -> Result<Vec<ThreadId>, StoreError> {
        self.with(Database::list_stale)
    }

    fn delete(&self, lease: Lease) -> Result<(), StoreError> {
        self.with(|database| database.delete(lease))
    }

    fn vacuum(&self) -> Result<(), StoreError> {
        self.with(Database::vacuum)
    }

    fn check(&self) -> Result<Vec<String>, StoreError> {
        self.with(Database::check)
    }
}
