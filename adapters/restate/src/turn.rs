//! Turn: takes a run from effect to effect, each kept by Restate under its id, until it has ended or waits for a person.
//!
//! **Invariant:** what happens here follows from what Restate has kept, and from nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use planwright::driver::{Stepped, Stopped, Threads};
use planwright::journal::{Record, StoreError, ThreadId};
use planwright::machine::{Effect, EffectId, Event};
use planwright::ports::Cause;
use restate_sdk::prelude::*;

use crate::effects::{Came, Effects, Performed, Work};
use crate::keep::Keep;
use crate::messages::{CURRENT, Current, Report, TimeOut};

/// The name under which Restate knows threads.
const THREAD: &str = "planwright";

/// Why no effect is begun any more.
#[derive(Clone, Copy)]
enum Ending {
    /// An effect got no answer.
    Interrupted,
    Cancelled,
    DeadlinePassed,
}

/// One run under way in one invocation.
pub(crate) struct Turn<'a, 'ctx> {
    ctx: &'a ObjectContext<'ctx>,
    turn: u32,
    stepped: Stepped,
    keep: Arc<Keep>,
    effects: Arc<Effects>,
    /// What is to be on record next, and the index of the first of it.
    records: (u64, Vec<Record>),
    /// The time of the last answer.
    at: u64,
    deadline: u64,
    ending: Option<Ending>,
    problem: Option<String>,
    /// The effects that were given to a thread.
    begun: BTreeSet<EffectId>,
    /// Those that got no answer.
    given_up: BTreeSet<EffectId>,
    /// When each wait is over.
    waits: BTreeMap<EffectId, u64>,
}

impl Drop for Turn<'_, '_> {
    fn drop(&mut self) {
        self.effects.give_up();
        let keep = Arc::clone(&self.keep);
        // Where there is no runtime any more, the process ends, and the thread is free with it.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn_blocking(move || keep.release());
        }
    }
}

impl<'a, 'ctx> Turn<'a, 'ctx> {
    pub fn new(
        ctx: &'a ObjectContext<'ctx>,
        threads: &Threads,
        thread: ThreadId,
        turn: u32,
        stepped: Stepped,
        at: u64,
    ) -> Self {
        let invocation = Some(ctx.invocation_id().to_owned());
        ctx.set(CURRENT, Json(Current { run: stepped.run().to_owned(), invocation }));
        let keep = Arc::new(Keep::new(threads.clone(), thread, turn));
        let seconds = stepped.agent().compiled().spec().limits.deadline_seconds;
        Turn {
            ctx,
            turn,
            stepped,
            effects: Arc::new(Effects::new(Arc::clone(&keep))),
            keep,
            records: (0, Vec::new()),
            at,
            deadline: at.saturating_add(u64::from(seconds) * 1_000),
            ending: None,
            problem: None,
            begun: BTreeSet::new(),
            given_up: BTreeSet::new(),
            waits: BTreeMap::new(),
        }
    }

    /// Takes an event of now.
    pub fn take(&mut self, event: Event) -> HandlerResult<()> {
        let goes_on = self.ending.is_none();
        self.stepped.take(event, self.at, goes_on).map(drop).map_err(refuse)
    }

    /// Goes on to the end of the run, or to the next question, and reports it.
    pub async fn follow(mut self) -> HandlerResult<Json<Report>> {
        while !self.stepped.has_ended() {
            let outstanding = self.stepped.outstanding();
            let performed = outstanding.iter().filter(|effect| self.is_performed(effect)).copied();
            let next: Vec<Effect> = performed.collect();
            if !next.is_empty() {
                self.perform(&next).await?;
            } else if let Some(ending) = self.ending.take() {
                let event = match ending {
                    Ending::Interrupted => break,
                    Ending::Cancelled => cancelled(),
                    Ending::DeadlinePassed => Event::DeadlinePassed,
                };
                self.stepped.take(event, self.at, false).map_err(refuse)?;
            } else if !self.wait(&outstanding).await? {
                break;
            }
        }
        self.conclude().await
    }

    /// Whether an effect is one that is performed on a thread, now.
    fn is_performed(&self, effect: &Effect) -> bool {
        let id = effect.id();
        !matches!(effect, Effect::AskHuman { .. } | Effect::Wait { .. })
            && !self.given_up.contains(&id)
            && (self.ending.is_none() || self.begun.contains(&id))
    }

    /// Puts on record what came since, and performs what comes next. The first of it is waited for.
    async fn perform(&mut self, next: &[Effect]) -> HandlerResult<()> {
        self.collect();
        self.begun.extend(next.iter().map(Effect::id));
        let work = Work {
            index: self.records.0,
            records: self.records.1.clone(),
            tasks: next.iter().map(|effect| self.stepped.task(*effect)).collect(),
            begins: self.ending.is_none(),
            deadline: self.deadline,
        };
        let (effects, first) = (Arc::clone(&self.effects), next[0].id());
        let perform = move || async move {
            Ok(Json(tokio::task::spawn_blocking(move || effects.perform(work)).await??))
        };
        match self.ctx.run(perform).name(first.to_string()).await {
            Ok(Json(performed)) => self.hear(first, performed),
            // Only Restate itself fails here, and only when the invocation is cancelled. What came of the effect
            // meanwhile is asked for once more.
            Err(_) => {
                self.ending = Some(Ending::Cancelled);
                Ok(())
            }
        }
    }

    fn hear(&mut self, effect: EffectId, performed: Performed) -> HandlerResult<()> {
        self.records.1.clear();
        self.at = performed.at;
        match performed.came {
            Came::Event(event) => self.take(event)?,
            Came::CutShort => drop(self.given_up.insert(effect)),
            Came::Unanswered(cause) => {
                self.given_up.insert(effect);
                self.stepped.note_unanswered(effect, &cause, self.at).map_err(refuse)?;
                let in_doubt = cause.cause == Cause::InDoubt;
                // Past the deadline no other try was made. A write in doubt is not ended with the run.
                if in_doubt || self.at <= self.deadline {
                    self.problem.get_or_insert(cause.to_string());
                    self.ending = match self.ending {
                        Some(Ending::DeadlinePassed) | None => Some(Ending::Interrupted),
                        ending => ending,
                    };
                }
            }
        }
        self.check_deadline();
        Ok(())
    }

    fn check_deadline(&mut self) {
        if self.at > self.deadline {
            self.ending.get_or_insert(Ending::DeadlinePassed);
        }
    }

    /// Lets the time pass that is over first, by a delayed send. Gives whether the run waits for any.
    async fn wait(&mut self, outstanding: &[Effect]) -> HandlerResult<bool> {
        for effect in outstanding {
            if let Effect::Wait { delay_ms, .. } = effect {
                self.waits.entry(effect.id()).or_insert(self.at.saturating_add(*delay_ms));
            }
        }
        let Some((&effect, &due)) = self.waits.iter().min_by_key(|(_, due)| **due) else { return Ok(false) };
        self.append(false).await?;
        let until = due.min(self.deadline.saturating_add(1));
        let (id, awoken) = self.ctx.awakeable::<()>();
        let delay = Duration::from_millis(until.saturating_sub(self.at));
        self.send_after("wake", id, delay);
        match awoken.await {
            Ok(()) => {
                self.at = self.at.max(until);
                self.check_deadline();
                if due <= until {
                    self.waits.remove(&effect);
                    self.take(Event::TimePassed { effect })?;
                }
            }
            Err(_) => self.ending = Some(Ending::Cancelled),
        }
        Ok(true)
    }

    /// Has a handler of this thread take something later.
    fn send_after<T: restate_sdk::serde::Serialize + 'static>(
        &self,
        handler: &str,
        input: T,
        delay: Duration,
    ) {
        let target = restate_sdk::context::RequestTarget::object(THREAD, self.ctx.key(), handler);
        self.ctx.request::<T, ()>(target, input).send_after(delay);
    }

    /// Collects what is to be on record next.
    fn collect(&mut self) {
        let (index, records) = self.stepped.take_records();
        if self.records.1.is_empty() {
            self.records.0 = index;
        }
        self.records.1.extend(records);
    }

    /// Puts on record what came since, at the end with the status of the run.
    async fn append(&mut self, is_last: bool) -> HandlerResult<()> {
        loop {
            self.collect();
            let ((index, records), keep) = (self.records.clone(), Arc::clone(&self.keep));
            let status = is_last.then(|| self.stepped.status());
            let append = move || {
                let appended = keep.append(index, records, status.as_ref());
                if is_last {
                    keep.release();
                }
                appended
            };
            let append = move || async move { Ok(tokio::task::spawn_blocking(append).await??) };
            match self.ctx.run(append).name(if is_last { "end" } else { "wait" }).await {
                Ok(_) => {
                    self.records.1.clear();
                    return Ok(());
                }
                // A run that waits for a person ends with it, one that has ended stays as it is.
                Err(_) if is_last => drop(self.stepped.take(cancelled(), self.at, false).map_err(refuse)?),
                Err(_) => self.ending = Some(Ending::Cancelled),
            }
        }
    }

    async fn conclude(mut self) -> HandlerResult<Json<Report>> {
        self.append(true).await?;
        let run = self.stepped.run().to_owned();
        self.ctx.set(CURRENT, Json(Current { run: run.clone(), invocation: None }));
        if let Some((effect, due)) = self.stepped.find_time_out() {
            let over = Json(TimeOut { run: run.clone(), effect });
            let delay = Duration::from_millis(due.saturating_sub(self.at));
            self.send_after("time_out", over, delay);
        }
        let (status, token) = (self.stepped.status(), self.stepped.token());
        Ok(Json(Report { run, turn: self.turn, status, token, problem: self.problem.take() }))
    }
}

/// As the driver has it when a token is cancelled.
fn cancelled() -> Event {
    Event::Cancelled { reason: "stopped by the user".to_owned() }
}

/// A refusal ends the invocation. What may be otherwise another time is tried again by Restate.
pub(crate) fn refuse(stopped: Stopped) -> HandlerError {
    match stopped {
        Stopped::Store(error @ StoreError::NoThread { .. }) => {
            TerminalError::new_with_code(404, error.to_string()).into()
        }
        Stopped::Store(error) => error.into(),
        Stopped::Journal(error) => error.into(),
        refused => TerminalError::new_with_code(409, refused.to_string()).into(),
    }
}
