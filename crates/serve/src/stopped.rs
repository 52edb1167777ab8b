//! The threads whose runs the store stopped.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use planwright::journal::ThreadId;

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

    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    pub fn take(&self) -> HashSet<ThreadId> {
        std::mem::take(&mut *self.lock())
    }

    /// Waits until one was added.
    pub async fn added(&self) {
        self.added.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<ThreadId>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
