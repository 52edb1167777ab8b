//! Damage on the command line: what is damaged is said by name and with the code for it, and nobody goes
//! on with it; what else is kept is shown as it is.

use crate::cli_support;

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use cli_support::store::{keep_in, store};
use cli_support::{Home, ended_journal, waiting_journal};
use planwright::journal::{Durability, LinesStore};
use rusqlite::Connection;

const DATABASE: &str = "data/planwright/threads.db";

/// One test at a time: a program that another one starts would inherit what is locked here, for a moment.
static ONE: Mutex<()> = Mutex::new(());

/// A home with a thread that was told and one that waits, in a database and in lines.
fn home() -> Home {
    let home = Home::new();
    let (told, waits) = (home.path("told.jsonl"), home.path("waits.jsonl"));
    ended_journal(&told);
    waiting_journal(&waits);
    let lines = LinesStore::open(home.path("lines"), Durability::Normal).unwrap();
    let database = store(&home);
    for (name, journal) in [("told", &told), ("waits", &waits)] {
        keep_in(&database, name, journal, |_| {});
        keep_in(&lines, name, journal, |_| {});
    }
    home
}

fn bend(home: &Home, sql: &str) {
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
fn told_is_damaged(home: &Home, store: &[&str], says: &str) {
    let args = |args: &[&'static str]| [args, store].concat();
    let expect = |args: &[&str], code: i32, says: &str| {
        let said = home.check(args, code);
        let all = format!("{}{}", said.stdout, said.stderr);
        assert!(all.contains(says), "{args:?}: expected {says:?} in:\n{all}");
        assert!(!all.contains("panicked"), "{args:?}:\n{all}");
    };
    // What is known of it is shown; where nothing is, it cannot be.
    let unknown = says.starts_with("what is kept of it") || says.ends_with("turns, found 0");
    expect(&args(&["threads", "show", "told"]), if unknown { 2 } else { 1 }, says);
    expect(&args(&["threads", "check"]), 1, says);
    expect(&args(&["threads", "resume", "--offline", "told"]), 2, says);
    expect(&args(&["threads", "cancel", "told"]), 2, says);
    expect(&args(&["run", "--offline", "--thread", "told", "12/4+9?"]), 2, says);
    expect(&args(&["threads", "list"]), 0, "waits");
    expect(&args(&["threads", "show", "waits"]), 0, "보고서를 보낼까요?");
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
        told_is_damaged(&home, &[], says);
    }
}

#[test]
fn bent_lines_are_named_by_every_command_and_gone_on_with_by_none() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let lines = |bytes: Vec<u8>| -> Vec<Vec<u8>> {
        bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
    };
    type Bend = fn(Vec<Vec<u8>>) -> Vec<Vec<u8>>;
    let bends: [(Bend, &str); 9] = [
        (
            |mut lines| {
                lines.swap(2, 3);
                lines
            },
            "line 3: the seal does not fit",
        ),
        (
            |mut lines| {
                lines.remove(4);
                lines
            },
            "line 5: the seal does not fit",
        ),
        (
            |mut lines| {
                lines.insert(3, lines[2].clone());
                lines
            },
            "line 4: the seal does not fit",
        ),
        (
            |mut lines| {
                lines.push(b"garbage\n".to_vec());
                lines
            },
            ": the seal does not fit",
        ),
        (
            |mut lines| {
                lines.pop();
                lines
            },
            "records, found",
        ),
        (
            |mut lines| {
                lines.truncate(1);
                lines
            },
            "records, found 1",
        ),
        (|_| Vec::new(), "expected 1 turns, found 0"),
        (
            |mut lines| {
                lines.insert(0, "\u{feff}".into());
                lines
            },
            "line 1: the seal does not fit",
        ),
        (
            |lines| {
                let text = String::from_utf8(lines.concat()).unwrap();
                vec![text.replacen("\"format\":3", "\"format\":4", 1).into_bytes()]
            },
            "expected journal format 3, found 4",
        ),
    ];
    for (bend, says) in bends {
        let home = home();
        rewrite(&home, "lines/told/000000.jsonl", |bytes| bend(lines(bytes)).concat());
        told_is_damaged(&home, &["--store", "lines"], says);
    }
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
    let said = home.check(&["threads", "check"], 2);
    assert!(said.stderr.contains("found a file that is no database"), "{}", said.stderr);
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
