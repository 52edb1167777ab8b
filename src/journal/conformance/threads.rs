//! Records and threads: what was written is what is read, and nothing of another's.

use std::sync::Arc;

use super::place::*;
use crate::journal::JournalErrorKind::{Damaged, Stale};
use crate::journal::{Claim, Query, StoreError};

/// The checks of this file.
pub(super) const CHECKS: &[Check] = &[
    records_are_read_back_by_turn_in_order_and_after_reopening,
    records_appended_one_by_one_or_together_are_the_same,
    append_that_is_not_at_the_end_is_refused_and_changes_nothing,
    header_of_another_thread_or_turn_is_refused_and_nothing_is_written,
    threads_are_told_apart_by_their_whole_names,
    thread_in_which_nothing_was_written_is_none,
    deleted_thread_is_gone_and_can_be_begun_again,
    claim_says_what_is_there_and_what_is_not,
];

fn records_are_read_back_by_turn_in_order_and_after_reopening(place: &Place<'_>) {
    let (thread, store) = (id("demo"), place.store());
    let mut written = Vec::new();
    for turn in 0..3 {
        written.push(write(&*store, &thread, turn, 2 + turn as usize));
    }
    for store in [Arc::clone(&store), place.store()] {
        assert_eq!(store.turns(&thread).unwrap(), 3);
        for (turn, written) in (0..).zip(&written) {
            assert_eq!(store.records(&thread, turn).unwrap(), *written);
        }
        let missing = store.records(&thread, 3).unwrap_err();
        assert_eq!(missing, StoreError::NoTurn { thread: thread.clone(), turn: 3, turns: 3 });
    }
    drop(store);
    assert_eq!(place.store().records(&thread, 2).unwrap(), written[2]);
}

fn records_appended_one_by_one_or_together_are_the_same(place: &Place<'_>) {
    let (store, thread) = (place.store(), id("한 번에"));
    let whole = records(&thread, 0, 40);
    let lease = claim(&*store, &thread);
    store.append(&lease, 0, 0, Vec::new()).unwrap();
    assert_eq!(store.turns(&thread), Err(StoreError::NoThread { thread: thread.clone() }));
    for (at, chunk) in [(0, 1), (1, 1), (2, 3), (5, 35)] {
        store.append(&lease, 0, at as u64, whole[at..at + chunk].to_vec()).unwrap();
        assert_eq!(store.records(&thread, 0).unwrap(), whole[..at + chunk]);
    }
    store.append(&lease, 0, 40, Vec::new()).unwrap();
    store.release(lease).unwrap();
    assert_eq!(place.store().records(&thread, 0).unwrap(), whole);
}

fn append_that_is_not_at_the_end_is_refused_and_changes_nothing(place: &Place<'_>) {
    let (store, thread) = (place.store(), id("demo"));
    let whole = records(&thread, 0, 5);
    let lease = claim(&*store, &thread);
    refused(store.append(&lease, 0, 1, whole[1..2].to_vec()), Stale);
    refused(store.append(&lease, 1, 0, records(&thread, 1, 1)), Stale);
    store.append(&lease, 0, 0, whole[..3].to_vec()).unwrap();
    for index in [0, 1, 2, 4, 100, u64::from(u32::MAX) - 1] {
        let at = whole[2..3].to_vec();
        refused(store.append(&lease, 0, index, at), Stale);
        refused(store.append(&lease, 0, index, Vec::new()), Stale);
    }
    refused(store.append(&lease, 2, 0, records(&thread, 2, 1)), Stale);
    assert_eq!((store.records(&thread, 0).unwrap(), store.turns(&thread).unwrap()), (whole[..3].to_vec(), 1));
    store.append(&lease, 0, 3, whole[3..].to_vec()).unwrap();
    assert_eq!(store.records(&thread, 0).unwrap(), whole);
    store.release(lease).unwrap();
}

fn header_of_another_thread_or_turn_is_refused_and_nothing_is_written(place: &Place<'_>) {
    let (store, thread) = (place.store(), id("mine"));
    let lease = claim(&*store, &thread);
    refused(store.append(&lease, 0, 0, records(&id("yours"), 0, 2)), Damaged);
    refused(store.append(&lease, 0, 0, records(&thread, 1, 2)), Damaged);
    assert_eq!(store.turns(&thread), Err(StoreError::NoThread { thread: thread.clone() }));
    store.append(&lease, 0, 0, records(&thread, 0, 2)).unwrap();
    store.release(lease).unwrap();
    assert_eq!(store.records(&thread, 0).unwrap(), records(&thread, 0, 2));
}

/// Names that a careless store takes for one another, or for a path or a pattern.
const NAMES: [&str; 24] = [
    "a",
    "A",
    "a.",
    "aa",
    "ab",
    "a%",
    "a_",
    "a*",
    "a/b",
    "../a",
    "..",
    ".",
    "a'b",
    "a\"b",
    "a;--",
    "=a",
    "a b",
    "\\a",
    "보고서",
    "보고서-1",
    "보고서-10",
    "각",
    "\u{1100}\u{1161}\u{11a8}",
    "con.jsonl",
];

fn threads_are_told_apart_by_their_whole_names(place: &Place<'_>) {
    let store = place.store();
    let written: Vec<_> =
        NAMES.iter().enumerate().map(|(at, name)| write(&*store, &id(name), 0, at + 1)).collect();
    let store = place.store();
    for (name, written) in NAMES.iter().zip(&written) {
        assert_eq!(store.records(&id(name), 0).unwrap(), *written, "{name}");
    }
    let mut listed = names(&*store, &Query { limit: 100, ..Query::default() });
    listed.sort();
    let mut wanted = NAMES.map(str::to_owned).to_vec();
    wanted.sort();
    assert_eq!(listed, wanted);
    let lease = claim(&*store, &id("a"));
    store.delete(lease).unwrap();
    for (name, written) in NAMES.iter().zip(&written).skip(1) {
        assert_eq!(store.records(&id(name), 0).unwrap(), *written, "{name}");
    }
    assert_eq!(store.check().unwrap(), [""; 0]);
}

fn thread_in_which_nothing_was_written_is_none(place: &Place<'_>) {
    let (store, thread) = (place.store(), id("nothing"));
    let lease = claim(&*store, &thread);
    assert_eq!(store.turns(&thread), Err(StoreError::NoThread { thread: thread.clone() }));
    assert_eq!(names(&*store, &Query::default()), [""; 0]);
    assert_eq!(store.list_stale().unwrap(), []);
    store.release(lease).unwrap();
    let missing = StoreError::NoThread { thread: thread.clone() };
    assert_eq!(store.claim(&thread, Claim::Known).unwrap_err(), missing);
    assert_eq!(store.records(&thread, 0).unwrap_err(), missing);
    let lease = store.claim(&thread, Claim::New).unwrap();
    store.release(lease).unwrap();
    assert_eq!(store.check().unwrap(), [""; 0]);
}

fn deleted_thread_is_gone_and_can_be_begun_again(place: &Place<'_>) {
    let (store, thread, other) = (place.store(), id("gone"), id("stays"));
    let (_, kept) = (write(&*store, &thread, 0, 9), write(&*store, &other, 0, 9));
    write(&*store, &thread, 1, 2);
    store.delete(store.claim(&thread, Claim::Known).unwrap()).unwrap();
    for store in [Arc::clone(&store), place.store()] {
        assert_eq!(store.records(&thread, 0).unwrap_err(), StoreError::NoThread { thread: thread.clone() });
        assert_eq!(names(&*store, &Query::default()), ["stays"]);
        assert_eq!(store.records(&other, 0).unwrap(), kept);
    }
    let again = write(&*store, &thread, 0, 4);
    assert_eq!((store.records(&thread, 0).unwrap(), store.turns(&thread).unwrap()), (again, 1));
    store.vacuum().unwrap();
    assert_eq!(store.check().unwrap(), [""; 0]);
    assert_eq!(store.records(&other, 0).unwrap(), kept, "what is kept outlives a clearing up");
}

fn claim_says_what_is_there_and_what_is_not(place: &Place<'_>) {
    let (store, thread) = (place.store(), id("demo"));
    let missing = StoreError::NoThread { thread: thread.clone() };
    for claim in [Claim::Known, Claim::TakeOver] {
        assert_eq!(store.claim(&thread, claim).unwrap_err(), missing);
    }
    assert_eq!((store.turns(&thread), names(&*store, &Query::default())), (Err(missing), Vec::new()));
    write(&*store, &thread, 0, 1);
    let there = StoreError::Exists { thread: thread.clone() };
    assert_eq!(store.claim(&thread, Claim::New).unwrap_err(), there);
    for claim in [Claim::Known, Claim::Any, Claim::TakeOver] {
        store.release(store.claim(&thread, claim).unwrap()).unwrap();
    }
}
