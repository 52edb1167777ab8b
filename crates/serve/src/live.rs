//! What runs in this process: a run tells those who watch its thread that there is more to read, and the words that
//! no record has.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::broadcast::{Receiver, Sender, channel};
use tokio::sync::watch;

use crate::problem::Problem;
use planwright::driver::Progress;
use planwright::journal::ThreadId;
use planwright::ports::{Observer, Signal};

/// How many notes a watcher may be behind. One that is further behind reads too slowly.
const ROOM: usize = 256;

/// What those who watch a thread are told.
#[derive(Clone)]
pub(crate) enum Note {
    /// There is more on record.
    Moved,
    /// Something that no record has.
    Passing(Arc<Progress>),
    /// The run does nothing more, and why it got no further.
    Stopped(Option<Arc<Problem>>),
}

/// The threads with a run in this process, or with somebody who watches.
pub(crate) struct Live {
    threads: Mutex<HashMap<ThreadId, Weak<Channel>>>,
    stopping: watch::Sender<bool>,
    streams: Arc<AtomicUsize>,
}

struct Channel {
    notes: Sender<Note>,
    runs: AtomicUsize,
    /// The words of the answer that is being written.
    words: Mutex<String>,
}

impl Live {
    pub fn new() -> Self {
        Live { threads: Mutex::default(), stopping: watch::Sender::new(false), streams: Arc::default() }
    }

    fn channel(&self, thread: &ThreadId) -> Arc<Channel> {
        let mut threads = lock(&self.threads);
        if let Some(known) = threads.get(thread).and_then(Weak::upgrade) {
            return known;
        }
        // Those that nothing holds any more go once there are as many of them as of the others.
        if threads.len() == threads.capacity() {
            threads.retain(|_, channel| channel.strong_count() > 0);
        }
        let new = Channel { notes: channel(ROOM).0, runs: AtomicUsize::new(0), words: Mutex::default() };
        let new = Arc::new(new);
        threads.insert(thread.clone(), Arc::downgrade(&new));
        new
    }

    /// A run of the thread, from when it stands in line.
    pub fn run(&self, thread: &ThreadId) -> Running {
        let channel = self.channel(thread);
        channel.runs.fetch_add(1, Ordering::SeqCst);
        Running { channel, problem: None }
    }

    /// Somebody who watches the thread.
    pub fn watch(&self, thread: &ThreadId) -> Watching {
        let channel = self.channel(thread);
        let (words, notes) = {
            let words = lock(&channel.words);
            (words.clone(), channel.notes.subscribe())
        };
        self.streams.fetch_add(1, Ordering::SeqCst);
        let (stopping, streams) = (self.stopping.subscribe(), Arc::clone(&self.streams));
        Watching { channel, words, notes, stopping, streams }
    }

    /// How many watch.
    pub fn streams(&self) -> usize {
        self.streams.load(Ordering::Relaxed)
    }

    /// Tells everybody who watches that the service ends.
    pub fn stop(&self) {
        self.stopping.send_replace(true);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A run under way, as an observer of itself.
pub(crate) struct Running {
    channel: Arc<Channel>,
    problem: Option<Arc<Problem>>,
}

impl Running {
    /// Says why the run got no further.
    pub fn stopped(mut self, problem: &Problem) {
        self.problem = Some(Arc::new(problem.clone()));
    }

    fn tell(&self, note: Note) {
        // That nobody watches is no failure.
        let _ = self.channel.notes.send(note);
    }
}

impl Observer for Running {
    fn notice(&self, signal: Signal<'_>) {
        match signal {
            Signal::Token(_) | Signal::Restarted | Signal::Retrying { .. } => {
                // Who begins to watch meanwhile hears of it in one way.
                let mut words = lock(&self.channel.words);
                match signal {
                    Signal::Token(piece) => words.push_str(piece),
                    _ => words.clear(),
                }
                let passing = Progress::of(&signal);
                passing.into_iter().for_each(|progress| self.tell(Note::Passing(Arc::new(progress))));
            }
            // What is asked, and what came of an answer, is on record by now.
            Signal::Asked { .. } | Signal::Entered(_) | Signal::Finished { .. } => {
                lock(&self.channel.words).clear();
                self.tell(Note::Moved);
            }
            _ => {}
        }
    }

    /// An answer is asked for in pieces while somebody watches.
    fn wants_tokens(&self) -> bool {
        self.channel.notes.receiver_count() > 0
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        lock(&self.channel.words).clear();
        self.channel.runs.fetch_sub(1, Ordering::SeqCst);
        let problem = self.problem.take();
        self.tell(Note::Stopped(problem));
    }
}

/// Somebody who watches a thread.
pub(crate) struct Watching {
    channel: Arc<Channel>,
    /// The words of the answer so far.
    words: String,
    pub notes: Receiver<Note>,
    pub stopping: watch::Receiver<bool>,
    streams: Arc<AtomicUsize>,
}

impl Watching {
    /// Whether a run of the thread is under way here, or stands in line.
    pub fn is_running(&self) -> bool {
        self.channel.runs.load(Ordering::SeqCst) > 0
    }

    /// The words of the answer so far, for a reader who has not seen them come, if it is still being written.
    pub fn words(&mut self) -> Option<Progress> {
        let words = std::mem::take(&mut self.words);
        let is_current = !words.is_empty() && lock(&self.channel.words).starts_with(&words);
        Progress::of(&Signal::Token(&words)).filter(|_| is_current)
    }

    /// Waits until a run has begun.
    pub async fn begun(&mut self) {
        while !matches!(self.notes.recv().await, Ok(Note::Moved)) {}
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.streams.fetch_sub(1, Ordering::SeqCst);
    }
}
