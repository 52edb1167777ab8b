//! Every store keeps threads alike.

use crate::store_conformance;

use std::sync::Arc;

use planwright::journal::{Durability, LinesStore, MemoryStore, Store};
use store_conformance::{self as conformance, Place};

fn memory() -> Place {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let open = Box::new(move || Arc::clone(&store));
    Place { folder: tempfile::tempdir().unwrap(), open, takes_over: true }
}

fn lines() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("실");
    let open = move || -> Arc<dyn Store> { Arc::new(LinesStore::open(&path, Durability::Normal).unwrap()) };
    Place { folder, open: Box::new(open), takes_over: false }
}

fn sqlite() -> Place {
    use planwright_sqlite::SqliteStore;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("실.db");
    let open = move || -> Arc<dyn Store> { Arc::new(SqliteStore::open(&path, Durability::Normal).unwrap()) };
    Place { folder, open: Box::new(open), takes_over: true }
}

/// Puts stores through the checks, each as a test of its own.
macro_rules! all_conform {
    ($($(#[$gate:meta])? $store:ident),*; $checks:tt) => {
        $($(#[$gate])? all_conform!(@one $store $checks);)*
    };
    (@one $store:ident { $($check:ident,)* }) => {
        mod $store {
            $(#[test]
            fn $check() {
                super::conformance::$check(&super::$store());
            })*
        }
    };
}

all_conform!(memory, lines, sqlite; {
    records_are_read_back_by_turn_in_order_and_after_reopening,
    records_appended_one_by_one_or_together_are_the_same,
    append_that_is_not_at_the_end_is_refused_and_changes_nothing,
    header_of_another_thread_or_turn_is_refused_and_nothing_is_written,
    threads_are_told_apart_by_their_whole_names,
    thread_in_which_nothing_was_written_is_none,
    deleted_thread_is_gone_and_can_be_begun_again,
    claim_says_what_is_there_and_what_is_not,
    one_of_many_who_claim_at_once_has_the_thread,
    thread_that_somebody_has_is_claimed_by_nobody_else_until_it_is_released,
    two_threads_are_written_side_by_side,
    writer_who_was_taken_over_writes_nothing_more,
    thread_is_begun_with_its_first_turns_and_taken,
    thread_that_cannot_be_begun_whole_is_not_begun,
    thread_that_is_begun_with_nothing_is_none,
    what_is_concluded_is_kept_noted_and_given_back,
    who_was_taken_over_concludes_nothing,
    lease_of_a_thread_that_was_deleted_is_none_of_its_successor,
    listed_thread_says_what_is_known_of_it,
    claim_and_release_alone_change_nothing_in_a_list,
    thread_whose_writer_noted_nothing_is_unnoted_until_somebody_does,
    list_holds_what_is_asked_for,
    pages_of_a_list_are_the_list_in_both_orders,
    story_waits_for_a_person_and_is_told_to_its_end_after_reopening,
    list_says_where_a_thread_stands_whose_writer_was_stopped,
    fork_copies_up_to_a_point_and_leaves_what_it_came_from,
    prune_deletes_what_has_ended_before_a_time_and_nothing_else,
    append_costs_the_same_for_the_thousandth_record_as_for_the_tenth,
});
