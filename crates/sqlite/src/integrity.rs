//! What is damaged, and what can be thrown away.

use std::collections::BTreeMap;

use planwright::journal::Order;

use crate::claim::delete_row;
use crate::database::Database;
use crate::fault::Fault;
use crate::row::{COLUMNS, Row};
use crate::specs::{self, Specs};
use crate::tx::Tx;

impl Database {
    /// Deletes what nothing needs, and gives its space back.
    pub fn vacuum(&mut self) -> Result<(), Fault> {
        let tx = Tx::write(&self.conn)?;
        for row in self.list_rows()?.into_iter().flatten().filter(|row| row.turns == 0) {
            let holder = row.holder.as_deref().map(|id| self.holders.describe_alive(id)).transpose()?;
            if holder.flatten().is_none() {
                delete_row(&self.conn, &row)?;
            }
        }
        specs::sweep(&self.conn)?;
        tx.commit()?;
        self.conn.execute_batch("VACUUM")?;
        // The log is moved into the database as far as no other process is reading it.
        Ok(self.conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?)
    }

    /// What is damaged, a line each: SQLite's own check, and everything that is stored, read once.
    pub fn check(&mut self) -> Result<Vec<String>, Fault> {
        // What is remembered of the specs is no proof of what is stored.
        self.specs = Specs::default();
        let mut found = vec![self.check_integrity(), self.find_strays(), self.find_misplaced()];
        found.push(specs::check(&self.conn));
        for row in self.list_rows().unwrap_or_else(|fault| vec![Err(fault)]) {
            match row {
                Ok(row) => {
                    found.extend((0..row.turns).map(|turn| self.records(&row.name, turn).map(|_| Vec::new())))
                }
                Err(fault) => found.push(Err(fault)),
            }
        }
        let mut lines = Vec::new();
        for found in found {
            match found {
                Err(fault) if fault.is_damage() => lines.push(fault.at("the store").to_string()),
                found => lines.extend(found?),
            }
        }
        Ok(lines)
    }

    fn check_integrity(&self) -> Result<Vec<String>, Fault> {
        let mut lines = Vec::new();
        let mut check = self.conn.prepare("PRAGMA integrity_check")?;
        let mut rows = check.query([])?;
        while let Some(row) = rows.next()? {
            let line: String = row.get(0)?;
            if line != "ok" {
                lines.push(format!("the store: {line}"));
            }
        }
        Ok(lines)
    }

    /// All threads, or what is wrong with them.
    fn list_rows(&self) -> Result<Vec<Result<Row, Fault>>, Fault> {
        let mut select = self.conn.prepare(&format!("SELECT {COLUMNS} FROM thread ORDER BY id"))?;
        let mut rows = select.query([])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(Row::parse(row));
        }
        Ok(found)
    }

    /// Threads that a list shows with another status, or at another place than they have.
    fn find_misplaced(&self) -> Result<Vec<String>, Fault> {
        let mut select = self.conn.prepare(&format!("SELECT {COLUMNS}, status, waits FROM thread"))?;
        let mut rows = select.query([])?;
        let mut lines = Vec::new();
        while let Some(found) = rows.next()? {
            // A row that cannot be parsed is reported of its thread.
            let Ok(row) = Row::parse(found) else { continue };
            let (status, waits): (String, u64) = (found.get("status")?, found.get("waits")?);
            let listed = row.list(false);
            let name = &listed.thread;
            let is = listed.status.name();
            if status != is {
                lines.push(format!("thread {name}: a list shows it as {status}, and it is {is}"));
            } else if waits != listed.key(Order::LongestWaiting) {
                lines.push(format!("thread {name}: it is not at its place in lists"));
            }
        }
        Ok(lines)
    }

    /// Turns and records that belong to no thread.
    fn find_strays(&self) -> Result<Vec<String>, Fault> {
        let threads: BTreeMap<i64, u32> =
            self.list_rows()?.into_iter().flatten().map(|row| (row.id, row.turns)).collect();
        let mut turns =
            self.conn.prepare("SELECT DISTINCT at >> 20 FROM record UNION SELECT at FROM turn")?;
        let mut turns = turns.query([])?;
        let mut lines = Vec::new();
        while let Some(row) = turns.next()? {
            let at: i64 = row.get(0)?;
            let (thread, turn) = (at >> 16, at & 0xFFFF);
            if threads.get(&thread).is_none_or(|turns| turn >= i64::from(*turns)) {
                lines.push(format!("the store: turn {} of thread number {thread} is no thread's", turn + 1));
            }
        }
        Ok(lines)
    }
}
