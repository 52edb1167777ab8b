//! Where a thread stands, kept in memory until the thread is given back, so that both are one write. Where
//! the process ends before, it is worked out from the records.

use rusqlite::Connection;

use super::Inner;
use super::fault::Fault;
use super::row::{End, Row};
use super::tx::Tx;
use planwright::journal::store::now_ms;
use planwright::journal::{Lease, RunStatus};

/// Where the last turn of a thread stands.
#[derive(Debug)]
pub(super) struct Note {
    pub epoch: u64,
    turn: u32,
    end: End,
    standing: RunStatus,
}

impl Note {
    pub fn new(epoch: u64, turn: u32, records: u64, seal: &[u8], standing: &RunStatus) -> Self {
        let end = End { records, seal: seal.to_vec() };
        Note { epoch, turn, end, standing: standing.clone() }
    }

    /// Writes it down, with the thread's row, where it is still that of all records. Gives whether it was.
    pub fn write(&self, conn: &Connection, row: &mut Row) -> Result<bool, Fault> {
        if row.epoch != self.epoch || row.turns != self.turn + 1 {
            return Ok(false);
        }
        if row.written == row.epoch && !row.noted {
            row.updated = now_ms();
        }
        (row.noted, row.standing) = (true, self.standing.clone());
        row.last = Some(self.end.clone());
        row.save(conn)
    }
}

impl Inner {
    pub fn stands(
        &mut self,
        lease: &Lease,
        turn: u32,
        index: u64,
        standing: &RunStatus,
    ) -> Result<(), Fault> {
        if let Some(seal) = self.seal_of_all(lease, turn, index)? {
            let note = Note::new(lease.epoch(), turn, index, &seal, standing);
            self.notes.insert(lease.thread().clone(), note);
        }
        Ok(())
    }

    /// Writes down where threads stand, for a list of this handle's own.
    pub fn write_notes(&mut self) -> Result<(), Fault> {
        if self.notes.is_empty() {
            return Ok(());
        }
        self.tidied()?;
        let tx = Tx::writing(&self.conn)?;
        for (thread, note) in &self.notes {
            if let Some(mut row) = Row::find(&self.conn, thread)? {
                note.write(&self.conn, &mut row)?;
            }
        }
        tx.commit()?;
        self.notes.keys().for_each(|thread| drop(self.rows.remove(thread)));
        self.notes.clear();
        Ok(())
    }
}
