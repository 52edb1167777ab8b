//! What is damaged, and what is waste.

use super::Inner;
use super::fault::Fault;
use super::holder;
use super::records::{places, turns_of};
use super::row::{COLUMNS, Row};
use super::tx::Tx;

impl Inner {
    pub fn vacuum(&mut self) -> Result<(), Fault> {
        let tx = Tx::writing(&self.conn)?;
        holder::sweep(&self.folder)?;
        for row in self.rows()?.into_iter().flatten().filter(|row| row.turns == 0) {
            let held = row.holder.as_deref();
            let held = held.map(|id| super::alive(&self.folder, self.holder.as_ref(), id)).transpose()?;
            if held.flatten().is_none() {
                super::forget(&self.conn, &row)?;
            }
        }
        tx.commit()?;
        self.conn.execute_batch("VACUUM")?;
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
        for pragma in ["PRAGMA integrity_check", "PRAGMA foreign_key_check"] {
            let mut said = self.conn.prepare(pragma)?;
            let mut said = said.query([])?;
            while let Some(row) = said.next()? {
                let line: String = row.get(0)?;
                if line != "ok" {
                    lines.push(format!("the store: {line}"));
                }
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

    /// Turns and records that are nobody's.
    fn strays(&self) -> Result<Vec<String>, Fault> {
        let mut lines = Vec::new();
        let turns: Vec<i64> = {
            let mut turns = self.conn.prepare("SELECT id FROM turn ORDER BY id")?;
            turns.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?
        };
        let mut records = self.conn.prepare("SELECT DISTINCT at >> 32 FROM record ORDER BY 1")?;
        let mut records = records.query([])?;
        while let Some(row) = records.next()? {
            let turn: i64 = row.get(0)?;
            if turns.binary_search(&turn).is_err() {
                lines.push(format!("the store: the records at {} and after are no turn's", places(turn).0));
            }
        }
        for row in self.rows()?.into_iter().flatten() {
            let kept = turns_of(&self.conn, row.id)?.len();
            if kept != row.turns as usize {
                lines.push(format!(
                    "the store: thread {}: expected {} turns, found {kept}",
                    row.name, row.turns
                ));
            }
        }
        Ok(lines)
    }
}
