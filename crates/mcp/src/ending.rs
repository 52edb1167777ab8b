//! How connections end: what is called over one is cancelled first, then its session ends, or its program with all
//! that it started. Each ends with the value that holds it, and all of a process before the process does.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::watch::{Receiver, Sender};

/// How long a server is given to hear that what it was asked is cancelled.
const CANCEL_TIME: Duration = Duration::from_secs(1);

/// The connections of this process.
static OPEN: Mutex<Vec<Weak<Ending>>> = Mutex::new(Vec::new());
/// Whether the process is ending: no connection is opened any more.
static IS_OVER: AtomicBool = AtomicBool::new(false);

/// Ends all connections to MCP servers, and opens no other. A process that does not wait for its tools to be dropped
/// calls this last, such as one that is told to stop by a signal.
///
/// Servers are told which calls nobody waits for, and that their sessions are over. A program's input is closed; if
/// that does not end it, it is asked by a signal, and killed with all that it started. This takes five seconds at most.
pub fn end_connections() {
    let open = {
        let mut open = lock(&OPEN);
        IS_OVER.store(true, Ordering::SeqCst);
        std::mem::take(&mut *open)
    };
    let open: Vec<_> = open.iter().filter_map(Weak::upgrade).collect();
    open.iter().for_each(|ending| ending.begin());
    open.iter().for_each(|ending| ending.wait());
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The end of one connection, which its holder begins and its thread follows.
pub(crate) struct Ending {
    is_over: Sender<bool>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Ending {
    /// Starts the thread of a connection, unless the process is ending.
    ///
    /// # Errors
    /// Says why there is none.
    pub fn start_thread(body: impl FnOnce(&Ending) + Send + 'static) -> Result<Arc<Self>, String> {
        let ending = Arc::new(Ending { is_over: Sender::new(false), thread: Mutex::default() });
        let mut open = lock(&OPEN);
        if IS_OVER.load(Ordering::SeqCst) {
            return Err("planwright is ending".to_owned());
        }
        let followed = Arc::clone(&ending);
        let thread = std::thread::Builder::new().name("planwright-mcp".to_owned());
        let thread = thread.spawn(move || body(&followed));
        *lock(&ending.thread) = Some(thread.map_err(|error| format!("no thread for it: {error}"))?);
        open.retain(|known| known.strong_count() > 0);
        open.push(Arc::downgrade(&ending));
        Ok(ending)
    }

    /// Tells the thread to end.
    pub fn begin(&self) {
        self.is_over.send_replace(true);
    }

    /// Waits until the thread has ended.
    pub fn wait(&self) {
        if let Some(thread) = lock(&self.thread).take() {
            let _ = thread.join();
        }
    }

    pub fn has_begun(&self) -> bool {
        *self.is_over.borrow()
    }

    /// What a call follows as long as it has not been answered or cancelled.
    pub fn follow(&self) -> Receiver<bool> {
        self.is_over.subscribe()
    }

    /// Waits for the beginning of the end.
    pub async fn begun(&self) {
        let _ = self.follow().wait_for(|is_over| *is_over).await;
    }

    /// Waits until all calls under way have been cancelled, for a time.
    pub async fn calls_cancelled(&self) {
        let _ = tokio::time::timeout(CANCEL_TIME, self.is_over.closed()).await;
    }
}
