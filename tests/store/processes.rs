//! Processes that share a database: some idle, some killed while they hold a thread or inside an append, some
//! that come and go. And a database on a medium that cannot be written.
//!
//! The children are this test binary itself, started with the name of one test.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use planwright::journal::{Claim, Durability, JournalErrorKind, Query, Store, StoreError};
use planwright_sqlite::SqliteStore;

use crate::faults::{self, Fault, Span};
use crate::support::{claim, done, id, is_sound, names, records, write_with_status};

const DATABASE: &str = "PLANWRIGHT_TEST_DATABASE";
const ROLE: &str = "PLANWRIGHT_TEST_ROLE";

fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path, Durability::Full).unwrap()
}

/// The child: does what its role says. Does nothing where it is run as a test.
///
/// - `visitor`: says which threads there are, with how many records in their first turns.
/// - `idle`: has the database open.
/// - `holder`: takes a thread and writes to it.
/// - a number: so does this, and dies in the write of that number.
#[test]
fn process_with_a_role() {
    let (Ok(path), Ok(role)) = (std::env::var(DATABASE), std::env::var(ROLE)) else { return };
    let store = open(path.as_ref());
    let found = names(&store, &Query::default()).into_iter().map(|name| {
        let len = store.records(&id(&name), 0).unwrap().len();
        (name, len)
    });
    let found: BTreeMap<String, usize> = found.collect();
    println!("\nfound {}", serde_json::to_string(&found).unwrap());
    if role == "visitor" {
        return;
    }
    let lease = (role != "idle").then(|| claim(&store, &id("killed")));
    let turn = store.turns(&id("killed")).unwrap_or_default();
    let append = |at: u64, count: usize| {
        let whole = records(&id("killed"), turn, at as usize + count);
        lease
            .iter()
            .for_each(|lease| store.append(lease, turn, at, whole[at as usize..].to_vec(), None).unwrap());
    };
    append(0, 3);
    println!("ready");
    if let Ok(kth) = role.parse() {
        Fault::dies("dies", "w").strikes(kth, Span::Once);
        for at in 3.. {
            append(at, 1);
        }
    }
    std::thread::park();
}

/// A folder in which processes can be killed inside a call, and a database.
struct Place {
    folder: tempfile::TempDir,
    library: PathBuf,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Place { library: faults::library(folder.path()), folder }
    }

    fn database(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("threads.db")
    }

    fn command(&self, role: &str) -> Command {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "processes::process_with_a_role", "--nocapture"]);
        faults::preload(&mut child, &self.library, self.database().parent().unwrap());
        child.env(DATABASE, self.database()).env(ROLE, role).stdout(Stdio::piped());
        child
    }

    /// Starts a process; gives it once it is ready.
    fn start(&self, role: &str) -> (Child, Lines<BufReader<ChildStdout>>) {
        let mut child = self.command(role).spawn().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(said.any(|line| line.unwrap() == "ready"));
        (child, said)
    }

    /// What a process that comes and goes finds.
    fn visit(&self) -> BTreeMap<String, usize> {
        let ended = self.command("visitor").output().unwrap();
        let said = String::from_utf8(ended.stdout).unwrap();
        assert!(ended.status.success(), "{said}");
        let found = said.lines().find_map(|line| line.strip_prefix("found ")).unwrap();
        serde_json::from_str(found).unwrap()
    }

    #[track_caller]
    fn visitor_finds(&self, threads: &[&str]) {
        assert!(self.visit().keys().eq(threads));
    }
}

#[test]
fn store_opens_beside_an_idle_process_after_writers_were_killed_inside_an_append() {
    let place = Place::new();
    write_with_status(&open(&place.database()), &id("told"), 0, &done("답"));
    let (mut idle, _said) = place.start("idle");
    for kth in 1..5 {
        let (mut writer, _said) = place.start(&kth.to_string());
        assert!(!writer.wait().unwrap().success(), "it is killed");
        place.visitor_finds(&["killed", "told"]);
        let store = open(&place.database());
        assert_eq!(store.check().unwrap(), [""; 0], "killed in write {kth} of an append");
        let turn = store.turns(&id("killed")).unwrap() - 1;
        assert!(store.records(&id("killed"), turn).unwrap().len() >= 3);
        drop(store);
        place.visitor_finds(&["killed", "told"]);
    }
    idle.kill().unwrap();
    idle.wait().unwrap();
    place.visitor_finds(&["killed", "told"]);
    is_sound(&open(&place.database()));
}

#[test]
fn killed_process_has_lost_its_threads_at_once_and_nothing_it_wrote() {
    let (place, thread) = (Place::new(), id("killed"));
    let (mut process, _said) = place.start("holder");
    let store = open(&place.database());
    let error = store.claim(&thread, Claim::Known).unwrap_err();
    let holder = format!("process {}", process.id());
    assert_eq!(error, StoreError::AlreadyRunning { thread: thread.clone(), holder, can_take_over: true });
    assert!(store.list(&Query::default()).unwrap()[0].running);
    assert_eq!(store.list_stale().unwrap(), []);
    process.kill().unwrap();
    process.wait().unwrap();
    assert_eq!(store.list_stale().unwrap(), std::slice::from_ref(&thread));
    assert!(!store.list(&Query::default()).unwrap()[0].running);
    let lease = store.claim(&thread, Claim::Known).unwrap();
    store.append(&lease, 0, 3, records(&thread, 0, 4)[3..].to_vec(), None).unwrap();
    store.release(lease).unwrap();
    assert_eq!(store.records(&thread, 0).unwrap(), records(&thread, 0, 4));
    is_sound(&store);
}

/// Some systems take all locks of a process on a file from it where it closes that file once.
#[test]
fn log_is_not_taken_away_from_a_process_that_opens_its_database_twice() {
    let (place, thread) = (Place::new(), id("demo"));
    let store = open(&place.database());
    let lease = claim(&store, &thread);
    store.append(&lease, 0, 0, records(&thread, 0, 2), None).unwrap();
    let second = open(&place.database());
    for (len, second) in [(3, Some(second)), (4, None)] {
        assert_eq!(place.visit()["demo"], len - 1);
        store.append(&lease, 0, len as u64 - 1, records(&thread, 0, len)[len - 1..].to_vec(), None).unwrap();
        drop(second);
        assert_eq!(place.visit()["demo"], len, "what was appended is seen by others");
    }
    store.release(lease).unwrap();
    drop(store);
    assert_eq!(open(&place.database()).records(&thread, 0).unwrap(), records(&thread, 0, 4));
}

#[test]
fn files_of_dead_holders_are_swept_by_the_next_holder() {
    let place = Place::new();
    for _ in 0..3 {
        place.start("1").0.wait().unwrap();
    }
    let store = open(&place.database());
    let lease = claim(&store, &id("another"));
    let holders = place.folder.path().join("threads.db.holders");
    assert_eq!(std::fs::read_dir(holders).unwrap().count(), 1, "this handle's alone");
    store.release(lease).unwrap();
}

#[test]
fn database_on_a_medium_that_cannot_be_written_is_listed_and_read() {
    if !faults::are_here("database_on_a_medium_that_cannot_be_written_is_listed_and_read") {
        return;
    }
    let folder = tempfile::tempdir_in(faults::root()).unwrap();
    let path = folder.path().join("50% der #1?.db");
    write_with_status(&open(&path), &id("told"), 0, &done("답"));
    faults::READ_ONLY.strikes(1, Span::ForGood);
    let store = open(&path);
    assert_eq!(names(&store, &Query::default()), ["told"]);
    assert_eq!(store.find(&id("told")).unwrap().unwrap().status, done("답"));
    assert_eq!(store.records(&id("told"), 0).unwrap(), records(&id("told"), 0, 3));
    is_sound(&store);
    let StoreError::Journal(error) = store.claim(&id("told"), Claim::Known).unwrap_err() else { panic!() };
    assert_eq!(error.kind(), JournalErrorKind::Io, "{error}");
    drop(store);
    faults::heal();
    open(&path).claim(&id("told"), Claim::Known).unwrap();
}
