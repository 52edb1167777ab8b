//! Threads in an SQLite database: one file, many processes.
//!
//! - `open.rs`: what is a store and what is refused; `row.rs` what is kept of a thread, `records.rs` its
//!   records, `list.rs` the lists, `check.rs` what is damaged and what is waste.
//! - `holder.rs`: who has threads.
//!
//! **Invariant:** an append writes its records and nothing else, but the first under a lease.

mod check;
mod fault;
mod holder;
mod list;
mod open;
mod records;
mod row;
mod tx;
mod wal;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use super::{Claim, Lease, Listed, Query, Store, StoreError, ThreadId, fenced, now};
use crate::journal::{Durability, Record, Standing};
use fault::Fault;
use holder::Holder;
use row::Row;
use tx::Tx;

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
    /// Where the locks of holders are.
    folder: PathBuf,
    /// This handle as a holder, from its first claim on.
    holder: Option<Holder>,
    /// What could not be given back, for want of space perhaps: it is with the next claim.
    unreleased: Vec<Lease>,
}

impl SqliteStore {
    /// Opens a store, or makes one where there is no file.
    ///
    /// # Errors
    /// Where the file is no database, another program's, or another version's, and where it cannot be
    /// read or made. Nothing is made or changed then.
    pub fn open(path: impl Into<PathBuf>, durability: Durability) -> Result<Self, StoreError> {
        let path = path.into();
        let conn = open::open(&path, durability).map_err(|fault| fault.at(path.display()))?;
        let mut folder = path.clone().into_os_string();
        folder.push(".holders");
        let inner = Inner { conn, folder: folder.into(), holder: None, unreleased: Vec::new() };
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
        run(&mut inner).map_err(|fault| fault.at(self.path.display()))
    }
}

impl Inner {
    fn claim(&mut self, thread: &ThreadId, claim: Claim) -> Result<Lease, Fault> {
        let Inner { conn, folder, holder, unreleased } = self;
        let tx = Tx::writing(conn)?;
        for lease in unreleased.iter() {
            give_back(conn, lease)?;
        }
        let found = Row::find(conn, thread)?;
        let known = found.as_ref().is_some_and(|row| row.turns > 0);
        match claim {
            Claim::New if known => return Err(StoreError::Exists { thread: thread.clone() }.into()),
            Claim::Known | Claim::TakeOver if !known => {
                return Err(StoreError::NoThread { thread: thread.clone() }.into());
            }
            _ => {}
        }
        if claim != Claim::TakeOver
            && let Some(id) = found.as_ref().and_then(|row| row.holder.as_deref())
            && let Some(holder) = alive(folder, holder.as_ref(), id)?
        {
            return Err(StoreError::AlreadyRunning { thread: thread.clone(), holder }.into());
        }
        let own = match holder {
            Some(own) => own,
            None => holder.insert(Holder::new(folder)?),
        };
        conn.prepare_cached("UPDATE store SET epoch = epoch + 1")?.execute([])?;
        let epoch = conn.prepare_cached("SELECT epoch FROM store")?.query_row([], |row| row.get(0))?;
        match found {
            Some(row) => Row { epoch, holder: Some(own.id.clone()), ..row }.save(conn)?,
            None => Row::new(thread, epoch, own.id.clone()).save(conn)?,
        }
        tx.commit()?;
        unreleased.clear();
        Ok(Lease { thread: thread.clone(), epoch, lock: None })
    }

    fn release(&mut self, lease: Lease) -> Result<(), Fault> {
        let released = Tx::writing(&self.conn).and_then(|tx| {
            give_back(&self.conn, &lease)?;
            tx.commit()
        });
        if released.is_err() {
            self.unreleased.push(lease);
        }
        released
    }

    /// The row of a thread under a lease that still holds.
    fn leased(&self, lease: &Lease) -> Result<Row, Fault> {
        let row = Row::find(&self.conn, &lease.thread)?;
        row.filter(|row| row.epoch == lease.epoch).ok_or_else(|| fenced(&lease.thread).into())
    }

    fn delete(&mut self, lease: &Lease) -> Result<(), Fault> {
        let tx = Tx::writing(&self.conn)?;
        let row = self.leased(lease)?;
        forget(&self.conn, &row)?;
        tx.commit()
    }
}

/// Gives a thread back, where the lease still holds.
fn give_back(conn: &Connection, lease: &Lease) -> Result<(), Fault> {
    match Row::find(conn, &lease.thread)? {
        Some(row) if row.epoch == lease.epoch && row.turns == 0 => forget(conn, &row),
        Some(mut row) if row.epoch == lease.epoch => {
            row.holder = None;
            if row.written == row.epoch && !row.noted {
                row.updated = now();
            }
            row.save(conn)
        }
        _ => Ok(()),
    }
}

/// Takes away a thread with all its turns.
fn forget(conn: &Connection, row: &Row) -> Result<(), Fault> {
    for turn in records::turns_of(conn, row.id)? {
        let (from, to) = records::places(turn);
        conn.prepare_cached("DELETE FROM record WHERE at >= ?1 AND at < ?2")?.execute([from, to])?;
    }
    conn.prepare_cached("DELETE FROM turn WHERE thread = ?1")?.execute([row.id])?;
    conn.prepare_cached("DELETE FROM thread WHERE id = ?1")?.execute([row.id])?;
    Ok(())
}

/// Who a holder is, where it lives.
fn alive(folder: &Path, own: Option<&Holder>, id: &str) -> Result<Option<String>, Fault> {
    if own.is_some_and(|own| own.id == id) {
        return Ok(Some("this process".to_owned()));
    }
    Ok(holder::lives(folder, id)?.then(|| holder::process(id)))
}

impl Store for SqliteStore {
    fn claim(&self, thread: &ThreadId, claim: Claim) -> Result<Lease, StoreError> {
        self.with(|inner| inner.claim(thread, claim))
    }

    fn release(&self, lease: Lease) -> Result<(), StoreError> {
        self.with(|inner| inner.release(lease))
    }

    fn append(&self, lease: &Lease, turn: u32, index: u64, records: Vec<Record>) -> Result<(), StoreError> {
        self.with(|inner| inner.append(lease, turn, index, &records))
    }

    fn stands(&self, lease: &Lease, turn: u32, index: u64, standing: &Standing) -> Result<(), StoreError> {
        self.with(|inner| inner.stands(lease, turn, index, standing))
    }

    fn turns(&self, thread: &ThreadId) -> Result<u32, StoreError> {
        self.with(|inner| Ok(records::known(&inner.conn, thread)?.turns))
    }

    fn records(&self, thread: &ThreadId, turn: u32) -> Result<Vec<Record>, StoreError> {
        self.with(|inner| inner.records(thread, turn))
    }

    fn list(&self, query: &Query) -> Result<Vec<Listed>, StoreError> {
        self.with(|inner| inner.list(query))
    }

    fn unnoted(&self) -> Result<Vec<ThreadId>, StoreError> {
        self.with(|inner| inner.unnoted())
    }

    fn delete(&self, lease: Lease) -> Result<(), StoreError> {
        self.with(|inner| inner.delete(&lease))
    }

    fn vacuum(&self) -> Result<(), StoreError> {
        self.with(|inner| inner.vacuum())
    }

    fn check(&self) -> Result<Vec<String>, StoreError> {
        self.with(|inner| inner.check())
    }
}
