//! Lists, each page by one index.

use std::collections::BTreeMap;

use rusqlite::types::Value;

use super::Inner;
use super::claim::alive;
use super::fault::Fault;
use super::open::FOR_PEOPLE;
use super::row::{COLUMNS, Row};
use crate::journal::{Listed, Order, Query, StoreError, ThreadId};

impl Inner {
    pub fn list(&mut self, query: &Query) -> Result<Vec<Listed>, Fault> {
        self.write_notes()?;
        let (sql, values) = asked(query);
        let mut select = self.conn.prepare_cached(&sql)?;
        let mut rows = select.query(rusqlite::params_from_iter(values))?;
        let (mut found, mut alive) = (Vec::new(), BTreeMap::new());
        while let Some(row) = rows.next()? {
            // One thread that does not read is no reason to list none.
            match Row::read(row) {
                Ok(row) => {
                    let running = self.is_held(&row, &mut alive)?;
                    found.push(row.listed(running));
                }
                Err(fault) => found.push(Row::damaged(row, fault)?),
            }
        }
        Ok(found)
    }

    pub fn find(&mut self, thread: &ThreadId) -> Result<Option<Listed>, Fault> {
        if self.notes.contains_key(thread) {
            self.write_notes()?;
        }
        let row = match self.known(thread) {
            Err(Fault::Store(StoreError::NoThread { .. })) => return Ok(None),
            row => row?,
        };
        let running = self.is_held(&row, &mut BTreeMap::new())?;
        Ok(Some(row.listed(running)))
    }

    pub fn unnoted(&mut self) -> Result<Vec<ThreadId>, Fault> {
        self.write_notes()?;
        let sql = format!("SELECT {COLUMNS} FROM thread WHERE turns > 0 AND noted = 0 ORDER BY name");
        let mut select = self.conn.prepare_cached(&sql)?;
        let mut rows = select.query([])?;
        let (mut found, mut alive) = (Vec::new(), BTreeMap::new());
        while let Some(row) = rows.next()? {
            let Ok(row) = Row::read(row) else { continue };
            if !self.is_held(&row, &mut alive)? {
                found.push(row.name);
            }
        }
        Ok(found)
    }

    /// Whether somebody who lives has a thread; every holder is looked at once.
    fn is_held(&self, row: &Row, known: &mut BTreeMap<String, bool>) -> Result<bool, Fault> {
        let Some(id) = &row.holder else { return Ok(false) };
        if let Some(lives) = known.get(id) {
            return Ok(*lives);
        }
        let lives = alive(&self.folder, self.holder.as_ref(), id)?.is_some();
        known.insert(id.clone(), lives);
        Ok(lives)
    }
}

/// A query as SQL and its values.
fn asked(query: &Query) -> (String, Vec<Value>) {
    let text = |text: &str| Value::Text(text.to_owned());
    let whole = |number: u64| Value::Integer(i64::try_from(number).unwrap_or(i64::MAX));
    let (key, further, direction) = match query.order {
        Order::Newest => ("updated", '<', "DESC"),
        Order::LongestWaiting => ("waits", '>', "ASC"),
    };
    let mut sql = format!("SELECT {COLUMNS} FROM thread WHERE turns > 0");
    let mut values = Vec::new();
    if query.statuses == ["waiting", "in_doubt"] {
        // As the index has it.
        sql += &format!(" AND {FOR_PEOPLE}");
    } else if !query.statuses.is_empty() {
        let marks = vec!["?"; query.statuses.len()].join(", ");
        sql += &format!(" AND status IN ({marks})");
        values.extend(query.statuses.iter().map(|status| text(status)));
    }
    if !query.prefix.is_empty() {
        // By letters, not by LIKE: in a name, `%` and `_` are themselves.
        sql += " AND name >= ? AND substr(name, 1, ?) = ?";
        let letters = whole(query.prefix.chars().count() as u64);
        values.extend([text(&query.prefix), letters, text(&query.prefix)]);
    }
    if let Some(after) = &query.after {
        sql += &format!(" AND {key} {further}= ? AND ({key} {further} ? OR name > ?)");
        values.extend([whole(after.at), whole(after.at), text(after.thread.as_str())]);
    }
    sql += &format!(" ORDER BY {key} {direction}, name LIMIT ?");
    values.push(whole(query.limit as u64));
    (sql, values)
}
