//! One thread to be gone on with: asked, resumed, answered, settled, cancelled.

use super::leased_thread::Held;
use crate::driver::agent::{Agent, asked};
use crate::driver::approval::{self, Settlement};
use crate::driver::redact::Redactor;
use crate::driver::resume::{self, Changed, Resume};
use crate::driver::run::{Run, Stopped};
use crate::driver::stop::CancelToken;
use crate::driver::thread::{MAX_TURNS, remember, trim};
use crate::journal::{Claim, RunStatus, Store, StoreError, ThreadId, fold};
use crate::machine::{HumanAnswer, Input};
use crate::ports::Secret;
use crate::ports::{Nobody, Observer};
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

    /// Takes the thread over from whoever has it: they can write nothing more.
    pub fn take_over(mut self) -> Self {
        self.take_over = true;
        self
    }

    /// The token of what is answered or settled; see [`Resume::token`].
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    fn claim(&self, claim: Claim) -> Result<Held<'a>, StoreError> {
        Held::claim(self.store, self.thread, if self.take_over { Claim::TakeOver } else { claim })
    }

    /// Asks the next question, as a new turn.
    ///
    /// # Errors
    /// [`Stopped::Waiting`] with the open question where the last turn waits for a person,
    /// [`Stopped::InDoubt`] where a write of it is in doubt, [`Stopped::Unfinished`] where it can go on
    /// by itself; and whatever else stops a run.
    pub fn ask(self, agent: &Agent, question: impl Into<String>) -> Result<Run, Stopped> {
        self.ask_with(agent, asked(agent, question))
    }

    /// The same, from a whole input. Its history is the thread's.
    ///
    /// # Errors
    /// As [`ask`](ThreadHandle::ask).
    pub fn ask_with(self, agent: &Agent, mut input: Input) -> Result<Run, Stopped> {
        if agent.world.redactor.finds(self.thread.as_str()) {
            return Err(Stopped::Secret { place: "the thread's name".to_owned() });
        }
        agent.keeps_its_keys()?;
        let remembers = agent.rules().policy().memory == Memory::Thread;
        let mut held = Held::new(self.store, self.thread);
        if self.take_over {
            held = self.claim(Claim::Any)?;
        } else {
            // Most threads are new: one that is, is begun with the first records of its run. Of one that
            // is not, nothing was written or asked.
            let mut first = input.clone();
            if remembers {
                remember(&mut first, &[]);
            }
            let ended = self.run(&mut held, 0, agent, first);
            if let Some(refused) = held.refused() {
                return Err(refused.into());
            }
            if held.turns() == 0 {
                return ended;
            }
        }
        let turns = held.turns();
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
        self.run(&mut held, turns, agent, input)
    }

    fn run(&self, held: &mut Held<'a>, turn: u32, agent: &Agent, input: Input) -> Result<Run, Stopped> {
        let mut journal = held.turn(turn);
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

    /// Says what became of the write that is in doubt, and goes on with the last turn.
    ///
    /// # Errors
    /// As [`Resume::run`].
    pub fn settle(self, agent: &Agent, settlement: Settlement) -> Result<Run, Stopped> {
        self.go_on(agent, |resume| resume.settle(settlement))
    }

    /// Ends the last turn without going on with it. What is in doubt is said to be unknown. No agent is at
    /// hand that would keep `keys` out of the reason, so whoever cancels names those that there are.
    ///
    /// # Errors
    /// [`Stopped::Ended`] where it has ended.
    pub fn cancel(self, reason: impl Into<String>, keys: &[Secret]) -> Result<(), Stopped> {
        let mut held = self.claim(Claim::Known)?;
        let mut journal = held.last()?;
        let reason = Redactor::new(keys.iter().cloned()).text(reason.into());
        resume::cancel(&mut journal, reason).map(drop)
    }

    /// Where the last turn has ended, whoever answered it was first: that is said without taking the
    /// thread. What cannot be read here is said where it is taken.
    fn was_first(&self) -> Result<(), Stopped> {
        let (Some(token), Ok(Some(listed))) = (&self.token, self.store.find(self.thread)) else {
            return Ok(());
        };
        let ended = matches!(listed.standing, RunStatus::Done { .. } | RunStatus::Failed { .. });
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
        self.was_first()?;
        let mut held = self.claim(Claim::Known)?;
        let mut journal = held.last()?;
        let resume = agent.resuming(&mut journal).changed(self.changed);
        let resume = says(resume.observer(self.observer).cancel(self.cancel));
        match self.token {
            Some(token) => resume.token(token).run(),
            None => resume.run(),
        }
    }
}

/// What was said in the last turns of a thread: each question with its answer, oldest first.
///
/// # Errors
/// Where the thread does not read.
pub fn history(store: &dyn Store, thread: &ThreadId) -> Result<Vec<(String, String)>, StoreError> {
    let turns = match store.turns(thread) {
        Err(StoreError::NoThread { .. }) => 0,
        turns => turns?,
    };
    let mut said = Vec::new();
    for turn in turns.saturating_sub(MAX_TURNS as u32)..turns {
        let folded = fold(store.records(thread, turn)?)?;
        if let RunStatus::Done { answer } = RunStatus::of(&folded) {
            said.push((folded.state.task.input.question, answer));
        }
    }
    Ok(trim(said))
}
