//! A conversation within one process: [`Threads`] over a store in memory.

use std::sync::Arc;

use super::handle::ThreadHandle;
use super::history::history;
use super::stored::Threads;
use crate::driver::agent::Agent;
use crate::driver::deadline::CancelToken;
use crate::driver::run::{Run, Waiting};
use crate::driver::stopped::Stopped;
use crate::journal::{MemoryStore, RunStatus, ThreadId};
use crate::machine::{HumanAnswer, Input};
use crate::ports::{Nobody, Observer};

/// A conversation: every question is a run of its own, and under `memory = "thread"` in the agent's policy
/// it is shown what was said before. A run that was interrupted is forgotten by the next question.
///
/// ```
/// use planwright::prelude::*;
/// use planwright_docs::Calc;
/// use planwright_offline::Offline;
///
/// let spec = planwright::agents::shipped("validated").unwrap().with_tools(|tool| tool.name == "calc");
/// let agent = Agent::builder(spec).model(Offline::new()).tool(Calc::new()).build()?;
/// let mut thread = Thread::new(&agent);
/// thread.ask("12/4+9?")?;
/// thread.ask("7*6?")?;
/// assert_eq!(thread.history()[0].0, "12/4+9?");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Thread {
    agent: Agent,
    threads: Threads,
    id: ThreadId,
    /// The parts of the material that it is about.
    outline: Vec<String>,
    /// The question that the last run waits with.
    waiting: Option<Waiting>,
}

impl Thread {
    /// A conversation in which nothing was said yet.
    pub fn new(agent: &Agent) -> Self {
        let id = "conversation".parse().expect("a plain name is the name of a thread");
        let threads = Threads::new(Arc::new(MemoryStore::new()));
        Thread { agent: agent.clone(), threads, id, outline: Vec::new(), waiting: None }
    }

    /// The parts of the material that the conversation is about, such as the articles of a contract;
    /// see [`Input::outline`].
    #[must_use]
    pub fn about(mut self, outline: Vec<String>) -> Self {
        self.outline = outline;
        self
    }

    /// Asks the next question.
    ///
    /// # Errors
    /// [`Stopped::Waiting`] with the open question if the thread waits for a person, and whatever
    /// else stops a run.
    pub fn ask(&mut self, question: impl Into<String>) -> Result<Run, Stopped> {
        self.ask_with(question, &Nobody, CancelToken::new())
    }

    /// Asks the next question as [`ask`](Thread::ask) does, watched and with a token that stops the run.
    ///
    /// # Errors
    /// As [`ask`](Thread::ask).
    pub fn ask_with(
        &mut self,
        question: impl Into<String>,
        observer: &dyn Observer,
        cancel: CancelToken,
    ) -> Result<Run, Stopped> {
        self.forget_interrupted()?;
        let input = Input { outline: self.outline.clone(), ..self.agent.input(question) };
        self.run_turn(observer, cancel, |handle, agent| handle.ask_with(agent, input))
    }

    /// Answers the question that the thread waits with, and goes on with its run.
    ///
    /// # Errors
    /// [`Stopped::NotWaiting`]; [`Stopped::Refused`] if the answer does not fit, and the thread waits
    /// on; and whatever else stops a run.
    pub fn respond(&mut self, answer: HumanAnswer) -> Result<Run, Stopped> {
        self.respond_with(answer, &Nobody, CancelToken::new())
    }

    /// Answers as [`respond`](Thread::respond) does, watched and with a token that stops the run.
    ///
    /// # Errors
    /// As [`respond`](Thread::respond).
    pub fn respond_with(
        &mut self,
        answer: HumanAnswer,
        observer: &dyn Observer,
        cancel: CancelToken,
    ) -> Result<Run, Stopped> {
        if self.waiting.is_none() {
            return Err(Stopped::NotWaiting);
        }
        self.run_turn(observer, cancel, |handle, agent| handle.answer(agent, answer))
    }

    /// The question that the thread waits with.
    pub fn waiting(&self) -> Option<&Waiting> {
        self.waiting.as_ref()
    }

    /// What is remembered: each question as it was asked, with its answer, oldest first.
    pub fn history(&self) -> Vec<(String, String)> {
        history(self.threads.store(), &self.id).unwrap_or_default()
    }

    /// The agent that answers.
    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    /// Ends a last turn that was interrupted: its run is not gone on with.
    fn forget_interrupted(&self) -> Result<(), Stopped> {
        if self.threads.store().turns(&self.id).is_ok() {
            let status = RunStatus::of(&self.threads.folded(&self.id, None)?);
            if matches!(status, RunStatus::Unfinished | RunStatus::InDoubt { .. }) {
                self.threads.at(&self.id).cancel("interrupted", &[])?;
            }
        }
        Ok(())
    }

    /// Runs on the last turn or a new one, and keeps the question that it comes to. The run has its records.
    fn run_turn(
        &mut self,
        observer: &dyn Observer,
        cancel: CancelToken,
        run: impl FnOnce(ThreadHandle<'_>, &Agent) -> Result<Run, Stopped>,
    ) -> Result<Run, Stopped> {
        let handle = self.threads.at(&self.id).observer(observer).cancelled_by(cancel);
        let mut result = run(handle, &self.agent);
        let store = self.threads.store();
        let turn = store.turns(&self.id).unwrap_or_default().saturating_sub(1);
        let records = store.records(&self.id, turn).unwrap_or_default();
        match &mut result {
            Ok(run) => {
                run.records = records;
                self.waiting = run.waiting.clone();
            }
            Err(Stopped::Interrupted(interrupted)) => {
                interrupted.records = records;
                self.waiting = None;
            }
            Err(_) => {}
        }
        result
    }
}
