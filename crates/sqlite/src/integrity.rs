//! What is damaged, and what can be thrown away.

use std::collections::BTreeMap;

use planwright::journal::Order;

use crate::database::Database;
use crate::fault::{Fault, Tx};
use crate::row::{COLUMNS, Row};
use crate::specs::{self, Specs};

/// A row of a thread, or what is wrong with it; then the status and the time that lists go by.
type Kept = (Result<Row, Fault>, Result<(String, u64), Fault>);

impl Database {
    /// Deletes what nothing needs, and gives its space back.
    pub fn vacuum(&mut self) -> Result<(), Fault> {
        let tx = Tx::write(&self.conn)?;
        for row in self.list_rows()?.into_iter().filter_map(|(row, _)| row.ok()).filter(|row| row.turns == 0)
        {
            let holder = row.holder.as_deref().map(|id| self.holders.describe_alive(id)).transpose()?;
            if holder.flatten().is_none() {
                row.delete(&self.conn)?;
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
        let mut found = vec![self.check_integrity(), self.find_strays(), specs::check(&self.conn)];
        match self.list_rows() {
            Err(fault) => found.push(Err(fault)),
            Ok(rows) => {
                for (row, listed) in rows {
                    match row {
                        Ok(row) => {
                            let read = |turn| self.records(&row.name, turn).map(|_| Vec::new());
                            found.extend((0..row.turns).map(read));
                            found.push(listed.map(|(status, waits)| check_listed(row, &status, waits)));
                        }
                        Err(fault) => found.push(Err(fault)),
                    }
                }
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
        let mut check = self.conn.prepare("PRAGMA integrity_check")?;
        let lines: Vec<String> = check.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        Ok(lines.into_iter().filter(|line| line != "ok").map(|line| format!("the store: {line}")).collect())
    }

    fn list_rows(&self) -> Result<Vec<Kept>, Fault> {
        let mut select =
            self.conn.prepare(&format!("SELECT {COLUMNS}, status, waits FROM thread ORDER BY id"))?;
        let mut rows = select.query([])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let listed = row.get("status").and_then(|status| Ok((status, row.get("waits")?)));
            found.push((Row::parse(row), listed.map_err(Fault::from)));
        }
        Ok(found)
    }

    /// Turns and records that belong to no thread.
    fn find_strays(&self) -> Result<Vec<String>, Fault> {
        let rows = self.list_rows()?.into_iter().filter_map(|(row, _)| row.ok());
        let threads: BTreeMap<i64, u32> = rows.map(|row| (row.id, row.turns)).collect();
        let mut turns =
            self.conn.prepare("SELECT DISTINCT at >> 20 FROM record UNION SELECT at FROM turn")?;
        let turns: Vec<i64> = turns.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        let strays = turns
            .into_iter()
            .map(|at| (at >> 16, at & 0xFFFF))
            .filter(|(thread, turn)| threads.get(thread).is_none_or(|turns| *turn >= i64::from(*turns)));
        let line =
            |(thread, turn)| format!("the store: turn {} of thread number {thread} is no thread's", turn + 1);
        Ok(strays.map(line).collect())
    }
}

/// What is wrong with the status and the place with which a list shows a thread.
fn check_listed(row: Row, status: &str, waits: u64) -> Vec<String> {
    let listed = row.list(false);
    let (name, is) = (&listed.thread, listed.status.name());
    if status != is {
        vec![format!("thread {name}: a list shows it as {status}, and it is {is}")]
    } else if waits != listed.key(Order::LongestWaiting) {
        vec![format!("thread {name}: it is not at its place in lists")]
    } else {
        Vec::new()
    }
}
