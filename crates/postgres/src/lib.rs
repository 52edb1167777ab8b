//! Threads in a Postgres database: one server, many processes on many machines.
//!
//! - `address.rs`: what an address says; `pool.rs`: the connections; `schema.rs`: the tables and their versions.
//! - `session.rs`: the lock by which a holder of threads is alive, and what processes tell one another.
//! - `write.rs`: what is written, each call in one transaction; `row.rs`: what a thread has besides its records;
//!   `turn.rs`: its records, and the specs that turns share; `list.rs`: what is asked of all threads.
//!
//! **Invariant:** nothing is written under a lease that was taken over. Every statement that writes looks at the epoch
//! in the row of the thread, under the row's lock.

mod address;
mod fault;
mod list;
mod pool;
mod row;
mod schema;
mod session;
mod turn;
mod write;

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use planwright::journal::{
    Claim, Durability, Header, Heard, Lease, Listed, Query, Record, RunStatus, Seal, Store, StoreError,
    ThreadId, drop_empty_turns,
};

pub use address::Address;
use fault::Fault;
use list::{OPEN, build_sql, find_rows};
use pool::{Conn, Pool, READING};
use row::{Found, ThreadRow, find_known, find_row, list_damaged};
#[doc(hidden)]
pub use session::FIND_LEFT;
use session::{Listener, Session};
use turn::{Head, Specs, read_header, read_turn};
use write::{Append, Holders, Writer};

/// A store of threads in the schema `planwright` of a Postgres database. The server is 14 or newer.
///
/// Any number of processes may use it at once. Who claims a thread has it for as long as a lock of the server's lasts:
/// the server gives it up when the process dies, is cut off, or hangs for as long as the address says. Under
/// [`Durability::Full`] every write waits until the server has it on disk (`synchronous_commit = on`, or
/// `remote_apply` where the server says so); under [`Durability::Normal`] it does not (`off`), and a server that stops
/// loses the last moments.
///
/// A connection that is lost is made anew, and what it was asked is found out or done again.
///
/// ```no_run
/// use planwright::journal::{Claim, Durability, Store};
/// use planwright_postgres::{Address, PostgresStore};
///
/// let address = Address::parse("postgres://planwright@db.example/agents").unwrap();
/// PostgresStore::migrate(&address)?;
/// let store = PostgresStore::open(&address, Durability::Full)?;
/// let lease = store.claim(&"demo".parse().unwrap(), Claim::Any)?;
/// store.release(lease)?;
/// # Ok::<(), planwright::journal::StoreError>(())
/// ```
pub struct PostgresStore {
    pool: Pool,
    start: Seal,
    specs: Specs,
    session: Mutex<Option<Arc<Session>>>,
    listener: Listener,
    leases: Mutex<HashMap<ThreadId, Held>>,
    /// Leases that could not be given back. The next claim gives them back.
    unreleased: Mutex<Vec<Lease>>,
}

/// A thread that this store holds.
#[derive(Clone, Copy)]
struct Held {
    epoch: u64,
    /// Where its last append ended.
    head: Option<Head>,
    /// Whether it is still to be given back: a status has done that.
    is_claimed: bool,
}

impl std::fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PostgresStore({})", self.pool.place)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PostgresStore {
    /// Opens a store.
    ///
    /// # Errors
    /// If the server cannot be reached or does not let the role in, and if there are no tables, or those of another
    /// version.
    pub fn open(address: &Address, durability: Durability) -> Result<Self, StoreError> {
        let pool = Pool::new(address.clone(), durability).map_err(|fault| fault.at(address))?;
        let name = pool.begin(schema::find_name)?;
        Ok(PostgresStore::over(pool, &name))
    }

    /// Opens a store, and makes its tables if there are none.
    ///
    /// # Errors
    /// Those of [`open`](PostgresStore::open), and if the role may not make them.
    pub fn make(address: &Address, durability: Durability) -> Result<Self, StoreError> {
        let pool = Pool::new(address.clone(), durability).map_err(|fault| fault.at(address))?;
        let name = pool.begin(|conn| match schema::find_name(conn) {
            Err(fault) if schema::is_missing(&fault) => {
                schema::migrate(conn)?;
                schema::find_name(conn)
            }
            name => name,
        })?;
        Ok(PostgresStore::over(pool, &name))
    }

    /// Makes the tables of a store, or brings them to this version: all of it or nothing. Gives the versions before and
    /// after; 0 where there was none.
    ///
    /// # Errors
    /// If the server cannot be reached, the role may not make tables, or they are of a newer version.
    pub fn migrate(address: &Address) -> Result<(u32, u32), StoreError> {
        let pool = Pool::new(address.clone(), Durability::Full).map_err(|fault| fault.at(address))?;
        pool.begin(schema::migrate)
    }

    fn over(pool: Pool, name: &str) -> Self {
        PostgresStore {
            pool,
            start: Seal::new().with(name.as_bytes()),
            specs: Specs::default(),
            session: Mutex::default(),
            listener: Arc::new(OnceLock::new()),
            leases: Mutex::default(),
            unreleased: Mutex::default(),
        }
    }

    /// The session, which begins with the first claim.
    fn session(&self) -> Result<Arc<Session>, StoreError> {
        let mut session = lock(&self.session);
        if let Some(session) = &*session {
            return Ok(Arc::clone(session));
        }
        let new =
            Session::begin(&self.pool.server, &self.listener).map_err(|fault| fault.at(&self.pool.place))?;
        Ok(Arc::clone(session.insert(Arc::new(new))))
    }

    fn writer<'s>(&'s self, session: &'s Session) -> Writer<'s> {
        Writer { start: self.start, specs: &self.specs, holder: &session.id }
    }

    /// The name of the holder of a thread for people, if it is alive. This store holds what it knows to hold.
    fn find_holder(&self, row: &ThreadRow, alive: bool) -> Option<String> {
        let holder = row.holder.as_deref().filter(|_| alive)?;
        let own = lock(&self.session).as_ref().is_some_and(|own| own.id == holder);
        if !own {
            return Some(Session::describe(holder));
        }
        let held = lock(&self.leases).get(&row.name).is_some_and(|held| held.epoch == row.epoch);
        held.then(|| "this process".to_owned())
    }

    fn claim_with(
        &self,
        thread: &ThreadId,
        claim: Claim,
        turns: &[Vec<Record>],
    ) -> Result<Lease, StoreError> {
        let session = self.session()?;
        let writer = self.writer(&session);
        let mut unreleased = std::mem::take(&mut *lock(&self.unreleased)).into_iter();
        while let Some(lease) = unreleased.next() {
            if let Err(error) = self.give_back(lease) {
                lock(&self.unreleased).extend(unreleased);
                return Err(error);
            }
        }
        let claiming = Claiming { store: self, taken: Cell::new(None) };
        let claimed = self.pool.with(|conn, _| {
            // A claim whose answer was lost is none.
            claiming.put_back(thread);
            writer.claim(conn, thread, claim, turns, &claiming)
        });
        let (lease, head) = claimed.inspect_err(|_| {
            // The server may have it all the same, and others would wait for this process to end.
            let lost = claiming.put_back(thread).map(|epoch| Lease::new(thread.clone(), epoch, 0));
            lock(&self.unreleased).extend(lost);
        })?;
        self.remember(&lease, head, true);
        if head.is_some() {
            session.tell(thread);
        }
        Ok(lease)
    }

    /// What is known of a lease that this store has given.
    fn held(&self, lease: &Lease) -> Option<Held> {
        lock(&self.leases).get(lease.thread()).filter(|held| held.epoch == lease.epoch()).copied()
    }

    fn remember(&self, lease: &Lease, head: Option<Head>, is_claimed: bool) {
        let mut leases = lock(&self.leases);
        if let Some(held) = leases.get_mut(lease.thread()).filter(|held| held.epoch == lease.epoch()) {
            (held.head, held.is_claimed) = (head, is_claimed);
        }
    }

    fn forget(&self, lease: &Lease) -> Option<Held> {
        let held = self.held(lease)?;
        lock(&self.leases).remove(lease.thread());
        Some(held)
    }

    fn give_back(&self, lease: Lease) -> Result<(), StoreError> {
        let session = self.session()?;
        let given = self.pool.with(|conn, _| self.writer(&session).release(conn, &lease));
        match given {
            Ok(()) => session.tell(lease.thread()),
            Err(_) => lock(&self.unreleased).push(lease),
        }
        given
    }

    fn show(&self, found: Found) -> Listed {
        let running = self.find_holder(&found.row, found.alive).is_some();
        found.row.list(running, found.origin)
    }

    /// Reads something of a turn that there is.
    fn read<T>(
        &self,
        thread: &ThreadId,
        turn: u32,
        run: impl Fn(&mut Conn, Seal, &Specs, &ThreadRow, u32) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        let read = |conn: &mut Conn| {
            let row = find_known(conn, thread)?;
            if turn >= row.turns {
                return Err(StoreError::NoTurn { thread: thread.clone(), turn, turns: row.turns }.into());
            }
            run(conn, self.start, &self.specs, &row, turn).map_err(|fault| fault.in_turn(thread, turn))
        };
        self.pool.with(|conn, _| conn.atomically(READING, read))
    }
}

/// A claim under way.
struct Claiming<'s> {
    store: &'s PostgresStore,
    /// The epoch that this store took the thread under.
    taken: Cell<Option<u64>>,
}

impl Claiming<'_> {
    /// Forgets the claim, and gives the epoch that it had.
    fn put_back(&self, thread: &ThreadId) -> Option<u64> {
        let taken = self.taken.take()?;
        let mut leases = lock(&self.store.leases);
        if leases.get(thread).is_some_and(|held| held.epoch == taken) {
            leases.remove(thread);
        }
        Some(taken)
    }
}

impl Holders for Claiming<'_> {
    fn find(&self, row: &ThreadRow, alive: bool) -> Option<String> {
        self.store.find_holder(row, alive)
    }

    fn take(&self, row: &ThreadRow) {
        let held = Held { epoch: row.epoch, head: None, is_claimed: true };
        lock(&self.store.leases).insert(row.name.clone(), held);
        self.taken.set(Some(row.epoch));
    }
}

impl Store for PostgresStore {
    fn claim(&self, thread: &ThreadId, claim: Claim) -> Result<Lease, StoreError> {
        // Those who are refused do not wait for writers.
        self.pool.with(|conn, _| {
            let found = find_row(conn, thread)?;
            let (row, alive) = found.map_or((None, false), |found| (Some(found.row), found.alive));
            ThreadRow::check_claim(row.as_ref(), claim, thread, |row| {
                Ok::<_, Fault>(self.find_holder(row, alive))
            })
        })?;
        self.claim_with(thread, claim, &[])
    }

    fn begin(&self, thread: &ThreadId, turns: Vec<Vec<Record>>) -> Result<Lease, StoreError> {
        self.claim_with(thread, Claim::Any, &drop_empty_turns(thread, turns)?)
    }

    fn append(
        &self,
        lease: &Lease,
        turn: u32,
        index: u64,
        records: Vec<Record>,
        status: Option<&RunStatus>,
    ) -> Result<(), StoreError> {
        let session = self.session()?;
        let known = self.held(lease).and_then(|held| held.head);
        let new = Append { lease, turn, index, records: &records, status };
        let head = self.pool.with(|conn, again| {
            let head = known.filter(|head| !again && status.is_none() && head.is_at(turn, index));
            match head.map(|head| head.append_leased(conn, lease, &records)).transpose()?.flatten() {
                Some(head) => Ok(head),
                None => self.writer(&session).append(conn, new, known, again),
            }
        });
        self.remember(lease, head.as_ref().ok().copied(), status.is_none());
        head?;
        session.tell(lease.thread());
        Ok(())
    }

    fn release(&self, lease: Lease) -> Result<(), StoreError> {
        match self.forget(&lease) {
            Some(Held { is_claimed: false, .. }) => Ok(()),
            _ => self.give_back(lease),
        }
    }

    fn set_times(&self, lease: &Lease, created: u64, updated: u64) -> Result<(), StoreError> {
        self.pool.with(|conn, _| write::set_times(conn, lease, created, updated))
    }

    fn delete(&self, lease: Lease) -> Result<(), StoreError> {
        let session = self.session()?;
        self.forget(&lease);
        let done = self.pool.with(|conn, again| self.writer(&session).delete(conn, &lease, again));
        match done {
            Ok(()) => session.tell(lease.thread()),
            // What it failed for says more than that it could not be given back either.
            Err(_) => drop(self.give_back(lease)),
        }
        done
    }

    fn turns(&self, thread: &ThreadId) -> Result<u32, StoreError> {
        self.pool.with(|conn, _| Ok(find_known(conn, thread)?.turns))
    }

    fn records(&self, thread: &ThreadId, turn: u32) -> Result<Vec<Record>, StoreError> {
        self.read(thread, turn, read_turn)
    }

    fn header(&self, thread: &ThreadId, turn: u32) -> Result<Header, StoreError> {
        self.read(thread, turn, read_header)
    }

    fn list(&self, query: &Query) -> Result<Vec<Listed>, StoreError> {
        let Some((sql, values)) = build_sql(query) else { return Ok(Vec::new()) };
        self.pool.with(|conn, _| {
            let found = find_rows(conn, &sql, &values)?.into_iter();
            // A damaged thread does not keep the others out of the list.
            let listed = found.map(|(row, parsed)| match parsed {
                Ok(found) => Ok(self.show(found)),
                Err(fault) => list_damaged(&row, fault),
            });
            listed.collect()
        })
    }

    fn find(&self, thread: &ThreadId) -> Result<Option<Listed>, StoreError> {
        let found = self.pool.with(|conn, _| find_row(conn, thread))?;
        Ok(found.filter(|found| found.row.turns > 0).map(|found| self.show(found)))
    }

    fn list_stale(&self) -> Result<Vec<ThreadId>, StoreError> {
        let found = self.pool.with(|conn, _| find_rows(conn, OPEN, &[]))?;
        let open = found.into_iter().filter_map(|(_, found)| found.ok());
        let stale = open.filter(|found| self.find_holder(&found.row, found.alive).is_none());
        Ok(stale.map(|found| found.row.name).collect())
    }

    fn list_hidden(&self) -> Result<Vec<Listed>, StoreError> {
        self.pool.with(|conn, _| {
            let found = find_rows(conn, list::WITHOUT_TURNS, &[])?.into_iter();
            found.filter_map(|(row, parsed)| Some(list_damaged(&row, parsed.err()?))).collect()
        })
    }

    fn vacuum(&self) -> Result<(), StoreError> {
        self.pool.with(|conn, _| list::vacuum(conn))
    }

    fn check(&self) -> Result<Vec<String>, StoreError> {
        self.pool.with(|conn, _| list::check(conn, self.start))
    }

    fn listen(&self, hear: Box<dyn Fn(Heard) + Send + Sync>) -> Result<bool, StoreError> {
        let is_first = self.listener.set(hear).is_ok();
        self.session().map(|_| is_first)
    }
}
