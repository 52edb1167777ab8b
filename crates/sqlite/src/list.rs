//! What is asked of all threads: lists, each page by one index; what is damaged; what can be thrown away.

use std::collections::BTreeMap;

use planwright::journal::{Listed, Order, Query, Seal, ThreadId};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use crate::fault::{Fault, begin_write};
use crate::holder::Holders;
use crate::open::WAITS_FOR_PERSON;
use crate::row::{Row, SqlRow, find_origin, list_damaged};
use crate::turn::{Specs, check_specs, read_turn, sweep_specs};

/// Lists threads. From the first page that does not read, `is_damaged` is set, and the table is read row by row.
pub(crate) fn list(
    conn: &Connection,
    holders: &Holders,
    query: &Query,
    is_damaged: &mut bool,
) -> Result<Vec<Listed>, Fault> {
    if !*is_damaged {
        match list_by_index(conn, holders, query) {
            Err(fault) if fault.is_damage() => *is_damaged = true,
            listed => return listed,
        }
    }
    let mut all = Vec::new();
    for row in read_rows(conn)? {
        all.push(match row {
            Ok((row, ..)) if row.turns == 0 => continue,
            Ok((row, ..)) => show(conn, row, holders)?,
            Err(listed) => *listed,
        });
    }
    Ok(query.page(all))
}

fn list_by_index(conn: &Connection, holders: &Holders, query: &Query) -> Result<Vec<Listed>, Fault> {
    let (sql, values) = build_sql(query);
    let mut select = conn.prepare_cached(&sql)?;
    let mut rows = select.query(params_from_iter(values))?;
    let mut listed = Vec::new();
    while let Some(row) = rows.next()? {
        // A damaged thread does not keep the others out of the list.
        let shown = match Row::parse(row) {
            Ok(found) => show(conn, found, holders),
            Err(fault) => list_damaged(row, fault),
        };
        listed.push(shown?);
    }
    Ok(listed)
}

/// Threads whose rows say that they have no turns, and are damaged.
pub(crate) fn list_hidden(conn: &Connection) -> Result<Vec<Listed>, Fault> {
    let mut found = BTreeMap::new();
    scan(conn, "SELECT * FROM thread WHERE turns <= 0 ORDER BY id", parse_kept, &mut found)?;
    Ok(found.into_values().filter_map(Result::err).map(|listed| *listed).collect())
}

/// A thread as it is listed.
pub(crate) fn show(conn: &Connection, row: Row, holders: &Holders) -> Result<Listed, Fault> {
    let running = holders.is_held(&row)?;
    let origin = match find_origin(&row, conn) {
        Err(fault) if fault.is_damage() => None,
        origin => origin?,
    };
    Ok(row.list(running, origin))
}

/// A row with the status and the time that lists go by, or how it is listed as damaged.
type Kept = Result<(Row, String, u64), Box<Listed>>;

/// All rows. A page that does not read costs those on it: the others are found from the end of the table, and by the
/// index of names, which names those that are lost.
fn read_rows(conn: &Connection) -> Result<Vec<Kept>, Fault> {
    let mut found = BTreeMap::new();
    match scan(conn, "SELECT * FROM thread ORDER BY id", parse_kept, &mut found) {
        Err(fault) if fault.is_damage() => {}
        read => return read.map(|()| found.into_values().collect()),
    }
    // Each is read as far as it reads.
    let _ = scan(conn, "SELECT * FROM thread ORDER BY id DESC", parse_kept, &mut found);
    let mut names = BTreeMap::new();
    let by_name = "SELECT id, name FROM thread INDEXED BY sqlite_autoindex_thread_1 ORDER BY name";
    let named = scan(conn, by_name, |row| Ok(row.get::<_, String>(1)?), &mut names);
    names.retain(|id, _| !found.contains_key(id));
    for (id, name) in names {
        let by_id = format!("SELECT * FROM thread WHERE id = {id}");
        if let Err(fault) = scan(conn, &by_id, parse_kept, &mut found) {
            found.insert(id, Err(list_lost(id, &name, fault)));
        }
    }
    if let Err(fault) = named {
        // Nothing tells which other threads there were.
        found.insert(0, Err(list_lost(0, "", fault)));
    }
    Ok(found.into_values().collect())
}

/// Reads rows by their numbers, as far as they read.
fn scan<T>(
    conn: &Connection,
    sql: &str,
    parse: impl Fn(&rusqlite::Row<'_>) -> Result<T, Fault>,
    found: &mut BTreeMap<i64, T>,
) -> Result<(), Fault> {
    let mut select = conn.prepare(sql)?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        found.insert(row.get(0)?, parse(row)?);
    }
    Ok(())
}

fn parse_kept(row: &rusqlite::Row<'_>) -> Result<Kept, Fault> {
    let parsed = Row::parse(row).and_then(|parsed| Ok((parsed, row.get("status")?, row.get("waits")?)));
    parsed.map(Ok).or_else(|fault| list_damaged(row, fault).map(|listed| Err(Box::new(listed))))
}

/// A thread of which only its name may be known.
fn list_lost(id: i64, name: &str, fault: Fault) -> Box<Listed> {
    let problem = fault.at(format!("the store: thread {}", Row::show_name(id, name))).to_string();
    Box::new(Row::list_damaged(id, name, String::new(), 0, [0, 0], problem))
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
        let (at, mut name) = (bind(integer(after.at)), bind(text(after.thread.as_str())));
        if let Some(id) = Row::find_number(&after.thread) {
            name =
                format!("ifnull((SELECT name FROM thread WHERE id = {}), {name})", bind(Value::Integer(id)));
        }
        sql += &format!(" AND {key} {further}= {at} AND ({key} {further} {at} OR name > {name})");
    }
    if query.order == Order::Newest && !waits_for_person {
        // The index holds each half in order, and SQLite merges the two.
        sql = format!("{sql} AND noted = 0 UNION ALL {sql} AND noted = 1");
    }
    let limit = bind(integer(query.limit as u64));
    (format!("{sql} ORDER BY {key} {direction}, name LIMIT {limit}"), values)
}

/// Deletes what nothing needs, and gives its space back.
pub(crate) fn vacuum(conn: &Connection, holders: &Holders) -> Result<(), Fault> {
    let tx = begin_write(conn)?;
    for (row, ..) in read_rows(conn)?.into_iter().flatten().filter(|(row, ..)| row.turns == 0) {
        if !holders.is_held(&row)? {
            row.delete(conn)?;
        }
    }
    sweep_specs(conn)?;
    tx.commit()?;
    conn.execute_batch("VACUUM")?;
    // The log is moved into the database as far as no other process is reading it.
    Ok(conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?)
}

/// What is damaged, a line each: SQLite's own check, and everything that is stored, read once.
pub(crate) fn check(conn: &Connection, start: Seal, specs: &mut Specs) -> Result<Vec<String>, Fault> {
    let _tx = conn.unchecked_transaction()?;
    let mut found = vec![check_integrity(conn), find_strays(conn), check_specs(conn)];
    let mut lines = Vec::new();
    let rows = match read_rows(conn) {
        Err(fault) if fault.is_damage() => {
            found.push(Err(fault));
            Vec::new()
        }
        rows => rows?,
    };
    for row in rows {
        match row {
            Ok((row, status, waits)) => {
                for turn in 0..row.turns {
                    let records = read_turn(conn, start, specs, &row, turn).map(|_| Vec::new());
                    found.push(records.map_err(|fault| fault.in_turn(&row.name, turn)));
                }
                found.push(Ok(check_listed(row, &status, waits)));
            }
            Err(listed) => lines.push(listed.status.text().to_owned()),
        }
    }
    for found in found {
        match found {
            Err(fault) if fault.is_damage() => lines.push(fault.at("the store").to_string()),
            found => lines.extend(found?),
        }
    }
    Ok(lines)
}

fn check_integrity(conn: &Connection) -> Result<Vec<String>, Fault> {
    let mut check = conn.prepare("PRAGMA integrity_check")?;
    let lines: Vec<String> = check.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(lines.into_iter().filter(|line| line != "ok").map(|line| format!("the store: {line}")).collect())
}

/// Turns and records that belong to no thread.
fn find_strays(conn: &Connection) -> Result<Vec<String>, Fault> {
    let rows = read_rows(conn)?.into_iter().flatten();
    let threads: BTreeMap<i64, u32> = rows.map(|(row, ..)| (row.id, row.turns)).collect();
    let mut turns = conn.prepare("SELECT DISTINCT at >> 20 FROM record UNION SELECT at FROM turn")?;
    let turns: Vec<i64> = turns.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let places = turns.into_iter().map(|at| (at >> 16, at & 0xFFFF));
    let strays =
        places.filter(|(thread, turn)| threads.get(thread).is_none_or(|turns| *turn >= i64::from(*turns)));
    let line =
        |(thread, turn)| format!("the store: turn {} of thread number {thread} is no thread's", turn + 1);
    Ok(strays.map(line).collect())
}

/// What is wrong with the status and the place with which a list shows a thread.
fn check_listed(row: Row, status: &str, waits: u64) -> Vec<String> {
    let listed = row.list(false, None);
    let (name, is) = (&listed.thread, listed.status.name());
    if status != is {
        vec![format!("thread {name}: a list shows it as {status}, and it is {is}")]
    } else if waits != listed.key(Order::LongestWaiting) {
        vec![format!("thread {name}: it is not at its place in lists")]
    } else {
        Vec::new()
    }
}
