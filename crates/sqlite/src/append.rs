//! Appending records, and the status after them.

use planwright::journal::{Lease, Record, RunStatus};

use crate::database::{Database, Status};
use crate::fault::Fault;
use crate::head::Head;
use crate::records::name_turn;
use crate::row::{End, Row, place};
use crate::tx::Tx;

impl Database {
    /// Appends records where the last append ended; if that is not known, after a look at the thread's row.
    pub fn append(&mut self, lease: &Lease, turn: u32, index: u64, new: &[Record]) -> Result<(), Fault> {
        if let Some(head) = self.heads.get_mut(lease.thread()).filter(|head| head.is_at(lease, turn, index))
            && let Some(next) = head.append_leased(&self.conn, lease, new)?
        {
            *head = next;
            self.statuses.remove(lease.thread());
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
        let Database { conn, start, specs, holders, heads, statuses, .. } = self;
        let thread = lease.thread();
        heads.remove(thread);
        let tx = Tx::write(conn)?;
        let mut row = Row::find_leased(conn, lease)?;
        let head = Head::find(conn, *start, &row, turn, index);
        let head = head.map_err(|fault| name_turn(fault, thread, turn))?.append(conn, specs, thread, new)?;
        let is_changed = row.open_turn(conn, turn, new.first(), holders.own())?;
        if let Some(status) = last {
            row.set_status(turn, head.end(), status);
            row.holder = None;
        }
        if is_changed || last.is_some() {
            row.save(conn)?;
        }
        tx.commit()?;
        statuses.remove(thread);
        Ok(head)
    }

    /// Remembers the status of a thread after so many records. It is written down when the thread is
    /// released, and ignored unless these are all records of the last turn.
    pub fn set_status(
        &mut self,
        lease: &Lease,
        turn: u32,
        index: u64,
        status: &RunStatus,
    ) -> Result<(), Fault> {
        let row = Row::find_leased(&self.conn, lease)?;
        if row.turns.checked_sub(1) == Some(turn)
            && let Some(end) = End::find(&self.conn, place(row.id, turn))?.filter(|end| end.records == index)
        {
            let status = Status { epoch: row.epoch, turn, end, status: status.clone() };
            self.statuses.insert(lease.thread().clone(), status);
        }
        Ok(())
    }
}
