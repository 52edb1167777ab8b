//! Threads for what runs side by side. As many as the machine asks for at once, which the policy's
//! width bounds. What waits before another try has one too, so that it holds up nobody.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Scope;

use super::agent::Agent;
use super::prepare::Prepared;
use super::stop::Sitting;
use crate::machine::{EffectId, Event};
use crate::ports::Unanswered;

/// What came of an effect: an answer, a wait that was cut short, or nothing for this reason.
pub(super) type Performed = (EffectId, Result<Option<Event>, Unanswered>);

pub(super) struct Side<'scope, 'env> {
    agent: &'env Agent,
    run: &'env str,
    sitting: &'env Sitting,
    scope: &'scope Scope<'scope, 'env>,
    sender: Sender<Performed>,
    receiver: Receiver<Performed>,
    in_flight: usize,
    /// Whether nobody waits any longer.
    hurry: Arc<AtomicBool>,
}

impl<'scope, 'env> Side<'scope, 'env> {
    pub fn new(
        agent: &'env Agent,
        run: &'env str,
        sitting: &'env Sitting,
        scope: &'scope Scope<'scope, 'env>,
    ) -> Self {
        let (sender, receiver) = channel();
        Side { agent, run, sitting, scope, sender, receiver, in_flight: 0, hurry: Arc::default() }
    }

    /// Whether something runs.
    pub fn is_busy(&self) -> bool {
        self.in_flight > 0
    }

    /// Performs an effect on a thread of its own; here and now where the system has none to give.
    pub fn perform(&mut self, prepared: Prepared<'env>) {
        self.in_flight += 1;
        let (agent, run, sitting, hurry) = (self.agent, self.run, self.sitting, Arc::clone(&self.hurry));
        let perform = move |prepared: &Prepared<'env>| {
            let stop = || hurry.load(Ordering::Relaxed) || sitting.is_over();
            agent.world.perform(run, prepared, None, &stop)
        };
        let (sender, id) = (self.sender.clone(), prepared.id);
        let prepared = Arc::new(prepared);
        let (theirs, there) = (Arc::clone(&prepared), perform.clone());
        let spawned = std::thread::Builder::new().spawn_scoped(self.scope, move || {
            let _ = sender.send((id, there(&theirs)));
        });
        if spawned.is_err() {
            let _ = self.sender.send((id, perform(&prepared)));
        }
    }

    /// Ends all waiting.
    pub fn hurry(&self) {
        self.hurry.store(true, Ordering::Relaxed);
    }

    pub fn receive(&mut self) -> Performed {
        self.in_flight -= 1;
        self.receiver.recv().expect("this holds a sender itself")
    }
}
