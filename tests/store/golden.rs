//! Golden files: a store that an earlier version wrote is listed, read and written on by this one.

use std::path::Path;

use planwright::journal::{Claim, Durability, Query, RunStatus, Store, fold};
use planwright_sqlite::SqliteStore;

use crate::support::{id, is_sound, names, records};

/// A store of each format.
const STORES: [&str; 1] = ["store-2.db"];

#[test]
fn stores_of_every_format_are_read_and_written_on() {
    for file in STORES {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(file);
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(file);
        std::fs::copy(golden, &path).unwrap();
        let store = SqliteStore::open(&path, Durability::Full).unwrap();
        assert_eq!(names(&store, &Query::default()), ["waits", "done"], "{file}");
        assert_eq!((store.turns(&id("done")), store.turns(&id("waits"))), (Ok(2), Ok(1)));
        let status = |thread: &str, turn: u32| {
            RunStatus::of(&fold(store.records(&id(thread), turn).unwrap()).unwrap())
        };
        assert_eq!(status("done", 0), RunStatus::Done { answer: "12/4+9 = 12".to_owned() });
        assert_eq!(status("done", 1), RunStatus::Done { answer: "7*6 = 42".to_owned() });
        assert!(matches!(status("waits", 0), RunStatus::Waiting { since: 1.., .. }));
        let lease = store.claim(&id("done"), Claim::Known).unwrap();
        store.append(&lease, 2, 0, records(&id("done"), 2, 3)).unwrap();
        store.release(lease).unwrap();
        assert_eq!(store.records(&id("done"), 2).unwrap(), records(&id("done"), 2, 3));
        is_sound(&store);
    }
}
