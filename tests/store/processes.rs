//! Processes that share a database: some idle, some killed inside an append, some that come and go. And a
//! database on a medium that cannot be written.
//!
//! The children are this test binary itself, started with the name of one test.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

use crate::faults::{self, Fault, Span};
use crate::store_conformance::{claim, done, id, names, records, write_with_status};

use std::io::{BufRead, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use planwright::journal::{Claim, Durability, JournalErrorKind, Query, Store, StoreError};
use planwright_sqlite::SqliteStore;

const DATABASE: &str = "PLANWRIGHT_TEST_DATABASE";
const ROLE: &str = "PLANWRIGHT_TEST_ROLE";

fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path, Durability::Full).unwrap()
}

/// The child: does what its role says. Does nothing where it is run as a test.
#[test]
fn process_with_a_role() {
    let (Ok(path), Ok(role)) = (std::env::var(DATABASE), std::env::var(ROLE)) else { return };
    let store = open(path.as_ref());
    let kth = match role.as_str() {
        "visitor" => return println!("\nfound {}", names(&store, &Query::default()).join(" ")),
        "idle" => 0,
        kth => kth.parse().unwrap(),
    };
    let (thread, lease) = (id("killed"), (kth > 0).then(|| claim(&store, &id("killed"))));
    names(&store, &Query::default());
    println!("\nready");
    if let Some(lease) = lease {
        let turn = store.turns(&thread).unwrap_or_default();
        store.append(&lease, turn, 0, records(&thread, turn, 3)).unwrap();
        Fault::dies("dies", "w").strikes(kth, Span::Once);
        for at in 3.. {
            store.append(&lease, turn, at, records(&thread, turn, 5)[4..].to_vec()).unwrap();
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
    fn visit(&self) -> String {
        let ended = self.command("visitor").output().unwrap();
        let said = String::from_utf8(ended.stdout).unwrap();
        assert!(ended.status.success(), "{said}");
        said.lines().find_map(|line| line.strip_prefix("found ")).unwrap().to_owned()
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
        assert_eq!(place.visit(), "killed told");
        let store = open(&place.database());
        assert_eq!(store.check().unwrap(), [""; 0], "killed in write {kth} of an append");
        let turn = store.turns(&id("killed")).unwrap() - 1;
        assert!(store.records(&id("killed"), turn).unwrap().len() >= 3);
        drop(store);
        assert_eq!(place.visit(), "killed told");
    }
    idle.kill().unwrap();
    idle.wait().unwrap();
    assert_eq!(place.visit(), "killed told");
    assert_eq!(open(&place.database()).check().unwrap(), [""; 0]);
}

#[test]
fn files_of_dead_holders_are_swept_by_the_next_holder() {
    let place = Place::new();
    for _ in 0..3 {
        let (mut writer, _said) = place.start("1");
        writer.wait().unwrap();
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
    assert_eq!(store.check().unwrap(), [""; 0]);
    let StoreError::Journal(error) = store.claim(&id("told"), Claim::Known).unwrap_err() else { panic!() };
    assert_eq!(error.kind(), JournalErrorKind::Io, "{error}");
    drop(store);
    faults::heal();
    open(&path).claim(&id("told"), Claim::Known).unwrap();
}
