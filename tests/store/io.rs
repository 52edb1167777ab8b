//! The k-th call to the system fails: the run stops and says so, what is kept is sound, and it goes on to
//! the same end when the system works again.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use planwright::driver::Stopped;
use planwright::journal::{Claim, FileIo, FileJournal, JournalErrorKind, Store, StoreError};

use crate::crash_support::{Log, Story};
use crate::support::{id, is_sound, open, tell_in, tell_on};

/// Which calls fail, and how.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// The k-th alone.
    Once,
    /// The k-th, which writes the half of what it was given, and no other.
    Short,
    /// The k-th and all after it.
    ForGood,
}

/// A file whose k-th change fails.
#[derive(Debug)]
struct Faulty {
    file: File,
    calls: Arc<AtomicU64>,
    kth: u64,
    fault: Fault,
}

impl Faulty {
    /// A journal over such a file, and how many changes there were.
    fn journal(path: &Path, kth: u64, fault: Fault) -> (FileJournal, Arc<AtomicU64>) {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).unwrap();
        let calls = Arc::new(AtomicU64::new(0));
        let faulty = Faulty { file, calls: Arc::clone(&calls), kth, fault };
        (FileJournal::over(path, Box::new(faulty)).unwrap(), calls)
    }

    fn call(&self) -> io::Result<()> {
        let nth = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        let fails = nth == self.kth || (nth > self.kth && self.fault == Fault::ForGood);
        if fails { Err(io::Error::other("the disk is gone")) } else { Ok(()) }
    }
}

impl FileIo for Faulty {
    fn size(&self) -> io::Result<u64> {
        self.file.size()
    }

    fn read(&self) -> io::Result<Vec<u8>> {
        FileIo::read(&self.file)
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.call().inspect_err(|_| {
            if self.fault == Fault::Short {
                FileIo::write(&mut self.file, at, &bytes[..bytes.len() / 2]).unwrap();
            }
        })?;
        FileIo::write(&mut self.file, at, bytes)
    }

    fn cut(&mut self, at: u64) -> io::Result<()> {
        self.call()?;
        self.file.cut(at)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.call()?;
        self.file.sync()
    }
}

/// Tells the story while each call fails in turn, then to its end, over the journal that saw it fail or one
/// that is opened anew.
fn check_every_call(faults: &[Fault], opens_again: bool) {
    let story = Story::told();
    for &fault in faults {
        for kth in 1.. {
            let folder = tempfile::tempdir().unwrap();
            let (path, log) = (folder.path().join("run.jsonl"), Log::in_memory());
            let agent = story.agent(&log, Arc::new(|_| {}));
            let (mut journal, calls) = Faulty::journal(&path, kth, fault);
            match tell_in(&mut journal, &agent, &log) {
                Err(Stopped::Journal(error)) => {
                    assert_eq!(error.kind(), JournalErrorKind::Io, "{error}");
                    assert!(error.to_string().contains("cannot be written: the disk is gone"), "{error}");
                }
                Err(stopped) => panic!("{stopped:?}"),
                Ok(run) => {
                    assert!(story.is_told_by(&run));
                    assert!(calls.load(Ordering::SeqCst) < kth, "a failure went unnoticed");
                    assert!(kth > 20, "only {kth} calls");
                    break;
                }
            }
            // The system works again.
            if opens_again {
                drop(journal);
                journal = Faulty::journal(&path, 0, Fault::Once).0;
            }
            let run = tell_in(&mut journal, &agent, &log).unwrap();
            assert!(story.is_told_by(&run), "{fault:?} {kth}");
            assert_eq!(log.times("send"), 1, "{fault:?} {kth}");
        }
    }
}

#[test]
fn journal_file_outlives_the_failure_of_any_call_to_the_system() {
    check_every_call(&[Fault::Once, Fault::Short, Fault::ForGood], true);
}

#[test]
fn journal_goes_on_after_a_failure_without_being_opened_again() {
    check_every_call(&[Fault::Once, Fault::Short], false);
}

#[test]
fn store_outlives_a_disk_that_is_full_at_any_page() {
    let (story, thread) = (Story::told(), id("보고서"));
    let mut full = 0;
    for pages in 1.. {
        let (folder, log) = (tempfile::tempdir().unwrap(), Log::in_memory());
        let agent = story.agent(&log, Arc::new(|_| {}));
        let database = Arc::new(open(&folder.path().join("threads.db")));
        let store: Arc<dyn Store> = database.clone();
        database.limit(pages * 4_096).unwrap();
        match tell_on(&store, &thread, &agent, &log) {
            Ok(run) => {
                assert!(story.is_told_by(&run));
                break;
            }
            Err(Stopped::Journal(error) | Stopped::Store(StoreError::Journal(error))) => {
                assert_eq!(error.kind(), JournalErrorKind::Io, "{error}");
                assert!(error.to_string().contains("no space is left"), "{error}");
                full += 1;
            }
            Err(other) => panic!("{other:?}"),
        }
        is_sound(&*store);
        // There is space again, and the same handle goes on.
        database.limit(u64::MAX).unwrap();
        let run = tell_on(&store, &thread, &agent, &log).unwrap();
        assert!(story.is_told_by(&run), "at {pages} pages");
        assert_eq!(log.times("send"), 1);
        is_sound(&*store);
        store.release(store.claim(&thread, Claim::Known).unwrap()).unwrap();
    }
    assert!(full > 5, "full {full} times");
}
