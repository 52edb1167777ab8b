//! A store that calls a hook before and after each of its methods.

use std::fmt;
use std::sync::Arc;

use planwright::journal::{Claim, Lease, Listed, Query, Record, RunStatus, Store, StoreError, ThreadId};

/// When a hook is called.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum When {
    Before,
    After,
}

/// Is told the name of the method, and when.
pub type Hook = Box<dyn Fn(&str, When) + Send + Sync>;

pub struct Hooked(pub Arc<dyn Store>, pub Hook);

impl fmt::Debug for Hooked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Hooked {
    fn around<T>(&self, method: &str, call: impl FnOnce(&dyn Store) -> T) -> T {
        (self.1)(method, When::Before);
        let result = call(&*self.0);
        (self.1)(method, When::After);
        result
    }
}

impl Store for Hooked {
    fn claim(&self, thread: &ThreadId, claim: Claim) -> Result<Lease, StoreError> {
        self.around("claim", |store| store.claim(thread, claim))
    }
    fn begin(&self, thread: &ThreadId, turns: Vec<Vec<Record>>) -> Result<Lease, StoreError> {
        self.around("begin", |store| store.begin(thread, turns))
    }
    fn release(&self, lease: Lease) -> Result<(), StoreError> {
        self.around("release", |store| store.release(lease))
    }
    fn append(
        &self,
        lease: &Lease,
        turn: u32,
        index: u64,
        records: Vec<Record>,
        status: Option<&RunStatus>,
    ) -> Result<(), StoreError> {
        let method = if status.is_some() { "conclude" } else { "append" };
        self.around(method, |store| store.append(lease, turn, index, records, status))
    }
    fn turns(&self, thread: &ThreadId) -> Result<u32, StoreError> {
        self.around("turns", |store| store.turns(thread))
    }
    fn records(&self, thread: &ThreadId, turn: u32) -> Result<Vec<Record>, StoreError> {
        self.around("records", |store| store.records(thread, turn))
    }
    fn list(&self, query: &Query) -> Result<Vec<Listed>, StoreError> {
        self.around("list", |store| store.list(query))
    }
    fn find(&self, thread: &ThreadId) -> Result<Option<Listed>, StoreError> {
        self.around("find", |store| store.find(thread))
    }
    fn list_stale(&self) -> Result<Vec<ThreadId>, StoreError> {
        self.around("list_stale", |store| store.list_stale())
    }
    fn delete(&self, lease: Lease) -> Result<(), StoreError> {
        self.around("delete", |store| store.delete(lease))
    }
    fn vacuum(&self) -> Result<(), StoreError> {
        self.around("vacuum", |store| store.vacuum())
    }
    fn check(&self) -> Result<Vec<String>, StoreError> {
        self.around("check", |store| store.check())
    }
}
