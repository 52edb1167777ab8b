//! One thread: asked, resumed, answered, resolved, cancelled under its lease.

use super::earlier::{bound, find_asked, remember};
use crate::driver::agent::Agent;
use crate::driver::environment::CancelToken;
use crate::driver::human_input::{Resolution, find_spent};
use crate::driver::redact::Redactor;
use crate::driver::resume::{self, Changed, Resume};
use crate::driver::run::{Run, Stopped};
use crate::journal::{
    Asked, Claim, Journal, JournalError, JournalErrorKind, Lease, Record, RunStatus, Store, StoreError,
    ThreadId, fold,
};
use crate::machine::{HumanAnswer, Input};
use crate::ports::{Observer, Secret};
use crate::prompt::TraceContext;
use crate::spec::Memory;

/// A thread to be gone on with: who watches, who may stop it, and what is said.
#[must_use]
pub struct ThreadHandle<'a> {
    store: &'a dyn Store,
    thread: &'a ThreadId,
    observer: &'a dyn Observer,
    cancel: CancelToken,
    changed: Changed,
    take_over: bool,
    token: Option<String>,
    asked: Option<Asked>,
    parent: Option<TraceContext>,
}

impl<'a> ThreadHandle<'a> {
    pub(super) fn new(store: &'a dyn Store, thread: &'a ThreadId) -> Self {
        let (cancel, changed) = (CancelToken::new(), Changed::Refuse);
        ThreadHandle {
            store,
            thread,
            observer: &(),
            cancel,
            changed,
            take_over: false,
            token: None,
            asked: None,
            parent: None,
        }
    }

    /// Who watches.
    pub fn observer(mut self, observer: &'a dyn Observer) -> Self {
        self.observer = observer;
        self
    }

    /// Who may stop it.
    pub fn cancelled_by(mut self, token: CancelToken) -> Self {
        self.cancel = token;
        self
    }

    /// Which rules an unfinished turn goes on under if the agent's are others.
    pub fn changed(mut self, changed: Changed) -> Self {
        self.changed = changed;
        self
    }

    /// The span of the request that asks for a new turn; see [`Job::traced_under`](crate::driver::Job::traced_under).
    pub fn traced_under(mut self, parent: Option<TraceContext>) -> Self {
        self.parent = parent;
        self
    }

    /// Takes the thread over from the process that has it, which can write nothing more.
    pub fn take_over(mut self) -> Self {
        self.take_over = true;
        self
    }

    /// The token of what is answered or resolved; see [`Resume::token`].
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// What a client asks for, so that the same asked again is [`Stopped::AskedBefore`].
    #[doc(hidden)]
    pub fn asked_as(mut self, asked: Option<Asked>) -> Self {
        self.asked = asked;
        self
    }

    /// Refuses what was asked before. Under the lease no other process asks meanwhile.
    fn check_asked(&self) -> Result<(), Stopped> {
        match &self.asked {
            Some(asked) if find_asked(self.store, self.thread, asked)?.is_some() => Err(Stopped::AskedBefore),
            _ => Ok(()),
        }
    }

    fn claim(&self, claim: Claim) -> Result<LeasedThread<'a>, StoreError> {
        LeasedThread::claim(self.store, self.thread, if self.take_over { Claim::TakeOver } else { claim })
    }

    /// Asks the next question, as a new turn.
    ///
    /// # Errors
    /// [`Stopped::Waiting`] with the open question if the last turn waits for a person,
    /// [`Stopped::InDoubt`] if a write of it is in doubt, [`Stopped::Unfinished`] if it can go on by
    /// itself; and whatever else stops a run.
    pub fn ask(self, agent: &Agent, question: impl Into<String>) -> Result<Run, Stopped> {
        self.ask_with(agent, agent.input(question))
    }

    /// Asks a whole input as a new turn. Where the agent remembers, the history of the input is what was said before
    /// the thread began, as far as that can be remembered; a later turn has that and the thread's own.
    ///
    /// # Errors
    /// As [`ask`](ThreadHandle::ask).
    pub fn ask_with(self, agent: &Agent, mut input: Input) -> Result<Run, Stopped> {
        if agent.environment.redactor.finds(self.thread.as_str()) {
            return Err(Stopped::Secret { place: "the thread's name".to_owned() });
        }
        agent.check_secrets()?;
        let remembers = agent.compiled().policy().memory == Memory::Thread;
        if remembers {
            input.history = bound(input.history);
        }
        let mut leased = LeasedThread::new(self.store, self.thread);
        if self.take_over {
            leased = self.claim(Claim::Any)?;
        } else {
            // Most threads are new, and begin with the first records of their run. If this one is not new,
            // nothing was written or asked yet.
            let ended = self.run(&mut leased, 0, agent, input.clone());
            if let Some(refused) = leased.refused.take() {
                return Err(refused.into());
            }
            if leased.turns() == 0 {
                return ended;
            }
        }
        let turns = leased.turns();
        self.check_asked()?;
        check_ended(self.store, self.thread, turns)?;
        if remembers && turns > 0 {
            input.history = remember(self.store, self.thread, turns)?;
        }
        self.run(&mut leased, turns, agent, input)
    }

    fn run(
        &self,
        leased: &mut LeasedThread<'a>,
        turn: u32,
        agent: &Agent,
        input: Input,
    ) -> Result<Run, Stopped> {
        let mut journal = leased.turn(turn);
        let job = agent.job(input).journal(&mut journal).turn(self.thread.as_str(), turn);
        let job = job.asked_as(self.asked.clone()).traced_under(self.parent);
        job.observer(self.observer).cancel(self.cancel.clone()).run()
    }

    /// Goes on with the last turn.
    ///
    /// # Errors
    /// As [`Resume::run`].
    pub fn resume(self, agent: &Agent) -> Result<Run, Stopped> {
        self.go_on(agent, |resume| resume)
    }

    /// Answers the question that the last turn waits with, and goes on with it.
    ///
    /// # Errors
    /// As [`Resume::run`].
    pub fn answer(self, agent: &Agent, answer: HumanAnswer) -> Result<Run, Stopped> {
        self.go_on(agent, |resume| resume.answer(answer))
    }

    /// Resolves the write that is in doubt, and goes on with the last turn.
    ///
    /// # Errors
    /// As [`Resume::run`].
    pub fn resolve(self, agent: &Agent, resolution: Resolution) -> Result<Run, Stopped> {
        self.go_on(agent, |resume| resume.resolve(resolution))
    }

    fn go_on(
        self,
        agent: &Agent,
        says: impl for<'r> FnOnce(Resume<'r>) -> Resume<'r>,
    ) -> Result<Run, Stopped> {
        self.check_spent()?;
        let mut leased = self.claim(Claim::Known)?;
        self.check_asked()?;
        let mut journal = leased.last()?;
        let mut resume = agent.resume(&mut journal).changed(self.changed);
        (resume.token, resume.asked) = (self.token, self.asked);
        says(resume.observer(self.observer).cancel(self.cancel)).run()
    }

    /// Refuses a token that was spent before, without taking the thread, if the last turn has ended. What
    /// cannot be read here is an error when the thread is taken.
    fn check_spent(&self) -> Result<(), Stopped> {
        let (Some(token), Ok(Some(listed))) = (&self.token, self.store.find(self.thread)) else {
            return Ok(());
        };
        let last = listed.turns.checked_sub(1).filter(|_| listed.status.has_ended() && !listed.running);
        let records = last.and_then(|last| self.store.records(self.thread, last).ok());
        match records.and_then(|records| find_spent(&records, token)) {
            Some(effect) => Err(Stopped::AlreadyAnswered { effect }),
            None => Ok(()),
        }
    }

    /// Ends the last turn without going on with it. What is in doubt is said to be unknown. There is no agent
    /// that would keep its keys out of the reason, so the caller names the `keys` there are.
    ///
    /// # Errors
    /// [`Stopped::Ended`] if it has ended.
    pub fn cancel(self, reason: impl Into<String>, keys: &[Secret]) -> Result<(), Stopped> {
        let mut leased = self.claim(Claim::Known)?;
        let reason = Redactor::new(keys.iter().cloned()).text(reason.into());
        resume::cancel(&mut leased.last()?, reason)
    }
}

/// Refuses a new turn of a thread whose last one of so many has not ended.
pub(in crate::driver) fn check_ended(
    store: &dyn Store,
    thread: &ThreadId,
    turns: u32,
) -> Result<(), Stopped> {
    let Some(last) = turns.checked_sub(1) else { return Ok(()) };
    match RunStatus::of(&fold(store.records(thread, last)?)?) {
        RunStatus::Waiting { question, .. } => Err(Stopped::Waiting { question }),
        RunStatus::InDoubt { effect, tool } => Err(Stopped::InDoubt { effect, tool }),
        RunStatus::Unfinished => Err(Stopped::Unfinished),
        // What is damaged has not folded.
        RunStatus::Done { .. } | RunStatus::Failed { .. } | RunStatus::Damaged { .. } => Ok(()),
    }
}

/// A thread that this process has until this is dropped, or that it begins with what is first appended.
pub(super) struct LeasedThread<'a> {
    store: &'a dyn Store,
    thread: &'a ThreadId,
    lease: Option<Lease>,
    /// Why it could not be taken, if that failed.
    pub refused: Option<StoreError>,
}

impl<'a> LeasedThread<'a> {
    /// A thread that may not exist yet. It is taken with the first append, and begun with that if it is new.
    pub fn new(store: &'a dyn Store, thread: &'a ThreadId) -> Self {
        LeasedThread { store, thread, lease: None, refused: None }
    }

    pub fn claim(store: &'a dyn Store, thread: &'a ThreadId, claim: Claim) -> Result<Self, StoreError> {
        let lease = Some(store.claim(thread, claim)?);
        Ok(LeasedThread { store, thread, lease, refused: None })
    }

    /// Takes the thread and begins it with these turns. It stays taken if it existed.
    pub fn begin(&mut self, turns: Vec<Vec<Record>>) -> Result<(), StoreError> {
        let lease = self.lease.insert(self.store.begin(self.thread, turns)?);
        if lease.turns() > 0 { Err(StoreError::Exists { thread: self.thread.clone() }) } else { Ok(()) }
    }

    /// How many turns the thread had when it was taken.
    pub fn turns(&self) -> u32 {
        self.lease.as_ref().map_or(0, Lease::turns)
    }

    pub fn turn(&mut self, turn: u32) -> TurnJournal<'_, 'a> {
        TurnJournal { leased: self, turn }
    }

    pub fn last(&mut self) -> Result<TurnJournal<'_, 'a>, StoreError> {
        let missing = || StoreError::NoThread { thread: self.thread.clone() };
        let last = self.turns().checked_sub(1).ok_or_else(missing)?;
        Ok(self.turn(last))
    }
}

impl Drop for LeasedThread<'_> {
    fn drop(&mut self) {
        if let Some(lease) = self.lease.take() {
            // A lease that cannot be given back ends with the process.
            let _ = self.store.release(lease);
        }
    }
}

/// One turn of a thread, as the journal of its run.
pub(super) struct TurnJournal<'h, 'a> {
    leased: &'h mut LeasedThread<'a>,
    turn: u32,
}

impl Journal for TurnJournal<'_, '_> {
    fn append(&mut self, index: u64, records: Vec<Record>) -> Result<(), JournalError> {
        if let Some(lease) = &self.leased.lease {
            return self.leased.store.append(lease, self.turn, index, records, None).map_err(as_journal);
        }
        self.leased.begin(vec![records]).map_err(|error| {
            if self.leased.lease.is_none() {
                self.leased.refused = Some(error.clone());
            }
            as_journal(error)
        })
    }

    fn records(&self) -> Result<Vec<Record>, JournalError> {
        self.leased.store.records(self.leased.thread, self.turn).map_err(as_journal)
    }

    fn conclude(&mut self, index: u64, records: Vec<Record>, status: &RunStatus) -> Result<(), JournalError> {
        match &self.leased.lease {
            Some(lease) => {
                self.leased.store.append(lease, self.turn, index, records, Some(status)).map_err(as_journal)
            }
            None if records.is_empty() => Ok(()),
            None => self.append(index, records),
        }
    }
}

fn as_journal(error: StoreError) -> JournalError {
    match error {
        StoreError::Journal(error) => error,
        other => JournalError::new(JournalErrorKind::Stale, "store", other.to_string()),
    }
}
