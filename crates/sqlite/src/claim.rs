//! Taking a thread, and giving it back.

use rusqlite::Connection;

use super::append::Head;
use super::fault::Fault;
use super::holder::Holders;
use super::note::Note;
use super::row::Row;
use super::tx::Tx;
use super::{Inner, records};
use planwright::journal::store::{now_ms, random_id};
use planwright::journal::{Claim, JournalError, Lease, Record, StoreError, ThreadId};

impl Inner {
    pub fn claim(&mut self, thread: &ThreadId, claim: Claim) -> Result<Lease, Fault> {
        let Inner { conn, holders, rows, looks, unreleased, .. } = self;
        let before = Row::find(conn, thread)?;
        if before.is_none() {
            looks.at_no_name(conn)?;
        }
        // Who is refused waits for nobody who writes.
        if unreleased.is_empty() {
            refused(before.as_ref(), claim, thread, holders)?;
        }
        let tx = Tx::writing(conn)?;
        let mut row = take(conn, holders, unreleased, thread, claim)?;
        row.keep(conn)?;
        tx.commit()?;
        unreleased.clear();
        let (epoch, turns) = (row.epoch, row.turns);
        rows.insert(thread.clone(), row);
        Ok(Lease::new(thread.clone(), epoch, turns))
    }

    /// Takes a thread and, where there is none, writes its first turns down, all in one transaction.
    pub fn begin(&mut self, thread: &ThreadId, turns: &[Vec<Record>]) -> Result<Lease, Fault> {
        let Some(last) = turns.len().checked_sub(1) else { return self.claim(thread, Claim::Any) };
        let Inner { conn, holders, rows, unreleased, specs, heads, looks, begin, .. } = self;
        let tx = Tx::writing(conn)?;
        let first = turns[0].first();
        let mut row = Row::new(thread, first_epoch(), holders.owned()?.to_owned());
        row.goes_on(last, first)?;
        let mut found = 0;
        if unreleased.is_empty() && row.insert(conn)? {
            looks.at_no_name(conn)?;
        } else {
            row = take(conn, holders, unreleased, thread, Claim::Any)?;
            found = row.turns;
            if row.id == 0 {
                looks.at_no_name(conn)?;
            }
            row.keep(conn)?;
            if found == 0 {
                row.goes_on(last, first)?;
                row.save(conn)?;
            }
        }
        let mut head = None;
        for (turn, records) in (0..).zip(turns).filter(|_| found == 0) {
            let end = Head::begin(*begin, &row, turn).append(conn, specs, thread, records)?;
            if turn + 1 < row.turns {
                end.keep(conn)?;
            }
            head = Some(end);
        }
        tx.commit()?;
        unreleased.clear();
        heads.remove(thread);
        heads.extend(head.map(|head| (thread.clone(), head)));
        let epoch = row.epoch;
        rows.insert(thread.clone(), row);
        Ok(Lease::new(thread.clone(), epoch, found))
    }

    pub fn release(&mut self, lease: Lease) -> Result<(), Fault> {
        if self.concluded.remove(lease.thread()) == Some(lease.epoch()) {
            return Ok(());
        }
        let lease = self.kept_until_tidied(lease)?;
        let note = self.notes.get(lease.thread()).filter(|note| note.epoch == lease.epoch());
        let row = self.rows.remove(lease.thread()).filter(|row| row.epoch == lease.epoch());
        let released = Tx::writing(&self.conn).and_then(|tx| {
            give_back(&self.conn, &lease, note, row)?;
            tx.commit()
        });
        self.heads.remove(lease.thread());
        if note.is_some() {
            self.notes.remove(lease.thread());
        }
        if released.is_err() {
            self.unreleased.push(lease);
        }
        released
    }

    /// The row of a thread under a lease that still holds.
    pub fn leased(&self, lease: &Lease) -> Result<Row, Fault> {
        let row = Row::find(&self.conn, lease.thread())?;
        row.filter(|row| row.epoch == lease.epoch())
            .ok_or_else(|| JournalError::fenced(lease.thread()).into())
    }

    /// A lease to be given up, where the store can be written; else it is given up later.
    fn kept_until_tidied(&mut self, lease: Lease) -> Result<Lease, Fault> {
        match self.tidied() {
            Ok(()) => Ok(lease),
            Err(fault) => {
                self.unreleased.push(lease);
                Err(fault)
            }
        }
    }

    pub fn delete(&mut self, lease: Lease) -> Result<(), Fault> {
        let lease = self.kept_until_tidied(lease)?;
        let deleted = Tx::writing(&self.conn).and_then(|tx| {
            forget(&self.conn, &self.leased(&lease)?)?;
            tx.commit()
        });
        self.notes.remove(lease.thread());
        self.rows.remove(lease.thread());
        self.heads.remove(lease.thread());
        if deleted.is_err() {
            self.unreleased.push(lease);
        }
        deleted
    }
}

/// The row of a thread with this handle as its holder, not written down yet. What this handle could not
/// give back before is given back first.
fn take(
    conn: &Connection,
    holders: &mut Holders,
    unreleased: &[Lease],
    thread: &ThreadId,
    claim: Claim,
) -> Result<Row, Fault> {
    for lease in unreleased {
        give_back(conn, lease, None, None)?;
    }
    let found = Row::find(conn, thread)?;
    refused(found.as_ref(), claim, thread, holders)?;
    let own = holders.owned()?.to_owned();
    Ok(match found {
        Some(row) => Row { epoch: row.epoch + 1, holder: Some(own), ..row },
        None => Row::new(thread, first_epoch(), own),
    })
}

/// Whether a thread cannot be taken so, as its row says.
fn refused(row: Option<&Row>, claim: Claim, thread: &ThreadId, holders: &Holders) -> Result<(), Fault> {
    let known = row.is_some_and(|row| row.turns > 0);
    match claim {
        Claim::New if known => return Err(StoreError::Exists { thread: thread.clone() }.into()),
        Claim::Known | Claim::TakeOver if !known => {
            return Err(StoreError::NoThread { thread: thread.clone() }.into());
        }
        _ => {}
    }
    if claim != Claim::TakeOver
        && let Some(id) = row.and_then(|row| row.holder.as_deref())
        && let Some(holder) = holders.alive(id)?
    {
        let thread = thread.clone();
        return Err(StoreError::AlreadyRunning { thread, holder, can_take_over: true }.into());
    }
    Ok(())
}

/// Gives a thread back, where the lease still holds, with where it stands.
fn give_back(conn: &Connection, lease: &Lease, note: Option<&Note>, row: Option<Row>) -> Result<(), Fault> {
    if let (Some(note), Some(mut row)) = (note, row) {
        row.holder = None;
        if note.write(conn, &mut row)? {
            return Ok(());
        }
    }
    match Row::find(conn, lease.thread())? {
        Some(row) if row.epoch == lease.epoch() && row.turns == 0 => forget(conn, &row),
        Some(mut row) if row.epoch == lease.epoch() => {
            row.holder = None;
            if let Some(note) = note
                && note.write(conn, &mut row)?
            {
                return Ok(());
            }
            if row.written == row.epoch && !row.noted {
                row.updated = now_ms();
                return row.save(conn).map(drop);
            }
            row.save_holder(conn)
        }
        _ => Ok(()),
    }
}

/// Takes away a thread with all its turns.
pub(super) fn forget(conn: &Connection, row: &Row) -> Result<(), Fault> {
    let (from, to) = (records::place(row.id, 0), records::place(row.id + 1, 0));
    conn.prepare_cached("DELETE FROM record WHERE at >= ?1 AND at < ?2")?.execute([from, to])?;
    let (from, to) = (records::turn_place(from), records::turn_place(to));
    conn.prepare_cached("DELETE FROM turn WHERE at >= ?1 AND at < ?2")?.execute([from, to])?;
    conn.prepare_cached("DELETE FROM thread WHERE id = ?1")?.execute([row.id])?;
    Ok(())
}

/// Where the epochs of a thread begin: at another number each time, so that a lease of a thread that was
/// deleted is none of its successor of the same name.
fn first_epoch() -> u64 {
    random_id() >> 2
}
