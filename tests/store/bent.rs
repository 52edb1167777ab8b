//! Rows bent by hand, in another program.

use std::path::PathBuf;
use std::sync::Arc;

use planwright::journal::{Claim, Durability, JournalErrorKind, Query, Record, Store, StoreError};
use planwright_sqlite::SqliteStore;
use rusqlite::Connection;

use crate::support::{id, is_sound, open, tell};

const TOLD: &str = "(SELECT id << 36 FROM thread WHERE name = 'told')";
const OTHER: &str = "(SELECT id << 36 FROM thread WHERE name = 'other')";

struct Place {
    _folder: tempfile::TempDir,
    path: PathBuf,
    told: Vec<Record>,
    other: Vec<Record>,
    waits: Vec<Record>,
}

/// Three threads, one of which waits.
fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("threads.db");
    let store = Arc::new(open(&path));
    let told = tell(store.clone(), &id("told"), true);
    let other = tell(store.clone(), &id("other"), true);
    let waits = tell(store.clone(), &id("waits"), false);
    // A second turn, for what is moved between turns.
    tell(store, &id("other"), false);
    Place { _folder: folder, path, told, other, waits }
}

impl Place {
    fn bend(&self, sql: &str) {
        let sql = sql.replace("TOLD", TOLD).replace("OTHER", OTHER);
        let bent = Connection::open(&self.path).unwrap().execute_batch(&sql);
        bent.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    /// What is said of all that reads otherwise than it was written; nothing is read as something else.
    #[track_caller]
    fn said(&self, store: &SqliteStore, what: &str) -> Vec<String> {
        let whole = [("told", &self.told), ("other", &self.other), ("waits", &self.waits)];
        let mut said = Vec::new();
        for (thread, whole) in whole {
            match store.records(&id(thread), 0) {
                Ok(records) => assert!(records == *whole, "{what}: {thread} is read as another run"),
                Err(error) => said.push(error.to_string()),
            }
        }
        let checked = store.check().unwrap();
        assert!(!checked.is_empty(), "{what}: the check finds nothing");
        said.extend(checked);
        said
    }
}

#[track_caller]
fn bent(bends: &[(&str, &str)]) {
    for (sql, says) in bends {
        let place = place();
        place.bend(sql);
        let store = open(&place.path);
        let said = place.said(&store, sql);
        assert!(said.iter().any(|line| line.contains(says)), "{sql}: expected {says:?} in {said:#?}");
        let _ = store.list(&Query::default()).unwrap();
    }
}

#[test]
fn records_that_are_lost_doubled_moved_or_changed_are_named() {
    let told = "told, turn 1: journal record";
    let unsealed = |at: usize| format!("{told} {at}: the seal does not fit");
    let lost = |at: usize| format!("{told} {at}: it is lost");
    bent(&[
        ("DELETE FROM record WHERE at = TOLD", &lost(0)),
        ("DELETE FROM record WHERE at = TOLD + 7", &lost(7)),
        (
            "DELETE FROM record WHERE at = (SELECT max(at) FROM record WHERE at < TOLD + (1 << 20))",
            "it is lost, and what follows it",
        ),
        ("DELETE FROM record WHERE at >= TOLD AND at < TOLD + (1 << 20)", &lost(0)),
        ("DELETE FROM record", &lost(0)),
        ("INSERT INTO record SELECT TOLD + 500, seal, body FROM record WHERE at = TOLD + 3", "it is lost"),
        (
            "INSERT INTO record SELECT (SELECT max(at) + 1 FROM record WHERE at < TOLD + (1 << 20)), seal, body FROM record WHERE at = TOLD + 3",
            "the seal does not fit",
        ),
        ("UPDATE record SET at = at + 1000 WHERE at >= TOLD AND at < TOLD + (1 << 20)", &lost(0)),
        (
            "UPDATE record SET at = at + (7 << 20) WHERE at >= TOLD AND at < TOLD + (1 << 20)",
            "turn 8 of thread number 1 is no thread's",
        ),
        (
            "UPDATE record SET at = at + (9 << 36) WHERE at >= TOLD AND at < TOLD + (1 << 20)",
            "turn 1 of thread number 10 is no thread's",
        ),
        (
            "UPDATE record SET body = (SELECT body FROM record WHERE at = TOLD + 5) WHERE at = TOLD + 4",
            &unsealed(4),
        ),
        (
            "UPDATE record SET (seal, body) = (SELECT seal, body FROM record WHERE at = TOLD + 5) WHERE at = TOLD + 4",
            &unsealed(4),
        ),
        (
            "UPDATE record SET (seal, body) = (SELECT seal, body FROM record WHERE at = OTHER + 4) WHERE at = TOLD + 4",
            &unsealed(4),
        ),
        ("UPDATE record SET body = replace(body, 'effect', 'effecT') WHERE at = TOLD + 2", &unsealed(2)),
        ("UPDATE record SET body = '' WHERE at = TOLD + 2", &unsealed(2)),
        ("UPDATE record SET body = CAST(x'FF00FE' AS TEXT) WHERE at = TOLD + 2", &unsealed(2)),
        ("UPDATE record SET seal = x'' WHERE at = TOLD + 2", &unsealed(2)),
        ("UPDATE record SET seal = zeroblob(16) WHERE at = TOLD + 2", &unsealed(2)),
        (
            "UPDATE record SET body = replace(body, '\"format\":6', '\"format\":9') WHERE at = TOLD",
            &unsealed(0),
        ),
    ]);
}

#[test]
fn run_that_was_moved_whole_to_another_thread_or_turn_is_named() {
    let whole = "at >= OTHER AND at < OTHER + (1 << 20)";
    bent(&[
        // With its seals and its note: only the header says whose it is.
        (
            &format!(
                "DELETE FROM record WHERE at >= TOLD AND at < TOLD + (1 << 20); \
                 INSERT INTO record SELECT at - OTHER + TOLD, seal, body FROM record WHERE {whole}; \
                 INSERT OR REPLACE INTO turn SELECT at - (OTHER >> 20) + (TOLD >> 20), records, seal FROM turn \
                 WHERE at = OTHER >> 20"
            ),
            "expected the header of thread told, turn 1, found that of thread other, turn 1",
        ),
        (
            &format!(
                "DELETE FROM record WHERE at >= OTHER + (1 << 20) AND at < OTHER + (2 << 20); \
                 DELETE FROM turn WHERE at = (OTHER >> 20) + 1; \
                 INSERT INTO turn SELECT at + 1, records, seal FROM turn WHERE at = OTHER >> 20; \
                 INSERT INTO record SELECT at + (1 << 20), seal, body FROM record WHERE {whole}"
            ),
            "expected the header of thread other, turn 2, found that of thread other, turn 1",
        ),
    ]);
}

#[test]
fn specs_and_notes_that_are_lost_or_changed_are_named() {
    bent(&[
        ("DELETE FROM spec", "journal record 0: its spec is lost"),
        ("UPDATE spec SET text = replace(text, 'Plan.', 'Plan!')", "its spec is not as it was written"),
        ("UPDATE spec SET text = ''", "its spec is not as it was written"),
        ("UPDATE spec SET digest = zeroblob(16)", "its spec is lost"),
        ("UPDATE spec SET digest = x'01'", "its spec is lost"),
        ("DELETE FROM turn", "the note of its end is lost"),
        ("UPDATE turn SET records = records + 1", "it is lost, and what follows it"),
        ("UPDATE turn SET records = records - 1", "the seal does not fit"),
        ("UPDATE turn SET seal = zeroblob(16)", "the seal does not fit"),
        ("UPDATE turn SET at = at + 5", "is no thread's"),
    ]);
}

#[test]
fn threads_row_that_was_changed_is_named() {
    let unsealed = "thread told: what is kept of it is not as it was written";
    let set = |what: &str| format!("UPDATE thread SET {what} WHERE name = 'told'");
    for what in [
        "title = 'other'",
        "turns = 2",
        "turns = 0",
        "turns = -1",
        "turns = 1 << 40",
        "created = 0",
        "updated = updated + 1",
        "epoch = epoch + 1",
        "written = 0",
        "holder = '1-0123456789abcdef'",
        "noted = 0",
        "standing = '{}'",
        "standing = ''",
        "standing = (SELECT standing FROM thread WHERE name = 'waits')",
        "seal = x''",
        "seal = zeroblob(16)",
    ] {
        let place = place();
        place.bend(&set(what));
        let store = open(&place.path);
        let said = place.said(&store, what).join("\n");
        assert!(said.contains(unsealed) || said.contains("not as it was written"), "{what}: {said}");
        assert!(store.records(&id("told"), 0).is_err(), "{what}");
        store.claim(&id("told"), Claim::Any).expect_err(what);
    }
    bent(&[
        (&set("name = 'told2'"), "thread told2: what is kept of it is not as it was written"),
        (&set("id = 77"), "it is lost"),
        (&set("status = 'waiting'"), "thread told: a list shows it as waiting, and it is done"),
        (&set("waits = 5"), "thread told: it is not at its place in lists"),
        ("DELETE FROM thread WHERE name = 'told'", "turn 1 of thread number 1 is no thread's"),
        ("DELETE FROM thread", "turn 1 of thread number 1 is no thread's"),
    ]);
}

/// Refused as a whole, by name.
#[track_caller]
fn closed(place: &Place, says: &str) {
    let error = SqliteStore::open(&place.path, Durability::Normal).unwrap_err();
    let StoreError::Journal(named) = &error else { panic!("{error:?}") };
    assert!(
        matches!(
            named.kind(),
            JournalErrorKind::Damaged | JournalErrorKind::Format | JournalErrorKind::Setup
        ),
        "{error}"
    );
    let said = error.to_string();
    assert!(said.starts_with(&place.path.display().to_string()) && said.contains(says), "{said}");
}

#[test]
fn tables_of_others_and_lost_marks_are_no_reason_to_refuse_a_database() {
    for sql in [
        "CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)",
        "CREATE INDEX by_epoch ON thread (epoch)",
        "CREATE VIEW records AS SELECT * FROM record",
        "CREATE TABLE mine (x); CREATE TRIGGER mine_too AFTER INSERT ON mine BEGIN DELETE FROM mine; END",
        // What is left of them in a dump that was read back.
        "PRAGMA application_id = 0; PRAGMA user_version = 0",
    ] {
        let place = place();
        place.bend(sql);
        for _ in 0..2 {
            let store = open(&place.path);
            assert_eq!(store.records(&id("told"), 0).unwrap(), place.told, "{sql}");
            store.release(store.claim(&id("waits"), Claim::Known).unwrap()).unwrap();
            is_sound(&store);
        }
    }
}

#[test]
fn tables_and_versions_that_are_not_this_ones_are_refused() {
    let tables = "its tables are not as this version makes them";
    for (sql, says) in [
        ("DROP TABLE record", tables),
        ("DROP TABLE turn", tables),
        ("DROP TABLE spec", tables),
        ("DROP TABLE thread", tables),
        ("DROP INDEX thread_newest", tables),
        ("DROP VIEW store", tables),
        ("ALTER TABLE thread ADD COLUMN note TEXT", tables),
        ("CREATE TRIGGER gone AFTER INSERT ON record BEGIN DELETE FROM record; END", tables),
        ("PRAGMA user_version = 3", "expected store version 2, found 3"),
        ("PRAGMA user_version = 0", "expected store version 2, found 0"),
        ("PRAGMA application_id = 7", "found another program's"),
        ("PRAGMA application_id = 0; DROP TABLE turn", "found another program's"),
    ] {
        let place = place();
        place.bend(sql);
        closed(&place, says);
    }
    let place = place();
    std::fs::remove_file(&place.path).unwrap();
    place.bend("CREATE TABLE notes (text); INSERT INTO notes VALUES ('메모')");
    let before = std::fs::read(&place.path).unwrap();
    closed(&place, "found another program's");
    assert_eq!(std::fs::read(&place.path).unwrap(), before);
}
