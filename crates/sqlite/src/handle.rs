//! A handle of a database, and what is written through it: one job in a transaction of its own, or a group of
//! jobs in one, each whole or not at all.

use std::collections::BTreeMap;

use planwright::journal::stored::count_turns;
use planwright::journal::system::random_id;
use planwright::journal::{Claim, Lease, Record, RunStatus, Seal, StoreError, ThreadId};
use rusqlite::Connection;
use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};

use crate::fault::Fault;
use crate::holder::Holders;
use crate::row::{Row, SqlRow, keep_end, open_turn, place};
use crate::turn::{Head, Specs};

/// One open handle of a database.
#[derive(Debug)]
pub(crate) struct Handle {
    pub conn: Connection,
    /// The seal that every turn starts with. It holds the name of the store, so that no record of another
    /// store fits.
    pub start: Seal,
    pub holders: Holders,
    pub specs: Specs,
    /// Where the last append of this handle to a thread ended.
    heads: BTreeMap<ThreadId, Head>,
    /// Leases that could not be released, for want of space perhaps. The next claim releases them.
    unreleased: Vec<Lease>,
    /// Whether a list did not read: lists go row by row then, so that their pages fit together.
    pub is_damaged: bool,
}

/// What is written.
#[derive(Debug)]
pub(crate) enum Job {
    /// Claims a thread. If it is new, its first turns are written with it.
    Claim { thread: ThreadId, claim: Claim, turns: Vec<Vec<Record>> },
    /// Appends records; with a status, gives the thread back.
    Append { lease: Lease, turn: u32, index: u64, records: Vec<Record>, status: Option<RunStatus> },
    /// Gives a thread back.
    Release(Lease),
    /// Deletes a thread.
    Delete(Lease),
}

/// What came of a job: the lease, if it was a claim.
pub(crate) type Done = Result<Option<Lease>, StoreError>;

impl Handle {
    pub fn new(conn: Connection, start: Seal, holders: Holders) -> Self {
        let (specs, heads) = (Specs::default(), BTreeMap::new());
        Handle { conn, start, holders, specs, heads, unreleased: Vec::new(), is_damaged: false }
    }

    /// Refuses a claim that does not fit, without a wait for writers.
    pub fn check_claim(&self, thread: &ThreadId, claim: Claim) -> Result<(), Fault> {
        if !self.unreleased.is_empty() {
            return Ok(());
        }
        check_claim(Row::find(&self.conn, thread)?.as_ref(), claim, thread, &self.holders)
    }

    /// Forgets where a thread ends. Gives whether the lease is still to be given back: a status has released it,
    /// or another process has taken it over.
    pub fn forget(&mut self, lease: &Lease) -> Result<bool, Fault> {
        self.heads.remove(lease.thread());
        let held =
            "SELECT EXISTS (SELECT 1 FROM thread WHERE name = ?1 AND epoch = ?2 AND holder IS NOT NULL)";
        let mut held = self.conn.prepare_cached(held)?;
        Ok(held.query_row((lease.thread().as_str(), lease.epoch()), |row| row.get(0))?)
    }

    /// Does jobs in their order, in one transaction. If that fails as a whole, nothing of it was done, and each
    /// job is done alone: it fails for its own reason, or not at all.
    pub fn write(&mut self, jobs: &[Job], place: &dyn std::fmt::Display) -> Vec<Done> {
        let done = match jobs.len() {
            ..2 => None,
            _ => match self.perform_all(jobs) {
                Ok(done) => {
                    Some(done.into_iter().map(|done| done.map_err(|fault| fault.at(place))).collect())
                }
                // Another process is writing, and each would wait for it as long again; or the transaction could
                // not be undone, and what is done in it would not last.
                Err(fault)
                    if fault.has_code(&[DatabaseBusy, DatabaseLocked]) || !self.conn.is_autocommit() =>
                {
                    let error = fault.at(place);
                    Some(jobs.iter().map(|_| Err(error.clone())).collect())
                }
                Err(_) => None,
            },
        };
        let alone = |job| self.perform(job).map_err(|fault| fault.at(place));
        let done = done.unwrap_or_else(|| jobs.iter().map(alone).collect());
        self.settle(jobs, done)
    }

    /// Does a group in one transaction. Of a job that fails nothing is left, and the others are done.
    fn perform_all(&mut self, jobs: &[Job]) -> Result<Vec<Result<Option<Lease>, Fault>>, Fault> {
        let done = self.atomically(|handle| {
            let mut all = Vec::with_capacity(jobs.len());
            for job in jobs {
                let done = handle.perform(job);
                // SQLite has rolled back the jobs before this one as well.
                if handle.conn.is_autocommit() {
                    return done.and(Err(rusqlite::Error::InvalidQuery.into()));
                }
                all.push(done);
            }
            Ok(all)
        });
        if done.is_err() {
            self.heads.clear();
        }
        done
    }

    /// Remembers what came of jobs, once they are committed or given up.
    fn settle(&mut self, jobs: &[Job], done: Vec<Done>) -> Vec<Done> {
        if jobs.iter().zip(&done).any(|(job, done)| matches!(job, Job::Claim { .. }) && done.is_ok()) {
            self.unreleased.clear();
        }
        for (job, done) in jobs.iter().zip(&done) {
            if let (Job::Release(lease) | Job::Delete(lease), Err(_)) = (job, done) {
                self.unreleased.push(copy(lease));
            }
        }
        done
    }

    /// Runs in a transaction or, within one, in a part of it. Of what fails nothing is left.
    fn atomically<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        let (begin, commit, undo) = match self.conn.is_autocommit() {
            true => ("BEGIN IMMEDIATE", "COMMIT", "ROLLBACK"),
            false => ("SAVEPOINT job", "RELEASE job", "ROLLBACK TO job; RELEASE job"),
        };
        self.conn.prepare_cached(begin)?.execute([])?;
        let done = run(self).and_then(|done| {
            self.conn.prepare_cached(commit)?.execute([])?;
            Ok(done)
        });
        if done.is_err() {
            // If this fails, SQLite has undone it already.
            let _ = self.conn.execute_batch(undo);
        }
        done
    }

    /// Undoes what a panic broke off.
    pub fn recover(&mut self) {
        if !self.conn.is_autocommit() {
            let _ = self.conn.execute_batch("ROLLBACK");
            self.heads.clear();
        }
    }

    fn perform(&mut self, job: &Job) -> Result<Option<Lease>, Fault> {
        match job {
            Job::Claim { thread, claim, turns } => self.claim(thread, *claim, turns).map(Some),
            Job::Append { lease, turn, index, records, status } => {
                self.append(lease, *turn, *index, records, status.as_ref()).map(|()| None)
            }
            Job::Release(lease) => self.change(lease, give_back),
            Job::Delete(lease) => {
                self.change(lease, |conn, lease| Row::find_leased(conn, lease)?.delete(conn))
            }
        }
    }

    fn claim(&mut self, thread: &ThreadId, claim: Claim, turns: &[Vec<Record>]) -> Result<Lease, Fault> {
        let count = count_turns(turns.len())?;
        self.heads.remove(thread);
        let (lease, head) = self.atomically(|handle| {
            let Handle { conn, start, holders, specs, unreleased, .. } = handle;
            unreleased.iter().try_for_each(|lease| give_back(conn, lease))?;
            let found = Row::find(conn, thread)?;
            check_claim(found.as_ref(), claim, thread, holders)?;
            let mut row = match found {
                Some(row) => Row { epoch: row.epoch + 1, ..row },
                // Random, so that no lease of a deleted thread fits its successor of the same name.
                None => Row::new(thread, random_id() >> 2),
            };
            row.holder = Some(holders.become_holder()?.to_owned());
            let (found, mut head) = (row.turns, None::<Head>);
            match turns.first() {
                Some(first) if found == 0 => {
                    open_turn(&mut row, conn, 0, first.first(), None)?;
                    row.turns = count;
                    row.save(conn)?;
                    for (turn, records) in (0..count).zip(turns) {
                        if let Some(before) = head {
                            keep_end(&before.end, conn, place(row.id, turn - 1))?;
                        }
                        let start = Head::start(*start, &row, turn);
                        head = Some(start.append(conn, specs, thread, records)?);
                    }
                }
                _ => row.save_holder(conn)?,
            }
            Ok((Lease::new(thread.clone(), row.epoch, found), head))
        })?;
        self.heads.extend(head.map(|head| (thread.clone(), head)));
        Ok(lease)
    }

    /// Appends where the last append ended; if that is not known, or with a status, after a look at the
    /// thread's row.
    fn append(
        &mut self,
        lease: &Lease,
        turn: u32,
        index: u64,
        records: &[Record],
        status: Option<&RunStatus>,
    ) -> Result<(), Fault> {
        let head = self.heads.get_mut(lease.thread()).filter(|head| head.is_at(lease, turn, index));
        if let (Some(head), None) = (head, status)
            && let Some(next) = head.append_leased(&self.conn, lease, records)?
        {
            *head = next;
            return Ok(());
        }
        self.heads.remove(lease.thread());
        let head = self.atomically(|handle| handle.append_looking(lease, turn, index, records, status))?;
        if status.is_none() {
            self.heads.insert(lease.thread().clone(), head);
        }
        Ok(())
    }

    /// Appends after a look at the thread's row. With a status it writes that down and gives the thread back.
    fn append_looking(
        &mut self,
        lease: &Lease,
        turn: u32,
        index: u64,
        new: &[Record],
        last: Option<&RunStatus>,
    ) -> Result<Head, Fault> {
        let (conn, thread) = (&self.conn, lease.thread());
        let mut row = Row::find_leased(conn, lease)?;
        let head = Head::find(conn, self.start, &row, turn, index);
        let head = head.map_err(|fault| fault.in_turn(thread, turn))?;
        let head = head.append(conn, &mut self.specs, thread, new)?;
        let is_changed = open_turn(&mut row, conn, turn, new.first(), self.holders.own())?;
        if let Some(status) = last {
            row.set_status(turn, head.end, status);
            row.holder = None;
        }
        if is_changed || last.is_some() {
            row.save(conn)?;
        }
        Ok(head)
    }

    pub fn set_times(&mut self, lease: &Lease, created: u64, updated: u64) -> Result<(), Fault> {
        let set = |conn: &Connection, lease: &Lease| {
            let mut row = Row::find_leased(conn, lease)?;
            row.set_times(created, updated);
            row.save(conn)
        };
        self.change(lease, set).map(drop)
    }

    /// Changes a row under a lease, in a transaction, and forgets where the thread ends.
    fn change(
        &mut self,
        lease: &Lease,
        change: impl FnOnce(&Connection, &Lease) -> Result<(), Fault>,
    ) -> Result<Option<Lease>, Fault> {
        self.heads.remove(lease.thread());
        self.atomically(|handle| change(&handle.conn, lease)).map(|()| None)
    }
}

/// Copies a lease for a job that outlives the call.
pub(crate) fn copy(lease: &Lease) -> Lease {
    Lease::new(lease.thread().clone(), lease.epoch(), lease.turns())
}

/// Refuses a claim that does not fit the row of the thread.
fn check_claim(row: Option<&Row>, claim: Claim, thread: &ThreadId, holders: &Holders) -> Result<(), Fault> {
    Row::check_claim(row, claim, thread, |row| {
        let holder = row.holder.as_deref();
        Ok(holder.map(|id| holders.describe_alive(id)).transpose()?.flatten())
    })
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
