//! Prune deletes what it has looked at: a thread that somebody goes on with after it was listed stays,
//! whatever the list said.

use crate::crash_support;

use std::sync::{Arc, Mutex};

use crash_support::{Log, Story, WORD, input};
use planwright::driver::{Agent, Prune, Threads};
use planwright::journal::{
    Claim, Lease, Listed, MemoryStore, Query, Record, RunStatus, Store, StoreError, ThreadId,
};
use planwright::machine::HumanAnswer;

type Act = Box<dyn FnOnce() + Send>;

/// A store in which something happens after it was listed.
struct Meanwhile(Arc<dyn Store>, Mutex<Option<Act>>);

impl std::fmt::Debug for Meanwhile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl Store for Meanwhile {
    fn claim(&self, thread: &ThreadId, claim: Claim) -> Result<Lease, StoreError> {
        self.0.claim(thread, claim)
    }
    fn begin(&self, thread: &ThreadId, turns: Vec<Vec<Record>>) -> Result<Lease, StoreError> {
        self.0.begin(thread, turns)
    }
    fn conclude(
        &self,
        lease: &Lease,
        turn: u32,
        index: u64,
        records: Vec<Record>,
        standing: &RunStatus,
    ) -> Result<(), StoreError> {
        self.0.conclude(lease, turn, index, records, standing)
    }
    fn release(&self, lease: Lease) -> Result<(), StoreError> {
        self.0.release(lease)
    }
    fn append(&self, lease: &Lease, turn: u32, index: u64, records: Vec<Record>) -> Result<(), StoreError> {
        self.0.append(lease, turn, index, records)
    }
    fn stands(&self, lease: &Lease, turn: u32, index: u64, standing: &RunStatus) -> Result<(), StoreError> {
        self.0.stands(lease, turn, index, standing)
    }
    fn turns(&self, thread: &ThreadId) -> Result<u32, StoreError> {
        self.0.turns(thread)
    }
    fn records(&self, thread: &ThreadId, turn: u32) -> Result<Vec<Record>, StoreError> {
        self.0.records(thread, turn)
    }
    fn list(&self, query: &Query) -> Result<Vec<Listed>, StoreError> {
        let listed = self.0.list(query);
        let act = self.1.lock().unwrap().take();
        act.into_iter().for_each(|act| act());
        listed
    }
    fn find(&self, thread: &ThreadId) -> Result<Option<Listed>, StoreError> {
        self.0.find(thread)
    }
    fn unnoted(&self) -> Result<Vec<ThreadId>, StoreError> {
        self.0.unnoted()
    }
    fn delete(&self, lease: Lease) -> Result<(), StoreError> {
        self.0.delete(lease)
    }
    fn vacuum(&self) -> Result<(), StoreError> {
        self.0.vacuum()
    }
    fn check(&self) -> Result<Vec<String>, StoreError> {
        self.0.check()
    }
}

fn agent() -> Agent {
    Story::told().agent(&Log::in_memory(), Arc::new(|_| {}))
}

/// Tells the story in a thread, to its end.
fn tell(threads: &Threads, thread: &ThreadId) {
    let agent = agent();
    threads.at(thread).ask_with(&agent, input()).unwrap();
    threads.at(thread).answer(&agent, HumanAnswer::respond(WORD)).unwrap();
}

/// Prunes everything while this happens to the thread after it was listed; gives what is left of it.
fn left_of(meanwhile: impl FnOnce(&Threads, &ThreadId) + Send + 'static, dry_run: bool) -> Option<u32> {
    let thread: ThreadId = "보고서".parse().unwrap();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let threads = Threads::new(Arc::clone(&store));
    tell(&threads, &thread);
    let act: Act = Box::new({
        let thread = thread.clone();
        move || {
            // A clock in milliseconds tells the two apart.
            let listed = threads.store().find(&thread).unwrap().unwrap().updated;
            while now() <= listed {
                std::thread::yield_now();
            }
            meanwhile(&threads, &thread);
        }
    });
    let pruning = Threads::new(Arc::new(Meanwhile(Arc::clone(&store), Mutex::new(Some(act)))));
    let gone = pruning.prune(&Prune { dry_run, ..Prune::before(u64::MAX >> 1) }).unwrap();
    assert_eq!(gone, [], "it is as good as new");
    store.turns(&thread).ok()
}

fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    u64::try_from(since.as_millis()).unwrap()
}

#[test]
fn thread_that_waits_for_a_person_again_is_not_pruned() {
    for dry_run in [false, true] {
        let asks_again = |threads: &Threads, thread: &ThreadId| {
            assert!(threads.at(thread).ask_with(&agent(), input()).unwrap().is_waiting());
        };
        assert_eq!(left_of(asks_again, dry_run), Some(2));
    }
}

#[test]
fn thread_that_was_deleted_and_told_anew_is_not_pruned() {
    for dry_run in [false, true] {
        let told_anew = |threads: &Threads, thread: &ThreadId| {
            threads.delete(thread).unwrap();
            tell(threads, thread);
        };
        assert_eq!(left_of(told_anew, dry_run), Some(1));
    }
}

#[test]
fn thread_that_is_gone_already_is_none_of_the_pruned() {
    for dry_run in [false, true] {
        assert_eq!(left_of(|threads, thread| threads.delete(thread).unwrap(), dry_run), None);
    }
}
