//! Prune deletes what it has looked at: a thread that is continued after it was found stays, whatever the list
//! said.

use std::sync::Arc;

use planwright::driver::Threads;
use planwright::journal::{MemoryStore, Store, ThreadId, system::now_ms};

use crate::support::{id, tell};

/// Prunes everything, while this happens to the thread after it was found: nothing is pruned, and so many turns
/// are left.
fn check_left(meanwhile: fn(Arc<dyn Store>, &ThreadId), left: Option<u32>) {
    let (thread, store) = (id("보고서"), Arc::new(MemoryStore::new()));
    tell(store.clone(), &thread, true);
    let threads = Threads::new(store.clone());
    let found = threads.find_ended(u64::MAX, &["done"]).unwrap();
    assert_eq!(found.len(), 1);
    // A clock in milliseconds tells the two apart.
    while now_ms() <= found[0].updated {
        std::thread::yield_now();
    }
    meanwhile(store.clone(), &thread);
    assert_eq!(threads.prune(found).unwrap(), [], "it is as good as new");
    assert_eq!(store.turns(&thread).ok(), left);
}

#[test]
fn thread_that_waits_again_was_told_anew_or_is_gone_is_not_pruned() {
    check_left(|store, thread| drop(tell(store, thread, false)), Some(2));
    let told_anew = |store: Arc<dyn Store>, thread: &ThreadId| {
        Threads::new(store.clone()).delete(thread).unwrap();
        tell(store, thread, true);
    };
    check_left(told_anew, Some(1));
    check_left(|store, thread| Threads::new(store).delete(thread).unwrap(), None);
}
