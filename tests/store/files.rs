//! What stores leave on a disk: whose files they take and whose they refuse, what a killed process leaves
//! behind, and how much an append writes.

use crate::store_conformance;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use planwright::journal::{Claim, Durability, JournalErrorKind, Query, Store, StoreError};
use store_conformance::{claim, id, names, records, write};

fn sqlite(path: &Path) -> Result<Arc<dyn Store>, StoreError> {
    Ok(Arc::new(planwright_sqlite::SqliteStore::open(path, Durability::Full)?))
}

/// Every file below a folder with its bytes.
fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(tree(&path)),
            false => drop(found.insert(path.clone(), std::fs::read(&path).unwrap())),
        }
    }
    found
}

/// Refused by name, and nothing was made or changed.
#[track_caller]
fn is_refused(folder: &Path, path: &Path, says: &str) {
    let before = tree(folder);
    let error = sqlite(path).unwrap_err();
    let StoreError::Journal(journal) = &error else { panic!("{error:?}") };
    assert_eq!(journal.kind(), JournalErrorKind::Format, "{error}");
    let said = error.to_string();
    assert!(said.starts_with(&path.display().to_string()) && said.contains(says), "{said}");
    assert_eq!(tree(folder), before);
}

#[test]
fn folder_or_file_of_anybody_else_is_refused_by_name_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let notes = folder.path().join("notes.txt");
    std::fs::write(&notes, "메모\n".repeat(100)).unwrap();
    let missing = folder.path().join("no/such/folder/threads.db");
    is_refused(folder.path(), &notes, "found a file that is no database");
    assert!(matches!(sqlite(&missing), Err(StoreError::Journal(_))));
    assert!(sqlite(folder.path()).is_err(), "a folder is no database");
    assert!(!missing.parent().unwrap().exists());
    assert_eq!(tree(folder.path()).len(), 1);
}

#[test]
fn database_of_another_version_or_program_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("threads.db");
    write(&*sqlite(&path).unwrap(), &id("demo"), 0, 3);
    let whole = std::fs::read(&path).unwrap();
    for (at, says) in [(63, "expected store version 2, found "), (68, "found another program's")] {
        let mut other = whole.clone();
        other[at] ^= 2;
        std::fs::write(&path, other).unwrap();
        is_refused(folder.path(), &path, says);
    }
    std::fs::write(&path, whole).unwrap();
    assert_eq!(sqlite(&path).unwrap().records(&id("demo"), 0).unwrap().len(), 3);
}

#[test]
fn empty_place_becomes_a_store_once_however_many_open_it_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("새것");
    std::thread::scope(|scope| {
        for nth in 0..6 {
            let path = &path;
            scope.spawn(move || write(&*sqlite(path).unwrap(), &id(&format!("t{nth}")), 0, 2));
        }
    });
    let store = sqlite(&path).unwrap();
    assert_eq!(names(&*store, &Query::default()).len(), 6);
    assert_eq!(store.check().unwrap(), [""; 0]);
}

/// Takes a thread, writes to it, says so, and waits to be killed by the test below. Does nothing where it
/// is run as a test.
#[test]
fn process_that_takes_a_thread_and_waits() {
    let Ok(path) = std::env::var("STORE_PATH") else { return };
    let store = sqlite(path.as_ref()).unwrap();
    let lease = claim(&*store, &id("demo"));
    store.append(&lease, 0, 0, records(&id("demo"), 0, 5)).unwrap();
    println!("\nwritten");
    std::thread::park();
}

#[test]
fn killed_process_has_lost_its_threads_at_once_and_nothing_it_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("threads");
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "files::process_that_takes_a_thread_and_waits", "--nocapture"])
        .env("STORE_PATH", &path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(process.stdout.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap() == "written"));
    let store = sqlite(&path).unwrap();
    let error = store.claim(&id("demo"), Claim::Known).unwrap_err();
    let holder = format!("process {}", process.id());
    assert_eq!(error, StoreError::AlreadyRunning { thread: id("demo"), holder, can_take_over: true });
    assert!(store.list(&Query::default()).unwrap()[0].running);
    assert_eq!(store.list_stale().unwrap(), []);
    process.kill().unwrap();
    process.wait().unwrap();
    assert_eq!(store.list_stale().unwrap(), [id("demo")]);
    assert!(!store.list(&Query::default()).unwrap()[0].running);
    let lease = store.claim(&id("demo"), Claim::Known).unwrap();
    store.append(&lease, 0, 5, records(&id("demo"), 0, 6)[5..].to_vec()).unwrap();
    store.release(lease).unwrap();
    assert_eq!(store.records(&id("demo"), 0).unwrap(), records(&id("demo"), 0, 6));
    assert_eq!(store.check().unwrap(), [""; 0]);
}

/// Opens a store, says how much is in it and closes it. Does nothing where it is run as a test.
#[test]
fn process_that_comes_and_goes() {
    let Ok(path) = std::env::var("STORE_VISITED") else { return };
    let store = sqlite(path.as_ref()).unwrap();
    println!("\nfound {}", store.records(&id("demo"), 0).unwrap().len());
}

/// Some systems take all locks of a process on a file from it where it closes that file once.
#[test]
fn log_is_not_taken_away_from_a_process_that_opens_its_database_twice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("threads.db");
    let visit = || {
        let ended = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "files::process_that_comes_and_goes", "--nocapture"])
            .env("STORE_VISITED", &path)
            .output()
            .unwrap();
        let said = String::from_utf8(ended.stdout).unwrap();
        assert!(ended.status.success(), "{said}");
        said.lines().find_map(|line| line.strip_prefix("found ")?.parse().ok()).unwrap_or(0)
    };
    let (store, thread) = (sqlite(&path).unwrap(), id("demo"));
    let lease = claim(&*store, &thread);
    store.append(&lease, 0, 0, records(&thread, 0, 2)).unwrap();
    let second = sqlite(&path).unwrap();
    for (len, second) in [(3, Some(second)), (4, None)] {
        assert_eq!(visit(), len - 1);
        let next = records(&thread, 0, len)[len - 1..].to_vec();
        store.append(&lease, 0, len as u64 - 1, next).unwrap();
        drop(second);
        assert_eq!(visit(), len, "what was appended is seen by others");
    }
    store.release(lease).unwrap();
    drop(store);
    assert_eq!(sqlite(&path).unwrap().records(&thread, 0).unwrap(), records(&thread, 0, 4));
}

/// A frame of the write-ahead log is a page: most appends write one.
#[test]
fn append_to_a_database_writes_one_page_be_it_the_tenth_or_the_five_hundredth() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("threads.db");
    let store = sqlite(&path).unwrap();
    for other in 0..50 {
        write(&*store, &id(&format!("other-{other}")), 0, 20);
    }
    drop(store);
    let (store, thread) = (sqlite(&path).unwrap(), id("long"));
    let lease = claim(&*store, &thread);
    let whole = records(&thread, 0, 10);
    store.append(&lease, 0, 0, whole.clone()).unwrap();
    let size = || std::fs::metadata(folder.path().join("threads.db-wal")).unwrap().len();
    let mut frames = Vec::new();
    for at in 10..510 {
        let before = size();
        store.append(&lease, 0, at, vec![whole[1].clone()]).unwrap();
        frames.push((size() - before) / 4_120);
    }
    assert!(frames.iter().all(|&frames| (1..=4).contains(&frames)), "{frames:?}");
    for some in [&frames[..100], &frames[400..]] {
        let one = some.iter().filter(|&&frames| frames == 1).count();
        assert!(one >= 90, "{one} of 100: {some:?}");
    }
    store.release(lease).unwrap();
}
