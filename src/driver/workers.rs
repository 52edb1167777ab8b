//! Workers: the threads on which one run has steps performed side by side.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Scope;
use std::time::Duration;

use super::agent::Agent;
use super::environment::Deadline;
use crate::machine::{EffectId, Event};
use crate::ports::Unanswered;
use crate::prompt::{Request, RequestBody, TraceContext};

/// What came of an effect: an event, or nothing after a wait that was cut short.
pub(super) type Performed = (EffectId, Result<Option<Event>, Unanswered>);

/// What a worker thread says.
pub(super) enum Said {
    Performed(Performed),
    Retrying(EffectId, Unanswered, u32, Duration),
    Panicked(Box<dyn Any + Send>),
}

/// The worker threads of one run: as many as the machine asks for at once, which the policy's width bounds. They
/// stay until the run ends. A wait before another try has one too, so that it holds nothing up.
pub(super) struct Workers<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    worker: Worker<'env>,
    requests: Sender<Request<'env>>,
    pub receiver: Receiver<Said>,
    threads: usize,
    pub in_flight: usize,
    pub stops_waiting: Arc<AtomicBool>,
}

impl<'scope, 'env> Workers<'scope, 'env> {
    pub fn new(
        agent: &'env Agent,
        run: (&'env str, Option<&'env TraceContext>),
        deadline: &'env Deadline,
        scope: &'scope Scope<'scope, 'env>,
    ) -> Self {
        let ((sender, receiver), (requests, taken)) = (channel(), channel());
        let (taken, stops_waiting) = (Arc::new(Mutex::new(taken)), Arc::<AtomicBool>::default());
        let worker =
            Worker { agent, run, deadline, sender, taken, stops_waiting: Arc::clone(&stops_waiting) };
        Workers { scope, worker, requests, receiver, threads: 0, in_flight: 0, stops_waiting }
    }

    /// Has a worker perform an effect that is free or else new. If the system has no thread to give, one that is
    /// busy comes to it, or it is performed here and now.
    pub fn perform(&mut self, request: Request<'env>) {
        self.in_flight += 1;
        if self.in_flight > self.threads {
            let worker = self.worker.clone();
            let spawned = std::thread::Builder::new().spawn_scoped(self.scope, move || worker.work());
            self.threads += usize::from(spawned.is_ok());
        }
        if self.threads == 0 {
            self.worker.perform(&request);
        } else {
            self.requests.send(request).expect("the workers' own end of it is held here");
        }
    }
}

/// What a worker thread has.
#[derive(Clone)]
struct Worker<'env> {
    agent: &'env Agent,
    /// The run's id, and its span if it is traced.
    run: (&'env str, Option<&'env TraceContext>),
    deadline: &'env Deadline,
    sender: Sender<Said>,
    taken: Arc<Mutex<Receiver<Request<'env>>>>,
    stops_waiting: Arc<AtomicBool>,
}

impl Worker<'_> {
    fn work(&self) {
        loop {
            let next = self.taken.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(request) = next else { return };
            self.perform(&request);
        }
    }

    fn perform(&self, request: &Request<'_>) {
        // A wait holds nothing that could be lost.
        let is_wait = matches!(request.body, RequestBody::Wait { .. });
        let stop = || (is_wait && self.stops_waiting.load(Ordering::Relaxed)) || self.deadline.has_passed();
        let leave = || self.deadline.leaves();
        let effect = request.effect;
        let retrying = |error: &Unanswered, most, delay| {
            let _ = self.sender.send(Said::Retrying(effect, error.clone(), most, delay));
        };
        let perform = || self.agent.environment.perform(self.run, request, None, &retrying, (&stop, &leave));
        // A panic of a port is the run's, and not a wait without an end.
        let said = catch_unwind(AssertUnwindSafe(perform));
        let said = said.map_or_else(Said::Panicked, |performed| Said::Performed((effect, performed)));
        let _ = self.sender.send(said);
    }
}
