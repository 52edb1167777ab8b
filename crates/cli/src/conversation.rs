//! A conversation in a thread: in a store, or in memory for this process alone.

use crate::args::StoreArgs;
use crate::session::Session;
use crate::watch::Watch;
use planwright::driver::{Agent, CancelToken, Resolution, Run, Stopped, ThreadHandle, time_for};
use planwright::journal::{RunStatus, StoreError, ThreadId};
use planwright::machine::Input;
use planwright_app::{Pending, PreparedAgent, Result, RunLocation, Settings, StoredThread};

/// Opens the thread that a new run is a turn of: the named one, or a new one where every run is stored.
pub fn open_thread(
    store: &StoreArgs,
    thread: Option<&ThreadId>,
    session: &Session<'_>,
) -> Result<Option<StoredThread>> {
    let place = store.place()?;
    let stored = place.thread_for_run(thread)?;
    if let (None, Some(stored)) = (thread, &stored) {
        session.screen.note(&format!("kept as the thread {} in {}", stored.thread, place.path.display()));
    }
    Ok(stored)
}

/// A conversation in a thread.
pub struct Conversation {
    pub stored: StoredThread,
    pub prepared: PreparedAgent,
    settings: Settings,
    /// Whether it ends with this process.
    pub in_memory: bool,
    /// What its last turn was asked.
    pub question: String,
    status: Option<RunStatus>,
    /// The question that the last turn waits with.
    pub waiting: Option<Pending>,
}

impl Conversation {
    /// Opens the conversation of a thread, which may be new; without one, a conversation in memory.
    pub fn open(stored: Option<StoredThread>, prepared: PreparedAgent, settings: Settings) -> Result<Self> {
        let (in_memory, stored) = (stored.is_none(), stored.unwrap_or_else(StoredThread::in_memory));
        let (status, waiting, question) = (None, None, String::new());
        let mut opened = Conversation { stored, prepared, question, settings, in_memory, status, waiting };
        opened.refresh()?;
        Ok(opened)
    }

    /// Looks where the thread stands.
    pub fn refresh(&mut self) -> Result<()> {
        let last = match self.stored.fold(None) {
            Err(StoreError::NoThread { .. }) => None,
            last => Some(last?),
        };
        self.waiting = last.as_ref().and_then(Pending::of).filter(|pending| !pending.is_doubt());
        self.status = last.as_ref().map(RunStatus::of);
        self.question = last.map_or_else(String::new, |last| last.state.input().question.clone());
        Ok(())
    }

    pub fn location(&self) -> RunLocation<'_> {
        if self.in_memory { RunLocation::Nowhere } else { RunLocation::Thread(&self.stored) }
    }

    /// Whether the last turn was stopped, and can go on by itself.
    pub fn is_unfinished(&self) -> bool {
        matches!(self.status, Some(RunStatus::Unfinished))
    }

    /// A question as a whole input. Its history is the thread's.
    pub fn input(&self, question: &str) -> Input {
        let now = time_for(self.prepared.agent.rules().policy());
        Input { now, outline: self.prepared.outline.clone(), ..Input::question(question) }
    }

    /// The thread, to be gone on with.
    pub fn handle<'a>(&'a self, watch: &'a Watch<'_>, cancel: CancelToken) -> ThreadHandle<'a> {
        self.stored.handle().observer(watch).cancelled_by(cancel)
    }

    /// Asks as the next turn.
    pub fn ask(&self, input: Input, watch: &Watch<'_>, cancel: CancelToken) -> Result<Run, Stopped> {
        let agent = &self.prepared.agent;
        // No other process can go on with a thread in memory: what was stopped is given up.
        let given_up = "given up for another question";
        match &self.status {
            Some(RunStatus::Unfinished) if self.in_memory => self.stored.handle().cancel(given_up, &[])?,
            Some(RunStatus::InDoubt { .. }) if self.in_memory => {
                let stop = Resolution::Stop { reason: given_up.to_owned() };
                self.stored.handle().resolve(agent, stop)?;
            }
            _ => {}
        }
        self.handle(watch, cancel).ask_with(agent, input)
    }

    /// Ends the last turn.
    ///
    /// # Errors
    /// A write in doubt is not forgotten: [`Stopped::InDoubt`].
    pub fn cancel(&self) -> Result<(), Stopped> {
        if let Some(RunStatus::InDoubt { effect, tool }) = &self.status {
            return Err(Stopped::InDoubt { effect: *effect, tool: tool.clone() });
        }
        self.stored.handle().cancel("cancelled in the chat", &[])
    }

    /// The agent that goes on with the last turn, under the rules that it began with.
    pub fn agent_of_last(&self) -> Result<Agent> {
        let last = self.stored.fold(None)?;
        if self.prepared.fits(&last, &self.settings) {
            return Ok(self.prepared.agent.clone());
        }
        Ok(PreparedAgent::resume(&last, &self.settings, None, None)?.agent)
    }
}
