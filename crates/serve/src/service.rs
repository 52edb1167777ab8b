//! What the handlers share: the threads, the agents, and the pool that runs go on in.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::figures::Figures;
use crate::live::{Live, Running};
use crate::log::{request_id, request_span};
use crate::options::{Options, Setup};
use crate::pool::Pool;
use crate::problem::{Kind, Problem, Result};
use crate::reply::Told;
use crate::stopped::StoppedThreads;
use crate::watch::{Watch, Watched};
use planwright::agents;
use planwright::contract::excerpt;
use planwright::driver::{Agent, CancelToken, Run, Stopped, ThreadHandle, Threads};
use planwright::journal::{Claim, Listed, Query, ThreadId};
use planwright::ports::Secret;
use planwright::spec::Spec;
use planwright_app::{
    AgentChoice, PreparedAgent, ShownTurn, Spending, SpendingBy, SpendingReport, StoredThread, WaitingPage,
    configured_keys, load_spec, new_thread_id, spec_source,
};
use planwright_otel::Telemetry;

pub(crate) type Shared = Arc<Service>;

pub(crate) struct Service {
    pub pool: Arc<Pool>,
    pub live: Live,
    pub watch: Watch,
    /// How long the reader of a stream may take for what there is.
    pub patience: Duration,
    setup: Setup,
    threads: Threads,
    /// The name of the agent that answers where none is named.
    pub default_agent: String,
    pub keys: Vec<Secret>,
    /// Whether every answer must name what it answers.
    pub wants_tokens: bool,
    /// What the store stopped, if that is to be gone on with.
    pub stopped: Option<StoppedThreads>,
    max_question_bytes: usize,
    agents: Mutex<HashMap<String, Arc<PreparedAgent>>>,
    /// When the store was last written to for that alone.
    written: Mutex<Option<Instant>>,
}

/// The name of an agent and those of its tools.
fn names_in(spec: &Spec) -> HashSet<String> {
    let tools = spec.all_tools().into_iter().map(|tool| tool.name.to_string());
    tools.chain([spec.name.clone()]).collect()
}

/// Who watches a run, and what stops it.
pub(crate) struct Under<'a> {
    watched: &'a Watched<'a>,
    cancel: CancelToken,
}

impl<'a> Under<'a> {
    /// The thread, for a run of this agent.
    pub fn handle(&self, stored: &'a StoredThread, agent: &Agent) -> ThreadHandle<'a> {
        self.watched.begin(agent.compiled());
        let handle = stored.threads.at(&stored.thread).observer(self.watched);
        handle.traced_under(self.watched.parent).cancelled_by(self.cancel.clone())
    }

    /// Which turn of its thread the run is, from 1; 0 where none began.
    pub fn turn(&self) -> u32 {
        self.watched.turn()
    }

    /// What stops the run.
    pub fn cancel_token(&self) -> CancelToken {
        self.cancel.clone()
    }
}

/// What a run does to a thread, once there is a place for it.
pub(crate) type Work<T> = Box<dyn FnOnce(&Service, &StoredThread, &Under<'_>) -> Result<T> + Send>;

impl Service {
    pub fn new(
        setup: Setup,
        pool: Arc<Pool>,
        options: &Options,
        telemetry: Option<Telemetry>,
    ) -> planwright_app::Result<Self> {
        let (threads, keys) = (setup.place.make()?, configured_keys(setup.config.as_deref())?);
        let prepared = Arc::new(setup.choice.prepare(&setup.settings, None, None)?);
        let default_agent = prepared.agent.compiled().spec().name.clone();
        let mut known = names_in(prepared.agent.compiled().spec());
        agents::names().filter_map(agents::shipped).for_each(|spec| known.extend(names_in(&spec)));
        let agents = Mutex::new(HashMap::from([(default_agent.clone(), prepared)]));
        Ok(Service {
            pool,
            live: Live::new(),
            watch: Watch::new(Figures::new(known), options.log_texts, setup.settings.model_name(), telemetry),
            patience: options.reader_patience,
            setup,
            threads,
            default_agent,
            keys,
            wants_tokens: options.require_tokens,
            stopped: options.resume.then(StoppedThreads::default),
            max_question_bytes: options.max_question_bytes,
            agents,
            written: Mutex::default(),
        })
    }

    /// Refuses a text of a person that is longer than one may be. `place` is where it stands in the request.
    pub fn check_length(&self, place: &str, text: &str) -> Result<()> {
        let (most, found) = (self.max_question_bytes, text.len());
        if found <= most {
            return Ok(());
        }
        let problem = format!("{place}: expected at most {most} bytes, found {found}");
        Err(Problem::new(Kind::Input, problem)
            .hint("what is longer belongs into a document that a tool reads"))
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
        self.setup.place.thread_of(&self.threads, thread)
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

    pub fn no_such_agent(&self, name: &str) -> Problem {
        let names = self.agent_names().join(", ");
        Problem::new(Kind::NoAgent, format!("no agent is called {:?}; there are {names}", excerpt(name, 80)))
    }

    /// The agent of this name. What a request names is never looked for among files.
    pub fn agent(&self, name: Option<&str>) -> Result<Arc<PreparedAgent>> {
        let name = name.unwrap_or(&self.default_agent);
        if let Some(known) = self.agents().get(name) {
            return Ok(Arc::clone(known));
        }
        if agents::source(name).is_none() {
            return Err(self.no_such_agent(name));
        }
        let choice = AgentChoice { agent: Some(name.to_owned()), ..self.setup.choice.clone() };
        let prepared = Arc::new(choice.prepare(&self.setup.settings, None, None)?);
        self.agents().insert(name.to_owned(), Arc::clone(&prepared));
        Ok(prepared)
    }

    /// Performs a run of a thread once there is a place for it. Those who watch are told, from when it stands in line.
    pub fn perform<T: Told + Send + 'static>(
        self: &Arc<Self>,
        thread: ThreadId,
        work: Work<T>,
    ) -> impl Future<Output = Result<T>> + Send + use<T> {
        let running = self.live.run(&thread);
        self.perform_as(running, thread, work)
    }

    /// As [`perform`](Service::perform), for a run that is watched by now.
    pub fn perform_as<T: Told + Send + 'static>(
        self: &Arc<Self>,
        running: Running,
        thread: ThreadId,
        work: Work<T>,
    ) -> impl Future<Output = Result<T>> + Send + use<T> {
        let (pool, work) = (Arc::clone(&self.pool), self.work(running, thread, work));
        async move { pool.run(work).await? }
    }

    /// A run of a thread, for the pool. One that the store stopped is gone on with later, if that is asked for: nobody
    /// else would while this process lives.
    fn work<T: Told + 'static>(
        self: &Arc<Self>,
        running: Running,
        thread: ThreadId,
        work: Work<T>,
    ) -> impl FnOnce(CancelToken) -> Result<T> + Send + 'static + use<T> {
        let (service, request, parent) = (Arc::clone(self), request_id(), request_span());
        move |cancel| {
            let stored = service.thread(thread);
            let watched = Watched::new(&service.watch, &running, &stored, (request, parent));
            let done = work(&service, &stored, &Under { watched: &watched, cancel });
            let done = done.map_err(|problem| problem.of_thread(&stored.thread));
            let may_have_begun = watched.is_of_an_agent();
            watched.end(&done);
            if let Err(problem) = &done {
                running.stopped(problem);
                if let Some(stopped) =
                    service.stopped.as_ref().filter(|_| may_have_begun && problem.may_pass())
                {
                    stopped.add(stored.thread.clone());
                }
            }
            done
        }
    }

    /// Goes on with the last turn of a thread, under the rules that it began with.
    pub fn go_on(
        &self,
        stored: &StoredThread,
        under: &Under<'_>,
        go: impl FnOnce(ThreadHandle<'_>, &Agent) -> Result<Run, Stopped>,
    ) -> Result<ShownTurn> {
        let folded = stored.fold(None)?;
        let known = self.agents().get(&folded.compiled.spec().name).cloned();
        let prepared = match known.filter(|known| known.fits(&folded, &self.setup.settings)) {
            Some(known) => known,
            None if folded.state.phase().is_terminal() => {
                Arc::new(PreparedAgent::replaying(folded.compiled.spec().clone(), "journal")?)
            }
            None => Arc::new(PreparedAgent::resume(&folded, &self.setup.settings, None, None)?),
        };
        go(under.handle(stored, &prepared.agent), &prepared.agent)?;
        self.turn(stored, under.turn())
    }

    /// Goes on with a thread that stopped before its end, once there is a place for it. What does not go on is as it was,
    /// and says so where it is shown.
    pub fn go_on_in_turn(self: &Arc<Self>, thread: ThreadId) -> impl Future<Output = ()> + Send + use<> {
        let running = self.live.run(&thread);
        let go: Work<ShownTurn> = Box::new(|service, stored, under| {
            service.go_on(stored, under, |handle, agent| handle.resume(agent))
        });
        let work = self.work(running, thread, go);
        let pool = Arc::clone(&self.pool);
        async move { drop(pool.run_in_turn(work).await) }
    }

    /// How many turns a thread has, and whether a process goes on with the last.
    pub fn turns_of(&self, stored: &StoredThread) -> Result<(u32, bool)> {
        let listed = self.threads.store().find(&stored.thread)?;
        Ok((self.threads.store().turns(&stored.thread)?, listed.is_some_and(|listed| listed.running)))
    }

    /// The last turn of a thread.
    pub fn last_turn(&self, stored: &StoredThread) -> Result<ShownTurn> {
        self.turn(stored, 0)
    }

    /// A turn of a thread, from 1; the last for 0.
    pub fn turn(&self, stored: &StoredThread, turn: u32) -> Result<ShownTurn> {
        let (turns, running) = self.turns_of(stored)?;
        let turn = if turn == 0 { turns } else { turn };
        Ok(ShownTurn::load(stored, turn.saturating_sub(1), running && turn == turns, None)?)
    }

    /// The threads whose process ended before their turn did, which can go on by themselves.
    pub fn left_threads(&self) -> Result<Vec<ThreadId>> {
        let left = self.threads_of(&["unfinished"])?.into_iter().filter(|listed| !listed.running);
        Ok(left.map(|listed| listed.thread).collect())
    }

    /// All threads of these statuses.
    pub fn threads_of(&self, statuses: &[&str]) -> Result<Vec<Listed>> {
        let statuses = statuses.iter().map(|&status| status.to_owned()).collect();
        let mut query = Query { statuses, limit: 1000, ..Query::default() };
        let mut all = Vec::new();
        loop {
            let page = self.threads.list(&query)?;
            let more = page.len() == query.limit;
            query.after = page.last().map(|last| last.cursor(query.order));
            all.extend(page);
            if !more {
                return Ok(all);
            }
        }
    }

    /// Checks that the store is there, and writes to it once a second at most: anybody may ask.
    pub fn check_store(&self) -> Result<()> {
        let place = format!("{}: ", self.setup.place.address);
        let not_ready = |why: String| {
            let why = why.strip_prefix(&place).unwrap_or(&why);
            Problem::new(Kind::NotReady, format!("the store: {why}"))
        };
        if let Some(path) = self.setup.place.address.file() {
            let opened = std::fs::OpenOptions::new().append(true).open(path);
            opened.map_err(|error| not_ready(error.to_string()))?;
        }
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if written.is_none_or(|at| at.elapsed() >= Duration::from_secs(1)) {
            // A thread without records is in no list, and goes with its release.
            let store = self.threads.store();
            let done = store.claim(&new_thread_id(), Claim::New).and_then(|lease| store.release(lease));
            done.map_err(|error| not_ready(error.to_string()))?;
            *written = Some(Instant::now());
        }
        Ok(())
    }

    /// A page of those that wait for a person.
    pub fn waiting(&self, prefix: String, after: Option<&str>, limit: usize) -> Result<WaitingPage> {
        Ok(WaitingPage::load(&self.setup.place, &self.threads, prefix, after, limit)?)
    }

    /// What the turns of a thread have spent.
    pub fn spent(&self, stored: &StoredThread, by: SpendingBy) -> Result<SpendingReport> {
        let mut spending = Spending::new(by, 0, self.setup.config.as_deref())?;
        let listed = self.threads.store().find(&stored.thread)?;
        listed.iter().for_each(|listed| spending.add_thread(&self.threads, listed));
        Ok(spending.report())
    }

    /// The text of an agent's spec.
    pub fn source_of(&self, name: &str) -> Result<String> {
        match name == self.default_agent {
            true => Ok(self.setup.choice.source(&self.setup.settings)?),
            false => Ok(spec_source(name)?),
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
