//! One thread to be gone on with: asked, resumed, answered, resolved, cancelled.

use super::history::{history, remember};
use super::leased_thread::LeasedThread;
use crate::driver::agent::Agent;
use crate::driver::approval::{self, Resolution};
use crate::driver::deadline::CancelToken;
use crate::driver::redact::Redactor;
use crate::driver::resume::{self, Changed, Resume};
use crate::driver::run::Run;
use crate::driver::stopped::Stopped;
use crate::journal::{Claim, RunStatus, Store, StoreError, ThreadId, fold};
use crate::machine::{HumanAnswer, Input};
use crate::ports::{Nobody, Observer, Secret};
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
}

impl<'a> ThreadHandle<'a> {
    pub(super) fn new(store: &'a dyn Store, thread: &'a ThreadId) -> Self {
        let (cancel, changed) = (CancelToken::new(), Changed::Refuse);
        ThreadHandle { store, thread, observer: &Nobody, cancel, changed, take_over: false, token: None }
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

    /// Which rules an unfinished turn goes on under where the agent's are others.
    pub fn changed(mut self, changed: Changed) -> Self {
        self.changed = changed;
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

    fn claim(&self, claim: Claim) -> Result<LeasedThread<'a>, StoreError> {
        LeasedThread::claim(self.store, self.thread, if self.take_over { Claim::TakeOver } else { claim })
    }

    /// Asks the next question, as a new turn.
    ///
    /// # Errors
    /// [`Stopped::Waiting`] with the open question where the last turn waits for a person,
    /// [`Stopped::InDoubt`] where a write of it is in doubt, [`Stopped::Unfinished`] where it can go on
    /// by itself; and whatever else stops a run.
    pub fn ask(self, agent: &Agent, question: impl Into<String>) -> Result<Run, Stopped> {
        self.ask_with(agent, agent.input(question))
    }

    /// Asks an input as a new turn, as [`ask`](ThreadHandle::ask) does a question. Its history is the thread's.
    ///
    /// # Errors
    /// As [`ask`](ThreadHandle::ask).
    pub fn ask_with(self, agent: &Agent, mut input: Input) -> Result<Run, Stopped> {
        if agent.environment.redactor.finds(self.thread.as_str()) {
            return Err(Stopped::Secret { place: "the thread's name".to_owned() });
        }
        agent.check_secrets()?;
        let remembers = agent.rules().policy().memory == Memory::Thread;
        let mut leased = LeasedThread::new(self.store, self.thread);
        if self.take_over {
            leased = self.claim(Claim::Any)?;
        } else {
            // Most threads are new: one that is, is begun with the first records of its run. Of one that
            // is not, nothing was written or asked.
            let mut first = input.clone();
            if remembers {
                remember(&mut first, &[]);
            }
            let ended = self.run(&mut leased, 0, agent, first);
            if let Some(refused) = leased.refused() {
                return Err(refused.into());
            }
            if leased.turns() == 0 {
                return ended;
            }
        }
        let turns = leased.turns();
        if let Some(last) = turns.checked_sub(1) {
            let folded = fold(self.store.records(self.thread, last)?)?;
            match RunStatus::of(&folded) {
                RunStatus::Waiting { question, .. } => return Err(Stopped::Waiting { question }),
                RunStatus::InDoubt { effect, tool } => return Err(Stopped::InDoubt { effect, tool }),
                RunStatus::Unfinished => return Err(Stopped::Unfinished),
                // What is damaged has not folded.
                RunStatus::Done { .. } | RunStatus::Failed { .. } | RunStatus::Damaged { .. } => {}
            }
        }
        if remembers {
            remember(&mut input, &history(self.store, self.thread)?);
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
        job.observer(self.observer).cancel(self.cancel.clone()).run()
    }

    /// Goes on with the last turn.
    ///
    /// # Errors
    /// [`Stopped`]; a write that may or may not have happened is [`Stopped::InDoubt`].
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

    /// Ends the last turn without going on with it. What is in doubt is said to be unknown. No agent is at
    /// hand that would keep `keys` out of the reason, so the caller names those that there are.
    ///
    /// # Errors
    /// [`Stopped::Ended`] where it has ended.
    pub fn cancel(self, reason: impl Into<String>, keys: &[Secret]) -> Result<(), Stopped> {
        let mut leased = self.claim(Claim::Known)?;
        let mut journal = leased.last()?;
        let reason = Redactor::new(keys.iter().cloned()).text(reason.into());
        resume::cancel(&mut journal, reason).map(drop)
    }

    /// Refuses a token that was spent before, without taking the thread, if the last turn has ended. What
    /// cannot be read here is an error where the thread is taken.
    fn check_first(&self) -> Result<(), Stopped> {
        let (Some(token), Ok(Some(listed))) = (&self.token, self.store.find(self.thread)) else {
            return Ok(());
        };
        let ended = matches!(listed.status, RunStatus::Done { .. } | RunStatus::Failed { .. });
        let last = listed.turns.checked_sub(1).filter(|_| ended && !listed.running);
        let records = last.and_then(|last| self.store.records(self.thread, last).ok());
        match records.and_then(|records| approval::spent(&records, token)) {
            Some(effect) => Err(Stopped::AlreadyAnswered { effect }),
            None => Ok(()),
        }
    }

    fn go_on(
        self,
        agent: &Agent,
        says: impl for<'r> FnOnce(Resume<'r>) -> Resume<'r>,
    ) -> Result<Run, Stopped> {
        self.check_first()?;
        let mut leased = self.claim(Claim::Known)?;
        let mut journal = leased.last()?;
        let resume = agent.resuming(&mut journal).changed(self.changed);
        let resume = says(resume.observer(self.observer).cancel(self.cancel));
        match self.token {
            Some(token) => resume.token(token).run(),
            None => resume.run(),
        }
    }
}
