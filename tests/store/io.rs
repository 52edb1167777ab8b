//! The k-th call to the system fails while a journal file is written, and a database finds its disk full: the
//! run stops and says so, what is kept is sound, and it goes on to the same end when the system works again.

use std::sync::Arc;

use planwright::driver::Stopped;
use planwright::journal::{Claim, JournalErrorKind, Store, StoreError};

use crate::crash_support::{Log, Story};
use crate::support::{id, is_sound, open, tell_on};

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod journal_file {
    use std::path::Path;

    use planwright::journal::{FileJournal, JournalError};

    use super::*;
    use crate::faults::{self, Fault, Span, heal};
    use crate::strike::{GoesOn, Strike, every_call, lost};
    use crate::support::tell_in;

    /// Those that change a file.
    const CHANGES: [Fault; 5] = [faults::FULL, faults::BROKEN, faults::HALF, faults::SHORT, faults::UNSYNCED];

    fn open(path: &Path) -> Result<FileJournal, JournalError> {
        FileJournal::create(path).or_else(|error| match error.kind() {
            JournalErrorKind::Stale => FileJournal::open(path),
            _ => Err(error),
        })
    }

    fn story_is_told(story: &Story, strike: Strike, folder: &Path) -> bool {
        let (path, log) = (folder.join("run.jsonl"), Log::in_memory());
        let agent = story.agent(&log, Arc::new(|_| {}));
        strike.begin();
        let mut journal = open(&path);
        let told = match &mut journal {
            Ok(journal) => tell_in(journal, &agent, &log),
            Err(error) => Err(error.clone().into()),
        };
        let fired = heal().fired > 0;
        match told {
            Ok(run) => {
                assert!(story.is_told_by(&run));
                assert!(!fired || strike.fault.said.is_empty(), "a failure went unnoticed");
            }
            Err(Stopped::Journal(error)) => {
                assert_eq!(error.kind(), JournalErrorKind::Io, "{error}");
                let said = error.to_string();
                assert!(said.contains("run.jsonl: cannot be ") && said.contains(strike.fault.said), "{said}");
            }
            Err(stopped) => panic!("{stopped:?}"),
        }
        // The system works again.
        let mut journal = match journal {
            Ok(journal) if strike.goes_on == GoesOn::Same => journal,
            journal => {
                drop(journal);
                open(&path).unwrap()
            }
        };
        assert!(story.is_told_by(&tell_in(&mut journal, &agent, &log).unwrap()));
        assert_eq!(log.times("send"), 1);
        assert_eq!(lost(), [""; 0]);
        fired
    }

    fn check_every_call(goes_on: GoesOn, test: &str) {
        if faults::are_here(test) {
            let story = Story::told();
            let spans = [Span::Once, Span::ForGood];
            every_call(&CHANGES, goes_on, (&spans, 1), |strike, folder| {
                story_is_told(&story, strike, folder)
            });
        }
    }

    #[test]
    fn journal_file_outlives_the_failure_of_any_call_to_the_system() {
        check_every_call(GoesOn::Next, "journal_file_outlives_the_failure_of_any_call_to_the_system");
    }

    #[test]
    fn journal_goes_on_after_a_failure_without_being_opened_again() {
        check_every_call(GoesOn::Same, "journal_goes_on_after_a_failure_without_being_opened_again");
    }
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
