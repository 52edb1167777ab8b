//! What is damaged, and what is waste.

use std::collections::BTreeMap;

use super::Inner;
use super::claim::forget;
use super::fault::Fault;
use super::row::{COLUMNS, Row};
use super::specs::{self, Specs};
use super::tx::Tx;
use planwright::journal::Order;

impl Inner {
    pub fn vacuum(&mut self) -> Result<(), Fault> {
        let tx = Tx::writing(&self.conn)?;
        self.holders.sweep()?;
        for row in self.rows()?.into_iter().flatten().filter(|row| row.turns == 0) {
            let held = row.holder.as_deref();
            let held = held.map(|id| self.holders.alive(id)).transpose()?;
            if held.flatten().is_none() {
                forget(&self.conn, &row)?;
            }
        }
        specs::sweep(&self.conn)?;
        tx.commit()?;
        // It may be greater than memory. What is left of it where it is stopped midway, `wal.rs` may take
        // for damage; nothing was lost then.
        let done = self.conn.execute_batch("PRAGMA cache_spill = ON; VACUUM");
        self.conn.execute_batch("PRAGMA cache_spill = OFF")?;
        done?;
        // What was written ahead is moved into the database, as far as others are not reading it.
        self.conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        Ok(())
    }

    pub fn check(&mut self) -> Result<Vec<String>, Fault> {
        let mut lines = Vec::new();
        let mut look = |found: Result<Vec<String>, Fault>| match found {
            Ok(found) => {
                lines.extend(found);
                Ok(())
            }
            Err(fault) if fault.is_damage() => {
                lines.push(fault.at("the store").to_string());
                Ok(())
            }
            Err(fault) => Err(fault),
        };
        look(self.integrity())?;
        look(self.strays())?;
        look(self.misplaced())?;
        look(specs::check(&self.conn))?;
        // What is remembered of them is no proof of what is kept.
        self.specs = Specs::default();
        let rows = match self.rows() {
            Ok(rows) => rows,
            Err(fault) => return look(Err(fault)).map(|()| lines),
        };
        for row in rows {
            match row {
                Err(fault) => look(Err(fault))?,
                Ok(row) => {
                    for turn in 0..row.turns {
                        look(self.records(&row.name, turn).map(|_| Vec::new()))?;
                    }
                }
            }
        }
        Ok(lines)
    }

    /// What SQLite itself finds.
    fn integrity(&self) -> Result<Vec<String>, Fault> {
        let mut lines = Vec::new();
        let mut said = self.conn.prepare("PRAGMA integrity_check")?;
        let mut said = said.query([])?;
        while let Some(row) = said.next()? {
            let line: String = row.get(0)?;
            if line != "ok" {
                lines.push(format!("the store: {line}"));
            }
        }
        Ok(lines)
    }

    /// All threads; each as it reads, or what is wrong with it.
    fn rows(&self) -> Result<Vec<Result<Row, Fault>>, Fault> {
        let mut select = self.conn.prepare(&format!("SELECT {COLUMNS} FROM thread ORDER BY id"))?;
        let mut rows = select.query([])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(Row::read(row));
        }
        Ok(found)
    }

    /// Threads that a list shows as what they are not, or elsewhere than where they belong.
    fn misplaced(&self) -> Result<Vec<String>, Fault> {
        let mut select = self.conn.prepare(&format!("SELECT {COLUMNS}, status, waits FROM thread"))?;
        let mut rows = select.query([])?;
        let mut lines = Vec::new();
        while let Some(found) = rows.next()? {
            // What does not read is said of the thread itself.
            let Ok(row) = Row::read(found) else { continue };
            let (status, waits): (String, u64) = (found.get("status")?, found.get("waits")?);
            let (name, listed) = (&row.name, row.listed(false));
            let is = listed.standing.status();
            if status != is {
                lines.push(format!("thread {name}: a list shows it as {status}, and it is {is}"));
            } else if waits != listed.key(Order::LongestWaiting) {
                lines.push(format!("thread {name}: it is not at its place in lists"));
            }
        }
        Ok(lines)
    }

    /// Turns and records that are nobody's.
    fn strays(&self) -> Result<Vec<String>, Fault> {
        let threads: BTreeMap<i64, u32> =
            self.rows()?.into_iter().flatten().map(|row| (row.id, row.turns)).collect();
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
