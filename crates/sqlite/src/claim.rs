//! Claiming a thread and giving it back.

use planwright::journal::system::random_id;
use planwright::journal::{Claim, Lease, Record, StoreError, ThreadId};
use rusqlite::Connection;

use crate::database::{Database, Status};
use crate::fault::Fault;
use crate::head::Head;
use crate::holder::Holders;
use crate::row::{MOST_TURNS, Row, place, too_many_turns};
use crate::tx::Tx;

impl Database {
    pub fn claim(&mut self, thread: &ThreadId, claim: Claim) -> Result<Lease, Fault> {
        let Database { conn, holders, unreleased, .. } = self;
        // A claim that is refused does not wait for writers.
        if unreleased.is_empty() {
            check_claim(Row::find(conn, thread)?.as_ref(), claim, thread, holders)?;
        }
        let tx = Tx::write(conn)?;
        let mut row = claim_row(conn, holders, unreleased, thread, claim)?;
        row.save_holder(conn)?;
        tx.commit()?;
        unreleased.clear();
        Ok(Lease::new(thread.clone(), row.epoch, row.turns))
    }

    /// Claims a thread. If it is new, its first turns are written in the same transaction.
    pub fn begin(&mut self, thread: &ThreadId, turns: &[Vec<Record>]) -> Result<Lease, Fault> {
        let Some(first) = turns.first() else { return self.claim(thread, Claim::Any) };
        let Database { conn, start, holders, unreleased, specs, heads, .. } = self;
        let count = u32::try_from(turns.len()).ok().filter(|count| *count <= MOST_TURNS);
        let count = count.ok_or_else(too_many_turns)?;
        let tx = Tx::write(conn)?;
        let mut row = claim_row(conn, holders, unreleased, thread, Claim::Any)?;
        let (found, mut head) = (row.turns, None);
        if found > 0 {
            row.save_holder(conn)?;
        } else {
            row.open_turn(conn, 0, first.first(), None)?;
            row.turns = count;
            row.save(conn)?;
            for (turn, records) in (0..count).zip(turns) {
                let next = Head::start(*start, &row, turn).append(conn, specs, thread, records)?;
                if turn + 1 < count {
                    next.end().keep(conn, place(row.id, turn))?;
                }
                head = Some(next);
            }
        }
        tx.commit()?;
        unreleased.clear();
        heads.remove(thread);
        heads.extend(head.map(|head| (thread.clone(), head)));
        Ok(Lease::new(thread.clone(), row.epoch, found))
    }

    pub fn release(&mut self, lease: Lease) -> Result<(), Fault> {
        self.heads.remove(lease.thread());
        let status = self.statuses.remove(lease.thread()).filter(|status| status.epoch == lease.epoch());
        // `conclude` has released it, or another process has taken it over.
        let held =
            "SELECT EXISTS (SELECT 1 FROM thread WHERE name = ?1 AND epoch = ?2 AND holder IS NOT NULL)";
        let mut held = self.conn.prepare_cached(held)?;
        if let Ok(false) = held.query_row((lease.thread().as_str(), lease.epoch()), |row| row.get(0)) {
            return Ok(());
        }
        let released = Tx::write(&self.conn).and_then(|tx| {
            give_back(&self.conn, &lease, status)?;
            tx.commit()
        });
        if released.is_err() {
            self.unreleased.push(lease);
        }
        released
    }

    pub fn delete(&mut self, lease: Lease) -> Result<(), Fault> {
        self.heads.remove(lease.thread());
        self.statuses.remove(lease.thread());
        let deleted = Tx::write(&self.conn).and_then(|tx| {
            delete_row(&self.conn, &Row::find_leased(&self.conn, &lease)?)?;
            tx.commit()
        });
        if deleted.is_err() {
            self.unreleased.push(lease);
        }
        deleted
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
    for lease in unreleased {
        give_back(conn, lease, None)?;
    }
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
    let thread = || thread.clone();
    match (claim, row.is_some_and(|row| row.turns > 0)) {
        (Claim::New, true) => return Err(StoreError::Exists { thread: thread() }.into()),
        (Claim::Known | Claim::TakeOver, false) => {
            return Err(StoreError::NoThread { thread: thread() }.into());
        }
        _ => {}
    }
    if claim != Claim::TakeOver
        && let Some(id) = row.and_then(|row| row.holder.as_deref())
        && let Some(holder) = holders.describe_alive(id)?
    {
        return Err(StoreError::AlreadyRunning { thread: thread(), holder, can_take_over: true }.into());
    }
    Ok(())
}

/// Gives a thread back, with its status, if the lease is still in force. A thread without turns is deleted.
fn give_back(conn: &Connection, lease: &Lease, status: Option<Status>) -> Result<(), Fault> {
    match Row::find(conn, lease.thread())?.filter(|row| row.epoch == lease.epoch()) {
        Some(row) if row.turns == 0 => delete_row(conn, &row),
        Some(mut row) => {
            row.touch();
            if let Some(status) = status {
                row.set_status(status.turn, status.end, &status.status);
            }
            row.holder = None;
            row.save(conn)
        }
        None => Ok(()),
    }
}

/// Deletes a thread with all its turns.
pub(crate) fn delete_row(conn: &Connection, row: &Row) -> Result<(), Fault> {
    let places = [place(row.id, 0), place(row.id + 1, 0)];
    conn.prepare_cached("DELETE FROM record WHERE at >= ?1 AND at < ?2")?.execute(places)?;
    conn.prepare_cached("DELETE FROM turn WHERE at >= ?1 >> 20 AND at < ?2 >> 20")?.execute(places)?;
    conn.prepare_cached("DELETE FROM thread WHERE id = ?1")?.execute([row.id])?;
    Ok(())
}
