//! Lists of threads, each page by one index.

use planwright::journal::{Listed, Order, Query, ThreadId};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use crate::fault::Fault;
use crate::holder::Holders;
use crate::open::WAITS_FOR_PERSON;
use crate::row::Row;

pub(crate) fn list(conn: &Connection, holders: &Holders, query: &Query) -> Result<Vec<Listed>, Fault> {
    let (sql, values) = build_sql(query);
    let mut select = conn.prepare_cached(&sql)?;
    let mut rows = select.query(params_from_iter(values))?;
    let mut listed = Vec::new();
    while let Some(row) = rows.next()? {
        // A damaged thread does not keep the others out of the list.
        let shown = match Row::parse(row) {
            Ok(found) => show(found, holders),
            Err(fault) => Row::list_damaged(row, fault),
        };
        listed.push(shown?);
    }
    Ok(listed)
}

/// A thread as it is listed.
pub(crate) fn show(row: Row, holders: &Holders) -> Result<Listed, Fault> {
    let running = holders.is_held(&row)?;
    Ok(row.list(running))
}

/// Threads without a holder whose writers were stopped before they noted a status.
pub(crate) fn list_stale(conn: &Connection, holders: &Holders) -> Result<Vec<ThreadId>, Fault> {
    let sql = "SELECT * FROM thread WHERE turns > 0 AND noted = 0 ORDER BY name";
    let mut select = conn.prepare_cached(sql)?;
    let mut rows = select.query([])?;
    let mut stale = Vec::new();
    while let Some(row) = rows.next()? {
        let Ok(row) = Row::parse(row) else { continue };
        if !holders.is_held(&row)? {
            stale.push(row.name);
        }
    }
    Ok(stale)
}

/// A query as SQL with a parameter for each value.
fn build_sql(query: &Query) -> (String, Vec<Value>) {
    let text = |text: &str| Value::Text(text.to_owned());
    let integer = |number: u64| Value::Integer(i64::try_from(number).unwrap_or(i64::MAX));
    let (key, further, direction) = match query.order {
        Order::Newest => ("updated", '<', "DESC"),
        Order::LongestWaiting => ("waits", '>', "ASC"),
    };
    let mut sql = "SELECT * FROM thread WHERE turns > 0".to_owned();
    let mut values = Vec::new();
    let mut bind = |value| {
        values.push(value);
        format!("?{}", values.len())
    };
    let statuses = &query.statuses;
    let waits_for_person =
        !statuses.is_empty() && statuses.iter().all(|status| status == "waiting" || status == "in_doubt");
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
        let letters = bind(integer(query.prefix.chars().count() as u64));
        let prefix = bind(text(&query.prefix));
        sql += &format!(" AND name >= {prefix} AND substr(name, 1, {letters}) = {prefix}");
    }
    if let Some(after) = &query.after {
        let (at, name) = (bind(integer(after.at)), bind(text(after.thread.as_str())));
        sql += &format!(" AND {key} {further}= {at} AND ({key} {further} {at} OR name > {name})");
    }
    if query.order == Order::Newest && !waits_for_person {
        // The index holds each half in order, and SQLite merges the two.
        sql = format!("{sql} AND noted = 0 UNION ALL {sql} AND noted = 1");
    }
    let limit = bind(integer(query.limit as u64));
    (format!("{sql} ORDER BY {key} {direction}, name LIMIT {limit}"), values)
}
