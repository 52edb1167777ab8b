//! What is damaged, and what can be thrown away.

use std::collections::BTreeMap;

use planwright::journal::{Order, Seal};
use rusqlite::Connection;

use crate::fault::{Fault, begin_write};
use crate::holder::Holders;
use crate::row::Row;
use crate::specs::{self, Specs};
use crate::turn::read_turn;

/// Deletes what nothing needs, and gives its space back.
pub(crate) fn vacuum(conn: &Connection, holders: &Holders) -> Result<(), Fault> {
    let tx = begin_write(conn)?;
    for (row, ..) in list_rows(conn)?.into_iter().flatten().filter(|(row, ..)| row.turns == 0) {
        if !holders.is_held(&row)? {
            row.delete(conn)?;
        }
    }
    specs::sweep(conn)?;
    tx.commit()?;
    conn.execute_batch("VACUUM")?;
    // The log is moved into the database as far as no other process is reading it.
    Ok(conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?)
}

/// What is damaged, a line each: SQLite's own check, and everything that is stored, read once.
pub(crate) fn check(conn: &Connection, start: Seal, specs: &mut Specs) -> Result<Vec<String>, Fault> {
    let _tx = conn.unchecked_transaction()?;
    let mut found = vec![check_integrity(conn), find_strays(conn), specs::check(conn)];
    for row in list_rows(conn).unwrap_or_else(|fault| vec![Err(fault)]) {
        match row {
            Ok((row, status, waits)) => {
                for turn in 0..row.turns {
                    let records = read_turn(conn, start, specs, &row, turn).map(|_| Vec::new());
                    found.push(records.map_err(|fault| fault.in_turn(&row.name, turn)));
                }
                found.push(Ok(check_listed(row, &status, waits)));
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

fn check_integrity(conn: &Connection) -> Result<Vec<String>, Fault> {
    let mut check = conn.prepare("PRAGMA integrity_check")?;
    let lines: Vec<String> = check.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(lines.into_iter().filter(|line| line != "ok").map(|line| format!("the store: {line}")).collect())
}

/// A row with the status and the time that lists go by, or what is wrong with it.
type Kept = Result<(Row, String, u64), Fault>;

fn list_rows(conn: &Connection) -> Result<Vec<Kept>, Fault> {
    let mut select = conn.prepare("SELECT * FROM thread ORDER BY id")?;
    let parse = |row: &rusqlite::Row<'_>| Ok((Row::parse(row)?, row.get("status")?, row.get("waits")?));
    let rows = select.query_map([], |row| Ok(parse(row)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Turns and records that belong to no thread.
fn find_strays(conn: &Connection) -> Result<Vec<String>, Fault> {
    let rows = list_rows(conn)?.into_iter().flatten();
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
