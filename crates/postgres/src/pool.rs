//! Connections, a bounded number of them, each with the statements that it has prepared. What a lost connection was
//! asked is asked again on a new one.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use planwright::journal::{Durability, JournalErrorKind, StoreError};
use postgres::error::Severity;
use postgres::types::ToSql;
use postgres::{Client, Config, Row, Statement};

use crate::address::{Address, Server};
use crate::fault::Fault;

/// Most connections of a store, beside the one that holds its lock.
const MOST: usize = 16;
/// How long a call waits for one of them.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// How often a lost connection is made anew for one call: with the waits in between, some six seconds.
const MOST_TRIES: u32 = 6;

pub(crate) type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

/// One connection.
pub(crate) struct Conn {
    pub client: Client,
    statements: HashMap<&'static str, Statement>,
    warnings: Arc<Mutex<Vec<String>>>,
}

impl Conn {
    pub fn open(server: &Server, durability: Durability) -> Result<Self, Fault> {
        let warnings: Arc<Mutex<Vec<String>>> = Arc::default();
        let (said, mut config) = (warnings.clone(), Config::from(server.config.clone()));
        config.notice_callback(move |notice| {
            if notice.parsed_severity() == Some(Severity::Warning) {
                said.lock().unwrap_or_else(PoisonError::into_inner).push(notice.message().to_owned());
            }
        });
        let mut client = config.connect(server.tls.clone())?;
        // A server that is told to wait for more than its own disk goes on doing so.
        let commit = match durability {
            Durability::Full => {
                "CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END"
            }
            Durability::Normal => "'off'",
        };
        client.batch_execute(&format!(
            "SET search_path TO planwright; SET lock_timeout TO '10s'; \
             SET idle_in_transaction_session_timeout TO '30s'; \
             SELECT set_config('synchronous_commit', {commit}, false)"
        ))?;
        Ok(Conn { client, statements: HashMap::new(), warnings })
    }

    fn prepare(&mut self, sql: &'static str) -> Result<Statement, Fault> {
        if let Some(known) = self.statements.get(sql) {
            return Ok(known.clone());
        }
        let new = self.client.prepare(sql)?;
        self.statements.insert(sql, new.clone());
        Ok(new)
    }

    pub fn execute(&mut self, sql: &'static str, values: Values<'_>) -> Result<u64, Fault> {
        let statement = self.prepare(sql)?;
        Ok(self.client.execute(&statement, values)?)
    }

    pub fn query(&mut self, sql: &'static str, values: Values<'_>) -> Result<Vec<Row>, Fault> {
        let statement = self.prepare(sql)?;
        Ok(self.client.query(&statement, values)?)
    }

    pub fn find(&mut self, sql: &'static str, values: Values<'_>) -> Result<Option<Row>, Fault> {
        Ok(self.query(sql, values)?.pop())
    }

    /// What the server has warned of since this was last asked.
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.warnings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Runs in a transaction. Of what fails nothing is left: where it cannot be undone, the connection goes.
    pub fn atomically<T>(
        &mut self,
        begin: &str,
        run: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.client.batch_execute(begin)?;
        let done = run(self);
        self.client
            .batch_execute(if done.is_ok() { "COMMIT" } else { "ROLLBACK" })
            .map_err(Fault::from)
            .or_else(
                // What it failed for says more than that it could not be undone.
                |fault| if done.is_ok() { Err(fault) } else { Ok(()) },
            )?;
        done
    }
}

/// What begins a transaction that writes.
pub(crate) const WRITING: &str = "BEGIN";
/// What begins one that sees the database as it is at one moment.
pub(crate) const READING: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// The connections of a store.
pub(crate) struct Pool {
    pub place: Address,
    pub server: Server,
    durability: Durability,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Default)]
struct State {
    idle: Vec<Conn>,
    /// How many there are, with those in use.
    count: usize,
}

impl Pool {
    pub fn new(place: Address, durability: Durability) -> Result<Self, Fault> {
        let server = place.resolve().map_err(|problem| Fault::new(JournalErrorKind::Setup, problem))?;
        Ok(Pool { place, server, durability, state: Mutex::default(), freed: Condvar::new() })
    }

    /// Calls with a connection. If that is lost, calls again with a new one, and says so: what the call before wrote
    /// may be there.
    pub fn with<T>(&self, mut run: impl FnMut(&mut Conn, bool) -> Result<T, Fault>) -> Result<T, StoreError> {
        let mut tries = 0;
        loop {
            let done = self.take().and_then(|mut taken| {
                let done = run(taken.conn(), tries > 0);
                taken.is_whole =
                    !done.as_ref().is_err_and(Fault::is_lost) && !taken.conn().client.is_closed();
                done
            });
            match done {
                Err(fault) if fault.is_lost() && tries < MOST_TRIES => {
                    // The others are gone as well, or are made anew for little.
                    let mut state = self.lock();
                    state.count -= state.idle.len();
                    let idle = std::mem::take(&mut state.idle);
                    drop(state);
                    drop(idle);
                    std::thread::sleep(Duration::from_millis(100 << tries));
                    tries += 1;
                }
                done => return done.map_err(|fault| fault.at(&self.place)),
            }
        }
    }

    /// Opens the first connection, and calls with it. One that cannot be made is not tried again; one that breaks off
    /// is.
    pub fn begin<T>(&self, mut run: impl FnMut(&mut Conn) -> Result<T, Fault>) -> Result<T, StoreError> {
        match self.take() {
            Ok(first) => first.give_back(),
            Err(fault) if fault.is_cut() => {}
            Err(fault) => return Err(fault.at(&self.place)),
        }
        self.with(|conn, _| run(conn))
    }

    fn take(&self) -> Result<Taken<'_>, Fault> {
        let all_in_use = |state: &mut State| state.idle.is_empty() && state.count >= MOST;
        let waited = self.freed.wait_timeout_while(self.lock(), LONGEST_WAIT, all_in_use);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        let idle = state.idle.pop();
        if idle.is_none() && state.count >= MOST {
            return Err(Fault::new(JournalErrorKind::Io, format!("all {MOST} connections are in use")));
        }
        state.count += usize::from(idle.is_none());
        drop(state);
        let made = idle.map_or_else(|| Conn::open(&self.server, self.durability), Ok);
        let conn = made.inspect_err(|_| {
            self.lock().count -= 1;
            self.freed.notify_one();
        })?;
        Ok(Taken { pool: self, conn: Some(conn), is_whole: false })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pool {
    /// Closes the connections on a thread of their own: a connection is closed by a call that waits, which a thread of
    /// an asynchronous runtime may not make, and there the last owner of a store may end.
    fn drop(&mut self) {
        let idle = std::mem::take(&mut self.lock().idle);
        if !idle.is_empty()
            && let Ok(closing) = std::thread::Builder::new().spawn(move || drop(idle))
        {
            let _ = closing.join();
        }
    }
}

/// A connection that goes back when this is dropped, if it is whole: a panic leaves it amid a transaction.
struct Taken<'p> {
    pool: &'p Pool,
    conn: Option<Conn>,
    is_whole: bool,
}

impl Taken<'_> {
    fn give_back(mut self) {
        self.is_whole = true;
    }

    fn conn(&mut self) -> &mut Conn {
        self.conn.as_mut().expect("only the drop takes it")
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let conn = self.conn.take().filter(|_| self.is_whole);
        let mut state = self.pool.lock();
        match conn {
            Some(conn) => state.idle.push(conn),
            None => state.count -= 1,
        }
        drop(state);
        self.pool.freed.notify_one();
    }
}
