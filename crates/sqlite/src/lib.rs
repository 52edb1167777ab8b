//! Threads in an SQLite database: one file, many processes.
//!
//! - `open.rs`: opening, the tables, and what is refused; `holder.rs`: which processes hold threads.
//! - `row.rs`: what a thread has besides its records; `turn.rs`: its records, and the specs that turns share;
//!   `list.rs`: what is asked of all threads.
//!
//! **Invariant:** the database and its write-ahead log are SQLite's own. Nothing here reads or writes them
//! but through SQLite.

mod fault;
mod holder;
mod list;
mod open;
mod row;
mod turn;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use planwright::journal::system::random_id;
use planwright::journal::{
    Claim, Durability, Lease, Listed, Query, Record, RunStatus, Seal, Store, StoreError, ThreadId,
    drop_empty_turns,
};
use rusqlite::Connection;

use fault::{Fault, begin_write};
use holder::Holders;
use row::{MOST_TURNS, Row, place, too_many_turns};
use turn::{Head, Specs, read_turn};

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
    handle: Mutex<Handle>,
}

/// One open handle of a database.
#[derive(Debug)]
struct Handle {
    conn: Connection,
    /// The seal that every turn starts with. It holds the name of the store, so that no record of another
    /// store fits.
    start: Seal,
    holders: Holders,
    specs: Specs,
    /// Where the last append of this handle to a thread ended.
    heads: BTreeMap<ThreadId, Head>,
    /// Leases that could not be released, for want of space perhaps. The next claim releases them.
    unreleased: Vec<Lease>,
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
        let (start, specs) = (Seal::new().with(name.as_bytes()), Specs::default());
        let handle = Handle { conn, start, holders, specs, heads: BTreeMap::new(), unreleased: Vec::new() };
        Ok(SqliteStore { path, handle: Mutex::new(handle) })
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
        // A transaction that a panic broke off has been rolled back.
        let mut handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        run(&mut handle).map_err(|fault| fault.at(self.path.display()))
    }
}

impl Store for SqliteStore {
    fn claim(&self, thread: &ThreadId, claim: Claim) -> Result<Lease, StoreError> {
        self.with(|handle| handle.claim(thread, claim, &[]))
    }

    fn begin(&self, thread: &ThreadId, turns: Vec<Vec<Record>>) -> Result<Lease, StoreError> {
        let turns = drop_empty_turns(thread, turns)?;
        self.with(|handle| handle.claim(thread, Claim::Any, &turns))
    }

    /// Appends where the last append ended; if that is not known, or with a status, after a look at the
    /// thread's row.
    fn append(
        &self,
        lease: &Lease,
        turn: u32,
        index: u64,
        records: Vec<Record>,
        status: Option<&RunStatus>,
    ) -> Result<(), StoreError> {
        self.with(|handle| {
            let head = handle.heads.get_mut(lease.thread()).filter(|head| head.is_at(lease, turn, index));
            if let (Some(head), None) = (head, status)
                && let Some(next) = head.append_leased(&handle.conn, lease, &records)?
            {
                *head = next;
                return Ok(());
            }
            let head = handle.append(lease, turn, index, &records, status)?;
            if status.is_none() {
                handle.heads.insert(lease.thread().clone(), head);
            }
            Ok(())
        })
    }

    fn release(&self, lease: Lease) -> Result<(), StoreError> {
        self.with(|handle| {
            // A status has released it, or another process has taken it over.
            let held = "SELECT EXISTS \
                 (SELECT 1 FROM thread WHERE name = ?1 AND epoch = ?2 AND holder IS NOT NULL)";
            let held = handle
                .conn
                .prepare_cached(held)?
                .query_row((lease.thread().as_str(), lease.epoch()), |row| row.get::<_, bool>(0));
            handle.heads.remove(lease.thread());
            if let Ok(false) = held { Ok(()) } else { handle.give_up(lease, give_back) }
        })
    }

    fn delete(&self, lease: Lease) -> Result<(), StoreError> {
        self.with(|handle| {
            handle.heads.remove(lease.thread());
            handle.give_up(lease, |conn, lease| Row::find_leased(conn, lease)?.delete(conn))
        })
    }

    fn turns(&self, thread: &ThreadId) -> Result<u32, StoreError> {
        self.with(|handle| Ok(Row::find_known(&handle.conn, thread)?.turns))
    }

    fn records(&self, thread: &ThreadId, turn: u32) -> Result<Vec<Record>, StoreError> {
        self.with(|handle| {
            let _tx = handle.conn.unchecked_transaction()?;
            let row = Row::find_known(&handle.conn, thread)?;
            if turn >= row.turns {
                return Err(StoreError::NoTurn { thread: thread.clone(), turn, turns: row.turns }.into());
            }
            let records = read_turn(&handle.conn, handle.start, &mut handle.specs, &row, turn);
            records.map_err(|fault| fault.in_turn(thread, turn))
        })
    }

    fn list(&self, query: &Query) -> Result<Vec<Listed>, StoreError> {
        self.with(|handle| list::list(&handle.conn, &handle.holders, query))
    }

    fn find(&self, thread: &ThreadId) -> Result<Option<Listed>, StoreError> {
        self.with(|handle| {
            let row = Row::find(&handle.conn, thread)?.filter(|row| row.turns > 0);
            row.map(|row| list::show(row, &handle.holders)).transpose()
        })
    }

    fn list_stale(&self) -> Result<Vec<ThreadId>, StoreError> {
        self.with(|handle| list::list_stale(&handle.conn, &handle.holders))
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

impl Handle {
    /// Claims a thread. If it is new, its first turns are written in the same transaction.
    fn claim(&mut self, thread: &ThreadId, claim: Claim, turns: &[Vec<Record>]) -> Result<Lease, Fault> {
        let count = u32::try_from(turns.len()).ok().filter(|count| *count <= MOST_TURNS);
        let count = count.ok_or_else(too_many_turns)?;
        let conn = &self.conn;
        // A claim that is refused does not wait for writers.
        if count == 0 && self.unreleased.is_empty() {
            check_claim(Row::find(conn, thread)?.as_ref(), claim, thread, &self.holders)?;
        }
        let tx = begin_write(conn)?;
        self.unreleased.iter().try_for_each(|lease| give_back(conn, lease))?;
        let found = Row::find(conn, thread)?;
        check_claim(found.as_ref(), claim, thread, &self.holders)?;
        let mut row = match found {
            Some(row) => Row { epoch: row.epoch + 1, ..row },
            // Random, so that no lease of a deleted thread fits its successor of the same name.
            None => Row::new(thread, random_id() >> 2),
        };
        row.holder = Some(self.holders.become_holder()?.to_owned());
        let (found, mut head) = (row.turns, None::<Head>);
        match turns.first() {
            Some(first) if found == 0 => {
                row.open_turn(conn, 0, first.first(), None)?;
                row.turns = count;
                row.save(conn)?;
                for (turn, records) in (0..count).zip(turns) {
                    if let Some(before) = head {
                        before.end.keep(conn, place(row.id, turn - 1))?;
                    }
                    let start = Head::start(self.start, &row, turn);
                    head = Some(start.append(conn, &mut self.specs, thread, records)?);
                }
            }
            _ => row.save_holder(conn)?,
        }
        tx.commit()?;
        self.unreleased.clear();
        self.heads.remove(thread);
        self.heads.extend(head.map(|head| (thread.clone(), head)));
        Ok(Lease::new(thread.clone(), row.epoch, found))
    }

    /// Appends after a look at the thread's row. With a status it writes that down and gives the thread back.
    fn append(
        &mut self,
        lease: &Lease,
        turn: u32,
        index: u64,
        new: &[Record],
        last: Option<&RunStatus>,
    ) -> Result<Head, Fault> {
        let (conn, thread) = (&self.conn, lease.thread());
        self.heads.remove(thread);
        let tx = begin_write(conn)?;
        let mut row = Row::find_leased(conn, lease)?;
        let head = Head::find(conn, self.start, &row, turn, index);
        let head = head.map_err(|fault| fault.in_turn(thread, turn))?;
        let head = head.append(conn, &mut self.specs, thread, new)?;
        let is_changed = row.open_turn(conn, turn, new.first(), self.holders.own())?;
        if let Some(status) = last {
            row.set_status(turn, head.end, status);
            row.holder = None;
        }
        if is_changed || last.is_some() {
            row.save(conn)?;
        }
        tx.commit()?;
        Ok(head)
    }

    /// Ends a lease in a transaction. If that fails, the next claim releases it.
    fn give_up(
        &mut self,
        lease: Lease,
        end: impl FnOnce(&Connection, &Lease) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let ended = begin_write(&self.conn).and_then(|tx| {
            end(&self.conn, &lease)?;
            Ok(tx.commit()?)
        });
        if ended.is_err() {
            self.unreleased.push(lease);
        }
        ended
    }
}

/// Refuses a claim that does not fit the row of the thread.
fn check_claim(row: Option<&Row>, claim: Claim, thread: &ThreadId, holders: &Holders) -> Result<(), Fault> {
    let thread = thread.clone();
    match (claim, row.is_some_and(|row| row.turns > 0)) {
        (Claim::New, true) => return Err(StoreError::Exists { thread }.into()),
        (Claim::Known | Claim::TakeOver, false) => return Err(StoreError::NoThread { thread }.into()),
        _ => {}
    }
    if claim != Claim::TakeOver
        && let Some(id) = row.and_then(|row| row.holder.as_deref())
        && let Some(holder) = holders.describe_alive(id)?
    {
        return Err(StoreError::AlreadyRunning { thread, holder, can_take_over: true }.into());
    }
    Ok(())
}

/// Gives a thread back if the lease is still in force. A thread without turns is deleted.
fn give_back(conn: &Connection, lease: &Lease) -> Result<(), Fault> {
    match Row::find(conn, lease.thread())?.filter(|row| row.epoch == lease.epoch()) {
        Some(row) if row.turns == 0 => row.delete(conn),
        Some(mut row) => {
            row.touch();
            row.holder = None;
            row.save(conn)
        }
        None => Ok(()),
    }
}
