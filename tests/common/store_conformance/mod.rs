//! What every store does, as checks that any store can be put through.
#![allow(dead_code, unused_imports)]

mod lists;
mod runs;
mod threads;
mod writers;

use std::sync::Arc;

use planwright::agents;
use planwright::journal::{
    Claim, Header, JOURNAL_FORMAT, JournalErrorKind, Lease, Query, Record, RunStatus, Store, StoreError,
    ThreadId,
};
use planwright::machine::Input;
use planwright::spec::Digest;
use tempfile::TempDir;

pub use lists::*;
pub use runs::*;
pub use threads::*;
pub use writers::*;

/// A place for one store, which can be opened more than once.
pub struct Place {
    pub folder: TempDir,
    pub open: Box<dyn Fn() -> Arc<dyn Store>>,
    /// Whether a writer can be fenced off while it lives.
    pub takes_over: bool,
}

impl Place {
    pub fn store(&self) -> Arc<dyn Store> {
        (self.open)()
    }
}

pub fn id(name: &str) -> ThreadId {
    name.parse().expect("a thread's name")
}

/// So many records of a turn, the first its header.
pub fn records(thread: &ThreadId, turn: u32, count: usize) -> Vec<Record> {
    let question = format!("{thread}의 질문 {turn}?");
    let header = Header {
        format: JOURNAL_FORMAT,
        run: format!("run-{turn}"),
        thread: thread.to_string(),
        turn,
        origin: None,
        spec: Arc::new(agents::shipped("plan-then-execute").expect("a shipped agent")),
        input: Input::question(question),
        model: "모델".to_owned(),
    };
    let rest = (1..count).map(|at| Record::Requested {
        effect: format!("step.1.{at}.1").parse().expect("an effect"),
        digest: Digest::of([thread.as_str().as_bytes(), &at.to_le_bytes()]),
        at: Some(at as u64),
    });
    std::iter::once(Record::Header(Box::new(header))).chain(rest).collect()
}

/// Writes a whole turn and gives the thread back.
pub fn write(store: &dyn Store, thread: &ThreadId, turn: u32, count: usize) -> Vec<Record> {
    let lease = store.claim(thread, Claim::Any).unwrap();
    let records = records(thread, turn, count);
    store.append(&lease, turn, 0, records.clone()).unwrap();
    store.release(lease).unwrap();
    records
}

/// Writes a whole turn, and where it stands.
pub fn write_standing(store: &dyn Store, thread: &ThreadId, turn: u32, standing: &RunStatus) {
    let lease = store.claim(thread, Claim::Any).unwrap();
    store.append(&lease, turn, 0, records(thread, turn, 3)).unwrap();
    store.stands(&lease, turn, 3, standing).unwrap();
    store.release(lease).unwrap();
}

pub fn done(answer: &str) -> RunStatus {
    RunStatus::Done { answer: answer.to_owned() }
}

pub fn waiting(since: u64) -> RunStatus {
    let effect = "step.1.1.1".parse().expect("an effect");
    RunStatus::Waiting { effect, question: "보낼까요?".to_owned(), since }
}

pub fn names(store: &dyn Store, query: &Query) -> Vec<String> {
    store.list(query).unwrap().into_iter().map(|listed| listed.thread.to_string()).collect()
}

#[track_caller]
pub fn refused<T: std::fmt::Debug>(result: Result<T, StoreError>, kind: JournalErrorKind) {
    match result {
        Err(StoreError::Journal(error)) => assert_eq!(error.kind(), kind, "{error}"),
        other => panic!("expected {kind:?}, found {other:?}"),
    }
}

pub fn claim(store: &dyn Store, thread: &ThreadId) -> Lease {
    store.claim(thread, Claim::Any).unwrap()
}
