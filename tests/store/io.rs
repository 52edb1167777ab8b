//! The k-th call to the system fails: the run stops and says so, what is kept is sound, and it goes on to
//! the same end when the system works again.

use crate::crash_support;

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use planwright::driver::{Agent, Resolution, Run, Stopped};
use planwright::journal::{Durability, FileIo, FileJournal, JournalErrorKind};
use planwright::machine::HumanAnswer;

use crash_support::{Log, Story, WORD, input};

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
    fn over(path: &Path, kth: u64, fault: Fault) -> (Box<Self>, Arc<AtomicU64>) {
        let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let calls = Arc::new(AtomicU64::new(0));
        (Box::new(Faulty { file: options.unwrap(), calls: Arc::clone(&calls), kth, fault }), calls)
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

/// Runs until the end with whatever is asked of a person said: their word, and what was really done.
fn finish(
    log: &Log,
    mut ended: Result<Run, Stopped>,
    mut again: impl FnMut(Option<Said>) -> Result<Run, Stopped>,
) -> Result<Run, Stopped> {
    for _ in 0..8 {
        ended = match ended {
            Ok(run) if run.is_waiting() => again(Some(Said::Word)),
            Err(Stopped::InDoubt { .. }) if log.times("send") > 0 => again(Some(Said::Happened)),
            Err(Stopped::InDoubt { .. }) => again(Some(Said::DidNotHappen)),
            ended => return ended,
        };
    }
    ended
}

enum Said {
    Word,
    Happened,
    DidNotHappen,
}

fn settlement(said: &Said) -> Resolution {
    match said {
        Said::Happened => Resolution::Happened { output: "send of 보고서".to_owned() },
        _ => Resolution::DidNotHappen,
    }
}

fn in_file(agent: &Agent, journal: &mut FileJournal, log: &Log) -> Result<Run, Stopped> {
    let ended = match journal_is_empty(journal) {
        true => agent.job(input()).journal(journal).run(),
        false => agent.resuming(journal).run(),
    };
    finish(log, ended, |said| match said {
        Some(Said::Word) => agent.resuming(journal).answer(HumanAnswer::respond(WORD)).run(),
        Some(said) => agent.resuming(journal).resolve(settlement(&said)).run(),
        None => agent.resuming(journal).run(),
    })
}

fn journal_is_empty(journal: &FileJournal) -> bool {
    planwright::journal::Journal::records(journal).unwrap().is_empty()
}

#[track_caller]
fn is_io(stopped: &Stopped) {
    let Stopped::Journal(error) = stopped else { panic!("{stopped:?}") };
    assert_eq!(error.kind(), JournalErrorKind::Io, "{error}");
    assert!(error.to_string().contains("cannot be written: the disk is gone"), "{error}");
}

#[test]
fn journal_file_outlives_the_failure_of_any_call_to_the_system() {
    let story = Story::told();
    for fault in [Fault::Once, Fault::Short, Fault::ForGood] {
        for kth in 1.. {
            let folder = tempfile::tempdir().unwrap();
            let (path, log) = (folder.path().join("run.jsonl"), Log::in_memory());
            let agent = story.agent(&log, Arc::new(|_| {}));
            let (file, calls) = Faulty::over(&path, kth, fault);
            let mut journal = FileJournal::over(&path, file).unwrap().durability(Durability::Full);
            match in_file(&agent, &mut journal, &log) {
                Err(stopped) => is_io(&stopped),
                Ok(run) => {
                    assert!(story.is_told_by(&run));
                    assert!(calls.load(Ordering::SeqCst) < kth, "a failure went unnoticed");
                    assert!(kth > 20, "only {kth} calls");
                    break;
                }
            }
            drop(journal);
            // The system works again.
            let (file, _) = Faulty::over(&path, 0, Fault::Once);
            let mut journal = FileJournal::over(&path, file).unwrap();
            let run = in_file(&agent, &mut journal, &log).unwrap();
            assert!(story.is_told_by(&run), "{fault:?} {kth}");
            assert_eq!(log.times("send"), 1, "{fault:?} {kth}");
        }
    }
}

#[test]
fn journal_goes_on_after_a_failure_without_being_opened_again() {
    let story = Story::told();
    for fault in [Fault::Once, Fault::Short] {
        for kth in 1.. {
            let folder = tempfile::tempdir().unwrap();
            let (path, log) = (folder.path().join("run.jsonl"), Log::in_memory());
            let agent = story.agent(&log, Arc::new(|_| {}));
            let mut journal = FileJournal::over(&path, Faulty::over(&path, kth, fault).0).unwrap();
            match in_file(&agent, &mut journal, &log) {
                Err(stopped) => is_io(&stopped),
                Ok(_) => {
                    assert!(kth > 20, "only {kth} calls");
                    break;
                }
            }
            let run = in_file(&agent, &mut journal, &log).unwrap();
            assert!(story.is_told_by(&run), "{fault:?} {kth}");
            assert_eq!(log.times("send"), 1, "{fault:?} {kth}");
        }
    }
}

#[test]
fn store_outlives_a_disk_that_is_full_at_any_page() {
    use planwright::driver::Threads;
    use planwright::journal::{Claim, StoreError, ThreadId};
    use planwright_sqlite::SqliteStore;

    let story = Story::told();
    let thread: ThreadId = "보고서".parse().unwrap();
    let mut full = 0;
    for pages in 1.. {
        let folder = tempfile::tempdir().unwrap();
        let (path, log) = (folder.path().join("threads.db"), Log::in_memory());
        let agent = story.agent(&log, Arc::new(|_| {}));
        let store = Arc::new(SqliteStore::open(&path, Durability::Normal).unwrap());
        let threads = Threads::new(store.clone());
        let begin = || threads.at(&thread).ask_with(&agent, input());
        let again = |said: Option<Said>| match said {
            Some(Said::Word) => threads.at(&thread).answer(&agent, HumanAnswer::respond(WORD)),
            Some(said) => threads.at(&thread).resolve(&agent, settlement(&said)),
            None => threads.at(&thread).resume(&agent),
        };
        store.limit(pages * 4_096).unwrap();
        match finish(&log, begin(), again) {
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
        use planwright::journal::Store;
        assert_eq!(store.check().unwrap(), [""; 0], "at {pages} pages");
        // There is space again, and the same handle goes on.
        store.limit(u64::MAX).unwrap();
        let ended = match store.turns(&thread) {
            Err(StoreError::NoThread { .. }) => begin(),
            _ => again(None),
        };
        let run = finish(&log, ended, again).unwrap();
        assert!(story.is_told_by(&run), "at {pages} pages");
        assert_eq!(log.times("send"), 1);
        assert_eq!(store.check().unwrap(), [""; 0]);
        store.release(store.claim(&thread, Claim::Known).unwrap()).unwrap();
    }
    assert!(full > 5, "full {full} times");
}
