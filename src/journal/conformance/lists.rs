//! Lists: what is asked for, in its order, page by page; and where threads stand.

use super::place::*;
use crate::journal::{Order, Unknown};
use crate::journal::{Query, RunStatus, Store};

/// The checks of this file.
pub(super) const CHECKS: &[Check] = &[
    listed_thread_says_what_is_known_of_it,
    claim_and_release_alone_change_nothing_in_a_list,
    thread_whose_writer_noted_nothing_is_unnoted_until_somebody_does,
    list_holds_what_is_asked_for,
    pages_of_a_list_are_the_list_in_both_orders,
];

fn listed_thread_says_what_is_known_of_it(place: &Place<'_>) {
    let (store, thread) = (place.store(), id("요약"));
    let lease = claim(&*store, &thread);
    store.append(&lease, 0, 0, records(&thread, 0, 2)).unwrap();
    let listed = |store: &dyn Store| store.list(&Query::default()).unwrap().pop().unwrap();
    let one = listed(&*store);
    assert_eq!((one.title.as_str(), one.turns, one.running), ("요약의 질문 0?", 1, true));
    assert_eq!((one.status.clone(), one.created > 0), (RunStatus::Unfinished, true));
    assert!(one.updated >= one.created);
    let left = Unknown { effect: "step.1.2.1".parse().unwrap(), tool: "send".to_owned() };
    let failed = |unknown| RunStatus::Failed { error: "왜냐하면".to_owned(), unknown };
    for status in [waiting(7), done("답"), failed(Vec::new()), failed(vec![left])] {
        store.set_status(&lease, 0, 2, &status).unwrap();
        assert_eq!(listed(&*store).status, status);
    }
    store.append(&lease, 1, 0, records(&thread, 1, 1)).unwrap();
    let two = listed(&*store);
    assert_eq!((two.turns, two.status), (2, RunStatus::Unfinished), "what was noted is no more");
    assert_eq!((two.title, two.created), (one.title, one.created));
    store.set_status(&lease, 0, 2, &done("낡은 답")).unwrap();
    assert_eq!(listed(&*store).status, RunStatus::Unfinished, "an earlier turn is not the last");
    store.release(lease).unwrap();
    assert_eq!((listed(&*store).running, listed(&*place.store()).running), (false, false));
}

fn claim_and_release_alone_change_nothing_in_a_list(place: &Place<'_>) {
    let (store, thread) = (place.store(), id("demo"));
    write_with_status(&*store, &thread, 0, &done("답"));
    write_with_status(&*store, &id("later"), 0, &done("답"));
    let before = store.list(&Query::default()).unwrap();
    store.release(claim(&*store, &thread)).unwrap();
    assert_eq!(store.list(&Query::default()).unwrap(), before);
    assert_eq!(store.list_stale().unwrap(), []);
}

fn thread_whose_writer_noted_nothing_is_unnoted_until_somebody_does(place: &Place<'_>) {
    let (store, thread) = (place.store(), id("stopped"));
    write_with_status(&*store, &id("fine"), 0, &done("답"));
    let lease = claim(&*store, &thread);
    store.append(&lease, 0, 0, records(&thread, 0, 2)).unwrap();
    assert_eq!(store.list_stale().unwrap(), [], "somebody has it");
    store.release(lease).unwrap();
    assert_eq!(store.list_stale().unwrap(), std::slice::from_ref(&thread));
    let lease = claim(&*store, &thread);
    store.set_status(&lease, 0, 1, &done("너무 이르다")).unwrap();
    store.release(lease).unwrap();
    assert_eq!(store.list_stale().unwrap(), std::slice::from_ref(&thread), "not of all records");
    let lease = claim(&*store, &thread);
    store.set_status(&lease, 0, 2, &waiting(3)).unwrap();
    store.append(&lease, 0, 2, records(&thread, 0, 3)[2..].to_vec()).unwrap();
    store.release(lease).unwrap();
    assert_eq!(place.store().list_stale().unwrap(), std::slice::from_ref(&thread), "written to since");
    let lease = claim(&*store, &thread);
    store.set_status(&lease, 0, 3, &RunStatus::Unfinished).unwrap();
    store.release(lease).unwrap();
    assert_eq!(place.store().list_stale().unwrap(), [], "that it is unfinished is known now");
}

fn list_holds_what_is_asked_for(place: &Place<'_>) {
    let store = place.store();
    let all = [
        ("a%b", done("1")),
        ("a%c", waiting(5)),
        ("a_b", waiting(4)),
        ("보고-1", waiting(9)),
        ("보고-2", done("2")),
    ];
    for (name, status) in &all {
        write_with_status(&*store, &id(name), 0, status);
    }
    write(&*store, &id("boring"), 0, 1);
    let ask = |statuses: &[&str], prefix: &str| {
        let statuses = statuses.iter().map(|&status| status.to_owned()).collect();
        let mut found = names(&*store, &Query { statuses, prefix: prefix.to_owned(), ..Query::default() });
        found.sort();
        found
    };
    assert_eq!(ask(&["waiting"], ""), ["a%c", "a_b", "보고-1"]);
    assert_eq!(ask(&["unfinished", "done"], ""), ["a%b", "boring", "보고-2"]);
    assert_eq!(ask(&["failed"], ""), [""; 0]);
    assert_eq!(ask(&["' OR 1 --"], ""), [""; 0]);
    assert_eq!(ask(&[], "a%"), ["a%b", "a%c"]);
    assert_eq!(ask(&[], "a_"), ["a_b"]);
    assert_eq!(ask(&[], "보고"), ["보고-1", "보고-2"]);
    assert_eq!(ask(&["done"], "보"), ["보고-2"]);
    assert_eq!(ask(&[], "보고-1"), ["보고-1"]);
    assert_eq!(ask(&[], "\0"), [""; 0]);
    assert_eq!(ask(&[], "A"), [""; 0]);
}

/// Every way to go through a list page by page gives all of it, each thread once, in the order.
fn pages_of_a_list_are_the_list_in_both_orders(place: &Place<'_>) {
    let store = place.store();
    for at in 0..23_u64 {
        // Some wait equally long: the name decides.
        let status = if at % 3 == 0 { done("답") } else { waiting(1 + at / 4) };
        write_with_status(&*store, &id(&format!("t{at:02}")), 0, &status);
    }
    for order in [Order::Newest, Order::LongestWaiting] {
        for statuses in
            [Vec::new(), vec!["waiting".to_owned()], vec!["waiting".to_owned(), "done".to_owned()]]
        {
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
    }
    assert_eq!(store.list(&Query { limit: 0, ..Query::default() }).unwrap(), []);
}
