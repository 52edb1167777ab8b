//! The k-th call to the system fails, whichever it is and however: a run stops and says so, what is kept is
//! sound, and both the handle that saw it and the next go on to the same end when the system works again.
//! What must last is durable then, as if nothing had failed.
//!
//! These are the calls as the stores really make them, SQLite's among them. The child in which they fail is
//! this test binary itself.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

use crate::crash_support;
use crate::faults;

use std::path::Path;
use std::sync::Arc;

use planwright::driver::{Agent, Resolution, Run, Stopped, Threads};
use planwright::journal::{Store, StoreError};
use planwright::machine::HumanAnswer;

use crash_support::{Log, Story, WORD, input};
use faults::Span;
use faults::strike::{GoesOn, Kind, Strike, every_call, id, lost};

/// Goes on with the story from wherever it stands.
fn tells(store: &Arc<dyn Store>, agent: &Agent, log: &Log) -> Result<Run, Stopped> {
    let (threads, thread) = (Threads::new(store.clone()), id("보고서"));
    let mut ended = match store.turns(&thread) {
        Err(StoreError::NoThread { .. }) => threads.at(&thread).ask_with(agent, input()),
        turns => turns.map_err(Stopped::from).and_then(|_| threads.at(&thread).resume(agent)),
    };
    for _ in 0..8 {
        ended = match ended {
            Ok(run) if run.is_waiting() => threads.at(&thread).answer(agent, HumanAnswer::respond(WORD)),
            Err(Stopped::InDoubt { .. }) => threads.at(&thread).resolve(agent, truth(log)),
            ended => return ended,
        };
    }
    ended
}

/// What really became of the write.
fn truth(log: &Log) -> Resolution {
    match log.times("send") {
        0 => Resolution::DidNotHappen,
        _ => Resolution::Happened { output: "send of 보고서".to_owned() },
    }
}

fn story_is_told(story: &Story, strike: Strike, folder: &Path) -> bool {
    let log = Log::in_memory();
    let agent = story.agent(&log, Arc::new(|_| {}));
    let (store, run, fired) = strike.over(folder, |store| match tells(&store, &agent, &log) {
        Ok(run) => Ok(run),
        Err(Stopped::Journal(error)) => Err(error.into()),
        Err(Stopped::Store(error)) => Err(error),
        Err(other) => panic!("{other:?}"),
    });
    assert!(run.is_none_or(|run| story.is_told_by(&run)));
    assert!(story.is_told_by(&tells(&store, &agent, &log).unwrap()));
    assert_eq!(log.times("send"), 1, "{:?}", log.done());
    assert_eq!(store.check().unwrap(), [""; 0]);
    drop(store);
    strike.kind.is_sound(folder);
    assert_eq!(lost(), [""; 0]);
    fired
}

fn every_call_of_a_run(kind: Kind, goes_on: GoesOn, test: &str) {
    if faults::are_here(test) {
        let story = Story::told();
        every_call(kind, goes_on, (&[Span::Once, Span::ForGood], 1), |strike, folder| {
            story_is_told(&story, strike, folder)
        });
    }
}

#[test]
fn database_goes_on_after_the_failure_of_any_call() {
    every_call_of_a_run(Kind::Sqlite, GoesOn::Same, "database_goes_on_after_the_failure_of_any_call");
}

#[test]
fn database_is_gone_on_with_after_the_failure_of_any_call() {
    every_call_of_a_run(Kind::Sqlite, GoesOn::Next, "database_is_gone_on_with_after_the_failure_of_any_call");
}
