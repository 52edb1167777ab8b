//! A real `kill -9`, before and after every append and every effect, on both stores that outlive a
//! process: the next process goes on to the same end. What was answered is not done again, and what may
//! not be done twice is not.
//!
//! The child is this test binary itself, started with the name of one test and told where to die.
#![cfg(unix)]

use crate::crash_support;
use crate::hooked::{Hooked, When};

use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use planwright::driver::{Resolution, Stopped, Threads, token};
use planwright::journal::{Durability, RunStatus, Store, StoreError, ThreadId, fold};
use planwright::machine::HumanAnswer;
use planwright_sqlite::SqliteStore;

use crash_support::{Log, Story, WORD, input};

const FOLDER: &str = "PLANWRIGHT_TEST_FOLDER";
const DIES_AT: &str = "PLANWRIGHT_TEST_DIES_AT";

fn thread() -> ThreadId {
    "죽어도 계속".parse().unwrap()
}

fn open(folder: &Path) -> Arc<dyn Store> {
    Arc::new(SqliteStore::open(folder.join("threads.db"), Durability::Normal).unwrap())
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
        "release" | "set_status" if when == When::Before => reaper.passes(),
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
    let thread = thread();

    let mut ended = match threads.store().turns(&thread) {
        Err(StoreError::NoThread { .. }) => threads.at(&thread).ask_with(&agent, input()),
        _ => threads.at(&thread).resume(&agent),
    };
    for _ in 0..8 {
        ended = match ended {
            Ok(run) if run.is_waiting() => {
                let token = run.waiting().expect("it waits").token.clone();
                threads.at(&thread).token(token).answer(&agent, HumanAnswer::respond(WORD))
            }
            Ok(run) => {
                assert!(story.is_told_by(&run), "{:?}", run.trace());
                std::fs::write(folder.join("places"), reaper.passed.load(Ordering::SeqCst).to_string())
                    .unwrap();
                return;
            }
            Err(Stopped::InDoubt { .. }) => {
                let token = token(&threads.folded(&thread, None).unwrap()).expect("a write is in doubt");
                let settlement = match log.times("send") {
                    0 => Resolution::DidNotHappen,
                    _ => Resolution::Happened { output: "send of 보고서".to_owned() },
                };
                threads.at(&thread).token(token).resolve(&agent, settlement)
            }
            Err(stopped) => panic!("{stopped}"),
        };
    }
    panic!("the story does not come to its end");
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
fn story_survives_a_kill_at_every_place_on_sqlite() {
    let straight = tempfile::tempdir().unwrap();
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
        assert_eq!(store.check().unwrap(), Vec::<String>::new());
        let records = store.records(&thread(), 0).unwrap();
        let status = RunStatus::of(&fold(records.clone()).unwrap());
        assert_eq!(status, RunStatus::Done { answer: answer.clone() }, "killed at {place}");
        let done = crash_support::answered(&records);
        assert_eq!(crash_support::events(&records).len(), done.len(), "no effect is answered twice");
    }
}
