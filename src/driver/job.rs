//! Job: one run to be configured, and where its records go.

use std::path::{Path, PathBuf};

use super::agent::Agent;
use super::drive::Drive;
use super::environment::{CancelToken, Environment, time_for};
use super::replay::{Playback, Purpose};
use super::run::{Run, Stopped, attach_records};
use crate::journal::system::{now_ms, random_id};
use crate::journal::{
    Asked, Drift, Fixture, Header, JOURNAL_FORMAT, Journal, JournalError, MemoryJournal, Outcome, Record,
};
use crate::machine::{ErrorCode, Input, Step, start};
use crate::ports::Observer;
use crate::prompt::TraceContext;
use crate::spec::Digest;

/// What a run does with a fixture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordMode {
    /// Replay only: a request that was not recorded is an error.
    None,
    /// Record if there is no fixture yet, else replay. Where the fixture is of a run that was interrupted, go on
    /// from its end.
    Once,
    /// Replay what was recorded, record what is new.
    NewEpisodes,
    /// Record everything anew.
    All,
}

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
        Job {
            agent: self,
            input: input.into(),
            journal: None,
            observer: &(),
            cancel: CancelToken::new(),
            fixture: None,
            replay: None,
            turn: (String::new(), 0),
            asked: None,
            parent: None,
        }
    }

    /// A question asked now, with the time as the agent's models are told it.
    pub fn input(&self, question: impl Into<String>) -> Input {
        Input { now: time_for(self.compiled().policy()), ..Input::question(question) }
    }

    /// Replays a fixture under this agent's rules. Every answer comes out of the fixture; nothing is asked of
    /// the world.
    ///
    /// # Errors
    /// [`Stopped::Drifted`] with every difference.
    pub fn replay(&self, fixture: &Fixture) -> Result<Run, Stopped> {
        self.job(fixture.input.clone()).replay(fixture.clone()).run()
    }

    /// Records a fixture anew under this agent's rules, out of the answers that it holds. Nothing is asked of the
    /// world: a changed request of a model takes the reply of its place as long as the trace is as recorded,
    /// everything else what was answered to the same request. The notes are kept.
    ///
    /// # Errors
    /// [`Stopped::Drifted`] with the request that no recorded answer fits.
    #[doc(hidden)]
    pub fn update(&self, fixture: &Fixture) -> Result<Fixture, Stopped> {
        let (records, drifts) = self.play(fixture)?;
        if !drifts.is_empty() {
            return Err(Stopped::Drifted(drifts));
        }
        let mut updated = Fixture::of_records(&records, None)?;
        if matches!(updated.outcome, Outcome::Interrupted(_)) {
            updated.outcome.clone_from(&fixture.outcome);
        }
        updated.notes.clone_from(&fixture.notes);
        match self.replay(&updated) {
            Ok(_) | Err(Stopped::Interrupted(_)) => Ok(updated),
            Err(stopped) => Err(stopped),
        }
    }

    /// Plays a fixture under this agent's rules as far as its answers reach, which are taken as in
    /// [`update`](Agent::update). Gives the records, and the request that no recorded answer fits, where the run
    /// ends with one.
    ///
    /// # Errors
    /// [`Stopped`] for every other reason.
    #[doc(hidden)]
    pub fn play(&self, fixture: &Fixture) -> Result<(Vec<Record>, Vec<Drift>), Stopped> {
        let mut memory = MemoryJournal::new();
        let mut job = self.job(fixture.input.clone()).journal(&mut memory);
        job.replay = Some((fixture.clone(), Purpose::Update));
        let drifts = match job.run() {
            Ok(_) | Err(Stopped::Interrupted(_)) => Vec::new(),
            Err(Stopped::Drifted(drifts)) => drifts,
            Err(stopped) => return Err(stopped),
        };
        Ok((memory.into_records(), drifts))
    }
}

impl Fixture {
    /// Replays this fixture under the rules it was recorded with.
    ///
    /// # Errors
    /// [`Stopped::Incomplete`] if its spec does not check, [`Stopped::Drifted`] with every difference.
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
    replay: Option<(Fixture, Purpose)>,
    turn: (String, u32),
    asked: Option<Asked>,
    parent: Option<TraceContext>,
}

impl<'a> Job<'a> {
    /// Where the records go; into memory unless set.
    #[must_use]
    pub fn journal(mut self, journal: &'a mut dyn Journal) -> Self {
        self.journal = Some(journal);
        self
    }

    /// The thread that the run is a turn of, and which turn.
    pub(super) fn turn(mut self, thread: &str, turn: u32) -> Self {
        self.turn = (thread.to_owned(), turn);
        self
    }

    /// What a client asked for with it.
    pub(super) fn asked_as(mut self, asked: Option<Asked>) -> Self {
        self.asked = asked;
        self
    }

    /// The span of the request that asks for the run. An observer that [traces](Observer::trace) it goes on in its trace.
    #[must_use]
    pub fn traced_under(mut self, parent: Option<TraceContext>) -> Self {
        self.parent = parent;
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
    /// from the fixture's own input time, so that its requests are equal.
    #[must_use]
    pub fn record(mut self, path: impl AsRef<Path>, mode: RecordMode) -> Self {
        self.fixture = Some((path.as_ref().to_owned(), mode));
        self
    }

    /// Replays a fixture: nothing is asked of the environment.
    #[must_use]
    pub fn replay(mut self, fixture: Fixture) -> Self {
        self.replay = Some((fixture, Purpose::Check));
        self
    }

    /// Runs to the end, or to a question without an answer yet.
    ///
    /// # Errors
    /// [`Stopped`].
    pub fn run(mut self) -> Result<Run, Stopped> {
        let agent = self.agent;
        agent.check_secrets()?;
        let (playback, save_to) = self.choose_sources()?;
        // A run that asks is a run that is saved, or has no recording.
        if playback.is_none() || save_to.is_some() {
            agent.check_complete()?;
        }
        if let Some(path) = &save_to {
            Fixture::check_writable(path).map_err(Stopped::Fixture)?;
        }
        let input = agent.environment.redactor.clean(self.input);
        let (run, (thread, turn)) = (make_run_id(), self.turn);
        let trace = self.observer.trace(&run, self.parent.as_ref());
        let parent = self.parent.filter(|_| trace.is_some());
        let header = make_header(agent, run.clone(), (thread.clone(), turn), input.clone(), parent);
        let mut memory = MemoryJournal::new();
        let in_memory = self.journal.is_none();
        let journal = match self.journal {
            Some(journal) => journal,
            None => &mut memory,
        };
        let mut drive = Drive::new(agent, (run, thread), journal, self.observer, self.cancel);
        (drive.playback, drive.trace) = (playback, trace);
        let Step { state, effects, .. } = start(&agent.compiled, input);
        drive.note(&state, header);
        self.asked.into_iter().for_each(|asked| drive.note(&state, Record::Asked(asked)));
        let ended = drive.follow(state, effects);
        let records = match &save_to {
            _ if in_memory => memory.into_records(),
            Some(_) => drive.journal.records()?,
            None => Vec::new(),
        };
        let saved = save_to.map_or(Ok(()), |path| save(&path, &records, &ended));
        let run = if in_memory { attach_records(ended, records)? } else { ended? };
        match saved {
            Ok(()) => Ok(run),
            Err(error) => Err(Stopped::Unsaved { error, run: Box::new(run) }),
        }
    }

    /// Where answers come from, and where the fixture goes.
    fn choose_sources(&mut self) -> Result<(Option<Playback>, Option<PathBuf>), Stopped> {
        if let Some((fixture, purpose)) = self.replay.take() {
            return Ok((Some(Playback::new(fixture, purpose)), None));
        }
        let Some((path, mode)) = self.fixture.take() else { return Ok((None, None)) };
        let plays = match mode {
            RecordMode::None => true,
            RecordMode::Once | RecordMode::NewEpisodes => path.exists(),
            RecordMode::All => false,
        };
        if !plays {
            // What is no fixture, of this format or another, is not ours to write over.
            if let Ok(text) = std::fs::read(&path)
                && !text.is_empty()
                && !String::from_utf8_lossy(&text).contains("planwright-fixture/")
            {
                Fixture::load(&path).map_err(Stopped::Fixture)?;
            }
            return Ok((None, Some(path)));
        }
        if mode == RecordMode::None && !path.exists() {
            let problem = "there is no such file; `none` only replays, so record it first with `once`";
            return Err(Stopped::Fixture(JournalError::io(path.display(), "cannot be read", &problem)));
        }
        let fixture = Fixture::load(&path).map_err(Stopped::Fixture)?;
        self.input.now.clone_from(&fixture.input.now);
        let purpose = match (mode, &fixture.outcome) {
            (RecordMode::NewEpisodes, _) => Purpose::Spare,
            (RecordMode::Once, Outcome::Interrupted(_)) => Purpose::GoOn,
            _ => Purpose::Check,
        };
        let save_to = (purpose != Purpose::Check).then_some(path);
        Ok((Some(Playback::new(fixture, purpose)), save_to))
    }
}

/// The header of a run that begins. Its input holds no key.
pub(super) fn make_header(
    agent: &Agent,
    run: String,
    (thread, turn): (String, u32),
    input: Input,
    trace: Option<TraceContext>,
) -> Record {
    let Environment { model, redactor, .. } = &*agent.environment;
    let name = model.as_ref().map(|model| redactor.text(model.name().to_owned()));
    Record::Header(Box::new(Header {
        format: JOURNAL_FORMAT,
        run,
        thread,
        turn,
        origin: None,
        spec: agent.compiled.shared_spec(),
        input,
        model: name.unwrap_or_default(),
        servers: model.iter().flat_map(|model| model.servers()).collect(),
        trace,
    }))
}

/// Saves what was recorded. A whole recording in its place is not given up for one that broke off.
fn save(path: &Path, records: &[Record], ended: &Result<Run, Stopped>) -> Result<(), JournalError> {
    let interrupted = match ended {
        Ok(run) => run.waiting().map(ToString::to_string),
        Err(Stopped::Interrupted(interrupted)) => Some(interrupted.cause.to_string()),
        Err(_) => return Ok(()),
    };
    let mut fixture =
        Fixture::of_records(records, interrupted).map_err(|error| error.within(path.display()))?;
    if let Ok(before) = Fixture::load(path) {
        let is_richer = fixture.exchanges.len() >= before.exchanges.len();
        if broke_off(&fixture) && !(broke_off(&before) && is_richer) {
            return Ok(());
        }
        fixture.notes = before.notes;
    }
    fixture.save(path)
}

fn broke_off(fixture: &Fixture) -> bool {
    match &fixture.outcome {
        Outcome::Interrupted(_) | Outcome::Waiting { .. } => true,
        Outcome::Error(error) => error.code == ErrorCode::Cancelled,
        Outcome::Answer(_) => false,
    }
}

/// An id that no other run has. The idempotency keys of tool calls begin with it, and the tokens of questions
/// rest on it.
pub(super) fn make_run_id() -> String {
    // The time and the process tell apart what a snapshot of a machine, restored twice, draws alike.
    let now = [now_ms(), u64::from(std::process::id())];
    let bytes = [random_id(), random_id(), now[0], now[1]].map(u64::to_le_bytes);
    Digest::of(bytes.iter().map(|bytes| &bytes[..])).to_string()
}
