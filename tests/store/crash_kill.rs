//! A real `kill -9`, before and after every append and every effect, on both stores that outlive a
//! process: the next process goes on to the same end. What was answered is not done again, and what may
//! not be done twice is not.
//!
//! The child is this test binary itself, started with the name of one test and told where to die.
#![cfg(unix)]

use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use planwright::driver::{Threads, token};
use planwright::journal::{RunStatus, Store, StoreError, fold};

use crate::crash_support::{self, Log, Story, input};
use crate::hooked::{Hooked, When};
use crate::support::{self, Say, done, finish, id, is_sound};

const FOLDER: &str = "PLANWRIGHT_TEST_FOLDER";
const DIES_AT: &str = "PLANWRIGHT_TEST_DIES_AT";

const THREAD: &str = "죽어도 계속";

fn open(folder: &Path) -> Arc<dyn Store> {
    Arc::new(support::open(&folder.join("threads.db")))
}

/// Counts the places at which a process may die, and dies at one of them.
struct Reaper {
    passed: AtomicUsize,
    dies_at: usize,
}

impl Reaper {
    fn passes(&self) {
        if self.passed.fetch_add(1, Ordering::SeqCst) + 1 == self.dies_at {
            let me = std::process::id().to_string();
            Command::new("kill").args(["-9", &me]).status().expect("kill is there");
            loop {
                std::thread::park();
            }
        }
    }
}

/// A store whose process may die before and after each write.
fn mortal(store: Arc<dyn Store>, reaper: Arc<Reaper>) -> Arc<dyn Store> {
    let hook = move |method: &str, when| match method {
        "begin" | "conclude" | "append" => reaper.passes(),
        "release" if when == When::Before => reaper.passes(),
        _ => {}
    };
    Arc::new(Hooked(store, Box::new(hook)))
}

/// The child: goes on with the story as far as it comes. Does nothing where it is run as a test.
#[test]
fn child_goes_on_with_the_story() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let folder = Path::new(&folder);
    let dies_at = std::env::var(DIES_AT).expect("a place is named").parse().expect("a number");
    let reaper = Arc::new(Reaper { passed: AtomicUsize::new(0), dies_at });
    let threads = Threads::new(mortal(open(folder), reaper.clone()));
    let log = Log::file(&folder.join("log"));
    let story = Story::told();
    let dying = reaper.clone();
    let agent = story.agent(&log, Arc::new(move |_| dying.passes()));
    let thread = id(THREAD);
    // A server may notice a moment later that a process is gone.
    while threads.store().find(&thread).unwrap().is_some_and(|listed| listed.running) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let begun = match threads.store().turns(&thread) {
        Err(StoreError::NoThread { .. }) => threads.at(&thread).ask_with(&agent, input()),
        _ => threads.at(&thread).resume(&agent),
    };
    let run = finish(&log, begun, |say| {
        let token = token(&threads.folded(&thread, None).unwrap()).expect("it waits, or a write is in doubt");
        match say {
            Say::Answer(answer) => threads.at(&thread).token(token).answer(&agent, answer),
            Say::Resolve(resolution) => threads.at(&thread).token(token).resolve(&agent, resolution),
        }
    });
    let run = run.unwrap_or_else(|stopped| panic!("{stopped}"));
    assert!(story.is_told_by(&run), "{:?}", run.trace());
    std::fs::write(folder.join("places"), reaper.passed.load(Ordering::SeqCst).to_string()).unwrap();
}

fn child(folder: &Path, dies_at: usize) -> ExitStatus {
    let mut child = Command::new(std::env::current_exe().expect("this test"));
    child.args(["--exact", "crash_kill::child_goes_on_with_the_story", "--nocapture"]);
    child.env(FOLDER, folder).env(DIES_AT, dies_at.to_string());
    child.output().expect("the child starts").status
}

fn killed(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt as _;
    status.signal() == Some(9)
}

/// Kills a child at every place in turn, and lets the next ones go on: the second is killed too, early.
#[test]
fn story_survives_a_kill_at_every_place() {
    let straight = tempfile::tempdir().unwrap();
    // A server that keeps the stores is this process's, not that of a child that dies.
    drop(open(straight.path()));
    assert!(child(straight.path(), 0).success());
    let places: usize = std::fs::read_to_string(straight.path().join("places")).unwrap().parse().unwrap();
    let answer = Story::told().answer;
    for place in 1..=places {
        let folder = tempfile::tempdir().unwrap();
        assert!(killed(child(folder.path(), place)), "place {place} of {places}");
        let mut last = child(folder.path(), 1 + place % 5);
        if killed(last) {
            last = child(folder.path(), 0);
        }
        assert!(last.success(), "killed at {place}, then {last}");
        let log = Log::file(&folder.path().join("log"));
        assert_eq!(log.times("send"), 1, "killed at {place}: {:?}", log.done());
        let store = open(folder.path());
        is_sound(&*store);
        let records = store.records(&id(THREAD), 0).unwrap();
        let status = RunStatus::of(&fold(records.clone()).unwrap());
        assert_eq!(status, done(&answer), "killed at {place}");
        let answered = crash_support::answered(&records).len();
        assert_eq!(crash_support::events(&records).len(), answered, "no effect is answered twice");
    }
}
