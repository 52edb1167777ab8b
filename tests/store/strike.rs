//! One fault at one call of a database, and every one in turn.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

use std::path::Path;
use std::sync::Arc;

use planwright::journal::{Durability, JournalErrorKind, Store, StoreError};
use planwright_sqlite::SqliteStore;

use crate::faults::{self, Fault, Span, heal};
use crate::support::{claim, id, is_sound};

/// Opens the database in a folder.
pub fn open(folder: &Path) -> Result<Arc<dyn Store>, StoreError> {
    Ok(Arc::new(SqliteStore::open(folder.join("threads.db"), Durability::Full)?))
}

/// Another process looks, at any moment.
#[track_caller]
pub fn looks_sound(folder: &Path) {
    is_sound(&*open(folder).unwrap());
}

/// Where this is set, every reading call fails in turn, and not only some of them.
const ALL_READS: &str = "PLANWRIGHT_TEST_ALL_READS";

/// Which handle goes on when the system works again: the one that saw it fail, or the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GoesOn {
    Same,
    Next,
}

/// One fault at one call.
#[derive(Clone, Copy, Debug)]
pub struct Strike {
    pub fault: Fault,
    span: Span,
    pub goes_on: GoesOn,
    kth: u64,
}

impl Strike {
    /// From here on the fault strikes, until the system heals.
    pub fn begin(&self) {
        self.fault.strikes(self.kth, self.span);
    }

    /// Opens the store and does something with it while the fault strikes; gives the handle that goes on, what
    /// came of it, and whether there was such a call.
    pub fn over<T>(
        &self,
        folder: &Path,
        does: impl FnOnce(Arc<dyn Store>) -> Result<T, StoreError>,
    ) -> (Arc<dyn Store>, Option<T>, bool) {
        self.begin();
        let opened = open(folder);
        let done = opened.clone().and_then(does);
        let opened = opened.ok().filter(|_| self.goes_on == GoesOn::Same);
        let report = heal();
        let done = done.map_err(|error| self.is_clean(&error, folder)).ok();
        looks_sound(folder);
        let store = opened.unwrap_or_else(|| open(folder).unwrap());
        let lease = claim(&*store, &id("다른 것"));
        looks_sound(folder);
        store.release(lease).unwrap();
        (store, done, report.fired > 0)
    }

    /// Asserts that an error is one of the system, and says where and why.
    #[track_caller]
    fn is_clean(&self, error: &StoreError, folder: &Path) {
        let StoreError::Journal(error) = error else { panic!("{error:?}") };
        let said = error.to_string();
        assert!(said.contains(&*folder.to_string_lossy()), "{said}");
        // SQLite has one word for a page that is damaged and for one that the disk fails to read.
        if said.contains("is damaged, or the disk fails to read it") {
            assert_eq!(self.fault.classes, "r", "{said}");
            return;
        }
        assert_eq!(error.kind(), JournalErrorKind::Io, "{said}");
        // Where what is there cannot be looked at, it is in the way of what is to be made.
        let is_in_the_way = self.fault.classes == "r" && said.contains("File exists");
        let sqlite =
            ["disk I/O error", "database or disk is full", "unable to open database file", "only to read"];
        let names_cause = said.contains(self.fault.said) || sqlite.iter().any(|cause| said.contains(cause));
        assert!(names_cause || is_in_the_way, "{said}");
    }
}

/// What a loss of power would take of what must last: no locks, no notes that nothing rests on, and nothing
/// that is worked out anew.
pub fn lost() -> Vec<String> {
    let passing = [".holders", "-shm"];
    heal().unsynced.into_iter().filter(|line| !passing.iter().any(|name| line.contains(name))).collect()
}

/// Every call fails in turn, in every way. Of the reading ones, of which there can be very many, it is one in
/// so many, unless all are asked for.
pub fn every_call(
    faults: &[Fault],
    goes_on: GoesOn,
    (spans, reads): (&[Span], usize),
    strikes: impl Fn(Strike, &Path) -> bool,
) {
    struct At(Strike);
    impl Drop for At {
        fn drop(&mut self) {
            if std::thread::panicking() {
                println!("this is at {:?}", self.0);
            }
        }
    }
    let root = faults::root();
    for (fault, &span) in faults.iter().flat_map(|fault| spans.iter().map(move |span| (*fault, span))) {
        // SQLite asks again, for seconds.
        if fault.classes == "l" && span == Span::ForGood {
            continue;
        }
        let mut failed = 0;
        let all = fault.classes != "r" || std::env::var_os(ALL_READS).is_some();
        for kth in (1..).step_by(if all { 1 } else { reads }) {
            let at = At(Strike { fault, span, goes_on, kth });
            let folder = tempfile::tempdir_in(&root).unwrap();
            if !strikes(at.0, folder.path()) {
                break;
            }
            failed += 1;
        }
        println!("gone on with by the {goes_on:?} handle: {fault}, {span:?}: {failed} calls");
        assert!(failed > 5, "only {failed} calls failed");
    }
}
