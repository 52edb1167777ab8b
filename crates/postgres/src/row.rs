//! The rows of threads in the table, and the ends of their turns.

pub(crate) use planwright::journal::stored::{End, ThreadRow};
use planwright::journal::{
    JournalError, JournalErrorKind, Lease, Listed, Record, Seal, StoreError, ThreadId,
};
use postgres::Row;

use crate::fault::Fault;
use crate::pool::{Conn, Values};

/// Whether the holder of a thread has its lock. A server in recovery does not know the locks of its primary.
macro_rules! alive {
    () => {
        "(pg_is_in_recovery() OR CASE WHEN holder ~ '-[0-9a-f]{16}$' \
         THEN ('x' || right(holder, 16))::bit(64)::bigint IN ( \
           SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks \
           WHERE locktype = 'advisory' AND objsubid = 1 AND granted \
           AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) \
         ELSE false END)"
    };
}

macro_rules! columns {
    () => {
        "SELECT id, name, title, turns, created, updated, epoch, written, holder, noted, standing, records, last, \
         seal, status, waits, "
    };
}

/// The columns of a row, and whether its holder is alive.
macro_rules! select_rows {
    ($rest:literal) => {
        concat!(
            $crate::row::columns!(),
            "holder IS NOT NULL AND ",
            $crate::row::alive!(),
            ", origin FROM thread ",
            $rest
        )
    };
}
pub(crate) use {alive, columns, select_rows};

/// A row by its name, without a look at who is alive: that reads all locks of the server.
const BY_NAME: &str = concat!(columns!(), "false, origin FROM thread WHERE name = $1");
const BY_NAME_LOCKED: &str =
    concat!(columns!(), "false, origin FROM thread WHERE name = $1 FOR NO KEY UPDATE");

/// A row as it is found.
pub(crate) struct Found {
    pub row: ThreadRow,
    /// Whether its holder is alive.
    pub alive: bool,
    /// The thread that it is a fork of.
    pub origin: Option<String>,
}

/// Finds the row of a thread.
pub(crate) fn find_row(conn: &mut Conn, name: &ThreadId) -> Result<Option<Found>, Fault> {
    let row = conn.find(select_rows!("WHERE name = $1"), &[&name.as_str()])?;
    row.as_ref().map(parse_row).transpose()
}

/// Finds the row of a thread, and keeps others from changing it until the transaction ends.
pub(crate) fn lock_row(conn: &mut Conn, name: &ThreadId) -> Result<Option<Found>, Fault> {
    let row = conn.find(select_rows!("WHERE name = $1 FOR NO KEY UPDATE"), &[&name.as_str()])?;
    row.as_ref().map(parse_row).transpose()
}

/// Locks the row of a thread without a look at who is alive.
pub(crate) fn lock_row_of_any(conn: &mut Conn, name: &ThreadId) -> Result<Option<ThreadRow>, Fault> {
    let row = conn.find(BY_NAME_LOCKED, &[&name.as_str()])?;
    Ok(row.as_ref().map(parse_row).transpose()?.map(|found| found.row))
}

/// Locks the row of a thread under a lease that is in force.
pub(crate) fn lock_leased(conn: &mut Conn, lease: &Lease) -> Result<ThreadRow, Fault> {
    let row = lock_row_of_any(conn, lease.thread())?.filter(|row| row.epoch == lease.epoch());
    row.ok_or_else(|| JournalError::fenced(lease.thread()).into())
}

/// The row of a thread that has turns.
pub(crate) fn find_known(conn: &mut Conn, name: &ThreadId) -> Result<ThreadRow, Fault> {
    let row = conn.find(BY_NAME, &[&name.as_str()])?;
    let row = row.as_ref().map(parse_row).transpose()?.map(|found| found.row).filter(|row| row.turns > 0);
    row.ok_or_else(|| StoreError::NoThread { thread: name.clone() }.into())
}

/// Reads a column as a number that is not negative.
fn number<N: TryFrom<i64>>(row: &Row, at: usize) -> Option<N> {
    N::try_from(row.get(at)).ok()
}

/// Parses what [`select_rows`] selects.
pub(crate) fn parse_row(row: &Row) -> Result<Found, Fault> {
    let (name, status): (&str, &str) = (row.get(1), row.get(10));
    let parse = || {
        let parsed = ThreadRow {
            id: row.get(0),
            name: name.parse().ok()?,
            title: row.get(2),
            turns: u32::try_from(row.get::<_, i32>(3)).ok()?,
            created: number(row, 4)?,
            updated: number(row, 5)?,
            epoch: number(row, 6)?,
            written: number(row, 7)?,
            holder: row.get(8),
            noted: row.get(9),
            status: serde_json::from_str(status).ok()?,
            last: match row.get::<_, &[u8]>(12) {
                [] => None,
                seal => Some(End { records: number(row, 11)?, seal: Seal::from_bytes(seal)? }),
            },
        };
        (row.get::<_, &[u8]>(13) == parsed.seal(status).bytes()).then_some(parsed)
    };
    let parsed = parse().ok_or_else(|| ThreadRow::damaged(row.get(0), name))?;
    Ok(Found { row: parsed, alive: row.get(16), origin: row.get(17) })
}

/// The row in a list if it cannot be parsed.
pub(crate) fn list_damaged(row: &Row, fault: Fault) -> Result<Listed, Fault> {
    if !fault.is_damage() {
        return Err(fault);
    }
    let turns = u32::try_from(row.get::<_, i32>(3)).unwrap_or_default();
    let times = [4, 5].map(|at| number(row, at).unwrap_or_default());
    let problem = fault.at("the store").to_string();
    Ok(ThreadRow::list_damaged(row.get(0), row.get(1), row.get(2), turns, times, problem))
}

/// Writes the row, whether it is new or not. Gives whether it was: another process may have made one of the same
/// name since it was looked for.
pub(crate) fn save_row(conn: &mut Conn, row: &mut ThreadRow) -> Result<bool, Fault> {
    let status = row.status_text();
    let seal = row.seal(&status);
    let (records, last) = row.kept_end();
    let waits = row.status.waiting_since(row.updated) as i64;
    let (turns, [created, updated, epoch, written, records]) =
        (row.turns as i32, [row.created, row.updated, row.epoch, row.written, records].map(|it| it as i64));
    let (name, is_new) = (row.name.as_str(), row.id == 0);
    let values: Values<'_> = &[
        &name,
        &row.title,
        &turns,
        &created,
        &updated,
        &epoch,
        &written,
        &row.holder,
        &row.noted,
        &status,
        &records,
        &last,
        &seal.bytes(),
        &row.status.name(),
        &waits,
    ];
    let sql = if is_new { INSERT } else { UPDATE };
    let id = conn.find(sql, values)?.map(|found| found.get(0));
    row.id = id.unwrap_or(row.id);
    Ok(id.is_some())
}

const INSERT: &str = "INSERT INTO thread (name, title, turns, created, updated, epoch, written, holder, noted, \
     standing, records, last, seal, status, waits) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, \
     $14, $15) ON CONFLICT (name) DO NOTHING RETURNING id";

const UPDATE: &str = "UPDATE thread SET title = $2, turns = $3, created = $4, updated = $5, epoch = $6, written = $7, \
     holder = $8, noted = $9, standing = $10, records = $11, last = $12, seal = $13, status = $14, waits = $15 \
     WHERE name = $1 RETURNING id";

/// Deletes a thread with all its turns.
pub(crate) fn delete_row(conn: &mut Conn, row: &ThreadRow) -> Result<(), Fault> {
    let tables = [
        "DELETE FROM record WHERE thread = $1",
        "DELETE FROM turn WHERE thread = $1",
        "DELETE FROM thread WHERE id = $1",
    ];
    tables.into_iter().try_for_each(|sql| conn.execute(sql, &[&row.id]).map(drop))
}

/// The end of a turn, by its records.
pub(crate) fn find_end(conn: &mut Conn, thread: i64, turn: u32) -> Result<Option<End>, Fault> {
    let sql = "SELECT at + 1, seal FROM record WHERE thread = $1 AND turn = $2 ORDER BY at DESC LIMIT 1";
    select_end(conn, sql, thread, turn)
}

/// The end that was kept of a turn.
pub(crate) fn find_kept_end(conn: &mut Conn, thread: i64, turn: u32) -> Result<Option<End>, Fault> {
    select_end(conn, "SELECT records, seal FROM turn WHERE thread = $1 AND turn = $2", thread, turn)
}

fn select_end(conn: &mut Conn, sql: &'static str, thread: i64, turn: u32) -> Result<Option<End>, Fault> {
    let Some(row) = conn.find(sql, &[&thread, &(turn as i32)])? else { return Ok(None) };
    let end = number(&row, 0).and_then(|records| Some(End { records, seal: Seal::from_bytes(row.get(1))? }));
    let spoilt = || Fault::new(JournalErrorKind::Damaged, "the end of a turn is not as it was written");
    end.map(Some).ok_or_else(spoilt)
}

/// Keeps the end of a turn: it is no longer the last of its thread.
pub(crate) fn keep_end(conn: &mut Conn, thread: i64, turn: u32, end: &End) -> Result<(), Fault> {
    let sql = "INSERT INTO turn VALUES ($1, $2, $3, $4) \
         ON CONFLICT (thread, turn) DO UPDATE SET records = excluded.records, seal = excluded.seal";
    conn.execute(sql, &[&thread, &(turn as i32), &(end.records as i64), &end.seal.as_bytes()]).map(drop)
}

/// Notes that a turn is written to, as [`ThreadRow::open_turn`] says.
pub(crate) fn open_turn(
    conn: &mut Conn,
    row: &mut ThreadRow,
    turn: u32,
    first: Option<&Record>,
    holder: Option<&str>,
) -> Result<bool, Fault> {
    let is_changed = row.open_turn(turn, first, holder, |id, last, end| {
        let end = end.map_or_else(|| find_end(conn, id, last), |end| Ok(Some(end)))?;
        end.map_or(Ok(()), |end| keep_end(conn, id, last, &end))
    })?;
    // Postgres has no text with this character.
    row.title = row.title.replace('\0', "\u{2400}");
    Ok(is_changed)
}

/// Keeps what a thread is a fork of, if its first record says so.
pub(crate) fn keep_origin(
    conn: &mut Conn,
    row: &ThreadRow,
    turn: u32,
    first: Option<&Record>,
) -> Result<(), Fault> {
    let Some(Record::Header(header)) = first.filter(|_| turn == 0) else { return Ok(()) };
    let Some(origin) = &header.origin else { return Ok(()) };
    let origin = origin.thread.replace('\0', "\u{2400}");
    conn.execute("UPDATE thread SET origin = $2 WHERE id = $1", &[&row.id, &origin]).map(drop)
}
