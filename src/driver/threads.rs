//! Threads that outlive their process: conversations in a [`Store`], begun, gone on with, answered,
//! forked and ended under one lease each.

use std::sync::Arc;

use super::agent::{Agent, asked};
use super::approval::Settlement;
use super::job::run_id;
use super::observer::{Nobody, Observer};
use super::resume::{Changed, Resume};
use super::run::{Run, Stopped};
use super::stop::CancelToken;
use super::thread::{MAX_TURNS, remember, trim};
use crate::journal::{
    Claim, Folded, Header, Journal, JournalError, JournalErrorKind, Lease, Listed, Origin, Query, Record,
    Standing, Store, StoreError, ThreadId, fold,
};
use crate::machine::{HumanAnswer, Input};
use crate::spec::Memory;

/// The threads of a store.
///
/// ```
/// use std::sync::Arc;
/// use planwright::driver::{Agent, Threads};
/// use planwright::journal::MemoryStore;
/// use planwright::model::Offline;
///
/// let spec = planwright::agents::shipped("validated").unwrap().with_tools(|tool| tool.name == "calc");
/// let agent = Agent::builder(spec).model(Offline::new()).tool(planwright::tool::Calc::new()).build()?;
/// let threads = Threads::new(Arc::new(MemoryStore::new()));
/// let sums = "sums".parse()?;
/// threads.at(&sums).ask(&agent, "12/4+9?")?;
/// threads.at(&sums).ask(&agent, "7*6?")?;
/// assert_eq!(threads.store().turns(&sums)?, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Threads(Arc<dyn Store>);

impl Threads {
    /// The threads of this store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Threads(store)
    }

    /// The store.
    pub fn store(&self) -> &dyn Store {
        &*self.0
    }

    /// One thread, there or to be begun.
    pub fn at<'a>(&'a self, thread: &'a ThreadId) -> ThreadHandle<'a> {
        let (cancel, changed) = (CancelToken::new(), Changed::Refuse);
        ThreadHandle {
            store: &*self.0,
            thread,
            observer: &Nobody,
            cancel,
            changed,
            take_over: false,
            token: None,
        }
    }

    /// A list of threads. Where a process was stopped before it could say where its thread stands, that
    /// is worked out from the records first.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn list(&self, query: &Query) -> Result<Vec<Listed>, StoreError> {
        for thread in self.0.unnoted()? {
            // What is being written to again, or does not read, is no reason to list nothing.
            let _ = self.note(&thread);
        }
        self.0.list(query)
    }

    /// Works out where a thread stands, and notes it.
    fn note(&self, thread: &ThreadId) -> Result<(), StoreError> {
        let held = Held::claim(&*self.0, thread, Claim::Known)?;
        let Some(turn) = held.turns().checked_sub(1) else { return Ok(()) };
        let folded = fold(self.0.records(thread, turn)?)?;
        self.0.stands(held.lease(), turn, folded.len, &Standing::of(&folded))
    }

    /// A turn of a thread, folded; the last where none is named.
    ///
    /// # Errors
    /// Where there is no such thread or turn, or its records do not fold.
    pub fn folded(&self, thread: &ThreadId, turn: Option<u32>) -> Result<Folded, StoreError> {
        let last = self.0.turns(thread)?.saturating_sub(1);
        Ok(fold(self.0.records(thread, turn.unwrap_or(last))?)?)
    }

    /// Begins a thread with what another holds up to a point: all turns before `turn`, and the first
    /// `records` records of it, or all of them. What was asked and not answered by then is asked anew
    /// where the new thread goes on. The other thread is left as it is.
    ///
    /// # Errors
    /// [`StoreError::Exists`] where the new name is taken, [`StoreError::NoThread`] and
    /// [`StoreError::NoTurn`], and a [`JournalError`] where there are not so many records.
    pub fn fork(
        &self,
        from: &ThreadId,
        turn: Option<u32>,
        records: Option<u64>,
        to: &ThreadId,
    ) -> Result<(), StoreError> {
        let last = self.0.turns(from)?.saturating_sub(1);
        let turn = turn.unwrap_or(last);
        let mut copies = Vec::new();
        for at in 0..=turn {
            let whole = self.0.records(from, at)?;
            let len = whole.len() as u64;
            let most = if at == turn { records.unwrap_or(len) } else { len };
            if most == 0 || most > len {
                let problem = format!("expected 1 to {len} records to copy, found {most}");
                return Err(JournalError::named(format!("thread {from}, turn {}", at + 1), problem).into());
            }
            let copy = copied(whole, most, from, to)?;
            // It must mean something before anybody goes on with it.
            fold(copy.iter().cloned())?;
            copies.push(copy);
        }
        let held = Held::claim(&*self.0, to, Claim::New)?;
        for (turn, copy) in (0..).zip(copies) {
            let folded = fold(copy.iter().cloned())?;
            self.0.append(held.lease(), turn, 0, copy)?;
            self.0.stands(held.lease(), turn, folded.len, &Standing::of(&folded))?;
        }
        Ok(())
    }

    /// Deletes a thread that nobody has.
    ///
    /// # Errors
    /// [`StoreError::NoThread`], [`StoreError::AlreadyRunning`].
    pub fn delete(&self, thread: &ThreadId) -> Result<(), StoreError> {
        let lease = self.0.claim(thread, Claim::Known)?;
        self.0.delete(lease)
    }
}

/// The beginning of a turn under another thread's name and with another id. What is asked and not
/// answered in it is left out.
fn copied(
    mut records: Vec<Record>,
    most: u64,
    from: &ThreadId,
    to: &ThreadId,
) -> Result<Vec<Record>, StoreError> {
    records.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    let folded = fold(records.iter().cloned())?;
    let open = |record: &Record| match record {
        Record::Requested { effect, .. } => folded.pending(*effect).is_some(),
        _ => false,
    };
    records.retain(|record| !open(record));
    if let Some(Record::Header(header)) = records.first_mut() {
        let origin = Origin { thread: from.to_string(), turn: header.turn, records: most };
        let (run, thread) = (run_id(), to.to_string());
        **header = Header { run, thread, origin: Some(origin), ..Header::clone(header) };
    }
    Ok(records)
}

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
        let held = self.claim(Claim::Any)?;
        let turns = held.turns();
        if let Some(last) = turns.checked_sub(1) {
            let folded = fold(self.store.records(self.thread, last)?)?;
            match Standing::of(&folded) {
                Standing::Waiting { question, .. } => return Err(Stopped::Waiting { question }),
                Standing::InDoubt { effect, tool } => return Err(Stopped::InDoubt { effect, tool }),
                Standing::Unfinished => return Err(Stopped::Unfinished),
                Standing::Done { .. } | Standing::Failed { .. } => {}
            }
        }
        if agent.rules().policy().memory == Memory::Thread {
            remember(&mut input, &history(self.store, self.thread)?);
        }
        let mut journal = held.turn(turns);
        let job = agent.job(input).journal(&mut journal).turn(self.thread.as_str(), turns);
        job.observer(self.observer).cancel(self.cancel).run()
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

    /// Ends the last turn without going on with it.
    ///
    /// # Errors
    /// [`Stopped::Ended`] where it has ended.
    pub fn cancel(self, reason: impl Into<String>) -> Result<(), Stopped> {
        let held = self.claim(Claim::Known)?;
        let mut journal = held.last()?;
        super::resume::cancel(&mut journal, reason.into()).map(drop)
    }

    fn go_on(
        self,
        agent: &Agent,
        says: impl for<'r> FnOnce(Resume<'r>) -> Resume<'r>,
    ) -> Result<Run, Stopped> {
        let held = self.claim(Claim::Known)?;
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
        if let Standing::Done { answer } = Standing::of(&folded) {
            said.push((folded.state.task.input.question, answer));
        }
    }
    Ok(trim(said))
}

/// A thread that this process has, until this is dropped.
struct Held<'a> {
    store: &'a dyn Store,
    lease: Option<Lease>,
}

impl<'a> Held<'a> {
    fn claim(store: &'a dyn Store, thread: &ThreadId, claim: Claim) -> Result<Self, StoreError> {
        Ok(Held { store, lease: Some(store.claim(thread, claim)?) })
    }

    fn lease(&self) -> &Lease {
        self.lease.as_ref().expect("taken only when this is dropped")
    }

    /// How many turns the thread had when it was claimed.
    fn turns(&self) -> u32 {
        self.lease().turns
    }

    fn turn(&self, turn: u32) -> TurnJournal<'_> {
        TurnJournal { store: self.store, lease: self.lease(), turn }
    }

    fn last(&self) -> Result<TurnJournal<'_>, StoreError> {
        let missing = || StoreError::NoThread { thread: self.lease().thread().clone() };
        Ok(self.turn(self.turns().checked_sub(1).ok_or_else(missing)?))
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if let Some(lease) = self.lease.take() {
            // A lease that cannot be given back ends with the process.
            let _ = self.store.release(lease);
        }
    }
}

/// One turn of a thread, as the journal of its run.
struct TurnJournal<'a> {
    store: &'a dyn Store,
    lease: &'a Lease,
    turn: u32,
}

impl Journal for TurnJournal<'_> {
    fn append(&mut self, index: u64, records: Vec<Record>) -> Result<(), JournalError> {
        self.store.append(self.lease, self.turn, index, records).map_err(as_journal)
    }

    fn records(&self) -> Result<Vec<Record>, JournalError> {
        self.store.records(self.lease.thread(), self.turn).map_err(as_journal)
    }

    fn stands(&mut self, index: u64, standing: &Standing) -> Result<(), JournalError> {
        self.store.stands(self.lease, self.turn, index, standing).map_err(as_journal)
    }
}

fn as_journal(error: StoreError) -> JournalError {
    match error {
        StoreError::Journal(error) => error,
        other => JournalError::named("store", other.to_string()).of(JournalErrorKind::Stale),
    }
}
