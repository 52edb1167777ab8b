//! One handle of a store: claiming threads, writing to them, and giving them back.

use std::collections::BTreeMap;
use std::path::Path;

use planwright::journal::system::random_id;
use planwright::journal::{Claim, Durability, Lease, Record, RunStatus, Seal, StoreError, ThreadId};
use rusqlite::Connection;

use crate::fault::{Fault, Tx};
use crate::holder::Holders;
use crate::open::open;
use crate::row::{MOST_TURNS, Row, place, too_many_turns};
use crate::specs::Specs;
use crate::turn::{Head, name_turn, read_turn};

/// An open database of threads.
#[derive(Debug)]
pub(crate) struct Database {
    pub conn: Connection,
    /// The seal that every turn starts with. It holds the name of the store, so that no record of another
    /// store fits.
    start: Seal,
    pub holders: Holders,
    pub specs: Specs,
    /// Where the last append of this handle to a thread ended.
    heads: BTreeMap<ThreadId, Head>,
    /// Leases that could not be released, for want of space perhaps. The next claim releases them.
    unreleased: Vec<Lease>,
}

impl Database {
    pub fn open(path: &Path, durability: Durability) -> Result<Self, Fault> {
        let (conn, name) = open(path, durability)?;
        // Links may lead to a database: its holders are beside the file itself.
        let holders = Holders::beside(&path.canonicalize().unwrap_or_else(|_| path.to_owned()));
        let (start, specs) = (Seal::new().with(name.as_bytes()), Specs::default());
        Ok(Database { conn, start, holders, specs, heads: BTreeMap::new(), unreleased: Vec::new() })
    }

    pub fn claim(&mut self, thread: &ThreadId, claim: Claim) -> Result<Lease, Fault> {
        // A claim that is refused does not wait for writers.
        if self.unreleased.is_empty() {
            check_claim(Row::find(&self.conn, thread)?.as_ref(), claim, thread, &self.holders)?;
        }
        let tx = Tx::write(&self.conn)?;
        let mut row = claim_row(&self.conn, &mut self.holders, &self.unreleased, thread, claim)?;
        row.save_holder(&self.conn)?;
        tx.commit()?;
        self.unreleased.clear();
        Ok(Lease::new(thread.clone(), row.epoch, row.turns))
    }

    /// Claims a thread. If it is new, its first turns are written in the same transaction.
    pub fn begin(&mut self, thread: &ThreadId, turns: &[Vec<Record>]) -> Result<Lease, Fault> {
        let Some(first) = turns.first() else { return self.claim(thread, Claim::Any) };
        let count = u32::try_from(turns.len()).ok().filter(|count| *count <= MOST_TURNS);
        let count = count.ok_or_else(too_many_turns)?;
        let conn = &self.conn;
        let tx = Tx::write(conn)?;
        let mut row = claim_row(conn, &mut self.holders, &self.unreleased, thread, Claim::Any)?;
        let (found, mut head) = (row.turns, None);
        if found > 0 {
            row.save_holder(conn)?;
        } else {
            row.open_turn(conn, 0, first.first(), None)?;
            row.turns = count;
            row.save(conn)?;
            for (turn, records) in (0..count).zip(turns) {
                let start = Head::start(self.start, &row, turn);
                let next = start.append(conn, &mut self.specs, thread, records)?;
                if turn + 1 < count {
                    next.end().keep(conn, place(row.id, turn))?;
                }
                head = Some(next);
            }
        }
        tx.commit()?;
        self.unreleased.clear();
        self.heads.remove(thread);
        self.heads.extend(head.map(|head| (thread.clone(), head)));
        Ok(Lease::new(thread.clone(), row.epoch, found))
    }

    /// Appends records where the last append ended; if that is not known, after a look at the thread's row.
    pub fn append(&mut self, lease: &Lease, turn: u32, index: u64, new: &[Record]) -> Result<(), Fault> {
        if let Some(head) = self.heads.get_mut(lease.thread()).filter(|head| head.is_at(lease, turn, index))
            && let Some(next) = head.append_leased(&self.conn, lease, new)?
        {
            *head = next;
            return Ok(());
        }
        let head = self.append_to_row(lease, turn, index, new, None)?;
        self.heads.insert(lease.thread().clone(), head);
        Ok(())
    }

    /// Appends the last records, writes the status down and gives the thread back, in one transaction.
    pub fn conclude(
        &mut self,
        lease: &Lease,
        turn: u32,
        index: u64,
        new: &[Record],
        status: &RunStatus,
    ) -> Result<(), Fault> {
        self.append_to_row(lease, turn, index, new, Some(status)).map(drop)
    }

    fn append_to_row(
        &mut self,
        lease: &Lease,
        turn: u32,
        index: u64,
        new: &[Record],
        last: Option<&RunStatus>,
    ) -> Result<Head, Fault> {
        let (conn, thread) = (&self.conn, lease.thread());
        self.heads.remove(thread);
        let tx = Tx::write(conn)?;
        let mut row = Row::find_leased(conn, lease)?;
        let head = Head::find(conn, self.start, &row, turn, index);
        let head = head.map_err(|fault| name_turn(fault, thread, turn))?;
        let head = head.append(conn, &mut self.specs, thread, new)?;
        let is_changed = row.open_turn(conn, turn, new.first(), self.holders.own())?;
        if let Some(status) = last {
            row.set_status(turn, head.end(), status);
            row.holder = None;
        }
        if is_changed || last.is_some() {
            row.save(conn)?;
        }
        tx.commit()?;
        Ok(head)
    }

    pub fn records(&mut self, thread: &ThreadId, turn: u32) -> Result<Vec<Record>, Fault> {
        let _tx = Tx::read(&self.conn)?;
        let row = Row::find_known(&self.conn, thread)?;
        if turn >= row.turns {
            return Err(StoreError::NoTurn { thread: thread.clone(), turn, turns: row.turns }.into());
        }
        let records = read_turn(&self.conn, self.start, &mut self.specs, &row, turn);
        records.map_err(|fault| name_turn(fault, thread, turn))
    }

    pub fn release(&mut self, lease: Lease) -> Result<(), Fault> {
        self.heads.remove(lease.thread());
        // `conclude` has released it, or another process has taken it over.
        let held =
            "SELECT EXISTS (SELECT 1 FROM thread WHERE name = ?1 AND epoch = ?2 AND holder IS NOT NULL)";
        let mut held = self.conn.prepare_cached(held)?;
        if let Ok(false) = held.query_row((lease.thread().as_str(), lease.epoch()), |row| row.get(0)) {
            return Ok(());
        }
        drop(held);
        self.give_up(lease, give_back)
    }

    pub fn delete(&mut self, lease: Lease) -> Result<(), Fault> {
        self.heads.remove(lease.thread());
        self.give_up(lease, |conn, lease| Row::find_leased(conn, lease)?.delete(conn))
    }

    /// Ends a lease in a transaction. If that fails, the next claim releases it.
    fn give_up(
        &mut self,
        lease: Lease,
        end: impl FnOnce(&Connection, &Lease) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let ended = Tx::write(&self.conn).and_then(|tx| {
            end(&self.conn, &lease)?;
            tx.commit()
        });
        if ended.is_err() {
            self.unreleased.push(lease);
        }
        ended
    }
}

/// The row of a thread with this handle as its holder, not written down yet. Leases that this handle could
/// not release are released first.
fn claim_row(
    conn: &Connection,
    holders: &mut Holders,
    unreleased: &[Lease],
    thread: &ThreadId,
    claim: Claim,
) -> Result<Row, Fault> {
    unreleased.iter().try_for_each(|lease| give_back(conn, lease))?;
    let found = Row::find(conn, thread)?;
    check_claim(found.as_ref(), claim, thread, holders)?;
    let mut row = match found {
        Some(row) => Row { epoch: row.epoch + 1, ..row },
        // Random, so that no lease of a deleted thread fits its successor of the same name.
        None => Row::new(thread, random_id() >> 2),
    };
    row.holder = Some(holders.become_holder()?.to_owned());
    Ok(row)
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
