//! Lists, each page by one index.

use std::collections::BTreeMap;

use rusqlite::types::Value;

use super::Inner;
use super::fault::Fault;
use super::open::FOR_PEOPLE;
use super::row::{COLUMNS, Row};
use planwright::journal::{Listed, Order, Query, StoreError, ThreadId};

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
        let lives = self.holders.alive(id)?.is_some();
        known.insert(id.clone(), lives);
        Ok(lives)
    }
}

/// A query as SQL and its values, a mark each.
fn asked(query: &Query) -> (String, Vec<Value>) {
    let text = |text: &str| Value::Text(text.to_owned());
    let whole = |number: u64| Value::Integer(i64::try_from(number).unwrap_or(i64::MAX));
    let (key, further, direction) = match query.order {
        Order::Newest => ("updated", '<', "DESC"),
        Order::LongestWaiting => ("waits", '>', "ASC"),
    };
    let mut sql = String::new();
    let mut values = Vec::new();
    let mut mark = |value| {
        values.push(value);
        format!("?{}", values.len())
    };
    let statuses = &query.statuses;
    let waits = |status: &String| ["waiting", "in_doubt"].contains(&status.as_str());
    let for_people = !statuses.is_empty() && statuses.iter().all(waits);
    if for_people {
        // As the index has it.
        sql += &format!(" AND {FOR_PEOPLE}");
    }
    if !statuses.is_empty() && statuses != &["waiting", "in_doubt"] {
        let marks: Vec<_> = statuses.iter().map(|status| mark(text(status))).collect();
        sql += &format!(" AND status IN ({})", marks.join(", "));
    }
    if !query.prefix.is_empty() {
        // By letters, not by LIKE: in a name, `%` and `_` are themselves.
        let (prefix, letters) = (mark(text(&query.prefix)), mark(whole(query.prefix.chars().count() as u64)));
        sql += &format!(" AND name >= {prefix} AND substr(name, 1, {letters}) = {prefix}");
    }
    if let Some(after) = &query.after {
        let (at, name) = (mark(whole(after.at)), mark(text(after.thread.as_str())));
        sql += &format!(" AND {key} {further}= {at} AND ({key} {further} {at} OR name > {name})");
    }
    let select = format!("SELECT {COLUMNS} FROM thread WHERE turns > 0{sql}");
    let limit = mark(whole(query.limit as u64));
    let order = format!("ORDER BY {key} {direction}, name LIMIT {limit}");
    let sql = match query.order {
        // Each half comes in its order out of the index, and the two are merged.
        Order::Newest if !for_people => {
            format!("{select} AND noted = 0 UNION ALL {select} AND noted = 1 {order}")
        }
        _ => format!("{select} {order}"),
    };
    (sql, values)
}
