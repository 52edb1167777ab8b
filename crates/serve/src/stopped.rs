//! The threads whose runs the store stopped: once it can be read and written again, they go on.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::pool::read;
use crate::service::Shared;
use planwright::journal::ThreadId;

/// How soon the store is asked whether it is there again, and how far apart later tries are at most.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

#[derive(Default)]
pub(crate) struct StoppedThreads {
    threads: Mutex<HashSet<ThreadId>>,
    added: Notify,
}

impl StoppedThreads {
    pub fn add(&self, thread: ThreadId) {
        self.lock().insert(thread);
        self.added.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<ThreadId>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Goes on with what the store stopped, until the service stops: all of it once the store is there, however much that
/// is. What is stopped again soon is waited for longer.
pub(crate) async fn go_on_with_stopped(service: Shared) {
    let Some(stopped) = &service.stopped else { return };
    let (mut pause, mut tried) = (FIRST_PAUSE, Instant::now());
    loop {
        tokio::select! {
            () = stopped.added.notified() => {}
            () = service.live.stopped() => return,
        }
        if tried.elapsed() > 2 * LONGEST_PAUSE {
            pause = FIRST_PAUSE;
        }
        while !stopped.lock().is_empty() {
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = service.live.stopped() => return,
            }
            (pause, tried) = ((pause * 2).min(LONGEST_PAUSE), Instant::now());
            let known = Arc::clone(&service);
            if read(move || known.check_store()).await.is_ok() {
                let threads = std::mem::take(&mut *stopped.lock());
                threads.into_iter().for_each(|thread| drop(tokio::spawn(service.go_on_in_turn(thread))));
            }
        }
    }
}
