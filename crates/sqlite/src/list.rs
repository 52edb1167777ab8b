//! Lists of threads, each page by one index.

use std::collections::BTreeMap;

use planwright::journal::{Listed, Order, Query, ThreadId};
use rusqlite::types::Value;

use crate::database::Database;
use crate::fault::Fault;
use crate::open::WAITS_FOR_PERSON;
use crate::row::{COLUMNS, Row};

impl Database {
    pub fn list(&mut self, query: &Query) -> Result<Vec<Listed>, Fault> {
        let (sql, values) = build_sql(query);
        let mut select = self.conn.prepare_cached(&sql)?;
        let mut rows = select.query(rusqlite::params_from_iter(values))?;
        let (mut listed, mut alive) = (Vec::new(), BTreeMap::new());
        while let Some(row) = rows.next()? {
            // A damaged thread does not keep the others out of the list.
            listed.push(match Row::parse(row) {
                Ok(found) => {
                    let running = self.is_held(&found, &mut alive)?;
                    found.list(running)
                }
                Err(fault) => Row::list_damaged(row, fault)?,
            });
        }
        Ok(listed)
    }

    pub fn find(&mut self, thread: &ThreadId) -> Result<Option<Listed>, Fault> {
        let Some(row) = Row::find(&self.conn, thread)?.filter(|row| row.turns > 0) else { return Ok(None) };
        let running = self.is_held(&row, &mut BTreeMap::new())?;
        Ok(Some(row.list(running)))
    }

    /// Threads without a holder whose writers were stopped before they noted a status.
    pub fn list_stale(&mut self) -> Result<Vec<ThreadId>, Fault> {
        let sql = format!("SELECT {COLUMNS} FROM thread WHERE turns > 0 AND noted = 0 ORDER BY name");
        let mut select = self.conn.prepare_cached(&sql)?;
        let mut rows = select.query([])?;
        let (mut stale, mut alive) = (Vec::new(), BTreeMap::new());
        while let Some(row) = rows.next()? {
            let Ok(row) = Row::parse(row) else { continue };
            if !self.is_held(&row, &mut alive)? {
                stale.push(row.name);
            }
        }
        Ok(stale)
    }

    /// Whether a holder that is alive has the thread; each holder is looked up once.
    fn is_held(&self, row: &Row, known: &mut BTreeMap<String, bool>) -> Result<bool, Fault> {
        let Some(id) = &row.holder else { return Ok(false) };
        if !known.contains_key(id) {
            known.insert(id.clone(), self.holders.describe_alive(id)?.is_some());
        }
        Ok(known[id])
    }
}

/// A query as SQL with a parameter for each value.
fn build_sql(query: &Query) -> (String, Vec<Value>) {
    let text = |text: &str| Value::Text(text.to_owned());
    let integer = |number: u64| Value::Integer(i64::try_from(number).unwrap_or(i64::MAX));
    let (key, further, direction) = match query.order {
        Order::Newest => ("updated", '<', "DESC"),
        Order::LongestWaiting => ("waits", '>', "ASC"),
    };
    let mut sql = String::new();
    let mut values = Vec::new();
    let mut bind = |value| {
        values.push(value);
        format!("?{}", values.len())
    };
    let statuses = &query.statuses;
    let waits = |status: &String| ["waiting", "in_doubt"].contains(&status.as_str());
    let waits_for_person = !statuses.is_empty() && statuses.iter().all(waits);
    if waits_for_person {
        // The condition of the index, word for word.
        sql += &format!(" AND {WAITS_FOR_PERSON}");
    }
    if !statuses.is_empty() && statuses != &["waiting", "in_doubt"] {
        let places: Vec<_> = statuses.iter().map(|status| bind(text(status))).collect();
        sql += &format!(" AND status IN ({})", places.join(", "));
    }
    if !query.prefix.is_empty() {
        // By letters, not by LIKE: in a name, `%` and `_` are themselves.
        let (prefix, letters) =
            (bind(text(&query.prefix)), bind(integer(query.prefix.chars().count() as u64)));
        sql += &format!(" AND name >= {prefix} AND substr(name, 1, {letters}) = {prefix}");
    }
    if let Some(after) = &query.after {
        let (at, name) = (bind(integer(after.at)), bind(text(after.thread.as_str())));
        sql += &format!(" AND {key} {further}= {at} AND ({key} {further} {at} OR name > {name})");
    }
    let select = format!("SELECT {COLUMNS} FROM thread WHERE turns > 0{sql}");
    let limit = bind(integer(query.limit as u64));
    let order = format!("ORDER BY {key} {direction}, name LIMIT {limit}");
    let sql = match query.order {
        // The index holds each half in order, and SQLite merges the two.
        Order::Newest if !waits_for_person => {
            format!("{select} AND noted = 0 UNION ALL {select} AND noted = 1 {order}")
        }
        _ => format!("{select} {order}"),
    };
    (sql, values)
}
