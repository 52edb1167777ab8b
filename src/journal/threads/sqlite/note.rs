//! Where a thread stands, kept in memory until the thread is given back, so that both are one write. Where
//! the process ends before, it is worked out from the records.

use rusqlite::{Connection, params};

use super::Inner;
use super::fault::Fault;
use super::records::{place, turn_place};
use super::row::Row;
use super::tx::Tx;
use crate::journal::threads::now;
use crate::journal::{Lease, Standing};

/// Where the last turn of a thread stands.
#[derive(Debug)]
pub(super) struct Note {
    pub epoch: u64,
    turn: u32,
    /// How many records there were, and the seal of the last.
    records: u64,
    seal: Vec<u8>,
    standing: Standing,
}

impl Note {
    /// Writes it down, with the thread's row, where it is still that of all records. Gives whether it was.
    pub fn write(&self, conn: &Connection, row: &mut Row) -> Result<bool, Fault> {
        if row.epoch != self.epoch || row.turns != self.turn + 1 {
            return Ok(false);
        }
        if row.written == row.epoch && !row.noted {
            row.updated = now();
        }
        (row.noted, row.standing) = (true, self.standing.clone());
        if !row.save(conn)? {
            return Ok(false);
        }
        let sql = "INSERT OR REPLACE INTO turn (at, records, seal) VALUES (?1, ?2, ?3)";
        let at = turn_place(place(row.id, self.turn));
        conn.prepare_cached(sql)?.execute(params![at, self.records, self.seal])?;
        Ok(true)
    }
}

impl Inner {
    pub fn stands(&mut self, lease: &Lease, turn: u32, index: u64, standing: &Standing) -> Result<(), Fault> {
        if let Some(seal) = self.seal_of_all(lease, turn, index)? {
            let (epoch, standing) = (lease.epoch, standing.clone());
            let note = Note { epoch, turn, records: index, seal, standing };
            self.notes.insert(lease.thread.clone(), note);
        }
        Ok(())
    }

    /// Writes down where threads stand, for a list of this handle's own.
    pub fn write_notes(&mut self) -> Result<(), Fault> {
        if self.notes.is_empty() {
            return Ok(());
        }
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
