//! Job: one run to be configured, and where its records go.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::agent::Agent;
use super::clock::time_for;
use super::deadline::{CancelToken, Deadline};
use super::drive::{Drive, Followed, Halt};
use super::record::{RecordMode, save};
use super::replay::Playback;
use super::run::Run;
use super::stopped::{Interrupted, Stopped};
use crate::journal::system::random_id;
use crate::journal::{Fixture, Header, JOURNAL_FORMAT, Journal, MemoryJournal, Record};
use crate::machine::{Input, Step, start};
use crate::ports::{Nobody, Observer};
use crate::spec::Digest;

impl Agent {
    /// Runs a question to its end, or to a question of its own that waits for a person. The time is read
    /// from the clock once, now.
    ///
    /// # Errors
    /// [`Stopped`]. A run that ends in ERROR is a [`Run`] with an [`error`](Run::error), one that waits
    /// for a person is a [`Run`] that [is waiting](Run::is_waiting).
    pub fn run(&self, question: impl Into<String>) -> Result<Run, Stopped> {
        self.job(self.input(question)).run()
    }

    /// A run to be configured: where its records go, who watches, who may cancel it.
    pub fn job(&self, input: impl Into<Input>) -> Job<'_> {
        Job::new(self, input.into())
    }

    /// A question asked now, with the time as the agent's models are told it.
    pub fn input(&self, question: impl Into<String>) -> Input {
        Input { now: time_for(self.rules().policy()), ..Input::question(question) }
    }

    /// Replays a fixture under this agent's rules: every answer comes out of the fixture, nothing is
    /// asked of the world.
    ///
    /// # Errors
    /// [`Stopped::Drifted`] with every difference.
    pub fn replay(&self, fixture: &Fixture) -> Result<Run, Stopped> {
        self.job(fixture.input.clone()).replay(fixture.clone()).run()
    }
}

impl Fixture {
    /// Replays this fixture against an agent; see [`Agent::replay`].
    ///
    /// # Errors
    /// [`Stopped::Drifted`] with every difference.
    pub fn replay(&self, agent: &Agent) -> Result<Run, Stopped> {
        agent.replay(self)
    }

    /// Replays this fixture under the rules it was recorded with.
    ///
    /// # Errors
    /// [`Stopped::Incomplete`] where its spec does not check, [`Stopped::Drifted`] with every
    /// difference.
    pub fn replay_as_recorded(&self) -> Result<Run, Stopped> {
        let agent = Agent::builder(self.spec.clone()).build();
        agent.map_err(|error| Stopped::Incomplete(format!("the fixture's spec: {error}")))?.replay(self)
    }
}

/// A run to be configured and run.
pub struct Job<'a> {
    agent: &'a Agent,
    input: Input,
    journal: Option<&'a mut dyn Journal>,
    observer: &'a dyn Observer,
    cancel: CancelToken,
    fixture: Option<(PathBuf, RecordMode)>,
    replay: Option<Fixture>,
    /// The thread that the run is a turn of, and which.
    turn: (String, u32),
}

impl<'a> Job<'a> {
    pub(super) fn new(agent: &'a Agent, input: Input) -> Self {
        let (journal, cancel) = (None, CancelToken::new());
        Job {
            agent,
            input,
            journal,
            observer: &Nobody,
            cancel,
            fixture: None,
            replay: None,
            turn: (String::new(), 0),
        }
    }

    /// Where the records go; into memory unless set.
    #[must_use]
    pub fn journal(mut self, journal: &'a mut dyn Journal) -> Self {
        self.journal = Some(journal);
        self
    }

    /// The thread that the run is a turn of, and which.
    pub(super) fn turn(mut self, thread: &str, turn: u32) -> Self {
        self.turn = (thread.to_owned(), turn);
        self
    }

    /// Who watches.
    #[must_use]
    pub fn observer(mut self, observer: &'a dyn Observer) -> Self {
        self.observer = observer;
        self
    }

    /// Who may stop it.
    #[must_use]
    pub fn cancel(mut self, token: CancelToken) -> Self {
        self.cancel = token;
        self
    }

    /// Records the run to a fixture, or replays it from there; see [`RecordMode`]. A replay starts
    /// from the fixture's own input time, so that its requests are the same.
    #[must_use]
    pub fn record(mut self, path: impl AsRef<Path>, mode: RecordMode) -> Self {
        self.fixture = Some((path.as_ref().to_owned(), mode));
        self
    }

    /// Replays a fixture: nothing is asked of the environment.
    #[must_use]
    pub fn replay(mut self, fixture: Fixture) -> Self {
        self.replay = Some(fixture);
        self
    }

    /// Runs to the end, or to a question without an answer yet.
    ///
    /// # Errors
    /// [`Stopped`].
    pub fn run(mut self) -> Result<Run, Stopped> {
        self.agent.check_secrets()?;
        let (playback, may_ask, save_to) = self.sources()?;
        if may_ask {
            self.agent.check_complete()?;
        }
        if let Some(path) = &save_to {
            Fixture::check_writable(path)?;
        }
        let mut memory = MemoryJournal::new();
        let own = self.journal.is_none();
        let journal: &mut dyn Journal = match self.journal {
            Some(journal) => journal,
            None => &mut memory,
        };
        let input = self.agent.environment.redactor.input(std::mem::take(&mut self.input));
        let spec = self.agent.rules.shared_spec();
        let run = run_id();
        let model =
            self.agent.environment.model.as_ref().map(|model| model.name().to_owned()).unwrap_or_default();
        let header = Header {
            format: JOURNAL_FORMAT,
            run: run.clone(),
            thread: self.turn.0.clone(),
            turn: self.turn.1,
            origin: None,
            spec,
            input: input.clone(),
            model,
        };
        let header = Record::Header(Box::new(header));

        let rules = &*self.agent.rules;
        let Step { state, effects, .. } = start(rules, input);
        let mut drive = Drive {
            agent: self.agent,
            rules,
            run,
            thread: self.turn.0,
            journal,
            index: 0,
            observer: self.observer,
            deadline: Arc::new(Deadline::new(rules, self.cancel)),
            playback,
            may_ask,
            open: Vec::new(),
            is_noted: false,
            asked_at: Vec::new(),
            unknown: Vec::new(),
        };
        let ended = drive.follow(vec![header], state, effects, &[]);
        drive.note_status(&ended);
        let records = match (own, &save_to) {
            (true, _) => memory.into_records(),
            (false, Some(_)) => drive.journal.records()?,
            (false, None) => Vec::new(),
        };
        let saved = save_to.map_or(Ok(()), |path| save(&path, &records, &ended));
        let run = conclude(ended, if own { records } else { Vec::new() })?;
        match saved {
            Ok(()) => Ok(run),
            Err(error) => Err(Stopped::Unsaved { error, run: Box::new(run) }),
        }
    }

    /// Where answers come from, whether the world may be asked, and where the fixture goes.
    fn sources(&mut self) -> Result<(Option<Playback>, bool, Option<PathBuf>), Stopped> {
        if let Some(fixture) = self.replay.take() {
            return Ok((Some(Playback::new(fixture)), false, None));
        }
        let Some((path, mode)) = self.fixture.take() else { return Ok((None, true, None)) };
        let exists = path.exists();
        let plays = match mode {
            RecordMode::None => true,
            RecordMode::Once | RecordMode::NewEpisodes => exists,
            RecordMode::All => false,
        };
        if !plays {
            return Ok((None, true, Some(path)));
        }
        let fixture = Fixture::load(&path)?;
        self.input.now.clone_from(&fixture.input.now);
        let may_ask = mode == RecordMode::NewEpisodes;
        Ok((Some(Playback::new(fixture)), may_ask, may_ask.then_some(path)))
    }
}

/// What came of the loop, as the caller is told. `records` are those that went to no journal of theirs.
pub(super) fn conclude(ended: Result<Followed, Halt>, records: Vec<Record>) -> Result<Run, Stopped> {
    match ended {
        Ok(Followed { state, waiting }) => Ok(Run { state, records, waiting }),
        Err(Halt::Interrupted(interrupted)) => {
            Err(Stopped::Interrupted(Box::new(Interrupted { records, ..*interrupted })))
        }
        Err(halt) => Err(halt.into()),
    }
}

/// An id that no other run has: the tool calls' idempotency keys begin with it, and the tokens of its
/// questions rest on it.
pub(super) fn run_id() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let parts = [
        since.as_nanos().to_le_bytes().to_vec(),
        std::process::id().to_le_bytes().to_vec(),
        COUNT.fetch_add(1, Ordering::Relaxed).to_le_bytes().to_vec(),
        random_id().to_le_bytes().to_vec(),
        random_id().to_le_bytes().to_vec(),
    ];
    Digest::of(parts.iter().map(Vec::as_slice)).to_string()
}
