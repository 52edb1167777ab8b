//! What is asked of all threads: lists, each page by one index; what is damaged; what can be thrown away.

use planwright::journal::JournalErrorKind::Io;
use planwright::journal::{Order, Query, Seal};
use postgres::types::ToSql;

use crate::fault::Fault;
use crate::pool::{Conn, READING, WRITING};
use crate::row::{Found, ThreadRow, delete_row, parse_row, select_rows};
use crate::turn::{Specs, check_specs, read_turn, sweep_specs};

/// A query as SQL behind `FROM thread`, with a parameter for each value. `None` where it can find nothing: Postgres has
/// no text with the character 0.
pub(crate) fn build_sql(query: &Query) -> Option<(String, Vec<Box<dyn ToSql + Sync>>)> {
    let statuses = &query.statuses;
    if query.prefix.contains('\0') || statuses.iter().any(|status| status.contains('\0')) {
        return None;
    }
    let (key, further, direction) = match query.order {
        Order::Newest => ("updated", '<', "DESC"),
        Order::LongestWaiting => ("waits", '>', "ASC"),
    };
    let mut sql = "WHERE turns > 0".to_owned();
    let mut values: Vec<Box<dyn ToSql + Sync>> = Vec::new();
    let mut bind = |value| {
        values.push(value);
        format!("${}", values.len())
    };
    if !statuses.is_empty() && statuses.iter().all(|status| status == "waiting" || status == "in_doubt") {
        // The condition of the index, word for word.
        sql += " AND status IN ('waiting', 'in_doubt')";
    }
    if !statuses.is_empty() {
        sql += &format!(" AND status = ANY({})", bind(Box::new(statuses.clone())));
    }
    if !query.prefix.is_empty() {
        sql += &format!(" AND starts_with(name, {})", bind(Box::new(query.prefix.clone())));
    }
    if let Some(after) = &query.after {
        let at = i64::try_from(after.at).unwrap_or(i64::MAX);
        let (at, mut name) = (bind(Box::new(at)), bind(Box::new(after.thread.to_string())));
        if let Some(id) = ThreadRow::find_number(&after.thread) {
            name = format!("coalesce((SELECT name FROM thread WHERE id = {}), {name})", bind(Box::new(id)));
        }
        sql += &format!(" AND {key} {further}= {at} AND ({key} {further} {at} OR name > {name})");
    }
    let limit = bind(Box::new(i64::try_from(query.limit).unwrap_or(i64::MAX)));
    sql += &format!(" ORDER BY {key} {direction}, name LIMIT {limit}");
    Some((format!("{}{sql}", select_rows!("")), values))
}

/// A row as it is found, and what it says, or what is wrong with it.
type Parsed = (postgres::Row, Result<Found, Fault>);

/// Finds rows.
pub(crate) fn find_rows(
    conn: &mut Conn,
    sql: &str,
    values: &[Box<dyn ToSql + Sync>],
) -> Result<Vec<Parsed>, Fault> {
    let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(AsRef::as_ref).collect();
    let rows = conn.client.query(sql, &values)?;
    Ok(rows.into_iter().map(|row| (row.clone(), parse_row(&row))).collect())
}

/// The threads whose last turn has no status after all its records.
pub(crate) const OPEN: &str = select_rows!("WHERE turns > 0 AND NOT noted ORDER BY name");

/// The threads that no list shows: new ones that are claimed, and those that are damaged.
pub(crate) const WITHOUT_TURNS: &str = select_rows!("WHERE turns <= 0 ORDER BY name");

const ALL: &str = select_rows!("ORDER BY id");

/// Deletes what nothing needs, and lets its space be used again.
pub(crate) fn vacuum(conn: &mut Conn) -> Result<(), Fault> {
    conn.atomically(WRITING, |conn| {
        let empty = find_rows(conn, select_rows!("WHERE turns = 0 FOR NO KEY UPDATE SKIP LOCKED"), &[])?;
        for found in empty.into_iter().filter_map(|(_, row)| row.ok()).filter(|found| !found.alive) {
            delete_row(conn, &found.row)?;
        }
        sweep_specs(conn)
    })?;
    conn.take_warnings();
    conn.client.batch_execute("VACUUM thread, turn, record, spec")?;
    // It passes over tables that the role may not vacuum, and only warns.
    match conn.take_warnings() {
        warnings if warnings.is_empty() => Ok(()),
        warnings => {
            let told = "what nothing needs is deleted, but its space is not given back; the role that owns the tables can";
            Err(Fault::new(Io, format!("{told}: {}", warnings.join("; "))))
        }
    }
}

/// What is damaged, a line each: everything that is stored, read once.
pub(crate) fn check(conn: &mut Conn, start: Seal) -> Result<Vec<String>, Fault> {
    conn.atomically(READING, |conn| {
        // What is remembered of the specs is no proof of what is stored.
        let specs = Specs::default();
        let mut lines = find_strays(conn)?;
        lines.extend(check_specs(conn)?);
        for (found, row) in find_rows(conn, ALL, &[])? {
            let row = match row {
                Ok(found) => found.row,
                Err(fault) if fault.is_damage() => {
                    lines.push(fault.at("the store").to_string());
                    continue;
                }
                Err(fault) => return Err(fault),
            };
            for turn in 0..row.turns {
                match read_turn(conn, start, &specs, &row, turn)
                    .map_err(|fault| fault.in_turn(&row.name, turn))
                {
                    Err(fault) if fault.is_damage() => lines.push(fault.at("the store").to_string()),
                    read => drop(read?),
                }
            }
            lines.extend(check_listed(row, found.get(14), found.get(15)));
        }
        Ok(lines)
    })
}

/// Turns and records that belong to no thread.
fn find_strays(conn: &mut Conn) -> Result<Vec<String>, Fault> {
    let sql = "SELECT DISTINCT it.thread, it.turn FROM ( \
           SELECT DISTINCT thread, turn FROM record UNION SELECT thread, turn FROM turn) AS it \
         WHERE NOT EXISTS (SELECT FROM thread WHERE id = it.thread AND it.turn BETWEEN 0 AND turns - 1) \
         ORDER BY it.thread, it.turn";
    let line = |row: &postgres::Row| {
        let (thread, turn): (i64, i32) = (row.get(0), row.get(1));
        format!("the store: turn {} of thread number {thread} is no thread's", i64::from(turn) + 1)
    };
    Ok(conn.query(sql, &[])?.iter().map(line).collect())
}

/// What is wrong with the status and the place with which a list shows a thread.
fn check_listed(row: ThreadRow, status: &str, waits: i64) -> Option<String> {
    let listed = row.list(false, None);
    let (name, is) = (&listed.thread, listed.status.name());
    if status != is {
        Some(format!("thread {name}: a list shows it as {status}, and it is {is}"))
    } else if u64::try_from(waits) != Ok(listed.key(Order::LongestWaiting)) {
        Some(format!("thread {name}: it is not at its place in lists"))
    } else {
        None
    }
}
