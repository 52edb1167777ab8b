//! Writers: one at a time, and none after it was taken over.

use std::sync::Barrier;

use super::support::*;
use crate::journal::JournalErrorKind::{Damaged, Fenced, Stale};
use crate::journal::{Claim, Query, StoreError};

pub(super) const CHECKS: &[fn(Open<'_>)] = &[
    one_of_many_who_claim_at_once_has_the_thread,
    thread_is_claimed_by_one_writer_until_it_is_released,
    two_threads_are_written_side_by_side,
    writer_who_was_taken_over_writes_nothing_more,
    lease_of_a_thread_that_was_deleted_is_none_of_its_successor,
    thread_is_begun_with_its_first_turns_and_taken,
    thread_that_cannot_be_begun_whole_is_not_begun,
    thread_that_is_begun_with_nothing_is_none,
    what_is_concluded_is_kept_noted_and_given_back,
];

fn one_of_many_who_claim_at_once_has_the_thread(open: Open<'_>) {
    let thread = id("경주");
    write(&*open(), &thread, 0, 1);
    for round in 0..5 {
        let stores: Vec<_> = (0..8).map(|_| open()).collect();
        let barrier = Barrier::new(stores.len());
        let claims: Vec<_> = std::thread::scope(|scope| {
            let claims = stores.iter().map(|store| {
                scope.spawn(|| {
                    barrier.wait();
                    store.claim(&thread, Claim::Any)
                })
            });
            let claims: Vec<_> = claims.collect();
            claims.into_iter().map(|claim| claim.join().unwrap()).collect()
        });
        let mut winners = Vec::new();
        for (nth, claim) in claims.into_iter().enumerate() {
            match claim {
                Ok(lease) => winners.push((nth, lease)),
                Err(StoreError::AlreadyRunning { thread: named, .. }) => assert_eq!(named, thread),
                Err(other) => panic!("{other}"),
            }
        }
        assert_eq!(winners.len(), 1, "round {round}");
        let (nth, lease) = winners.pop().unwrap();
        stores[nth].append(&lease, 0, 1 + round, records(&thread, 0, 9)[1..2].to_vec(), None).unwrap();
        stores[nth].release(lease).unwrap();
    }
    assert_eq!(open().records(&thread, 0).unwrap().len(), 6);
}

fn thread_is_claimed_by_one_writer_until_it_is_released(open: Open<'_>) {
    let (one, other, thread) = (open(), open(), id("demo"));
    for known in [false, true] {
        let lease = claim(&*one, &thread);
        runs(&*one, &thread);
        runs(&*other, &thread);
        other.release(claim(&*other, &id("another"))).unwrap();
        if !known {
            one.append(&lease, 0, 0, records(&thread, 0, 1), None).unwrap();
        }
        one.release(lease).unwrap();
        other.release(claim(&*other, &thread)).unwrap();
    }
}

fn two_threads_are_written_side_by_side(open: Open<'_>) {
    let names = ["하나", "둘", "셋", "넷"].map(id);
    std::thread::scope(|scope| {
        for thread in &names {
            let store = open();
            scope.spawn(move || {
                let whole = records(thread, 0, 30);
                let lease = claim(&*store, thread);
                for (at, record) in (0..).zip(&whole) {
                    store.append(&lease, 0, at, vec![record.clone()], None).unwrap();
                }
                store.release(lease).unwrap();
            });
        }
    });
    let store = open();
    for thread in &names {
        assert_eq!(store.records(thread, 0).unwrap(), records(thread, 0, 30));
    }
    assert_eq!(store.list(&Query::default()).unwrap().len(), names.len());
}

fn writer_who_was_taken_over_writes_nothing_more(open: Open<'_>) {
    let (one, other, thread) = (open(), open(), id("demo"));
    let whole = records(&thread, 0, 4);
    let old = claim(&*one, &thread);
    one.append(&old, 0, 0, whole[..2].to_vec(), None).unwrap();
    if !runs(&*other, &thread) {
        let error = other.claim(&thread, Claim::TakeOver).unwrap_err();
        assert!(matches!(error, StoreError::AlreadyRunning { .. }), "{error}");
        return;
    }
    let new = other.claim(&thread, Claim::TakeOver).unwrap();
    refused(one.append(&old, 0, 2, whole[2..3].to_vec(), None), Fenced);
    refused(one.append(&old, 0, 2, Vec::new(), Some(&done("낡은 답"))), Fenced);
    refused(one.append(&old, 0, 2, whole[2..3].to_vec(), Some(&done("늦은 답"))), Fenced);
    assert_eq!(other.records(&thread, 0).unwrap(), whole[..2]);
    other.append(&new, 0, 2, whole[2..].to_vec(), None).unwrap();
    refused(one.append(&old, 0, 4, records(&thread, 0, 9)[4..5].to_vec(), None), Fenced);
    one.release(old).unwrap();
    runs(&*one, &thread); // An old release frees nothing.
    assert_eq!(other.records(&thread, 0).unwrap(), whole);
    other.append(&new, 0, 4, Vec::new(), Some(&done("답"))).unwrap();
    other.release(new).unwrap();
    assert_eq!(one.list(&Query::default()).unwrap()[0].status, done("답"));
}

fn lease_of_a_thread_that_was_deleted_is_none_of_its_successor(open: Open<'_>) {
    let (store, thread) = (open(), id("demo"));
    let old = claim(&*store, &thread);
    if !runs(&*store, &thread) {
        return;
    }
    store.append(&old, 0, 0, records(&thread, 0, 2), None).unwrap();
    store.delete(store.claim(&thread, Claim::TakeOver).unwrap()).unwrap();
    refused(store.append(&old, 0, 2, records(&thread, 0, 3)[2..].to_vec(), None), Fenced);
    let new = store.claim(&thread, Claim::New).unwrap();
    refused(store.append(&old, 0, 0, records(&thread, 0, 1), None), Fenced);
    refused(store.delete(old), Fenced);
    store.append(&new, 0, 0, records(&thread, 0, 1), None).unwrap();
    store.release(new).unwrap();
}

fn thread_is_begun_with_its_first_turns_and_taken(open: Open<'_>) {
    let (one, other, thread) = (open(), open(), id("첫걸음"));
    let turns = vec![records(&thread, 0, 3), records(&thread, 1, 2)];
    let lease = one.begin(&thread, turns.clone()).unwrap();
    assert_eq!(lease.turns(), 0, "it was not there");
    let error = other.begin(&thread, turns.clone()).unwrap_err();
    assert!(matches!(error, StoreError::AlreadyRunning { .. }), "{error}");
    assert!(other.list(&Query::default()).unwrap()[0].running);
    one.append(&lease, 1, 2, records(&thread, 1, 3)[2..].to_vec(), None).unwrap();
    one.release(lease).unwrap();
    let again = other.begin(&thread, vec![records(&thread, 0, 9)]).unwrap();
    assert_eq!(again.turns(), 2, "it was there, and is as it was");
    other.append(&again, 2, 0, records(&thread, 2, 1), None).unwrap();
    other.release(again).unwrap();
    let store = open();
    assert_eq!(store.records(&thread, 0).unwrap(), turns[0]);
    assert_eq!(store.records(&thread, 1).unwrap(), records(&thread, 1, 3));
    assert_eq!(store.turns(&thread).unwrap(), 3);
    is_sound(&*store);
}

fn thread_that_cannot_be_begun_whole_is_not_begun(open: Open<'_>) {
    let (store, thread) = (open(), id("반쪽"));
    let elsewhere = vec![records(&thread, 0, 3), records(&id("남의 것"), 1, 2)];
    refused(store.begin(&thread, elsewhere), Damaged);
    is_missing(&*store, &thread);
    assert_eq!(store.list(&Query::default()).unwrap(), []);
    let lease = store.begin(&thread, vec![records(&thread, 0, 3)]).unwrap();
    store.release(lease).unwrap();
    assert_eq!(open().records(&thread, 0).unwrap(), records(&thread, 0, 3));
    is_sound(&*store);
}

fn thread_that_is_begun_with_nothing_is_none(open: Open<'_>) {
    let (store, thread) = (open(), id("없음"));
    for nothing in [vec![], vec![vec![]]] {
        let lease = store.begin(&thread, nothing).unwrap();
        assert_eq!(lease.turns(), 0);
        store.release(lease).unwrap();
        is_missing(&*store, &thread);
    }
    let gap = vec![records(&thread, 0, 1), vec![], records(&thread, 2, 1)];
    store.begin(&thread, gap).unwrap_err();
    assert_eq!(store.list(&Query::default()).unwrap(), []);
    is_sound(&*store);
}

fn what_is_concluded_is_kept_noted_and_given_back(open: Open<'_>) {
    let (one, other, thread) = (open(), open(), id("끝"));
    let whole = records(&thread, 0, 5);
    let lease = one.begin(&thread, vec![whole[..2].to_vec()]).unwrap();
    let stale = one.append(&lease, 0, 1, whole[1..3].to_vec(), Some(&done("이른 답")));
    refused(stale, Stale);
    one.append(&lease, 0, 2, whole[2..4].to_vec(), Some(&done("답"))).unwrap();
    one.release(lease).unwrap();
    let listed = other.list(&Query::default()).unwrap().pop().unwrap();
    assert_eq!((listed.turns, listed.running, listed.status), (1, false, done("답")));
    assert_eq!(other.list_stale().unwrap(), []);
    assert_eq!(other.records(&thread, 0).unwrap(), whole[..4]);
    // A writer that continues under the same lease has the thread again, and the status is void.
    let lease = claim(&*other, &thread);
    other.append(&lease, 1, 0, records(&thread, 1, 1), None).unwrap();
    other.append(&lease, 1, 1, records(&thread, 1, 2)[1..].to_vec(), Some(&done("둘째 답"))).unwrap();
    other.append(&lease, 2, 0, records(&thread, 2, 1), None).unwrap();
    runs(&*one, &thread); // They have it again.
    other.release(lease).unwrap();
    assert_eq!(one.list_stale().unwrap(), std::slice::from_ref(&thread));
    one.release(claim(&*one, &thread)).unwrap();
    assert_eq!((one.turns(&thread).unwrap(), one.check().unwrap()), (3, Vec::new()));
}
