//! What the checks write, and how they look at it.

use std::sync::Arc;

use crate::agents;
use crate::journal::{
    Claim, Header, JOURNAL_FORMAT, JournalErrorKind, Lease, Query, Record, RunStatus, Store, StoreError,
    ThreadId,
};
use crate::machine::Input;
use crate::spec::Digest;

/// Opens another handle to one store.
pub(super) type Open<'o> = &'o dyn Fn() -> Arc<dyn Store>;

/// Parses a thread's name.
pub fn id(name: &str) -> ThreadId {
    name.parse().expect("a thread's name")
}

/// The first `count` records of a turn, with the header. They fit a store, and are no run: nothing in them was
/// asked for.
pub fn records(thread: &ThreadId, turn: u32, count: usize) -> Vec<Record> {
    let header = Header {
        format: JOURNAL_FORMAT,
        run: format!("run-{turn}"),
        thread: thread.to_string(),
        turn,
        origin: None,
        spec: Arc::new(agents::shipped(agents::DEFAULT).expect("a shipped agent")),
        input: Input::question(format!("{thread}의 질문 {turn}?")),
        model: "모델".to_owned(),
        servers: Vec::new(),
        trace: None,
    };
    let rest = (1..count).map(|at| Record::Requested {
        effect: format!("step.1.{at}.1").parse().expect("an effect"),
        digest: Digest::of([thread.as_str().as_bytes(), &at.to_le_bytes()]),
        at: Some(at as u64),
    });
    std::iter::once(Record::Header(Box::new(header))).chain(rest).collect()
}

/// Claims a thread that may exist or not.
pub fn claim(store: &dyn Store, thread: &ThreadId) -> Lease {
    store.claim(thread, Claim::Any).unwrap()
}

/// Appends a turn of `count` records, and releases the thread.
pub fn write(store: &dyn Store, thread: &ThreadId, turn: u32, count: usize) -> Vec<Record> {
    let lease = claim(store, thread);
    let records = records(thread, turn, count);
    store.append(&lease, turn, 0, records.clone(), None).unwrap();
    store.release(lease).unwrap();
    records
}

/// Appends a turn of three records with its status, and releases the thread.
pub fn write_with_status(store: &dyn Store, thread: &ThreadId, turn: u32, status: &RunStatus) {
    let lease = claim(store, thread);
    store.append(&lease, turn, 0, records(thread, turn, 3), Some(status)).unwrap();
    store.release(lease).unwrap();
}

/// The status of a run with an answer.
pub fn done(answer: &str) -> RunStatus {
    RunStatus::Done { answer: answer.to_owned() }
}

/// The status of a run that waits for a person.
pub fn waiting(since: u64) -> RunStatus {
    let effect = "step.1.1.1".parse().expect("an effect");
    RunStatus::Waiting { effect, question: "보낼까요?".to_owned(), since }
}

/// The names of the threads in a list.
pub fn names(store: &dyn Store, query: &Query) -> Vec<String> {
    store.list(query).unwrap().into_iter().map(|listed| listed.thread.to_string()).collect()
}

/// Asserts that a store refused something, with an error of this kind.
#[track_caller]
pub fn refused<T: std::fmt::Debug>(result: Result<T, StoreError>, kind: JournalErrorKind) {
    match result {
        Err(StoreError::Journal(error)) => assert_eq!(error.kind(), kind, "{error}"),
        other => panic!("expected {kind:?}, found {other:?}"),
    }
}

/// Asserts that a thread cannot be claimed because a writer has it; gives whether it can be taken over.
#[track_caller]
pub(super) fn runs(store: &dyn Store, thread: &ThreadId) -> bool {
    let error = store.claim(thread, Claim::Any).unwrap_err();
    assert!(error.to_string().contains("process"), "{error}");
    match error {
        StoreError::AlreadyRunning { thread: named, can_take_over, .. } if named == *thread => can_take_over,
        other => panic!("expected that the thread is being run, found: {other}"),
    }
}

/// Asserts that there is no such thread.
#[track_caller]
pub(super) fn is_missing(store: &dyn Store, thread: &ThreadId) {
    let missing = StoreError::NoThread { thread: thread.clone() };
    assert_eq!(store.turns(thread), Err(missing.clone()));
    assert_eq!(store.records(thread, 0), Err(missing));
    assert_eq!(store.find(thread), Ok(None));
}

/// Asserts that the store's own check finds nothing.
#[track_caller]
pub(super) fn is_sound(store: &dyn Store) {
    assert_eq!(store.check().unwrap(), [""; 0]);
}
