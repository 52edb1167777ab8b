//! One fault at one call of one store, and every one in turn.

use std::path::Path;
use std::sync::Arc;

use planwright::journal::{Claim, Durability, JournalErrorKind, Store, StoreError, ThreadId};
use planwright_sqlite::SqliteStore;

use super::{Fault, Span, heal};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Sqlite,
}

impl Kind {
    pub fn open(self, folder: &Path) -> Result<Arc<dyn Store>, StoreError> {
        Ok(match self {
            Kind::Sqlite => Arc::new(SqliteStore::open(folder.join("threads.db"), Durability::Full)?),
        })
    }

    /// Another process looks, at any moment.
    #[track_caller]
    pub fn is_sound(self, folder: &Path) {
        assert_eq!(self.open(folder).unwrap().check().unwrap(), [""; 0]);
    }
}

/// Where this is set, every reading call fails in turn, and not only some of them.
const ALL_READS: &str = "PLANWRIGHT_TEST_ALL_READS";

/// Who goes on when the system works again: the handle that saw it fail, or the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GoesOn {
    Same,
    Next,
}

/// One fault at one call of one store.
#[derive(Clone, Copy, Debug)]
pub struct Strike {
    pub kind: Kind,
    pub fault: Fault,
    pub span: Span,
    pub goes_on: GoesOn,
    pub kth: u64,
}

impl Strike {
    /// Opens the store and does something with it while the fault strikes; gives the handle where it goes on,
    /// what came of it, and whether there was such a call.
    pub fn over<T>(
        &self,
        folder: &Path,
        does: impl FnOnce(Arc<dyn Store>) -> Result<T, StoreError>,
    ) -> (Arc<dyn Store>, Option<T>, bool) {
        self.fault.strikes(self.kth, self.span);
        let opened = self.kind.open(folder);
        let done = opened.clone().and_then(does);
        let opened = opened.ok().filter(|_| self.goes_on == GoesOn::Same);
        let report = heal();
        let done = done.map_err(|error| self.is_clean(&error, folder)).ok();
        self.kind.is_sound(folder);
        let store = opened.unwrap_or_else(|| self.kind.open(folder).unwrap());
        let lease = store.claim(&id("다른 것"), Claim::Any).unwrap();
        self.kind.is_sound(folder);
        store.release(lease).unwrap();
        (store, done, report.fired > 0)
    }

    /// Whether an error is one of the system, and says where and why.
    #[track_caller]
    fn is_clean(&self, error: &StoreError, folder: &Path) {
        let StoreError::Journal(error) = error else { panic!("{error:?}") };
        let said = error.to_string();
        assert!(said.contains(&*folder.to_string_lossy()), "{said}");
        // SQLite has one word for a page that is damaged and for one that the disk fails to read.
        if self.kind == Kind::Sqlite && said.contains("is damaged, or the disk fails to read it") {
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

pub fn id(name: &str) -> ThreadId {
    name.parse().expect("a name")
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
    kind: Kind,
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
    let root = super::root();
    for fault in super::ALL {
        for &span in spans {
            // SQLite asks again, for seconds.
            if kind == Kind::Sqlite && fault.classes == "l" && span == Span::ForGood {
                continue;
            }
            let mut failed = 0;
            let all = fault.classes != "r" || std::env::var_os(ALL_READS).is_some();
            for kth in (1..).step_by(if all { 1 } else { reads }) {
                let at = At(Strike { kind, fault, span, goes_on, kth });
                let folder = tempfile::tempdir_in(&root).unwrap();
                if !strikes(at.0, folder.path()) {
                    break;
                }
                failed += 1;
            }
            println!("{kind:?}, gone on with by the {goes_on:?} handle: {fault}, {span:?}: {failed} calls");
            assert!(failed > 5, "only {failed} calls failed");
        }
    }
}
