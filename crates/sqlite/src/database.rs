//! One handle of a store: its connection, and what it remembers of the threads that it holds.

use std::collections::BTreeMap;
use std::path::Path;

use planwright::journal::{Durability, Lease, RunStatus, Seal, ThreadId};
use rusqlite::Connection;

use crate::fault::Fault;
use crate::head::Head;
use crate::holder::Holders;
use crate::open::open;
use crate::row::{End, Row};
use crate::specs::Specs;
use crate::tx::Tx;

/// An open database of threads.
#[derive(Debug)]
pub(crate) struct Database {
    pub conn: Connection,
    /// The seal that every turn starts with. It holds the name of the store, so that no record of another
    /// store fits.
    pub start: Seal,
    pub holders: Holders,
    pub specs: Specs,
    /// Where the last append of this handle to a thread ended.
    pub heads: BTreeMap<ThreadId, Head>,
    /// Statuses that are written down when their threads are released.
    pub statuses: BTreeMap<ThreadId, Status>,
    /// Leases that could not be released, for want of space perhaps. The next claim releases them.
    pub unreleased: Vec<Lease>,
}

/// The status of the last turn of a thread, not written down yet.
#[derive(Debug)]
pub(crate) struct Status {
    pub epoch: u64,
    pub turn: u32,
    pub end: End,
    pub status: RunStatus,
}

impl Database {
    pub fn open(path: &Path, durability: Durability) -> Result<Self, Fault> {
        let (conn, name) = open(path, durability)?;
        Ok(Database {
            conn,
            start: Seal::new().with(name.as_bytes()),
            // Links may lead to a database: its holders are beside the file itself.
            holders: Holders::beside(&path.canonicalize().unwrap_or_else(|_| path.to_owned())),
            specs: Specs::default(),
            heads: BTreeMap::new(),
            statuses: BTreeMap::new(),
            unreleased: Vec::new(),
        })
    }

    /// Writes down the statuses that are remembered, so that a list shows them.
    pub fn write_statuses(&mut self) -> Result<(), Fault> {
        if self.statuses.is_empty() {
            return Ok(());
        }
        let tx = Tx::write(&self.conn)?;
        for (thread, status) in &self.statuses {
            if let Some(mut row) = Row::find(&self.conn, thread)?.filter(|row| row.epoch == status.epoch) {
                row.set_status(status.turn, status.end.clone(), &status.status);
                row.save(&self.conn)?;
            }
        }
        tx.commit()?;
        self.statuses.clear();
        Ok(())
    }
}
