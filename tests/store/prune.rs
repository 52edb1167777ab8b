//! Prune deletes what it has looked at: a thread that somebody goes on with after it was listed stays,
//! whatever the list said.

use crate::crash_support;
use crate::hooked::{Hook, Hooked, When};

use std::sync::{Arc, Mutex};

use crash_support::{Log, Story, WORD, input};
use planwright::driver::{Agent, Prune, Threads};
use planwright::journal::{MemoryStore, Store, ThreadId};
use planwright::machine::HumanAnswer;

type Act = Box<dyn FnOnce() + Send>;

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
    let act = Mutex::new(Some(act));
    let hook: Hook = Box::new(move |method, when| {
        if (method, when) == ("list", When::After)
            && let Some(act) = { act.lock().unwrap().take() }
        {
            act();
        }
    });
    let pruning = Threads::new(Arc::new(Hooked(Arc::clone(&store), hook)));
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
