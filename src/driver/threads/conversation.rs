//! A conversation within one process: [`Threads`] over a store in memory.

use std::sync::Arc;

use super::Threads;
use super::handle::{ThreadHandle, history};
use crate::driver::agent::Agent;
use crate::driver::run::{Run, Stopped, Waiting, attach_records};
use crate::journal::{MemoryStore, RunStatus, ThreadId};
use crate::machine::HumanAnswer;

/// A conversation: every question is a run of its own, and under `memory = "thread"` in the agent's policy it
/// is shown what was said before. The next question ends a run that was interrupted.
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
    waiting: Option<Waiting>,
}

impl Thread {
    /// A conversation in which nothing was said yet.
    pub fn new(agent: &Agent) -> Self {
        let id = "conversation".parse().expect("a plain name is the name of a thread");
        Thread {
            agent: agent.clone(),
            threads: Threads::new(Arc::new(MemoryStore::new())),
            id,
            waiting: None,
        }
    }

    /// Asks the next question.
    ///
    /// # Errors
    /// [`Stopped::Waiting`] with the open question if the thread waits for a person, and whatever else stops
    /// a run.
    pub fn ask(&mut self, question: impl Into<String>) -> Result<Run, Stopped> {
        if self.threads.store().turns(&self.id).is_ok() {
            let status = RunStatus::of(&self.threads.folded(&self.id, None)?);
            if matches!(status, RunStatus::Unfinished | RunStatus::InDoubt { .. }) {
                self.threads.at(&self.id).cancel("interrupted", &[])?;
            }
        }
        self.go_on(|handle, agent| handle.ask(agent, question))
    }

    /// Answers the question that the thread waits with, and goes on with its run.
    ///
    /// # Errors
    /// [`Stopped::NotWaiting`]; [`Stopped::Refused`] if the answer does not fit, and the thread waits on;
    /// and whatever else stops a run.
    pub fn respond(&mut self, answer: HumanAnswer) -> Result<Run, Stopped> {
        if self.waiting.is_none() {
            return Err(Stopped::NotWaiting);
        }
        self.go_on(|handle, agent| handle.answer(agent, answer))
    }

    /// The question that the thread waits with.
    pub fn waiting(&self) -> Option<&Waiting> {
        self.waiting.as_ref()
    }

    /// What is remembered: the questions with their answers, oldest first.
    pub fn history(&self) -> Vec<(String, String)> {
        history(self.threads.store(), &self.id).unwrap_or_default()
    }

    /// Goes on, and keeps the question that it comes to. The run gets its records.
    fn go_on(
        &mut self,
        says: impl FnOnce(ThreadHandle<'_>, &Agent) -> Result<Run, Stopped>,
    ) -> Result<Run, Stopped> {
        let ended = says(self.threads.at(&self.id), &self.agent);
        match &ended {
            Ok(run) => self.waiting = run.waiting.clone(),
            Err(Stopped::Interrupted(_)) => self.waiting = None,
            Err(_) => {}
        }
        let store = self.threads.store();
        let turn = store.turns(&self.id).unwrap_or_default().saturating_sub(1);
        attach_records(ended, store.records(&self.id, turn).unwrap_or_default())
    }
}
