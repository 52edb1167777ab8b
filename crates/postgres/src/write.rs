//! What is written: each call in one transaction, whole or not at all. A call whose connection was lost is done again,
//! and finds out whether it was done before.

use planwright::journal::stored::count_turns;
use planwright::journal::system::random_id;
use planwright::journal::{
    Claim, JournalError, JournalErrorKind, Lease, Record, RunStatus, Seal, StoreError, ThreadId,
};

use crate::fault::Fault;
use crate::pool::{Conn, WRITING};
use crate::row::{
    End, ThreadRow, delete_row, find_end, keep_end, keep_origin, lock_leased, lock_row, lock_row_of_any,
    open_turn, save_row,
};
use crate::turn::{Head, Specs};

/// What a call writes with.
#[derive(Clone, Copy)]
pub(crate) struct Writer<'s> {
    /// The seal that every turn starts with. It holds the name of the store, so that no record of another fits.
    pub start: Seal,
    pub specs: &'s Specs,
    /// The id of this store as a holder.
    pub holder: &'s str,
}

/// Who holds which threads.
pub(crate) trait Holders {
    /// The name of the holder of a thread for people, if it has one that is alive.
    fn find(&self, row: &ThreadRow, alive: bool) -> Option<String>;

    /// Notes that this store holds a thread, before others can see that it does.
    fn take(&self, row: &ThreadRow);
}

/// Records to append under a lease.
#[derive(Clone, Copy)]
pub(crate) struct Append<'a> {
    pub lease: &'a Lease,
    pub turn: u32,
    pub index: u64,
    pub records: &'a [Record],
    pub status: Option<&'a RunStatus>,
}

impl Writer<'_> {
    /// Claims a thread; if it is new, its first turns are written with it. Gives the lease, and the head of what was
    /// written.
    pub fn claim(
        &self,
        conn: &mut Conn,
        thread: &ThreadId,
        claim: Claim,
        turns: &[Vec<Record>],
        holders: &dyn Holders,
    ) -> Result<(Lease, Option<Head>), Fault> {
        let count = count_turns(turns.len())?;
        let claimed = conn.atomically(WRITING, |conn| {
            let found = lock_row(conn, thread)?;
            let alive = found.as_ref().is_some_and(|found| found.alive);
            let found = found.map(|found| found.row);
            ThreadRow::check_claim(found.as_ref(), claim, thread, |row| {
                Ok::<_, Fault>(holders.find(row, alive))
            })?;
            let mut row = match found {
                // Not by one: a server that took over may have lost the last claim, and no other may be like it.
                Some(row) => ThreadRow { epoch: row.epoch + 1 + (random_id() >> 32), ..row },
                // Random, so that no lease of a deleted thread fits its successor of the same name.
                None => ThreadRow::new(thread, random_id() >> 4),
            };
            row.holder = Some(self.holder.to_owned());
            let (found, mut head) = (row.turns, None::<Head>);
            let begins = turns.first().filter(|_| found == 0);
            if let Some(first) = begins {
                open_turn(conn, &mut row, 0, first.first(), None)?;
                row.turns = count;
            }
            if !save_row(conn, &mut row)? {
                return Ok(None);
            }
            if let Some(first) = begins {
                keep_origin(conn, &row, 0, first.first())?;
                for (turn, records) in (0..count).zip(turns) {
                    if let Some(before) = head {
                        keep_end(conn, row.id, turn - 1, &before.end)?;
                    }
                    head =
                        Some(Head::start(self.start, &row, turn).append(conn, self.specs, thread, records)?);
                }
            }
            holders.take(&row);
            Ok(Some((Lease::new(thread.clone(), row.epoch, found), head)))
        })?;
        match claimed {
            Some(claimed) => Ok(claimed),
            // Another process has made the thread meanwhile: it is looked at again.
            None => self.claim(conn, thread, claim, turns, holders),
        }
    }

    /// Appends after a look at the thread's row. With a status it writes that down and gives the thread back. `head` is
    /// where the store knows the turn to end; `again` says that this may have been written before.
    pub fn append(
        &self,
        conn: &mut Conn,
        new: Append<'_>,
        known: Option<Head>,
        again: bool,
    ) -> Result<Head, Fault> {
        let Append { lease, turn, index, records, status } = new;
        let thread = lease.thread();
        conn.atomically(WRITING, |conn| {
            let mut row = lock_leased(conn, lease)?;
            if again && let Some(head) = self.find_written(conn, &row, new)? {
                return Ok(head);
            }
            let head = Head::find(conn, self.start, &row, turn, index);
            let head = head.map_err(|fault| name_loss(fault, known, index).in_turn(thread, turn))?;
            let head = head.append(conn, self.specs, thread, records)?;
            let is_changed = open_turn(conn, &mut row, turn, records.first(), Some(self.holder))?;
            if let Some(status) = status {
                row.set_status(turn, head.end, status);
                row.holder = None;
            }
            if is_changed || status.is_some() {
                save_row(conn, &mut row)?;
            }
            keep_origin(conn, &row, turn, records.first())?;
            Ok(head)
        })
    }

    /// The head behind records that were written before the connection was lost.
    fn find_written(&self, conn: &mut Conn, row: &ThreadRow, new: Append<'_>) -> Result<Option<Head>, Fault> {
        let Append { lease, turn, index, records, .. } = new;
        let Some(end) = find_end(conn, row.id, turn)?.filter(|_| turn < row.turns && !records.is_empty())
        else {
            return Ok(None);
        };
        if end.records != index + records.len() as u64 {
            return Ok(None);
        }
        let sql = "SELECT seal FROM record WHERE thread = $1 AND turn = $2 AND at = $3";
        let before = match index.checked_sub(1) {
            None => Some(self.start),
            Some(before) => {
                let found = conn.find(sql, &[&row.id, &(turn as i32), &(before as i64)])?;
                found.and_then(|found| Seal::from_bytes(found.get(0)))
            }
        };
        let Some(seal) = before else { return Ok(None) };
        let mut before = Head::start(self.start, row, turn);
        before.end = End { records: index, seal };
        let sealed =
            before.seal(lease.thread(), records, |index, spec| self.specs.store(conn, index, spec))?;
        Ok(Some(sealed.head()).filter(|head| head.end == end))
    }

    /// Gives a thread back if the lease is still in force. A thread without turns is deleted.
    pub fn release(&self, conn: &mut Conn, lease: &Lease) -> Result<(), Fault> {
        conn.atomically(WRITING, |conn| match lock_row_of_any(conn, lease.thread())? {
            Some(row) if row.epoch != lease.epoch() => Ok(()),
            Some(row) if row.turns == 0 => delete_row(conn, &row),
            Some(mut row) => {
                row.touch();
                row.holder = None;
                save_row(conn, &mut row).map(drop)
            }
            None => Ok(()),
        })
    }

    /// Deletes a thread.
    pub fn delete(&self, conn: &mut Conn, lease: &Lease, again: bool) -> Result<(), Fault> {
        conn.atomically(WRITING, |conn| {
            if again && lock_row_of_any(conn, lease.thread())?.is_none() {
                return Ok(());
            }
            let row = lock_leased(conn, lease)?;
            delete_row(conn, &row)
        })
    }
}

/// Sets when a thread was begun and last written to.
pub(crate) fn set_times(conn: &mut Conn, lease: &Lease, created: u64, updated: u64) -> Result<(), Fault> {
    conn.atomically(WRITING, |conn| {
        let mut row = lock_leased(conn, lease)?;
        row.set_times(created, updated);
        save_row(conn, &mut row).map(drop)
    })
}

/// Says that records are gone which this process has written: another writer would have been refused.
fn name_loss(fault: Fault, known: Option<Head>, index: u64) -> Fault {
    let known = known.is_some_and(|known| known.end.records == index && index > 0);
    match fault {
        Fault::Store(StoreError::Journal(error)) if known && error.kind() == JournalErrorKind::Stale => {
            let problem = "the server has lost records that it had: one that did not have its last commits has taken \
                 over, or it was stopped with synchronous_commit off";
            JournalError::new(JournalErrorKind::Stale, format!("journal record {index}"), problem).into()
        }
        fault => fault,
    }
}
