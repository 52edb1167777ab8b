//! Every store keeps threads alike: the suite, and runs that are told on a store as they are in memory.

use std::sync::Arc;

use planwright::driver::Threads;
use planwright::journal::{
    Lease, Listed, MemoryStore, Query, Record, RunStatus, Store, StoreError, conformance, fold,
};
use planwright::machine::HumanAnswer;

use crate::crash_support::{Story, WORD};
use crate::support::*;

type Open = Box<dyn Fn() -> Arc<dyn Store>>;

/// Puts a store in memory, and one in a database, through a check.
fn check_stores(check: fn(&Open)) {
    let memory: Arc<dyn Store> = Arc::new(MemoryStore::new());
    check(&(Box::new(move || memory.clone()) as Open));
    check(&database());
}

fn database() -> Open {
    let folder = tempfile::tempdir().unwrap();
    Box::new(move || Arc::new(open(&folder.path().join("실.db"))))
}

#[test]
fn database_passes_the_conformance_suite() {
    conformance::check(database);
}

#[test]
fn story_waits_for_a_person_and_is_told_to_its_end_after_reopening() {
    check_stores(|open| {
        let (story, agent, thread) = (Story::told(), agent(), id("보고서"));
        tell(open(), &thread, false);
        let threads = Threads::new(open());
        let waiting = Query { statuses: vec!["waiting".to_owned()], ..Query::default() };
        let listed = threads.list(&waiting).unwrap();
        assert!(
            matches!(listed[..], [ref one] if matches!(one.status, RunStatus::Waiting { since: 1.., .. }))
        );
        let run = threads.at(&thread).answer(&agent, HumanAnswer::respond(WORD)).unwrap();
        assert!(story.is_told_by(&run));
        assert_eq!(threads.list(&Query::default()).unwrap()[0].status, done(&story.answer));
        assert_eq!(threads.folded(&thread, None).unwrap().state, *run.state());
    });
}

#[test]
fn list_shows_the_status_of_a_thread_whose_writer_was_stopped() {
    check_stores(|open| {
        let whole = tell(open(), &id("demo"), false);
        for len in 1..=whole.len() {
            let (store, copy) = (open(), id(&format!("copy {len}")));
            let records = renamed(whole[..len].to_vec(), &copy);
            let lease = claim(&*store, &copy);
            store.append(&lease, 0, 0, records.clone(), None).unwrap();
            store.release(lease).unwrap();
            let status = RunStatus::of(&fold(records).unwrap());
            let query = Query { prefix: copy.to_string(), ..Query::default() };
            assert_eq!(Threads::new(store).list(&query).unwrap()[0].status, status, "after {len} records");
        }
        // A run that can go on is not noted: who listens hears that it was left.
        let store = open();
        let status = |left| store.find(left).unwrap().unwrap().status;
        assert!(store.list_stale().unwrap().iter().all(|left| status(left) == RunStatus::Unfinished));
    });
}

#[test]
fn fork_copies_up_to_a_point_and_leaves_what_it_came_from() {
    check_stores(|open| {
        let (story, agent, from) = (Story::told(), agent(), id("from"));
        let whole = tell(open(), &from, true);
        let threads = Threads::new(open());
        for (at, to) in [(1, id("fork-1")), (whole.len() / 2, id("포크 2")), (whole.len(), id("fork-3"))] {
            threads.fork(&from, Some(0), Some(at as u64), &to).unwrap();
            let copy = open().records(&to, 0).unwrap();
            assert!(copy.len() <= at);
            let Record::Header(header) = &copy[0] else { panic!("a journal begins with a header") };
            let origin = header.origin.as_ref().expect("it says where it came from");
            assert_eq!((origin.thread.as_str(), origin.records), ("from", at as u64));
            let again = threads.fork(&from, Some(0), None, &to);
            assert_eq!(again, Err(StoreError::Exists { thread: to.clone() }));
        }
        assert_eq!(threads.store().records(&from, 0).unwrap(), whole);
        assert_eq!(threads.list(&Query::default()).unwrap().len(), 4);
        assert!(threads.at(&id("fork-1")).resume(&agent).unwrap().is_waiting());
        let run = threads.at(&id("fork-1")).answer(&agent, HumanAnswer::respond(WORD)).unwrap();
        assert!(story.is_told_by(&run));
    });
}

#[test]
fn prune_deletes_what_has_ended_before_a_time_and_nothing_else() {
    check_stores(|open| {
        let store = open();
        let threads = Threads::new(store.clone());
        for name in ["waits", "ended", "held", "끝"] {
            tell(open(), &id(name), name != "waits");
        }
        // Its status says that this has ended, and its records do not.
        write_with_status(&*store, &id("noted"), 0, &done("1"));
        write(&*store, &id("stopped"), 0, 1);
        let names_of = |found: &[Listed]| {
            let mut names: Vec<String> = found.iter().map(|one| one.thread.to_string()).collect();
            names.sort();
            names
        };
        let found = |before, status| threads.find_ended(before, &[status]).unwrap();
        assert_eq!((found(1, "done"), found(u64::MAX, "failed")), (vec![], vec![]));
        assert_eq!(names_of(&found(u64::MAX, "done")), ["ended", "held", "끝"]);
        let held = claim(&*store, &id("held"));
        let ended = found(u64::MAX, "done");
        assert_eq!(names_of(&ended), ["ended", "끝"]);
        assert_eq!(threads.prune(ended.clone()).unwrap(), ended);
        store.release(held).unwrap();
        let ended = found(u64::MAX, "done");
        let held = claim(&*store, &id("held"));
        assert_eq!(threads.prune(ended.clone()).unwrap(), [], "somebody has it");
        store.release(held).unwrap();
        assert_eq!(threads.prune(ended.clone()).unwrap(), ended);
        let mut left = names(&*store, &Query::default());
        left.sort();
        assert_eq!(left, ["noted", "stopped", "waits"]);
    });
}

/// Counted, not timed: the least that an append takes, out of some in a row.
fn allocations(store: &dyn Store, lease: &Lease, records: &[Record], from: usize) -> (u64, u64) {
    let one = |at: usize| {
        let next = vec![records[1].clone()];
        let counted = allocation_counter::measure(|| store.append(lease, 0, at as u64, next, None).unwrap());
        (counted.count_total, counted.bytes_total)
    };
    (from..from + 20).map(one).min().expect("there are some")
}

#[test]
fn append_costs_the_same_for_the_thousandth_record_as_for_the_tenth() {
    check_stores(|open| {
        let (store, thread) = (open(), id("long"));
        let whole = records(&thread, 0, 10);
        let lease = claim(&*store, &thread);
        store.append(&lease, 0, 0, whole.clone(), None).unwrap();
        let tenth = allocations(&*store, &lease, &whole, 10);
        for at in 30..1_000 {
            store.append(&lease, 0, at, vec![whole[1].clone()], None).unwrap();
        }
        let thousandth = allocations(&*store, &lease, &whole, 1_000);
        assert_eq!(thousandth, tenth, "(allocations, bytes)");
        assert_eq!(store.records(&thread, 0).unwrap().len(), 1_020);
        store.release(lease).unwrap();
    });
}
