//! Groups of jobs that come at the same moment, each done as one. A job that meets no other is done at once;
//! those that come meanwhile are the next group, in the order in which they came, and the first of them does it
//! for all. No clock is asked, and no job waits for others to come.

use std::collections::VecDeque;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Most jobs of a group.
const MOST: usize = 256;

/// Jobs that wait for the group before theirs.
#[derive(Debug)]
pub(crate) struct Groups<J, D>(Mutex<State<J, D>>);

#[derive(Debug)]
struct State<J, D> {
    /// Whether a group is being done, or the first that waits has been told to do the next one.
    is_led: bool,
    waiting: VecDeque<(J, SyncSender<Told<D>>)>,
}

/// What one who waits is told: once to lead, or once what came of the job.
#[derive(Debug)]
enum Told<D> {
    Lead,
    Done(D),
}

impl<J, D> Groups<J, D> {
    pub fn new() -> Self {
        Groups(Mutex::new(State { is_led: false, waiting: VecDeque::new() }))
    }

    /// Has a job done, alone or in a group. `perform` does all jobs of a group in their order, and gives what
    /// came of each; it is called for one group at a time. `None` if it panicked for this job's group.
    pub fn run(&self, job: J, perform: impl FnOnce(&[J]) -> Vec<D>) -> Option<D> {
        let mut state = self.lock();
        if !state.is_led {
            state.is_led = true;
            drop(state);
            let _leader = Leader(self);
            return perform(&[job]).pop();
        }
        let (teller, told) = sync_channel(1);
        state.waiting.push_back((job, teller));
        drop(state);
        if let Told::Done(done) = told.recv().ok()? {
            return Some(done);
        }
        let leader = Leader(self);
        let mut state = self.lock();
        let count = state.waiting.len().min(MOST);
        let (jobs, tellers): (Vec<J>, Vec<_>) = state.waiting.drain(..count).unzip();
        drop(state);
        let mut done = perform(&jobs).into_iter();
        let own = done.next();
        // The next group begins while this one is told.
        drop(leader);
        for (teller, done) in tellers.iter().skip(1).zip(done) {
            let _ = teller.send(Told::Done(done));
        }
        own
    }

    fn lock(&self) -> MutexGuard<'_, State<J, D>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to do a group. When it ends, by a panic as well, it passes to the first that waits.
struct Leader<'g, J, D>(&'g Groups<J, D>);

impl<J, D> Drop for Leader<'_, J, D> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.is_led = state.waiting.front().is_some_and(|(_, next)| next.send(Told::Lead).is_ok());
    }
}
