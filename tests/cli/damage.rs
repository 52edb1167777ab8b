//! Damage on the command line: what is damaged is said by name and with the code for it, and nobody goes
//! on with it; what else is kept is shown as it is.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use crate::cli_support::store::{keep_in, store};
use crate::cli_support::{Home, ended_journal, waiting_journal};
use crate::serve::Service;
use planwright::journal::Record;
use planwright::machine::Event;
use rusqlite::Connection;
use serde_json::Value;

const DATABASE: &str = "data/planwright/threads.db";

/// One test at a time: a program that another one starts would inherit what is locked here, for a moment.
static ONE: Mutex<()> = Mutex::new(());

/// A home with a thread that was told and one that waits.
fn home() -> Home {
    let home = Home::new();
    let (told, waits) = (home.path("told.jsonl"), home.path("waits.jsonl"));
    ended_journal(&told);
    waiting_journal(&waits);
    let database = store(&home);
    for (name, journal) in [("told", &told), ("waits", &waits)] {
        keep_in(&database, name, journal, |_| {});
    }
    home
}

pub fn bend(home: &Home, sql: &str) {
    let conn = Connection::open(home.path(DATABASE)).unwrap();
    conn.execute_batch(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
}

fn rewrite(home: &Home, file: &str, bend: impl FnOnce(Vec<u8>) -> Vec<u8>) {
    let path: PathBuf = home.path(file);
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(path, bend(bytes)).unwrap();
}

/// What is said of the thread `told`, which is damaged, and of `waits`, which is not. `check` says so
/// too; neither goes on, nor forgets.
#[track_caller]
fn told_is_damaged(home: &Home, says: &str) {
    let expect = |args: &[&str], code: i32, says: &str| {
        let said = home.check(args, code);
        let all = format!("{}{}", said.stdout, said.stderr);
        assert!(all.contains(says), "{args:?}: expected {says:?} in:\n{all}");
        assert!(!all.contains("panicked"), "{args:?}:\n{all}");
    };
    // What is known of it is shown; where nothing is, it cannot be.
    let unknown = says.starts_with("what is kept of it");
    expect(&["threads", "show", "told"], if unknown { 2 } else { 1 }, says);
    expect(&["threads", "check"], 1, says);
    expect(&["threads", "resume", "--offline", "told"], 2, says);
    expect(&["threads", "cancel", "told"], 2, says);
    expect(&["run", "--offline", "--thread", "told", "12/4+9?"], 2, says);
    if !unknown {
        expect(&["replay", "--all-stored"], 2, "2 stored turns: 1 the same, 0 on another path, 1 unreadable");
    }
    expect(&["threads", "list"], 0, "waits");
    expect(&["threads", "show", "waits"], 0, "보고서를 보낼까요?");
    let service = Service::start(home, &["--offline"]);
    service.refuses(("GET", "/plan/told", &Value::Null), 503, "store", says);
    assert_eq!(service.get("/plan/waits", 200)["is_waiting_human"], true);
}

#[test]
fn bent_rows_are_named_by_every_command_and_gone_on_with_by_none() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    for (sql, says) in [
        ("DELETE FROM record WHERE at = (1 << 36) + 3", "journal record 3: it is lost"),
        (
            "UPDATE record SET body = replace(body, 'e', 'f') WHERE at = (1 << 36) + 3",
            "journal record 3: the seal",
        ),
        (
            "UPDATE record SET (seal, body) = (SELECT seal, body FROM record WHERE at = (2 << 36) + 3) \
             WHERE at = (1 << 36) + 3",
            "journal record 3: the seal",
        ),
        (
            "DELETE FROM record WHERE at >= (1 << 36) + 4 AND at < 2 << 36",
            "journal record 4: it is lost, and what",
        ),
        ("UPDATE thread SET records = 99 WHERE id = 1", "what is kept of it is not as it was written"),
        ("UPDATE thread SET turns = 7 WHERE id = 1", "what is kept of it is not as it was written"),
        ("UPDATE thread SET standing = '{}' WHERE id = 1", "what is kept of it is not as it was written"),
    ] {
        let home = home();
        bend(&home, sql);
        told_is_damaged(&home, says);
    }
}

/// Who can write into a store can seal what they wrote. What a write was called with is known by its digest.
#[test]
fn write_that_the_plan_and_the_results_do_not_give_is_named() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let home = Home::new();
    crate::explain::journal(&home);
    let (database, journal) = (store(&home), home.path("run.jsonl"));
    keep_in(&database, "told", &journal, |_| {});
    home.check(&["threads", "check"], 0).prints(&["all is as it was written"]);
    let planned = |record: &mut Record| match record {
        Record::Answered { event: Event::ModelReplied { reply, .. }, .. }
            if reply.text.contains("\"10\"") =>
        {
            reply.text = reply.text.replace("\"10\"", "\"11\"");
            true
        }
        _ => false,
    };
    keep_in(&database, "forged", &journal, |records| assert!(records.iter_mut().any(planned)));
    let says =
        "thread forged, turn 1: step.1.2.1 called pay with another input than the plan and the results give";
    home.check(&["threads", "check"], 1).prints(&[says]);
    assert_eq!(home.check(&["threads", "check", "--json"], 1).json()["damaged"], serde_json::json!([says]));
}

/// A store that is refused as a whole is refused by every command.
#[test]
fn store_that_is_not_one_of_these_is_refused_by_every_command() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    for (sql, says) in [
        ("PRAGMA user_version = 9", "expected store version 2, found 9"),
        ("PRAGMA application_id = 9", "found another program's"),
        ("DROP TABLE record", "its tables are not as this version makes them"),
    ] {
        let home = home();
        bend(&home, sql);
        for args in [
            &["threads", "list"][..],
            &["threads", "show", "told"],
            &["threads", "check"],
            &["threads", "resume", "--offline", "told"],
            &["run", "--offline", "--thread", "new", "12/4+9?"],
        ] {
            let said = home.check(args, 2);
            assert!(said.stderr.contains(says), "{args:?}: {}", said.stderr);
        }
    }
    let home = home();
    rewrite(&home, DATABASE, |_| "메모\n".repeat(999).into_bytes());
    home.check(&["threads", "check"], 2).complains(&["found a file that is no database"]);
}

/// A journal in a file of its own.
#[test]
fn bent_journal_is_named_by_what_reads_it() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let home = Home::new();
    for (at, bend) in [(1, "\u{feff}"), (2, "\n"), (3, "garbage\n")] {
        let (whole, path) = (home.path(&format!("{at}.whole")), home.path(&format!("{at}.jsonl")));
        waiting_journal(&whole);
        let text = std::fs::read_to_string(&whole).unwrap();
        let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
        lines.insert(at - 1, bend);
        std::fs::write(&path, lines.concat()).unwrap();
        let name = path.display().to_string();
        for args in [&["resume", "--offline", &name][..], &["trace", &name]] {
            let said = home.check(args, 2);
            assert!(said.stderr.contains(&format!("line {at}")), "{args:?}: {}", said.stderr);
        }
    }
}
