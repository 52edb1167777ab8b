//! The k-th call to the system fails, whichever it is and however. A run stops and says so, what is kept is
//! sound, and both the handle that saw it and the next go on to the same end when the system works again; what
//! must last is durable then, as if nothing had failed. Threads that are begun, listed, forked, deleted, pruned
//! and cleared away are there whole or gone whole.
//!
//! These are the calls as the stores really make them, SQLite's among them. The child in which they fail is
//! this test binary itself.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

use std::path::Path;
use std::sync::Arc;

use planwright::driver::{Stopped, Threads};
use planwright::journal::{Claim, Lease, Query, Record, RunStatus, Store, StoreError, ThreadId};

use crate::crash_support::{Log, Story};
use crate::faults::{self, Span, heal};
use crate::strike::{GoesOn, Strike, every_call, looks_sound, lost, open};
use crate::support::{id, is_sound, renamed, tell, tell_on};

/// What holds of a store when all is done: it is sound, also for another process, and durable.
fn is_left_sound(store: Arc<dyn Store>, folder: &Path) {
    is_sound(&*store);
    drop(store);
    looks_sound(folder);
    assert_eq!(lost(), [""; 0]);
}

fn story_is_told(story: &Story, strike: Strike, folder: &Path) -> bool {
    let (log, thread) = (Log::in_memory(), id("보고서"));
    let agent = story.agent(&log, Arc::new(|_| {}));
    let (store, run, fired) = strike.over(folder, |store| match tell_on(&store, &thread, &agent, &log) {
        Ok(run) => Ok(run),
        Err(Stopped::Journal(error)) => Err(error.into()),
        Err(Stopped::Store(error)) => Err(error),
        Err(other) => panic!("{other:?}"),
    });
    assert!(run.is_none_or(|run| story.is_told_by(&run)));
    assert!(story.is_told_by(&tell_on(&store, &thread, &agent, &log).unwrap()));
    assert_eq!(log.times("send"), 1, "{:?}", log.done());
    is_left_sound(store, folder);
    fired
}

fn every_call_of_a_run(goes_on: GoesOn, test: &str) {
    if faults::are_here(test) {
        let story = Story::told();
        let spans = [Span::Once, Span::ForGood];
        every_call(&faults::ALL, goes_on, (&spans, 1), |strike, folder| {
            story_is_told(&story, strike, folder)
        });
    }
}

#[test]
fn database_goes_on_after_the_failure_of_any_call() {
    every_call_of_a_run(GoesOn::Same, "database_goes_on_after_the_failure_of_any_call");
}

#[test]
fn database_is_gone_on_with_after_the_failure_of_any_call() {
    every_call_of_a_run(GoesOn::Next, "database_is_gone_on_with_after_the_failure_of_any_call");
}

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

/// Fills a store with three threads: one that has ended and waits in its second turn, and two that have ended.
/// Gives what a fourth is to begin with.
fn fill(folder: &Path) -> Vec<Record> {
    let store = open(folder).unwrap();
    let (threads, talk) = (Threads::new(store.clone()), id("보고서"));
    let told = tell(store.clone(), &talk, true);
    threads.fork(&talk, None, None, &id("지울 것")).unwrap();
    threads.fork(&talk, None, None, &id("old")).unwrap();
    tell(store, &talk, false);
    renamed(told[..3].to_vec(), &id("새 것"))
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
    threads.prune(threads.find_ended(u64::MAX, &["done", "failed"])?)?;
    store.vacuum()?;
    threads.list(&Query::default()).map(drop)
}

fn begin(store: &dyn Store, lease: &Lease, records: &[Record]) -> Result<(), StoreError> {
    let there = match store.records(lease.thread(), 0) {
        Err(StoreError::NoThread { .. }) => 0,
        there => there?.len(),
    };
    for (index, record) in (0..).zip(records).skip(there) {
        store.append(lease, 0, index, vec![record.clone()], None)?;
    }
    store.append(lease, 0, records.len() as u64, Vec::new(), Some(&RunStatus::Unfinished))
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
    is_left_sound(store, folder);
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
    fn new() -> Self {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let begins = fill(folder.path());
        let filled = threaded(&*open(folder.path()).unwrap());
        copy(folder.path(), other.path());
        let store = open(other.path()).unwrap();
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

#[test]
fn threads_in_a_database_are_there_whole_or_gone_whole_after_the_failure_of_any_call() {
    if faults::are_here("threads_in_a_database_are_there_whole_or_gone_whole_after_the_failure_of_any_call") {
        let before = Place::new();
        let both = [Span::Once, Span::ForGood];
        for (goes_on, spans) in [(GoesOn::Same, &both[..]), (GoesOn::Next, &both[1..])] {
            every_call(&faults::ALL, goes_on, (spans, 11), |strike, folder| {
                deeds_are_done(&before, strike, folder)
            });
        }
    }
}

/// What failed stays behind in SQLite's log, ever less of it overwritten, and is no damage.
#[test]
fn failures_in_a_row_leave_nothing_that_looks_like_damage() {
    if !faults::are_here("failures_in_a_row_leave_nothing_that_looks_like_damage") {
        return;
    }
    let folder = tempfile::tempdir_in(faults::root()).unwrap();
    let folder = folder.path();
    let begins = fill(folder);
    let store = open(folder).unwrap();
    let lease = store.claim(&id("새 것"), Claim::New).unwrap();
    store.append(&lease, 0, 0, begins.clone(), None).unwrap();
    let many = |count: usize| vec![begins[2].clone(); count];
    faults::UNSYNCED.strikes(1, Span::ForGood);
    for count in [400, 200, 100, 50] {
        let index = store.records(lease.thread(), 0).unwrap().len() as u64;
        assert!(store.append(&lease, 0, index, many(count), None).is_err());
    }
    assert!(heal().fired >= 4);
    let before = store.records(lease.thread(), 0).unwrap().len();
    looks_sound(folder);
    store.append(&lease, 0, before as u64, many(1), None).unwrap();
    looks_sound(folder);
    store.release(lease).unwrap();
    looks_sound(folder);
    drop(store);
    assert_eq!(open(folder).unwrap().records(&id("새 것"), 0).unwrap().len(), before + 1);
}
