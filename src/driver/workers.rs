//! Worker threads for what runs side by side: as many as the machine asks for at once, which the
//! policy's width bounds. A wait before another try has one too, so that it holds nothing up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Scope;

use super::agent::Agent;
use super::deadline::Deadline;
use crate::machine::{EffectId, Event};
use crate::ports::Unanswered;
use crate::prompt::Request;

/// What came of an effect: an answer, a wait that was cut short, or nothing for this reason.
pub(super) type Performed = (EffectId, Result<Option<Event>, Unanswered>);

/// The worker threads of one run.
pub(super) struct Workers<'scope, 'env> {
    agent: &'env Agent,
    run: &'env str,
    deadline: &'env Deadline,
    scope: &'scope Scope<'scope, 'env>,
    sender: Sender<Performed>,
    receiver: Receiver<Performed>,
    in_flight: usize,
    /// Whether all waiting ends.
    hurry: Arc<AtomicBool>,
}

impl<'scope, 'env> Workers<'scope, 'env> {
    pub fn new(
        agent: &'env Agent,
        run: &'env str,
        deadline: &'env Deadline,
        scope: &'scope Scope<'scope, 'env>,
    ) -> Self {
        let (sender, receiver) = channel();
        Workers { agent, run, deadline, scope, sender, receiver, in_flight: 0, hurry: Arc::default() }
    }

    /// Whether something runs.
    pub fn is_busy(&self) -> bool {
        self.in_flight > 0
    }

    /// Performs an effect on a thread of its own; here and now where the system has none to give.
    pub fn perform(&mut self, request: Request<'env>) {
        self.in_flight += 1;
        let (agent, run, deadline, hurry) = (self.agent, self.run, self.deadline, Arc::clone(&self.hurry));
        let perform = move |request: &Request<'env>| {
            let stop = || hurry.load(Ordering::Relaxed) || deadline.has_passed();
            agent.environment.perform(run, request, None, &stop)
        };
        let (sender, id) = (self.sender.clone(), request.effect);
        let request = Arc::new(request);
        let (theirs, there) = (Arc::clone(&request), perform.clone());
        let spawned = std::thread::Builder::new().spawn_scoped(self.scope, move || {
            let _ = sender.send((id, there(&theirs)));
        });
        if spawned.is_err() {
            let _ = self.sender.send((id, perform(&request)));
        }
    }

    /// Ends all waiting.
    pub fn stop_waiting(&self) {
        self.hurry.store(true, Ordering::Relaxed);
    }

    /// Waits for the next answer.
    pub fn receive(&mut self) -> Performed {
        self.in_flight -= 1;
        self.receiver.recv().expect("this holds a sender itself")
    }
}
