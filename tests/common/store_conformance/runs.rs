//! Runs: a story told on a store is the story told in memory, and goes on where it is opened again.

use super::*;
use crate::crash_support::{Log, Story, WORD, input};
use planwright::driver::{Agent, Prune, Threads};
use planwright::journal::fold;
use planwright::machine::HumanAnswer;

fn stage() -> (Story, Agent) {
    let story = Story::told();
    let agent = story.agent(&Log::in_memory(), Arc::new(|_| {}));
    (story, agent)
}

pub fn story_waits_for_a_person_and_is_told_to_its_end_after_reopening(place: &Place) {
    let (story, agent) = stage();
    let thread = id("보고서");
    let threads = Threads::new(place.store());
    assert!(threads.at(&thread).ask_with(&agent, input()).unwrap().is_waiting());
    let listed = threads.list(&Query { statuses: vec!["waiting".to_owned()], ..Query::default() }).unwrap();
    assert_eq!(listed.len(), 1);
    assert!(matches!(&listed[0].status, RunStatus::Waiting { since, .. } if *since > 0));
    drop(threads);
    let threads = Threads::new(place.store());
    let run = threads.at(&thread).answer(&agent, HumanAnswer::respond(WORD)).unwrap();
    assert!(story.is_told_by(&run));
    let listed = threads.list(&Query::default()).unwrap();
    assert_eq!(listed[0].status, done(&story.answer));
    assert_eq!(threads.folded(&thread, None).unwrap().state, *run.state());
}

pub fn list_says_where_a_thread_stands_whose_writer_was_stopped(place: &Place) {
    let (_, agent) = stage();
    let thread = id("demo");
    let threads = Threads::new(place.store());
    threads.at(&thread).ask_with(&agent, input()).unwrap();
    let whole = threads.store().records(&thread, 0).unwrap();
    for len in 1..=whole.len() {
        let (store, copy) = (place.store(), id(&format!("copy {len}")));
        let mut records = whole[..len].to_vec();
        let Record::Header(header) = &mut records[0] else { panic!("a journal begins with a header") };
        header.thread = copy.to_string();
        let lease = claim(&*store, &copy);
        store.append(&lease, 0, 0, records.clone()).unwrap();
        store.release(lease).unwrap();
        let status = RunStatus::of(&fold(records).unwrap());
        let listed =
            Threads::new(store).list(&Query { prefix: copy.to_string(), ..Query::default() }).unwrap();
        assert_eq!(listed[0].status, status, "after {len} records");
    }
    assert_eq!(place.store().list_stale().unwrap(), []);
}

pub fn fork_copies_up_to_a_point_and_leaves_what_it_came_from(place: &Place) {
    let (story, agent) = stage();
    let (from, threads) = (id("from"), Threads::new(place.store()));
    threads.at(&from).ask_with(&agent, input()).unwrap();
    threads.at(&from).answer(&agent, HumanAnswer::respond(WORD)).unwrap();
    let whole = threads.store().records(&from, 0).unwrap();
    for (at, to) in [(1, id("fork-1")), (whole.len() / 2, id("포크 2")), (whole.len(), id("fork-3"))] {
        threads.fork(&from, Some(0), Some(at as u64), &to).unwrap();
        let copy = place.store().records(&to, 0).unwrap();
        assert!(copy.len() <= at);
        let Record::Header(header) = &copy[0] else { panic!("a journal begins with a header") };
        let origin = header.origin.as_ref().expect("it says where it came from");
        assert_eq!((origin.thread.as_str(), origin.records), ("from", at as u64));
        let again = threads.fork(&from, Some(0), None, &to);
        assert_eq!(again, Err(StoreError::Exists { thread: to.clone() }));
    }
    assert_eq!(threads.store().records(&from, 0).unwrap(), whole);
    assert_eq!(threads.list(&Query::default()).unwrap().len(), 4);
    let run = threads.at(&id("fork-1")).resume(&agent).unwrap();
    assert!(run.is_waiting());
    let run = threads.at(&id("fork-1")).answer(&agent, HumanAnswer::respond(WORD)).unwrap();
    assert!(story.is_told_by(&run));
}

pub fn prune_deletes_what_has_ended_before_a_time_and_nothing_else(place: &Place) {
    let (_, agent) = stage();
    let store = place.store();
    let threads = Threads::new(Arc::clone(&store));
    for name in ["waits", "ended", "held", "끝"] {
        threads.at(&id(name)).ask_with(&agent, input()).unwrap();
        if name != "waits" {
            threads.at(&id(name)).answer(&agent, HumanAnswer::respond(WORD)).unwrap();
        }
    }
    // A note says that these have ended, and their records do not.
    write_with_status(&*store, &id("noted"), 0, &done("1"));
    write(&*store, &id("stopped"), 0, 1);
    let prune = |what: &Prune| {
        let mut gone: Vec<String> =
            threads.prune(what).unwrap().into_iter().map(|gone| gone.thread.to_string()).collect();
        gone.sort();
        gone
    };
    let all = Prune::before(u64::MAX >> 1);
    assert_eq!(prune(&Prune::before(1)), [""; 0]);
    assert_eq!(prune(&Prune { statuses: vec!["failed".to_owned()], ..all.clone() }), [""; 0]);
    let held = claim(&*store, &id("held"));
    assert_eq!(prune(&Prune { dry_run: true, ..all.clone() }), ["ended", "끝"]);
    assert_eq!(prune(&all), ["ended", "끝"]);
    store.release(held).unwrap();
    assert_eq!(prune(&all), ["held"]);
    let mut left = names(&*store, &Query::default());
    left.sort();
    assert_eq!(left, ["noted", "stopped", "waits"]);
}

/// Counted, not timed: the least that an append takes, out of some in a row.
fn allocations(store: &dyn Store, lease: &Lease, records: &[Record], from: usize) -> (u64, u64) {
    let one = |at: usize| {
        let next = vec![records[1].clone()];
        let counted = allocation_counter::measure(|| store.append(lease, 0, at as u64, next).unwrap());
        (counted.count_total, counted.bytes_total)
    };
    (from..from + 20).map(one).min().expect("there are some")
}

pub fn append_costs_the_same_for_the_thousandth_record_as_for_the_tenth(place: &Place) {
    let (store, thread) = (place.store(), id("long"));
    let whole = records(&thread, 0, 10);
    let lease = claim(&*store, &thread);
    store.append(&lease, 0, 0, whole.clone()).unwrap();
    let tenth = allocations(&*store, &lease, &whole, 10);
    for at in 30..1_000 {
        store.append(&lease, 0, at, vec![whole[1].clone()]).unwrap();
    }
    let thousandth = allocations(&*store, &lease, &whole, 1_000);
    assert_eq!(thousandth, tenth, "(allocations, bytes)");
    assert_eq!(store.records(&thread, 0).unwrap().len(), 1_020);
    store.release(lease).unwrap();
}
