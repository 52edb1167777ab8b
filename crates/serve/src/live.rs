//! What runs in this process: a run tells those who watch its thread that there is more to read, and the words that
//! no record has.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::broadcast::{Receiver, Sender, channel};
use tokio::sync::watch;

use crate::problem::Problem;
use planwright::driver::Progress;
use planwright::journal::ThreadId;
use planwright::ports::{Observer, Signal};

/// How many notes a watcher may be behind. One that is further behind reads too slowly.
const ROOM: usize = 256;

/// What those who watch a thread are told of a run.
#[derive(Clone)]
pub(crate) struct Note {
    run: u64,
    pub what: What,
}

#[derive(Clone)]
pub(crate) enum What {
    /// There is more on record.
    Moved,
    /// Something that no record has, said of the reply that had this number.
    Passing(u64, Arc<Progress>),
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
    /// How many runs there were, and how many there are.
    begun: AtomicU64,
    runs: AtomicUsize,
    words: Mutex<Words>,
}

/// The words of the answer that is being written.
#[derive(Clone, Default)]
struct Words {
    /// The number of the reply: words of an earlier one are on record.
    reply: u64,
    text: String,
}

impl Words {
    fn end(&mut self) {
        self.reply += 1;
        self.text.clear();
    }
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
        let (begun, runs) = (AtomicU64::new(0), AtomicUsize::new(0));
        let new = Arc::new(Channel { notes: channel(ROOM).0, begun, runs, words: Mutex::default() });
        threads.insert(thread.clone(), Arc::downgrade(&new));
        new
    }

    /// A run of the thread, from when it stands in line.
    pub fn run(&self, thread: &ThreadId) -> Running {
        let channel = self.channel(thread);
        channel.runs.fetch_add(1, Ordering::SeqCst);
        let number = channel.begun.fetch_add(1, Ordering::SeqCst);
        let state = Arc::new(RunState { number, turn: AtomicU32::new(0), is_over: AtomicBool::new(false) });
        Running { channel, state, problem: None }
    }

    /// Somebody who watches the thread: all its runs, or this one alone.
    pub fn watch(&self, thread: &ThreadId, only: Option<&Running>) -> Watching {
        let channel = self.channel(thread);
        let (words, notes) = {
            let words = lock(&channel.words);
            (words.clone(), channel.notes.subscribe())
        };
        self.streams.fetch_add(1, Ordering::SeqCst);
        let (stopping, streams) = (self.stopping.subscribe(), Arc::clone(&self.streams));
        let only = only.map(|running| Arc::clone(&running.state));
        Watching { channel, only, words, notes, stopping, streams }
    }

    /// Tells those who watch a thread that another process has written to it.
    pub fn moved(&self, thread: &ThreadId) {
        let watched = lock(&self.threads).get(thread).and_then(Weak::upgrade);
        // It is of no run here.
        watched.map(|channel| channel.notes.send(Note { run: u64::MAX, what: What::Moved }));
    }

    /// How many watch.
    pub fn streams(&self) -> usize {
        self.streams.load(Ordering::Relaxed)
    }

    /// Waits until the service ends.
    pub async fn stopped(&self) {
        let _ = self.stopping.subscribe().wait_for(|stopping| *stopping).await;
    }

    /// Tells everybody who watches that the service ends.
    pub fn stop(&self) {
        self.stopping.send_replace(true);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Which run of its thread a run is, and how it stands.
struct RunState {
    number: u64,
    /// Its turn, from 1; 0 before it has begun.
    turn: AtomicU32,
    is_over: AtomicBool,
}

/// A run under way, as an observer of itself.
pub(crate) struct Running {
    channel: Arc<Channel>,
    state: Arc<RunState>,
    problem: Option<Arc<Problem>>,
}

impl Running {
    /// The run is this turn of its thread.
    pub fn begins(&self, turn: u32) {
        self.state.turn.store(turn, Ordering::SeqCst);
    }

    /// Says why the run got no further.
    pub fn stopped(mut self, problem: &Problem) {
        self.problem = Some(Arc::new(problem.clone()));
    }

    fn tell(&self, what: What) {
        // That nobody watches is no failure.
        let _ = self.channel.notes.send(Note { run: self.state.number, what });
    }
}

impl Observer for Running {
    fn notice(&self, signal: Signal<'_>) {
        match signal {
            Signal::Token(_) | Signal::Restarted | Signal::Retrying { .. } => {
                // Who begins to watch meanwhile hears of it in one way.
                let mut words = lock(&self.channel.words);
                match signal {
                    Signal::Token(piece) => words.text.push_str(piece),
                    _ => words.text.clear(),
                }
                if let Some(progress) = Progress::of(&signal) {
                    self.tell(What::Passing(words.reply, Arc::new(progress)));
                }
            }
            // The answer is about to be on record.
            Signal::Answered { .. } => lock(&self.channel.words).end(),
            // What is asked, and what came of an answer, is on record by now.
            Signal::Asked { .. } | Signal::Entered(_) | Signal::Finished { .. } => self.tell(What::Moved),
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
        lock(&self.channel.words).end();
        self.state.is_over.store(true, Ordering::SeqCst);
        self.channel.runs.fetch_sub(1, Ordering::SeqCst);
        let problem = self.problem.take();
        self.tell(What::Stopped(problem));
    }
}

/// Somebody who watches a thread.
pub(crate) struct Watching {
    channel: Arc<Channel>,
    /// The run that alone is watched.
    only: Option<Arc<RunState>>,
    /// The words of the answer so far.
    words: Words,
    pub notes: Receiver<Note>,
    pub stopping: watch::Receiver<bool>,
    streams: Arc<AtomicUsize>,
}

impl Watching {
    /// Whether what is watched is under way here, or stands in line.
    pub fn is_running(&self) -> bool {
        match &self.only {
            Some(run) => !run.is_over.load(Ordering::SeqCst),
            None => self.channel.runs.load(Ordering::SeqCst) > 0,
        }
    }

    /// The turn of the run that alone is watched, from 1, once it has begun.
    pub fn turn(&self) -> Option<u32> {
        let turn = self.only.as_ref()?.turn.load(Ordering::SeqCst);
        Some(turn).filter(|turn| *turn > 0)
    }

    /// Whether a note is of what is watched.
    pub fn is_of(&self, note: &Note) -> bool {
        self.only.as_ref().is_none_or(|run| run.number == note.run)
    }

    /// Whether the reply of this number is still being written.
    pub fn is_current(&self, reply: u64) -> bool {
        lock(&self.channel.words).reply == reply
    }

    /// The words of the answer so far, for a reader who has not seen them come, if it is still being written.
    pub fn words(&mut self) -> Option<Progress> {
        let Words { reply, text } = std::mem::take(&mut self.words);
        Progress::of(&Signal::Token(&text)).filter(|_| !text.is_empty() && self.is_current(reply))
    }

    /// Waits until the run that alone is watched has begun.
    pub async fn begun(&mut self) {
        while self.turn().is_none() {
            let _ = self.notes.recv().await;
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.streams.fetch_sub(1, Ordering::SeqCst);
    }
}
