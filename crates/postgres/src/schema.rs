//! The tables of a store, and how they come from one version to the next.

use planwright::journal::JournalErrorKind::{Damaged, Format, Setup};
use planwright::journal::system::random_id;
use postgres::error::SqlState;

use crate::fault::Fault;
use crate::pool::{Conn, WRITING};

/// What takes the tables from each version to the next, beginning with none. The version of what is in the records is
/// [`planwright::journal::JOURNAL_FORMAT`].
///
/// How a turn ended is kept in the row of its thread, and moves to `turn` when the next one begins. Only `spec` of a
/// record refers to another table: an append costs no look that is not needed.
const MIGRATIONS: [&str; 1] = ["
    CREATE TABLE store (version integer NOT NULL, name text NOT NULL);
    CREATE TABLE thread (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE \"C\" NOT NULL UNIQUE,
        title text NOT NULL, turns integer NOT NULL, created bigint NOT NULL, updated bigint NOT NULL,
        epoch bigint NOT NULL, written bigint NOT NULL, holder text, noted boolean NOT NULL, standing text NOT NULL,
        records bigint NOT NULL, last bytea NOT NULL, seal bytea NOT NULL, status text NOT NULL,
        waits bigint NOT NULL, origin text);
    CREATE TABLE turn (thread bigint, turn integer, records bigint NOT NULL, seal bytea NOT NULL,
        PRIMARY KEY (thread, turn));
    CREATE TABLE spec (digest bytea PRIMARY KEY, text text NOT NULL);
    CREATE TABLE record (thread bigint, turn integer, at bigint, seal bytea NOT NULL, body text NOT NULL,
        spec bytea REFERENCES spec, PRIMARY KEY (thread, turn, at));
    CREATE INDEX thread_newest ON thread (updated DESC, name) WHERE turns > 0;
    CREATE INDEX thread_waiting ON thread (waits, name) WHERE status IN ('waiting', 'in_doubt');
    CREATE INDEX thread_held ON thread (id) WHERE holder IS NOT NULL;
    CREATE INDEX thread_open ON thread (name) WHERE NOT noted;
    CREATE INDEX record_spec ON record (spec) WHERE spec IS NOT NULL;
"];

/// The version of the tables, raised by every change of them.
const VERSION: i32 = MIGRATIONS.len() as i32;

/// What two processes that migrate at once wait for: `plan` in ASCII.
const TURN: i64 = 0x706c_616e;

fn check_encoding(conn: &mut Conn) -> Result<(), Fault> {
    let encoding: String = conn.client.query_one("SHOW server_encoding", &[])?.get(0);
    match &*encoding {
        "UTF8" => Ok(()),
        _ => Err(Fault::new(Setup, format!("expected a database in UTF8; this one is in {encoding}"))),
    }
}

fn name_is_lost() -> Fault {
    Fault::new(Damaged, "its name and version are lost")
}

/// The name of the store. Seals start with it.
pub(crate) fn find_name(conn: &mut Conn) -> Result<String, Fault> {
    check_encoding(conn)?;
    let row = conn.client.query_opt("SELECT version, name FROM planwright.store", &[])?;
    let row = row.ok_or_else(name_is_lost)?;
    let version: i32 = row.get(0);
    if version != VERSION {
        let (kind, advice) = match version < VERSION {
            true => (Setup, "; `planwright store migrate` changes it"),
            false => (Format, ""),
        };
        return Err(Fault::new(kind, format!("expected store version {VERSION}, found {version}{advice}")));
    }
    Ok(row.get(1))
}

/// Makes the tables, or brings them to the present version: all of it or nothing. Gives the versions before and after.
pub(crate) fn migrate(conn: &mut Conn) -> Result<(u32, u32), Fault> {
    check_encoding(conn)?;
    conn.atomically(WRITING, |conn| {
        // Tables are kept, however little of what is written to them has to be.
        conn.client.batch_execute("SET LOCAL synchronous_commit TO on")?;
        conn.client.execute("SELECT pg_advisory_xact_lock($1)", &[&TURN])?;
        let is_there = conn.client.query_one("SELECT to_regnamespace('planwright') IS NOT NULL", &[])?;
        if !is_there.get::<_, bool>(0) {
            conn.client.batch_execute("CREATE SCHEMA planwright")?;
        }
        let is_there = conn.client.query_one("SELECT to_regclass('planwright.store') IS NOT NULL", &[])?;
        let found = match is_there.get(0) {
            true => conn.client.query_opt("SELECT version FROM store", &[])?.ok_or_else(name_is_lost)?.get(0),
            false => 0,
        };
        let missing = usize::try_from(found).ok().and_then(|found| MIGRATIONS.get(found..));
        let missing = missing.ok_or_else(|| {
            Fault::new(Format, format!("expected store version {VERSION} or less, found {found}"))
        })?;
        missing.iter().try_for_each(|sql| conn.client.batch_execute(sql))?;
        if found == 0 {
            let name = format!("{:016x}{:016x}", random_id(), random_id());
            conn.client.execute("INSERT INTO store VALUES ($1, $2)", &[&VERSION, &name])?;
        } else if found < VERSION {
            conn.client.execute("UPDATE store SET version = $1", &[&VERSION])?;
        }
        Ok((found as u32, VERSION as u32))
    })
}

/// Whether a fault says that there are no tables yet.
pub(crate) fn is_missing(fault: &Fault) -> bool {
    fault.has_code(&SqlState::UNDEFINED_TABLE)
}
