//! What stores leave on a disk: which files they take, those of earlier versions among them, which they refuse,
//! and how much an append writes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use planwright::journal::{Claim, Durability, JournalErrorKind, Query, RunStatus, Store, StoreError, fold};

use crate::support::{claim, id, is_sound, names, records, write};

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
    assert!(matches!(journal.kind(), JournalErrorKind::Format | JournalErrorKind::Setup), "{error}");
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
    is_sound(&*store);
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
    store.append(&lease, 0, 0, whole.clone(), None).unwrap();
    let size = || std::fs::metadata(folder.path().join("threads.db-wal")).unwrap().len();
    let mut frames = Vec::new();
    for at in 10..510 {
        let before = size();
        store.append(&lease, 0, at, vec![whole[1].clone()], None).unwrap();
        frames.push((size() - before) / 4_120);
    }
    assert!(frames.iter().all(|&frames| (1..=4).contains(&frames)), "{frames:?}");
    for some in [&frames[..100], &frames[400..]] {
        let one = some.iter().filter(|&&frames| frames == 1).count();
        assert!(one >= 90, "{one} of 100: {some:?}");
    }
    store.release(lease).unwrap();
}

#[test]
fn stores_of_every_format_are_read_and_written_on() {
    let formats = ["store-2.db"];
    for file in formats {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(file);
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(file);
        std::fs::copy(golden, &path).unwrap();
        let store = sqlite(&path).unwrap();
        assert_eq!(names(&*store, &Query::default()), ["waits", "done"], "{file}");
        assert_eq!((store.turns(&id("done")), store.turns(&id("waits"))), (Ok(2), Ok(1)));
        let status = |thread: &str, turn: u32| {
            RunStatus::of(&fold(store.records(&id(thread), turn).unwrap()).unwrap())
        };
        assert_eq!(status("done", 0), RunStatus::Done { answer: "12/4+9 = 12".to_owned() });
        assert_eq!(status("done", 1), RunStatus::Done { answer: "7*6 = 42".to_owned() });
        assert!(matches!(status("waits", 0), RunStatus::Waiting { since: 1.., .. }));
        let lease = store.claim(&id("done"), Claim::Known).unwrap();
        store.append(&lease, 2, 0, records(&id("done"), 2, 3), None).unwrap();
        store.release(lease).unwrap();
        assert_eq!(store.records(&id("done"), 2).unwrap(), records(&id("done"), 2, 3));
        is_sound(&*store);
    }
}
