//! Prune deletes what it has looked at: a thread that is continued after it was listed stays, whatever the
//! list said.

use std::sync::{Arc, Mutex};

use planwright::driver::{Prune, Threads};
use planwright::journal::{MemoryStore, Store, ThreadId, system::now_ms};

use crate::hooked::{Hook, Hooked, When};
use crate::support::{id, tell};

type Act = fn(Arc<dyn Store>, &ThreadId);

/// Prunes everything, also on trial, while this happens to the thread after it was listed: nothing is pruned,
/// and so many turns are left.
fn check_left(meanwhile: Act, left: Option<u32>) {
    for dry_run in [false, true] {
        let thread = id("보고서");
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        tell(store.clone(), &thread, true);
        let act = Mutex::new(Some((meanwhile, store.clone(), thread.clone())));
        let hook: Hook = Box::new(move |method, when| {
            if (method, when) == ("list", When::After)
                && let Some((act, store, thread)) = { act.lock().unwrap().take() }
            {
                // A clock in milliseconds tells the two apart.
                let listed = store.find(&thread).unwrap().unwrap().updated;
                while now_ms() <= listed {
                    std::thread::yield_now();
                }
                act(store, &thread);
            }
        });
        let pruning = Threads::new(Arc::new(Hooked(store.clone(), hook)));
        let gone = pruning.prune(&Prune { dry_run, ..Prune::before(u64::MAX >> 1) }).unwrap();
        assert_eq!(gone, [], "it is as good as new");
        assert_eq!(store.turns(&thread).ok(), left);
    }
}

#[test]
fn thread_that_waits_for_a_person_again_is_not_pruned() {
    check_left(|store, thread| drop(tell(store, thread, false)), Some(2));
}

#[test]
fn thread_that_was_deleted_and_told_anew_is_not_pruned() {
    let told_anew: Act = |store, thread| {
        Threads::new(store.clone()).delete(thread).unwrap();
        tell(store, thread, true);
    };
    check_left(told_anew, Some(1));
}

#[test]
fn thread_that_is_gone_already_is_none_of_the_pruned() {
    check_left(|store, thread| Threads::new(store).delete(thread).unwrap(), None);
}
