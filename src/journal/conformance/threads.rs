//! What was written is what is read and listed, and nothing of another thread.

use super::support::*;
use crate::journal::JournalErrorKind::{Damaged, Stale};
use crate::journal::{Claim, Order, Origin, Query, Record, RunStatus, Store, StoreError, ThreadId, Unknown};

pub(super) const CHECKS: &[fn(Open<'_>)] = &[
    records_are_read_back_by_turn_in_order_and_after_reopening,
    records_appended_one_by_one_or_together_are_the_same,
    append_that_is_not_at_the_end_is_refused_and_changes_nothing,
    header_of_another_thread_or_turn_is_refused_and_nothing_is_written,
    threads_are_told_apart_by_their_whole_names,
    thread_in_which_nothing_was_written_is_none,
    deleted_thread_is_gone_and_can_be_begun_again,
    claim_says_what_is_there_and_what_is_not,
    listed_thread_says_what_is_known_of_it,
    listed_fork_says_what_it_is_a_fork_of,
    claim_and_release_alone_change_nothing_in_a_list,
    status_is_stale_until_it_is_set_after_all_records,
    list_holds_what_is_asked_for,
    pages_of_a_list_are_the_list_in_both_orders,
];

fn records_are_read_back_by_turn_in_order_and_after_reopening(open: Open<'_>) {
    let (thread, store) = (id("demo"), open());
    let written: Vec<_> = (0..3).map(|turn| write(&*store, &thread, turn, 2 + turn as usize)).collect();
    for store in [store, open(), open()] {
        assert_eq!(store.turns(&thread).unwrap(), 3);
        for (turn, written) in (0..).zip(&written) {
            assert_eq!(store.records(&thread, turn).unwrap(), *written);
            assert_eq!(Record::Header(Box::new(store.header(&thread, turn).unwrap())), written[0]);
        }
        let missing = store.records(&thread, 3).unwrap_err();
        assert_eq!(store.header(&thread, 3).unwrap_err(), missing);
        assert_eq!(missing, StoreError::NoTurn { thread: thread.clone(), turn: 3, turns: 3 });
    }
}

fn records_appended_one_by_one_or_together_are_the_same(open: Open<'_>) {
    let (store, thread) = (open(), id("한 번에"));
    let whole = records(&thread, 0, 40);
    let lease = claim(&*store, &thread);
    store.append(&lease, 0, 0, Vec::new(), None).unwrap();
    is_missing(&*store, &thread);
    for (at, chunk) in [(0, 1), (1, 1), (2, 3), (5, 35), (40, 0)] {
        store.append(&lease, 0, at as u64, whole[at..at + chunk].to_vec(), None).unwrap();
        assert_eq!(store.records(&thread, 0).unwrap(), whole[..at + chunk]);
    }
    store.release(lease).unwrap();
    assert_eq!(open().records(&thread, 0).unwrap(), whole);
}

fn append_that_is_not_at_the_end_is_refused_and_changes_nothing(open: Open<'_>) {
    let (store, thread) = (open(), id("demo"));
    let whole = records(&thread, 0, 5);
    let lease = claim(&*store, &thread);
    refused(store.append(&lease, 0, 1, whole[1..2].to_vec(), None), Stale);
    refused(store.append(&lease, 1, 0, records(&thread, 1, 1), None), Stale);
    store.append(&lease, 0, 0, whole[..3].to_vec(), None).unwrap();
    for index in [0, 1, 2, 4, 100, u64::from(u32::MAX) - 1] {
        refused(store.append(&lease, 0, index, whole[2..3].to_vec(), None), Stale);
        refused(store.append(&lease, 0, index, Vec::new(), None), Stale);
    }
    refused(store.append(&lease, 2, 0, records(&thread, 2, 1), None), Stale);
    assert_eq!((store.records(&thread, 0).unwrap(), store.turns(&thread).unwrap()), (whole[..3].to_vec(), 1));
    store.append(&lease, 0, 3, whole[3..].to_vec(), None).unwrap();
    assert_eq!(store.records(&thread, 0).unwrap(), whole);
    store.release(lease).unwrap();
}

fn header_of_another_thread_or_turn_is_refused_and_nothing_is_written(open: Open<'_>) {
    let (store, thread) = (open(), id("mine"));
    let lease = claim(&*store, &thread);
    refused(store.append(&lease, 0, 0, records(&id("yours"), 0, 2), None), Damaged);
    refused(store.append(&lease, 0, 0, records(&thread, 1, 2), None), Damaged);
    is_missing(&*store, &thread);
    store.append(&lease, 0, 0, records(&thread, 0, 2), None).unwrap();
    store.release(lease).unwrap();
    assert_eq!(store.records(&thread, 0).unwrap(), records(&thread, 0, 2));
}

/// Names that a careless store takes for one another, or for a path or a pattern.
const NAMES: &str = "a|A|a.|aa|ab|a%|a_|a*|a/b|../a|...|.a|a'b|a\"b|a;--|=a|a b|\\a|보고서|보고서-1|보고서-10|각|\
     \u{1100}\u{1161}\u{11a8}|con.jsonl";

fn threads_are_told_apart_by_their_whole_names(open: Open<'_>) {
    let store = open();
    let threads: Vec<ThreadId> = NAMES.split('|').map(id).collect();
    let written: Vec<_> = (1..).zip(&threads).map(|(len, thread)| write(&*store, thread, 0, len)).collect();
    let store = open();
    let are_kept = |from: usize| {
        for (thread, written) in threads.iter().zip(&written).skip(from) {
            assert_eq!(store.records(thread, 0).unwrap(), *written, "{thread}");
        }
    };
    are_kept(0);
    let mut listed = names(&*store, &Query { limit: 100, ..Query::default() });
    let mut wanted: Vec<&str> = NAMES.split('|').collect();
    listed.sort();
    wanted.sort_unstable();
    assert_eq!(listed, wanted);
    store.delete(claim(&*store, &threads[0])).unwrap();
    are_kept(1);
    is_sound(&*store);
}

fn thread_in_which_nothing_was_written_is_none(open: Open<'_>) {
    let (store, thread) = (open(), id("nothing"));
    let lease = claim(&*store, &thread);
    is_missing(&*store, &thread);
    assert_eq!(names(&*store, &Query::default()), [""; 0]);
    assert_eq!(store.list_stale().unwrap(), []);
    store.release(lease).unwrap();
    let missing = StoreError::NoThread { thread: thread.clone() };
    assert_eq!(store.claim(&thread, Claim::Known).unwrap_err(), missing);
    is_missing(&*store, &thread);
    store.release(store.claim(&thread, Claim::New).unwrap()).unwrap();
    is_sound(&*store);
}

fn deleted_thread_is_gone_and_can_be_begun_again(open: Open<'_>) {
    let (store, thread, other) = (open(), id("gone"), id("stays"));
    let (_, kept) = (write(&*store, &thread, 0, 9), write(&*store, &other, 0, 9));
    write(&*store, &thread, 1, 2);
    store.delete(store.claim(&thread, Claim::Known).unwrap()).unwrap();
    for store in [&store, &open()] {
        is_missing(&**store, &thread);
        assert_eq!(names(&**store, &Query::default()), ["stays"]);
        assert_eq!(store.records(&other, 0).unwrap(), kept);
    }
    let again = write(&*store, &thread, 0, 4);
    assert_eq!((store.records(&thread, 0).unwrap(), store.turns(&thread).unwrap()), (again, 1));
    store.vacuum().unwrap();
    is_sound(&*store);
    assert_eq!(store.records(&other, 0).unwrap(), kept, "what is kept outlives a clearing up");
}

fn claim_says_what_is_there_and_what_is_not(open: Open<'_>) {
    let (store, thread) = (open(), id("demo"));
    let missing = StoreError::NoThread { thread: thread.clone() };
    for claim in [Claim::Known, Claim::TakeOver] {
        assert_eq!(store.claim(&thread, claim).unwrap_err(), missing);
    }
    is_missing(&*store, &thread);
    assert_eq!(names(&*store, &Query::default()), [""; 0]);
    write(&*store, &thread, 0, 1);
    let there = StoreError::Exists { thread: thread.clone() };
    assert_eq!(store.claim(&thread, Claim::New).unwrap_err(), there);
    for claim in [Claim::Known, Claim::Any, Claim::TakeOver] {
        store.release(store.claim(&thread, claim).unwrap()).unwrap();
    }
}

fn listed_thread_says_what_is_known_of_it(open: Open<'_>) {
    let (store, thread) = (open(), id("요약"));
    let lease = claim(&*store, &thread);
    store.append(&lease, 0, 0, records(&thread, 0, 2), None).unwrap();
    let listed = |store: &dyn Store| store.list(&Query::default()).unwrap().pop().unwrap();
    let one = listed(&*store);
    assert_eq!((one.title.as_str(), one.turns, one.running), ("요약의 질문 0?", 1, true));
    assert_eq!((one.status.clone(), one.created > 0), (RunStatus::Unfinished, true));
    assert!(one.updated >= one.created);
    let left = Unknown { effect: "step.1.2.1".parse().unwrap(), tool: "send".to_owned() };
    let failed = |unknown| RunStatus::Failed { error: "왜냐하면".to_owned(), unknown };
    for status in [waiting(7), done("답"), failed(Vec::new()), failed(vec![left])] {
        store.append(&lease, 0, 2, Vec::new(), Some(&status)).unwrap();
        assert_eq!(listed(&*store).status, status);
    }
    store.append(&lease, 1, 0, records(&thread, 1, 1), None).unwrap();
    let two = listed(&*store);
    assert_eq!((two.turns, two.status), (2, RunStatus::Unfinished), "the status of an earlier turn is void");
    assert_eq!((two.title, two.created), (one.title, one.created));
    store.append(&lease, 0, 2, Vec::new(), Some(&done("낡은 답"))).unwrap();
    assert_eq!(listed(&*store).status, RunStatus::Unfinished, "an earlier turn is not the last");
    store.release(lease).unwrap();
    assert_eq!((listed(&*store).running, listed(&*open()).running), (false, false));
}

fn listed_fork_says_what_it_is_a_fork_of(open: Open<'_>) {
    let (store, thread) = (open(), id("포크"));
    let lease = claim(&*store, &thread);
    let mut copied = records(&thread, 0, 2);
    let Some(Record::Header(header)) = copied.first_mut() else { panic!("records() begins with a header") };
    header.origin = Some(Origin { thread: "a \"b\"".to_owned(), turn: 0, records: 2, copied: 2 });
    store.append(&lease, 0, 0, copied, None).unwrap();
    store.append(&lease, 1, 0, records(&thread, 1, 1), None).unwrap();
    store.release(lease).unwrap();
    write(&*store, &id("demo"), 0, 1);
    let origin = |name: &str| open().find(&id(name)).unwrap().unwrap().forked_from;
    assert_eq!((origin("포크").as_deref(), origin("demo")), (Some("a \"b\""), None));
    let listed = store.list(&Query::default()).unwrap();
    assert_eq!(listed.iter().filter(|listed| listed.forked_from.is_some()).count(), 1);
}

fn claim_and_release_alone_change_nothing_in_a_list(open: Open<'_>) {
    let (store, thread) = (open(), id("demo"));
    write_with_status(&*store, &thread, 0, &done("답"));
    write_with_status(&*store, &id("later"), 0, &done("답"));
    let before = store.list(&Query::default()).unwrap();
    store.release(claim(&*store, &thread)).unwrap();
    assert_eq!(store.list(&Query::default()).unwrap(), before);
    assert_eq!(store.list_stale().unwrap(), []);
}

fn status_is_stale_until_it_is_set_after_all_records(open: Open<'_>) {
    let (store, thread) = (open(), id("stopped"));
    let stale = std::slice::from_ref(&thread);
    write_with_status(&*store, &id("fine"), 0, &done("답"));
    let lease = claim(&*store, &thread);
    store.append(&lease, 0, 0, records(&thread, 0, 2), None).unwrap();
    assert_eq!(store.list_stale().unwrap(), [], "its writer has it");
    store.release(lease).unwrap();
    assert_eq!(store.list_stale().unwrap(), stale);
    let lease = claim(&*store, &thread);
    refused(store.append(&lease, 0, 1, Vec::new(), Some(&done("너무 이르다"))), Stale);
    store.release(lease).unwrap();
    assert_eq!(store.list_stale().unwrap(), stale, "not of all records");
    let lease = claim(&*store, &thread);
    store.append(&lease, 0, 2, Vec::new(), Some(&waiting(3))).unwrap();
    store.append(&lease, 0, 2, records(&thread, 0, 3)[2..].to_vec(), None).unwrap();
    store.release(lease).unwrap();
    assert_eq!(open().list_stale().unwrap(), stale, "written to since");
    let lease = claim(&*store, &thread);
    store.append(&lease, 0, 3, Vec::new(), Some(&RunStatus::Unfinished)).unwrap();
    store.release(lease).unwrap();
    assert_eq!(open().list_stale().unwrap(), [], "that it is unfinished is known now");
}

fn list_holds_what_is_asked_for(open: Open<'_>) {
    let store = open();
    let all = [("a%b", None), ("a%c", Some(5)), ("a_b", Some(4)), ("보고-1", Some(9)), ("보고-2", None)];
    for (name, since) in all {
        write_with_status(&*store, &id(name), 0, &since.map_or_else(|| done("답"), waiting));
    }
    write(&*store, &id("boring"), 0, 1);
    let cases: [(&[&str], &str, &[&str]); 11] = [
        (&["waiting"], "", &["a%c", "a_b", "보고-1"]),
        (&["unfinished", "done"], "", &["a%b", "boring", "보고-2"]),
        (&["failed"], "", &[]),
        (&["' OR 1 --"], "", &[]),
        (&[], "a%", &["a%b", "a%c"]),
        (&[], "a_", &["a_b"]),
        (&[], "보고", &["보고-1", "보고-2"]),
        (&["done"], "보", &["보고-2"]),
        (&[], "보고-1", &["보고-1"]),
        (&[], "\0", &[]),
        (&[], "A", &[]),
    ];
    for (statuses, prefix, expected) in cases {
        let statuses = statuses.iter().map(|&status| status.to_owned()).collect();
        let query = Query { statuses, prefix: prefix.to_owned(), ..Query::default() };
        let mut found = names(&*store, &query);
        found.sort();
        assert_eq!(found, expected, "{query:?}");
    }
}

/// Every way to go through a list page by page gives all of it, each thread once, in the order.
fn pages_of_a_list_are_the_list_in_both_orders(open: Open<'_>) {
    let store = open();
    for at in 0..23_u64 {
        // Some wait equally long: the name decides.
        let status = if at % 3 == 0 { done("답") } else { waiting(1 + at / 4) };
        write_with_status(&*store, &id(&format!("t{at:02}")), 0, &status);
    }
    for (order, statuses) in [Order::Newest, Order::LongestWaiting].into_iter().flat_map(|order| {
        [&[] as &[&str], &["waiting"], &["waiting", "done"]].map(|statuses| (order, statuses))
    }) {
        let statuses: Vec<String> = statuses.iter().map(|&status| status.to_owned()).collect();
        let whole = Query { order, statuses, limit: 100, ..Query::default() };
        let all = store.list(&whole).unwrap();
        assert_eq!(all.len(), if whole.statuses.len() == 1 { 15 } else { 23 });
        assert_eq!(all, whole.page(all.clone()), "the order is the one that is promised");
        for limit in [1, 2, 7, 22, 23, 24] {
            let (mut paged, mut query) = (Vec::new(), Query { limit, ..whole.clone() });
            loop {
                let page = store.list(&query).unwrap();
                let Some(last) = page.last() else { break };
                assert!(page.len() <= limit);
                query.after = Some(last.cursor(order));
                paged.extend(page);
            }
            assert_eq!(paged, all, "{order:?}, by {limit}");
        }
    }
    assert_eq!(store.list(&Query { limit: 0, ..Query::default() }).unwrap(), []);
}
