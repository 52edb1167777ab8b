//! Effects: performed by one attempt of an invocation, side by side where the machine asks for several.
//!
//! **Invariant:** an effect is performed after its request is on record, and a write that may not happen twice only by
//! the attempt that put it there. Any other attempt finds it in doubt.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};

use planwright::driver::Task;
use planwright::journal::{Record, StoreError, system::now_ms};
use planwright::machine::{EffectId, Event};
use planwright::ports::{Cause, Unanswered};
use serde::{Deserialize, Serialize};

use crate::keep::Keep;

/// What came of an effect, as Restate keeps it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Performed {
    pub came: Came,
    /// When, in milliseconds since 1970.
    pub at: u64,
}

/// What came of an effect.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Came {
    /// The world has answered.
    Event(Event),
    /// It has not.
    Unanswered(Unanswered),
    /// It was not waited for.
    CutShort,
}

/// What one attempt has to do next.
pub(crate) struct Work {
    /// What is to be on record first, and the index of the first of it.
    pub index: u64,
    pub records: Vec<Record>,
    /// What is to be performed. The first is waited for.
    pub tasks: Vec<Task>,
    /// Whether effects may be begun. If not, what this attempt has begun is waited for.
    pub begins: bool,
    /// When the run is to end, in milliseconds since 1970.
    pub deadline: u64,
}

/// The effects of one attempt.
pub(crate) struct Effects {
    keep: Arc<Keep>,
    /// What is under way on other threads.
    begun: Mutex<BTreeMap<EffectId, Receiver<Performed>>>,
    /// What came and may not have reached Restate.
    came: Mutex<BTreeMap<EffectId, Performed>>,
    given_up: Arc<AtomicBool>,
}

impl Effects {
    pub fn new(keep: Arc<Keep>) -> Self {
        let (begun, came) = (Mutex::default(), Mutex::default());
        Effects { keep, begun, came, given_up: Arc::default() }
    }

    /// Has effects end that can: nobody waits for them any more.
    pub fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
    }

    /// Puts requests on record and performs what is asked for, until the first of it has come.
    pub fn perform(&self, mut work: Work) -> Result<Performed, StoreError> {
        let first = work.tasks[0].id();
        if let Some(known) = self.came.lock().unwrap_or_else(PoisonError::into_inner).get(&first) {
            return Ok(known.clone());
        }
        let asked: BTreeSet<EffectId> = work.records.iter().filter_map(requested).collect();
        let is_new = !work.records.is_empty()
            && self.keep.append(work.index, std::mem::take(&mut work.records), None)?;
        let is_fresh = |id: &EffectId| is_new && asked.contains(id);
        let mut tasks = work.tasks.into_iter();
        let here = tasks.next().filter(|_| !self.has_begun(first));
        for task in tasks.filter(|task| work.begins && !self.has_begun(task.id())) {
            let (id, fresh, given_up) = (task.id(), is_fresh(&task.id()), Arc::clone(&self.given_up));
            let (sender, receiver) = channel();
            self.begun.lock().unwrap_or_else(PoisonError::into_inner).insert(id, receiver);
            std::thread::spawn(move || {
                let _ = sender.send(perform(&task, fresh, true, (work.deadline, &given_up)));
            });
        }
        let performed = match here {
            Some(task) => perform(&task, is_fresh(&first), work.begins, (work.deadline, &self.given_up)),
            None => {
                let receiver = self.begun.lock().unwrap_or_else(PoisonError::into_inner).remove(&first);
                let lost = || Unanswered::new(Cause::Unavailable, "its thread ended without an answer");
                receiver
                    .and_then(|receiver| receiver.recv().ok())
                    .unwrap_or_else(|| Performed { came: Came::Unanswered(lost()), at: now_ms() })
            }
        };
        self.came.lock().unwrap_or_else(PoisonError::into_inner).insert(first, performed.clone());
        Ok(performed)
    }

    fn has_begun(&self, id: EffectId) -> bool {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).contains_key(&id)
    }
}

fn requested(record: &Record) -> Option<EffectId> {
    match record {
        Record::Requested { effect, .. } => Some(*effect),
        _ => None,
    }
}

/// Performs an effect, unless the run is to end, or it may have been performed before and may not be twice.
fn perform(task: &Task, is_fresh: bool, begins: bool, (deadline, given_up): (u64, &AtomicBool)) -> Performed {
    let stop = || given_up.load(Ordering::Relaxed) || now_ms() > deadline;
    let came = match task.find_unrepeatable().filter(|_| !is_fresh) {
        Some(tool) => {
            let message = format!("{tool}: no answer is on record; the write may have happened");
            Came::Unanswered(Unanswered::new(Cause::InDoubt, message))
        }
        None if !begins || stop() => Came::CutShort,
        None => match task.perform(&stop) {
            Ok(Some(event)) => Came::Event(event),
            Ok(None) => Came::CutShort,
            Err(cause) => Came::Unanswered(cause),
        },
    };
    Performed { came, at: now_ms() }
}
