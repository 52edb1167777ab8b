//! What the handlers share: the threads, the agents, and the pool that runs go on in.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::pool::Pool;
use crate::problem::{Kind, Problem, Result};
use planwright::agents;
use planwright::driver::{Agent, CancelToken, Run, Stopped, ThreadHandle, Threads};
use planwright::journal::{Query, ThreadId};
use planwright::ports::Secret;
use planwright::spec::Spec;
use planwright_app::{
    AgentChoice, PreparedAgent, Settings, ShownTurn, StorePlace, StoredThread, configured_keys, load_spec,
};

pub(crate) type Shared = Arc<Service>;

pub(crate) struct Service {
    pub pool: Arc<Pool>,
    place: StorePlace,
    threads: Threads,
    settings: Settings,
    choice: AgentChoice,
    /// The name of the agent that answers where none is named.
    pub default_agent: String,
    pub keys: Vec<Secret>,
    /// Whether every answer must name what it answers.
    pub wants_tokens: bool,
    agents: Mutex<HashMap<String, Arc<PreparedAgent>>>,
}

impl Service {
    pub fn new(
        place: StorePlace,
        settings: Settings,
        choice: AgentChoice,
        config: Option<&Path>,
        pool: Arc<Pool>,
        wants_tokens: bool,
    ) -> planwright_app::Result<Self> {
        let (threads, keys) = (place.make()?, configured_keys(config)?);
        let prepared = Arc::new(choice.prepare(&settings, None, None)?);
        let default_agent = prepared.agent.compiled().spec().name.clone();
        let agents = Mutex::new(HashMap::from([(default_agent.clone(), prepared)]));
        Ok(Service { pool, place, threads, settings, choice, default_agent, keys, wants_tokens, agents })
    }

    /// What a person at the terminal may like to know of the agent that answers.
    pub fn notes(&self) -> (Vec<String>, Vec<String>) {
        let agent = self.agents().get(&self.default_agent).cloned();
        agent.map(|agent| (agent.warnings.clone(), agent.notes.clone())).unwrap_or_default()
    }

    pub fn threads(&self) -> &Threads {
        &self.threads
    }

    pub fn thread(&self, thread: ThreadId) -> StoredThread {
        self.place.thread_of(&self.threads, thread)
    }

    /// A thread that is there.
    pub fn known_thread(&self, thread: ThreadId) -> Result<StoredThread> {
        self.threads.store().turns(&thread)?;
        Ok(self.thread(thread))
    }

    fn agents(&self) -> MutexGuard<'_, HashMap<String, Arc<PreparedAgent>>> {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The names that a request may name.
    pub fn agent_names(&self) -> Vec<String> {
        let own = Some(self.default_agent.clone()).filter(|name| agents::source(name).is_none());
        own.into_iter().chain(agents::names().map(str::to_owned)).collect()
    }

    /// The agent of this name. What a request names is never looked for among files.
    pub fn agent(&self, name: Option<&str>) -> Result<Arc<PreparedAgent>> {
        let name = name.unwrap_or(&self.default_agent);
        if let Some(known) = self.agents().get(name) {
            return Ok(Arc::clone(known));
        }
        if agents::source(name).is_none() {
            let names = self.agent_names().join(", ");
            return Err(Problem::new(
                Kind::NoAgent,
                format!("no agent is called {name:?}; there are {names}"),
            ));
        }
        let choice = AgentChoice { agent: Some(name.to_owned()), ..self.choice.clone() };
        let prepared = Arc::new(choice.prepare(&self.settings, None, None)?);
        self.agents().insert(name.to_owned(), Arc::clone(&prepared));
        Ok(prepared)
    }

    /// Goes on with the last turn of a thread, under the rules that it began with.
    pub fn go_on(
        &self,
        stored: &StoredThread,
        cancel: CancelToken,
        go: impl FnOnce(ThreadHandle<'_>, &Agent) -> Result<Run, Stopped>,
    ) -> Result<ShownTurn> {
        let folded = stored.fold(None)?;
        let known = self.agents().get(&folded.compiled.spec().name).cloned();
        let prepared = match known.filter(|known| known.fits(&folded, &self.settings)) {
            Some(known) => known,
            None if folded.state.phase().is_terminal() => {
                Arc::new(PreparedAgent::replaying(folded.compiled.spec().clone(), "journal")?)
            }
            None => Arc::new(PreparedAgent::resume(&folded, &self.settings, None, None)?),
        };
        let handle = stored.threads.at(&stored.thread).cancelled_by(cancel);
        go(handle, &prepared.agent)?;
        self.last_turn(stored)
    }

    /// How many turns a thread has, and whether a process goes on with the last.
    pub fn turns_of(&self, stored: &StoredThread) -> Result<(u32, bool)> {
        let listed = self.threads.store().find(&stored.thread)?;
        Ok((self.threads.store().turns(&stored.thread)?, listed.is_some_and(|listed| listed.running)))
    }

    /// The last turn of a thread.
    pub fn last_turn(&self, stored: &StoredThread) -> Result<ShownTurn> {
        let (turns, running) = self.turns_of(stored)?;
        Ok(ShownTurn::load(stored, turns.saturating_sub(1), running, None)?)
    }

    /// The threads whose process ended before their turn did, which can go on by themselves.
    pub fn left_threads(&self) -> Result<Vec<ThreadId>> {
        let mut query = Query { statuses: vec!["unfinished".to_owned()], ..Query::default() };
        let mut left = Vec::new();
        loop {
            let page = self.threads.list(&query)?;
            left.extend(page.iter().filter(|listed| !listed.running).map(|listed| listed.thread.clone()));
            match page.last() {
                Some(last) if page.len() == query.limit => query.after = Some(last.cursor(query.order)),
                _ => return Ok(left),
            }
        }
    }

    /// The spec of an agent as it was written.
    pub fn spec_of(&self, name: &str) -> Result<Spec> {
        match self.agents().get(name) {
            Some(known) => Ok(known.agent.compiled().spec().clone()),
            None => Ok(load_spec(name)?),
        }
    }
}
