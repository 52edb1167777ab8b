//! What a database shares and remembers shows in nothing that is read: a spec is kept once and goes with
//! the last run that needs it, and who appends where is looked at each time.

use std::path::Path;
use std::sync::Arc;

use planwright::journal::{JournalErrorKind, Query, Record, RunStatus, Store, ThreadId};
use planwright::spec::Spec;
use planwright_sqlite::SqliteStore;

use crate::support::{claim, done, id, is_sound, open, records, refused};

/// Records of a thread under a spec with this description.
fn under(thread: &ThreadId, description: &str, count: usize) -> Vec<Record> {
    let mut records = records(thread, 0, count);
    let Record::Header(header) = &mut records[0] else { panic!("a header") };
    header.spec = described(description);
    records
}

fn described(description: &str) -> Arc<Spec> {
    let spec = planwright::agents::shipped("plan-then-execute").unwrap();
    Arc::new(Spec { description: description.to_owned(), ..spec })
}

fn write(store: &dyn Store, thread: &ThreadId, records: &[Record]) {
    let lease = claim(store, thread);
    store.append(&lease, 0, 0, records.to_vec(), None).unwrap();
    store.release(lease).unwrap();
}

fn delete(store: &dyn Store, thread: &ThreadId) {
    let lease = claim(store, thread);
    store.delete(lease).unwrap();
}

/// Whether a text stands somewhere in a file.
fn holds(path: &Path, text: &str) -> bool {
    let bytes = std::fs::read(path).unwrap();
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn spec_of_many_threads_is_kept_once_and_read_with_each() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("threads.db");
    let store = open(&path);
    let threads: Vec<ThreadId> = (0..200).map(|nth| id(&format!("t{nth:03}"))).collect();
    for (nth, thread) in threads.iter().enumerate() {
        write(&store, thread, &under(thread, ["하나", "둘"][nth % 2], 3));
    }
    store.vacuum().unwrap();
    let spec = serde_json::to_string(&*described("하나")).unwrap().len() as u64;
    let bytes = std::fs::metadata(&path).unwrap().len();
    assert!(bytes < 100 * spec, "{bytes} bytes, with specs of {spec}");
    for store in [store, open(&path)] {
        for (nth, thread) in threads.iter().enumerate() {
            assert_eq!(store.records(thread, 0).unwrap(), under(thread, ["하나", "둘"][nth % 2], 3));
        }
        is_sound(&store);
    }
}

#[test]
fn spec_goes_with_the_last_run_that_needs_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("threads.db");
    let store = open(&path);
    let (one, other, changed) = (id("one"), id("other"), id("changed"));
    write(&store, &one, &under(&one, "once-needed-spec", 2));
    write(&store, &other, &under(&other, "still-needed-spec", 2));
    let mut compiled = under(&changed, "still-needed-spec", 2);
    compiled.push(Record::SpecChanged(described("changed-to-spec")));
    write(&store, &changed, &compiled);
    store.vacuum().unwrap();
    assert!(holds(&path, "once-needed-spec") && holds(&path, "changed-to-spec"));
    delete(&store, &one);
    store.vacuum().unwrap();
    assert!(!holds(&path, "once-needed-spec"));
    assert_eq!(open(&path).records(&other, 0).unwrap(), under(&other, "still-needed-spec", 2));
    assert_eq!(open(&path).records(&changed, 0).unwrap(), compiled);
}

#[test]
fn spec_that_another_process_took_away_is_kept_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("threads.db");
    let (store, other, thread) = (open(&path), open(&path), id("again"));
    let records = under(&thread, "a spec", 2);
    for _ in 0..2 {
        write(&store, &thread, &records);
        assert_eq!(open(&path).records(&thread, 0).unwrap(), records);
        delete(&store, &thread);
        other.vacuum().unwrap();
        assert!(!holds(&path, "a spec"));
    }
}

#[test]
fn handles_that_append_in_turns_under_one_lease_lose_and_overwrite_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("threads.db");
    let (one, other, thread) = (open(&path), open(&path), id("two hands"));
    let whole = records(&thread, 0, 7);
    let lease = claim(&one, &thread);
    let append = |store: &SqliteStore, from: usize, to: usize| {
        store.append(&lease, 0, from as u64, whole[from..to].to_vec(), None)
    };
    append(&one, 0, 2).unwrap();
    append(&other, 2, 3).unwrap();
    refused(append(&one, 2, 3), JournalErrorKind::Stale);
    refused(append(&one, 2, 4), JournalErrorKind::Stale);
    append(&one, 3, 5).unwrap();
    refused(append(&other, 3, 4), JournalErrorKind::Stale);
    append(&other, 5, 6).unwrap();
    append(&other, 6, 7).unwrap();
    one.append(&lease, 0, 7, Vec::new(), Some(&done("of the first turn"))).unwrap();
    let next = records(&thread, 1, 2);
    other.append(&lease, 1, 0, next.clone(), None).unwrap();
    assert_eq!((one.records(&thread, 0).unwrap(), one.records(&thread, 1).unwrap()), (whole, next));
    one.release(lease).unwrap();
    let listed = &other.list(&Query::default()).unwrap()[0];
    assert_eq!((listed.turns, listed.running, &listed.status), (2, false, &RunStatus::Unfinished));
    assert_eq!((other.list_stale().unwrap(), other.check().unwrap()), (vec![thread], Vec::new()));
}
