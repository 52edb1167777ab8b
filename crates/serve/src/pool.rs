//! The runs under way: so many at once, so many in line, and none that holds a thread of the runtime.

use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinError;

use crate::problem::{Kind, Problem, Result};
use planwright::driver::CancelToken;

/// How long runs may take to write down that they stop, once nothing is waited for.
const LAST_RECORDS: Duration = Duration::from_secs(3);

/// A bounded pool of runs.
pub(crate) struct Pool {
    slots: Arc<Semaphore>,
    size: u32,
    in_line: AtomicUsize,
    most_in_line: usize,
    is_stopping: AtomicBool,
    /// What stops each run that is under way.
    tokens: Mutex<HashMap<u64, CancelToken>>,
    next: AtomicU64,
}

/// A run that holds its place until it is dropped.
struct Place {
    pool: Arc<Pool>,
    number: u64,
    _permit: OwnedSemaphorePermit,
}

impl Pool {
    pub fn new(size: u32, most_in_line: usize) -> Arc<Self> {
        Arc::new(Pool {
            slots: Arc::new(Semaphore::new(size as usize)),
            size,
            in_line: AtomicUsize::new(0),
            most_in_line,
            is_stopping: AtomicBool::new(false),
            tokens: Mutex::default(),
            next: AtomicU64::new(0),
        })
    }

    /// Performs a run on a thread for blocking work once there is a place for it. It goes on where the caller
    /// goes away.
    pub async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(CancelToken) -> T + Send + 'static,
    ) -> Result<T> {
        if self.is_stopping.load(Ordering::SeqCst) {
            return Err(stopping());
        }
        let permit = match Arc::clone(&self.slots).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => self.wait_in_line().await?,
        };
        self.run_at(permit, work).await
    }

    async fn run_at<T: Send + 'static>(
        self: &Arc<Self>,
        permit: OwnedSemaphorePermit,
        work: impl FnOnce(CancelToken) -> T + Send + 'static,
    ) -> Result<T> {
        let token = CancelToken::new();
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.tokens().insert(number, token.clone());
        let place = Place { pool: Arc::clone(self), number, _permit: permit };
        // Who was in line when the stop came begins nothing.
        if self.is_stopping.load(Ordering::SeqCst) {
            return Err(stopping());
        }
        let work = block(move || {
            let done = work(token);
            drop(place);
            done
        });
        work.await.map_err(|error| Problem::new(Kind::Store, format!("the run broke off: {error}")))
    }

    /// As [`run`](Pool::run), in a line of its own that refuses nobody.
    pub async fn run_in_turn<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(CancelToken) -> T + Send + 'static,
    ) -> Result<T> {
        let permit = Arc::clone(&self.slots).acquire_owned().await.map_err(|_| stopping())?;
        self.run_at(permit, work).await
    }

    async fn wait_in_line(&self) -> Result<OwnedSemaphorePermit> {
        let too_many = || {
            let detail = format!("{} runs are under way and {} wait", self.size, self.most_in_line);
            Problem::new(Kind::TooMany, detail).hint("try again later").retry_after(1)
        };
        if self.in_line.fetch_add(1, Ordering::SeqCst) >= self.most_in_line {
            self.in_line.fetch_sub(1, Ordering::SeqCst);
            return Err(too_many());
        }
        // A caller who goes away leaves the line.
        let _in_line = InLine(&self.in_line);
        let permit = Arc::clone(&self.slots).acquire_owned().await;
        permit.map_err(|_| stopping())
    }

    /// How many runs are under way, and how many wait in line.
    pub fn load(&self) -> (usize, usize) {
        (self.tokens().len(), self.in_line.load(Ordering::Relaxed))
    }

    fn tokens(&self) -> MutexGuard<'_, HashMap<u64, CancelToken>> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes no new work, and brings what runs to its next record. What is asked meanwhile is waited for, for a time:
    /// models and what can be called again as long as `grace`, writes as long as `write_grace`. A write that is not
    /// answered then is in doubt. What holds its thread even so is left to the end of the process.
    pub async fn stop(&self, grace: Duration, write_grace: Duration) {
        self.is_stopping.store(true, Ordering::SeqCst);
        let tell = |tell: fn(&CancelToken)| self.tokens().values().for_each(tell);
        tell(CancelToken::interrupt_soon);
        let stages: [(_, fn(&CancelToken)); 2] =
            [(grace, CancelToken::interrupt), (write_grace.saturating_sub(grace), CancelToken::leave)];
        for (time, next) in stages {
            if tokio::time::timeout(time, self.slots.acquire_many(self.size)).await.is_err() {
                tell(next);
            }
        }
        let _ = tokio::time::timeout(LAST_RECORDS, self.slots.acquire_many(self.size)).await;
        self.slots.close();
    }
}

fn stopping() -> Problem {
    Problem::new(Kind::Stopping, "no new work is taken").retry_after(1)
}

/// A place in line.
struct InLine<'a>(&'a AtomicUsize);

impl Drop for InLine<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.pool.tokens().remove(&self.number);
    }
}

/// Does work on a thread for blocking work. The task is the same whatever it does and gives, so it is compiled once.
async fn block<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, JoinError> {
    let task: Box<dyn FnOnce() -> Box<dyn Any + Send> + Send> = Box::new(move || Box::new(work()));
    let done = tokio::task::spawn_blocking(task).await?;
    Ok(*done.downcast().expect("the task gives what the work gave"))
}

/// Reads on a thread for blocking work.
pub(crate) async fn read<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let work = block(work);
    work.await.map_err(|error| Problem::new(Kind::Store, format!("the request broke off: {error}")))?
}
