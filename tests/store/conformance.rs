//! Every store keeps threads alike.

use crate::store_conformance;

use std::sync::Arc;

use planwright::journal::{Durability, MemoryStore, Store};
use store_conformance::{self as conformance, Place};

fn memory() -> Place {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let open = Box::new(move || Arc::clone(&store));
    Place { folder: tempfile::tempdir().unwrap(), open }
}

fn sqlite() -> Place {
    use planwright_sqlite::SqliteStore;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("실.db");
    let open = move || -> Arc<dyn Store> { Arc::new(SqliteStore::open(&path, Durability::Normal).unwrap()) };
    Place { folder, open: Box::new(open) }
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

all_conform!(memory, sqlite; {
    story_waits_for_a_person_and_is_told_to_its_end_after_reopening,
    list_says_where_a_thread_stands_whose_writer_was_stopped,
    fork_copies_up_to_a_point_and_leaves_what_it_came_from,
    prune_deletes_what_has_ended_before_a_time_and_nothing_else,
    append_costs_the_same_for_the_thousandth_record_as_for_the_tenth,
});

#[test]
fn database_passes_the_conformance_suite() {
    planwright::journal::conformance::check(|| {
        let place = sqlite();
        move || place.store()
    });
}
