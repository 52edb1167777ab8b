//! Left behind: threads for calls that must not hold up a run. Nothing else ends a blocking call, so one that is
//! no longer waited for is left behind on its thread, which serves again once the call comes back.
//!
//! The threads are shared by all runs of a process and stay for the next call. There are never more than calls
//! that are waited for, [`MOST_LEFT_BEHIND`] that are not, and [`MOST_IDLE`].

use std::any::Any;
use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How many calls of one process may be left behind at a time. Then no other is begun until one comes back.
const MOST_LEFT_BEHIND: usize = 64;
/// How many threads wait for a next call at most; others end with their calls.
const MOST_IDLE: usize = 64;

type Work = Box<dyn FnOnce() + Send>;

struct Pool {
    begun: VecDeque<Work>,
    /// Threads that are free and that no work in the queue is meant for.
    idle: usize,
    left_behind: usize,
}

static POOL: Mutex<Pool> = Mutex::new(Pool { begun: VecDeque::new(), idle: 0, left_behind: 0 });
static HAS_WORK: Condvar = Condvar::new();

fn lock() -> MutexGuard<'static, Pool> {
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A call under way on another thread.
pub(super) struct Call<T> {
    receiver: Receiver<Result<T, Box<dyn Any + Send>>>,
    abandoned: Arc<AtomicBool>,
}

impl<T: Send + 'static> Call<T> {
    /// Begins a call, which is told whether it is left behind.
    ///
    /// # Errors
    /// If there is no thread for it. Then it is not made.
    pub fn begin(call: impl FnOnce(&AtomicBool) -> T + Send + 'static) -> io::Result<Self> {
        let (sender, receiver) = channel();
        let abandoned = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&abandoned);
        let work: Work = Box::new(move || {
            let result = catch_unwind(AssertUnwindSafe(|| call(&told)));
            // The thread is free before anybody hears of the result, so that the next call finds it.
            let mut pool = lock();
            pool.idle += 1;
            if told.load(Ordering::Relaxed) {
                pool.left_behind -= 1;
            } else {
                let _ = sender.send(result);
            }
        });
        let mut pool = lock();
        if pool.left_behind >= MOST_LEFT_BEHIND {
            let problem = format!("{MOST_LEFT_BEHIND} calls that ran out of time have still not come back");
            return Err(io::Error::other(problem));
        }
        match pool.idle.checked_sub(1) {
            Some(others) => {
                pool.idle = others;
                pool.begun.push_back(work);
                drop(pool);
                HAS_WORK.notify_one();
            }
            None => {
                drop(pool);
                std::thread::Builder::new().name("planwright tool".to_owned()).spawn(|| serve(work))?;
            }
        }
        Ok(Call { receiver, abandoned })
    }

    /// Waits so long for the result; an `Err` in it is a panic.
    pub fn wait(&self, time: Duration) -> Option<Result<T, Box<dyn Any + Send>>> {
        self.receiver.recv_timeout(time).ok()
    }

    /// Leaves the call behind, unless its result has just come.
    pub fn leave(self) -> Option<Result<T, Box<dyn Any + Send>>> {
        let mut pool = lock();
        let came = self.receiver.try_recv().ok();
        if came.is_none() {
            self.abandoned.store(true, Ordering::Relaxed);
            pool.left_behind += 1;
        }
        came
    }
}

/// What a thread does: one work after the other, until there are threads enough without it.
fn serve(mut work: Work) {
    loop {
        work();
        let mut pool = lock();
        work = loop {
            if let Some(next) = pool.begun.pop_front() {
                break next;
            }
            if pool.idle > MOST_IDLE {
                pool.idle -= 1;
                return;
            }
            pool = HAS_WORK.wait(pool).unwrap_or_else(PoisonError::into_inner);
        };
    }
}
