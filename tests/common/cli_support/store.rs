//! Threads for the command-line tests, in the store that the program takes where nothing is set.

use std::path::Path;

use planwright::journal::{Claim, Durability, FileJournal, Record, RunStatus, Store, ThreadId, fold};
use planwright::spec::Approval;
use planwright_sqlite::SqliteStore;
use serde_json::Value;

use super::{Home, approving_journal, calls_journal, in_doubt_journal, waiting_journal};

/// The store of a home.
pub fn store(home: &Home) -> SqliteStore {
    let path = home.path("data/planwright/threads.db");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    SqliteStore::open(path, Durability::Normal).unwrap()
}

/// Keeps a journal as the only turn of a thread.
pub fn keep(home: &Home, thread: &str, journal: &Path) {
    keep_with(home, thread, journal, |_| {});
}

/// Keeps a journal as the only turn of a thread, after a change to its records.
pub fn keep_with(home: &Home, thread: &str, journal: &Path, change: impl FnOnce(&mut [Record])) {
    keep_in(&store(home), thread, journal, change);
}

/// Keeps a journal, after a change to its records, as the only turn of a thread in any store.
pub fn keep_in(store: &dyn Store, thread: &str, journal: &Path, change: impl FnOnce(&mut [Record])) {
    let mut records = FileJournal::parse(&std::fs::read(journal).unwrap()).unwrap();
    change(&mut records);
    keep_records(store, thread, records);
}

/// Keeps records as the only turn of a thread in any store.
pub fn keep_records(store: &dyn Store, thread: &str, mut records: Vec<Record>) {
    let id: ThreadId = thread.parse().unwrap();
    let Some(Record::Header(header)) = records.first_mut() else { panic!("a journal has a header") };
    thread.clone_into(&mut header.thread);
    let folded = fold(records.clone()).unwrap();
    let lease = store.claim(&id, Claim::New).unwrap();
    store.append(&lease, 0, 0, records, None).unwrap();
    store.append(&lease, 0, folded.next_index(), Vec::new(), Some(&RunStatus::of(&folded))).unwrap();
    store.release(lease).unwrap();
}

/// Keeps a thread that waits for a person; see [`super::ASKED`].
pub fn waits(home: &Home, thread: &str) {
    keep_made(home, thread, waiting_journal);
}

/// Keeps a thread that waits for a yes to its plan.
pub fn wants_approval(home: &Home, thread: &str) {
    let approval = Approval { plan: true, ..Approval::default() };
    keep_made(home, thread, |path| approving_journal(path, approval));
}

/// Keeps a thread that waits for a person's word on two calls at once.
pub fn wants_calls(home: &Home, thread: &str) {
    keep_made(home, thread, calls_journal);
}

/// Keeps a thread of which a write is in doubt.
pub fn is_in_doubt(home: &Home, thread: &str) {
    keep_made(home, thread, in_doubt_journal);
}

fn keep_made(home: &Home, thread: &str, make: impl FnOnce(&Path)) {
    let path = home.path("made.jsonl");
    let _ = std::fs::remove_file(&path);
    make(&path);
    keep(home, thread, &path);
}

/// What a thread waits with, as `threads show --json` says it.
pub fn open(home: &Home, thread: &str) -> Value {
    let shown = home.check(&["threads", "show", "--json", thread], 0).json();
    shown["turns"].as_array().unwrap().last().unwrap()["open"].clone()
}

/// The token of what a thread waits with.
pub fn token(home: &Home, thread: &str) -> String {
    open(home, thread)["token"].as_str().unwrap().to_owned()
}
