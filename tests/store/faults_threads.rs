//! The k-th call to the system fails while threads are begun, listed, forked, deleted, pruned and cleared away:
//! each is there whole then or gone whole, and what was asked for comes about when the system works again.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

use crate::crash_support;
use crate::faults;

use std::path::Path;
use std::sync::Arc;

use planwright::driver::{Prune, Threads};
use planwright::journal::{Claim, Lease, Query, Record, RunStatus, Store, StoreError, ThreadId};
use planwright::machine::HumanAnswer;

use crash_support::{Log, Story, WORD, input};
use faults::strike::{GoesOn, Kind, Strike, every_call, id, lost};
use faults::{Span, heal};

/// Threads by name, each with how many records its turns have.
type Threaded = Vec<(String, Vec<usize>)>;

fn threaded(store: &dyn Store) -> Threaded {
    let listed = store.list(&Query::default()).unwrap().into_iter();
    let turns = |thread: &ThreadId| {
        let turns = 0..store.turns(thread).unwrap();
        turns.map(|turn| store.records(thread, turn).unwrap().len()).collect()
    };
    let mut all: Threaded = listed.map(|one| (one.thread.to_string(), turns(&one.thread))).collect();
    all.sort();
    all
}

/// A store of three threads: one that has ended and waits in its second turn, and two that have ended.
/// Gives what a fourth is to begin with.
fn filled(kind: Kind, folder: &Path) -> Vec<Record> {
    let (story, log) = (Story::told(), Log::in_memory());
    let agent = story.agent(&log, Arc::new(|_| {}));
    let store = kind.open(folder).unwrap();
    let (threads, talk) = (Threads::new(store.clone()), id("보고서"));
    assert!(threads.at(&talk).ask_with(&agent, input()).unwrap().is_waiting());
    let told = threads.at(&talk).answer(&agent, HumanAnswer::respond(WORD)).unwrap();
    assert!(story.is_told_by(&told));
    threads.fork(&talk, None, None, &id("지울 것")).unwrap();
    threads.fork(&talk, None, None, &id("old")).unwrap();
    assert!(threads.at(&talk).ask_with(&agent, input()).unwrap().is_waiting());
    let mut records = store.records(&talk, 0).unwrap();
    records.truncate(3);
    let Record::Header(header) = &mut records[0] else { panic!("{:?}", records[0]) };
    header.thread = "새 것".to_owned();
    records
}

/// Does all that is done with threads, but for what was done already.
fn deeds(store: Arc<dyn Store>, begins: &[Record]) -> Result<(), StoreError> {
    let threads = Threads::new(store);
    let (store, new) = (threads.store(), id("새 것"));
    threads.list(&Query::default())?;
    let lease = store.claim(&new, Claim::Any)?;
    let written = begin(store, &lease, begins);
    written.and(store.release(lease))?;
    match threads.fork(&id("보고서"), None, None, &id("갈래")) {
        Err(StoreError::Exists { .. }) => {}
        forked => forked?,
    }
    match threads.delete(&id("지울 것")) {
        Err(StoreError::NoThread { .. }) => {}
        deleted => deleted?,
    }
    threads.prune(&Prune::before(u64::MAX))?;
    store.vacuum()?;
    threads.list(&Query::default()).map(drop)
}

fn begin(store: &dyn Store, lease: &Lease, records: &[Record]) -> Result<(), StoreError> {
    let there = match store.records(lease.thread(), 0) {
        Err(StoreError::NoThread { .. }) => 0,
        there => there?.len(),
    };
    for (index, record) in (0..).zip(records).skip(there) {
        store.append(lease, 0, index, vec![record.clone()])?;
    }
    store.set_status(lease, 0, records.len() as u64, &RunStatus::Unfinished)
}

fn deeds_are_done(before: &Place, strike: Strike, folder: &Path) -> bool {
    copy(before.folder.path(), folder);
    let (store, _, fired) = strike.over(folder, |store| deeds(store, &before.begins));
    // What is there is whole.
    for (name, turns) in threaded(&*store) {
        let whole = |all: &Threaded| all.iter().any(|(one, whole)| *one == name && *whole == turns);
        let begun = name == "새 것" && turns.len() == 1 && turns[0] <= before.begins.len();
        assert!(begun || whole(&before.filled) || whole(&before.done), "{name}: {turns:?}");
    }
    assert!(store.turns(&id("보고서")).is_ok());
    deeds(store.clone(), &before.begins).unwrap();
    assert_eq!(threaded(&*store), before.done);
    assert_eq!(store.check().unwrap(), [""; 0]);
    drop(store);
    strike.kind.is_sound(folder);
    assert_eq!(lost(), [""; 0]);
    fired
}

/// What there is before the deeds, and after them where nothing fails.
struct Place {
    folder: tempfile::TempDir,
    begins: Vec<Record>,
    filled: Threaded,
    done: Threaded,
}

impl Place {
    fn new(kind: Kind) -> Self {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let begins = filled(kind, folder.path());
        let filled = threaded(&*kind.open(folder.path()).unwrap());
        copy(folder.path(), other.path());
        let store = kind.open(other.path()).unwrap();
        deeds(store.clone(), &begins).unwrap();
        let done = threaded(&*store);
        let names = |threads: &Threaded| threads.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&filled), ["old", "보고서", "지울 것"]);
        assert_eq!(names(&done), ["갈래", "보고서", "새 것"]);
        Place { folder, begins, filled, done }
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let (path, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if path.is_dir() {
            std::fs::create_dir(&to).unwrap();
            copy(&path, &to);
        } else {
            std::fs::copy(&path, &to).unwrap();
        }
    }
}

fn every_call_of_the_deeds(kind: Kind, test: &str) {
    if faults::are_here(test) {
        let before = Place::new(kind);
        let both = [Span::Once, Span::ForGood];
        for (goes_on, spans) in [(GoesOn::Same, &both[..]), (GoesOn::Next, &both[1..])] {
            every_call(kind, goes_on, (spans, 11), |strike, folder| deeds_are_done(&before, strike, folder));
        }
    }
}

#[test]
fn threads_in_a_database_are_there_whole_or_gone_whole_after_the_failure_of_any_call() {
    let test = "threads_in_a_database_are_there_whole_or_gone_whole_after_the_failure_of_any_call";
    every_call_of_the_deeds(Kind::Sqlite, test);
}

/// What failed stays behind in SQLite's log, ever less of it overwritten, and is no damage.
fn goes_on_after_many_failures(kind: Kind, folder: &Path) {
    let begins = filled(kind, folder);
    let store = kind.open(folder).unwrap();
    let lease = store.claim(&id("새 것"), Claim::New).unwrap();
    store.append(&lease, 0, 0, begins.clone()).unwrap();
    let many = |count: usize| vec![begins[2].clone(); count];
    faults::UNSYNCED.strikes(1, Span::ForGood);
    for count in [400, 200, 100, 50] {
        let index = store.records(lease.thread(), 0).unwrap().len() as u64;
        assert!(store.append(&lease, 0, index, many(count)).is_err());
    }
    assert!(heal().fired >= 4);
    let before = store.records(lease.thread(), 0).unwrap().len();
    kind.is_sound(folder);
    store.append(&lease, 0, before as u64, many(1)).unwrap();
    kind.is_sound(folder);
    store.release(lease).unwrap();
    kind.is_sound(folder);
    drop(store);
    let store = kind.open(folder).unwrap();
    assert_eq!(store.records(&id("새 것"), 0).unwrap().len(), before + 1);
}

#[test]
fn failures_in_a_row_leave_nothing_that_looks_like_damage() {
    if faults::are_here("failures_in_a_row_leave_nothing_that_looks_like_damage") {
        let folder = tempfile::tempdir_in(faults::root()).unwrap();
        goes_on_after_many_failures(Kind::Sqlite, folder.path());
    }
}
