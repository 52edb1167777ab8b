//! What the tests of stores share.

use std::sync::Arc;

use planwright::driver::{Agent, Resolution, Run, Stopped, Threads};
use planwright::journal::{FileJournal, Journal, Record, Store, StoreError, ThreadId};
use planwright::machine::HumanAnswer;

pub use planwright::journal::conformance::{
    claim, done, id, names, records, refused, waiting, write, write_with_status,
};

pub use crate::place::open;

use crate::crash_support::{Log, Story, WORD, input};

#[track_caller]
pub fn is_sound(store: &dyn Store) {
    assert_eq!(store.check().unwrap(), [""; 0]);
}

/// Records under the name of another thread.
pub fn renamed(mut records: Vec<Record>, thread: &ThreadId) -> Vec<Record> {
    let Record::Header(header) = &mut records[0] else { panic!("{:?}", records[0]) };
    header.thread = thread.to_string();
    records
}

/// An agent of the story whose calls nobody counts.
pub fn agent() -> Agent {
    Story::told().agent(&Log::in_memory(), Arc::new(|_| {}))
}

/// Tells the story in a thread, to its end or until the person is asked. Gives the records of its turn.
pub fn tell(store: Arc<dyn Store>, thread: &ThreadId, to_its_end: bool) -> Vec<Record> {
    let (agent, threads) = (agent(), Threads::new(store));
    let turn = threads.store().turns(thread).unwrap_or(0);
    assert!(threads.at(thread).ask_with(&agent, input()).unwrap().is_waiting());
    if to_its_end {
        threads.at(thread).answer(&agent, HumanAnswer::respond(WORD)).unwrap();
    }
    threads.store().records(thread, turn).unwrap()
}

/// What a person says so that the story goes on.
pub enum Say {
    Answer(HumanAnswer),
    Resolve(Resolution),
}

/// Says whatever is asked of a person, until the run ends or is stopped: their word, and what really became of
/// the write.
pub fn finish(
    log: &Log,
    mut ended: Result<Run, Stopped>,
    mut go_on: impl FnMut(Say) -> Result<Run, Stopped>,
) -> Result<Run, Stopped> {
    for _ in 0..8 {
        ended = match ended {
            Ok(run) if run.is_waiting() => go_on(Say::Answer(HumanAnswer::respond(WORD))),
            Err(Stopped::InDoubt { tool, .. }) => {
                assert_eq!(tool, "send", "nothing else may not be done twice");
                go_on(Say::Resolve(match log.times("send") {
                    0 => Resolution::DidNotHappen,
                    _ => Resolution::Happened { output: "send of 보고서".to_owned() },
                }))
            }
            ended => return ended,
        };
    }
    panic!("the run does not come to its end")
}

/// Goes on with the story in a thread from wherever it is.
pub fn tell_on(store: &Arc<dyn Store>, thread: &ThreadId, agent: &Agent, log: &Log) -> Result<Run, Stopped> {
    let threads = Threads::new(store.clone());
    let ended = match store.turns(thread) {
        Err(StoreError::NoThread { .. }) => threads.at(thread).ask_with(agent, input()),
        turns => turns.map_err(Stopped::from).and_then(|_| threads.at(thread).resume(agent)),
    };
    finish(log, ended, |say| match say {
        Say::Answer(answer) => threads.at(thread).answer(agent, answer),
        Say::Resolve(resolution) => threads.at(thread).resolve(agent, resolution),
    })
}

/// Goes on with the story in a journal from wherever it is.
pub fn tell_in(journal: &mut FileJournal, agent: &Agent, log: &Log) -> Result<Run, Stopped> {
    let ended = match journal.records()?.is_empty() {
        true => agent.job(input()).journal(journal).run(),
        false => agent.resume(journal).run(),
    };
    finish(log, ended, |say| match say {
        Say::Answer(answer) => agent.resume(journal).answer(answer).run(),
        Say::Resolve(resolution) => agent.resume(journal).resolve(resolution).run(),
    })
}
