//! One run: its configuration, and the loop that every run goes through.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Scope;
use std::time::{Duration, Instant};

use super::agent::Agent;
use super::observer::{Nobody, Observer, Signal};
use super::ports::Unanswered;
use super::prepare::{Prepared, Request};
use super::replay::Playback;
use super::run::{Interrupted, Run, Stopped};
use crate::contract::{AnswerForm, ToolEffect};
use crate::journal::{Drift, Fixture, Header, JOURNAL_FORMAT, Journal, MemoryJournal, Record, fold};
use crate::machine::{
    Effect, EffectId, Effects, Event, Input, PhaseName, State, Step, StepRun, admit, outstanding, start,
    transition,
};
use crate::spec::{Digest, Execution, RoleName, Rules};

/// What a run does with a fixture, under the names that people know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordMode {
    /// Replay only: a request that was not recorded is an error.
    None,
    /// Record where there is no fixture yet, else replay.
    Once,
    /// Replay what was recorded, record what is new.
    NewEpisodes,
    /// Record everything anew.
    All,
}

/// Stops runs from another thread. The run ends as `CANCELLED` at its next answer.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// A token that stops nothing yet.
    pub fn new() -> Self {
        CancelToken::default()
    }

    /// Stops every run that holds this token.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
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
}

impl<'a> Job<'a> {
    pub(super) fn new(agent: &'a Agent, input: Input) -> Self {
        let (journal, cancel) = (None, CancelToken::new());
        Job { agent, input, journal, observer: &Nobody, cancel, fixture: None, replay: None }
    }

    /// Where the records go; into memory unless set.
    #[must_use]
    pub fn journal(mut self, journal: &'a mut dyn Journal) -> Self {
        self.journal = Some(journal);
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

    /// Replays a fixture: nothing is asked of the world.
    #[must_use]
    pub fn replay(mut self, fixture: Fixture) -> Self {
        self.replay = Some(fixture);
        self
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// [`Stopped`].
    pub fn run(mut self) -> Result<Run, Stopped> {
        let (playback, may_ask, save_to) = self.sources()?;
        if may_ask {
            self.agent.complete()?;
        }
        let mut memory = MemoryJournal::new();
        let own = self.journal.is_none();
        let journal: &mut dyn Journal = match self.journal {
            Some(journal) => journal,
            None => &mut memory,
        };
        let question = self.agent.world.redactor.text(std::mem::take(&mut self.input.question));
        let input = Input { question, ..self.input };
        let spec = self.agent.rules.shared_spec();
        let run = run_id();
        let header = Header { format: JOURNAL_FORMAT, run: run.clone(), spec, input: input.clone() };
        journal.append(0, &Record::Header(Box::new(header)))?;

        let rules = &*self.agent.rules;
        let Step { state, effects, .. } = start(rules, input);
        let mut drive = Drive {
            agent: self.agent,
            rules,
            run,
            journal,
            index: 1,
            observer: self.observer,
            cancel: self.cancel,
            began: Instant::now(),
            playback,
            may_ask,
        };
        self.observer.notice(Signal::Entered(PhaseName::Plan));
        let ended = drive.follow(state, effects, &[]);
        let records = match (own, &save_to) {
            (true, _) => memory.into_records(),
            (false, Some(_)) => drive.journal.records()?,
            (false, None) => Vec::new(),
        };
        if let Some(path) = save_to {
            let interrupted = match &ended {
                Err(Halt::Interrupted { cause, .. }) => Some(cause.to_string()),
                _ => None,
            };
            if !matches!(ended, Err(Halt::Drifted(_) | Halt::Journal(_))) {
                save(&path, &records, interrupted)?;
            }
        }
        conclude(ended, if own { records } else { Vec::new() })
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

fn save(path: &Path, records: &[Record], interrupted: Option<String>) -> Result<(), Stopped> {
    let mut fixture = Fixture::of_records(records, interrupted)?;
    if let Ok(before) = Fixture::load(path) {
        fixture.notes = before.notes;
    }
    Ok(fixture.save(path)?)
}

/// Goes on with a journal.
pub(super) fn resume(
    agent: &Agent,
    journal: &mut dyn Journal,
    observer: Option<&dyn Observer>,
    cancel: CancelToken,
) -> Result<Run, Stopped> {
    let folded = fold(journal.records()?)?;
    let agent = Agent { rules: Arc::new(folded.rules), world: Arc::clone(&agent.world) };
    let rules = &*agent.rules;
    let effects = outstanding(rules, &folded.state);
    for effect in &effects {
        if let Some(tool) = in_doubt(rules, &folded.state, effect, &folded.unanswered) {
            return Err(Stopped::InDoubt { effect: effect.id(), tool });
        }
    }
    if !folded.state.phase.name().is_terminal() {
        agent.complete()?;
    }
    let mut drive = Drive {
        agent: &agent,
        rules,
        run: folded.run,
        journal,
        index: folded.len,
        observer: observer.unwrap_or(&Nobody),
        cancel,
        began: Instant::now(),
        playback: None,
        may_ask: true,
    };
    drive.observer.notice(Signal::Entered(folded.state.phase.name()));
    let ended = drive.follow(folded.state, effects.into(), &folded.unanswered);
    conclude(ended, Vec::new())
}

/// The tool of an effect that was requested, never answered, and may not be done twice.
fn in_doubt(rules: &Rules, state: &State, effect: &Effect, unanswered: &[EffectId]) -> Option<String> {
    let Effect::CallTool { id, step } = effect else { return None };
    let (name, _) = crate::prompt::tool_call(state, *step)?;
    let contract = rules.tool(name)?;
    let once = contract.effect == ToolEffect::Write && !contract.is_idempotent();
    (once && unanswered.contains(id)).then(|| name.to_owned())
}

fn conclude(ended: Result<State, Halt>, records: Vec<Record>) -> Result<Run, Stopped> {
    match ended {
        Ok(state) => Ok(Run { state, records }),
        Err(Halt::Interrupted { effect, cause, state }) => Err(Stopped::Interrupted(Box::new(Interrupted {
            effect,
            cause,
            state: Box::new(state),
            records,
        }))),
        Err(Halt::Drifted(drifts)) => Err(Stopped::Drifted(drifts)),
        Err(Halt::Journal(error)) => Err(Stopped::Journal(error)),
    }
}

/// An id that no other run has: the tool calls' idempotency keys begin with it.
fn run_id() -> String {
    use std::sync::atomic::AtomicU64;
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let parts = [
        since.as_nanos().to_le_bytes().to_vec(),
        std::process::id().to_le_bytes().to_vec(),
        COUNT.fetch_add(1, Ordering::Relaxed).to_le_bytes().to_vec(),
    ];
    Digest::of(parts.iter().map(Vec::as_slice)).to_string()
}

/// Why the loop stops before the end.
enum Halt {
    Interrupted { effect: EffectId, cause: Unanswered, state: State },
    Drifted(Vec<Drift>),
    Journal(crate::journal::JournalError),
}

impl From<crate::journal::JournalError> for Halt {
    fn from(error: crate::journal::JournalError) -> Self {
        Halt::Journal(error)
    }
}

/// What a thread brings back.
type Performed = (EffectId, Result<Event, Unanswered>);

struct Drive<'a> {
    agent: &'a Agent,
    rules: &'a Rules,
    run: String,
    journal: &'a mut dyn Journal,
    index: u64,
    observer: &'a dyn Observer,
    cancel: CancelToken,
    began: Instant,
    playback: Option<Playback>,
    may_ask: bool,
}

impl Drive<'_> {
    /// The loop: what waits is answered, one answer at a time, until the run has ended.
    fn follow(&mut self, state: State, effects: Effects, asked: &[EffectId]) -> Result<State, Halt> {
        if self.rules.policy().execution == Execution::Sequential {
            return self.turn_by_turn(state, effects, asked, None);
        }
        let agent = self.agent.clone();
        let (sender, receiver) = channel();
        std::thread::scope(|scope| {
            let side = Side { agent: &agent, scope, sender, receiver, in_flight: 0 };
            self.turn_by_turn(state, effects, asked, Some(side))
        })
    }

    /// The loop's body, with threads where steps may run side by side.
    fn turn_by_turn(
        &mut self,
        mut state: State,
        effects: Effects,
        asked: &[EffectId],
        mut side: Option<Side<'_, '_>>,
    ) -> Result<State, Halt> {
        let mut queue = Vec::new();
        self.request(&state, effects, asked, &mut queue)?;
        while !state.phase.name().is_terminal() {
            let event = match self.happened() {
                Some(event) => event,
                None => match self.next_answer(&state, &mut queue, side.as_mut())? {
                    (_, Ok(event)) => event,
                    (effect, Err(cause)) => {
                        let state = self.drain(state, side)?;
                        return Err(Halt::Interrupted { effect, cause, state });
                    }
                },
            };
            let (next, effects) = self.apply(state, event)?;
            state = next;
            self.request(&state, effects, &[], &mut queue)?;
        }
        if let Some(playback) = &self.playback
            && !self.may_ask
        {
            let parallel = self.rules.policy().execution != Execution::Sequential;
            let drifts = playback.drifts(&state, parallel);
            if !drifts.is_empty() {
                return Err(Halt::Drifted(drifts));
            }
        }
        Ok(state)
    }

    /// Writes down what is about to be performed, then lines it up.
    fn request(
        &mut self,
        state: &State,
        effects: Effects,
        asked: &[EffectId],
        queue: &mut Vec<Prepared>,
    ) -> Result<(), Halt> {
        for effect in effects {
            let prepared = Prepared::of(self.rules, state, effect);
            if !asked.contains(&prepared.id) {
                self.append(&Record::Requested { effect: prepared.id, digest: prepared.digest })?;
            }
            match &prepared.request {
                Request::Model { role, .. } => {
                    self.observer.notice(Signal::Asking { effect: prepared.id, role: *role });
                }
                Request::Tool { step, tool, input } => {
                    self.observer.notice(Signal::Calling { effect: prepared.id, step: *step, tool, input });
                }
            }
            queue.push(prepared);
        }
        Ok(())
    }

    /// What happened that answers no effect: out of the recording in a replay, else out of the
    /// world.
    fn happened(&mut self) -> Option<Event> {
        if let Some(playback) = &mut self.playback
            && let Some(event) = playback.happened()
        {
            return Some(event);
        }
        if !self.may_ask {
            return None;
        }
        if self.cancel.is_cancelled() {
            return Some(Event::Cancelled { reason: "stopped by the user".to_owned() });
        }
        let deadline = Duration::from_secs(u64::from(self.rules.spec().limits.deadline_seconds));
        (self.began.elapsed() > deadline).then_some(Event::DeadlinePassed)
    }

    /// The next answer: a recorded one where there is one, else one of the world's.
    fn next_answer(
        &mut self,
        state: &State,
        queue: &mut Vec<Prepared>,
        side: Option<&mut Side<'_, '_>>,
    ) -> Result<Performed, Halt> {
        if let Some(playback) = &mut self.playback
            && let Some(nth) = playback.first_recorded(queue)
        {
            let prepared = queue.remove(nth);
            let event = playback.answer(&prepared).expect("first_recorded found its recording");
            return Ok((prepared.id, Ok(event)));
        }
        if let (Some(playback), Some(prepared), false) = (&self.playback, queue.first(), self.may_ask) {
            return Err(Halt::Drifted(vec![playback.missing(state, prepared)]));
        }
        match side {
            Some(side) if side.in_flight > 0 || queue.len() > 1 => {
                queue.drain(..).for_each(|prepared| side.perform(self.run.clone(), prepared));
                Ok(side.receive())
            }
            _ => {
                let prepared = queue.remove(0);
                Ok((prepared.id, self.perform_here(&prepared)))
            }
        }
    }

    fn perform_here(&self, prepared: &Prepared) -> Result<Event, Unanswered> {
        let world = &self.agent.world;
        let streams = matches!(prepared.request, Request::Model { role: RoleName::Writer, .. })
            && self.rules.form() == AnswerForm::Text
            && self.observer.wants_tokens();
        if !streams {
            return world.perform(self.rules, &self.run, prepared, None);
        }
        let mut sink = |piece: &str| {
            let piece = world.redactor.text(piece.to_owned());
            self.observer.notice(Signal::Token(&piece));
        };
        world.perform(self.rules, &self.run, prepared, Some(&mut sink))
    }

    /// Writes an answer down, then moves the run. An answer that does not fit any more (the run was
    /// cancelled meanwhile) is not written down.
    fn apply(&mut self, state: State, event: Event) -> Result<(State, Effects), Halt> {
        if admit(&state, &event).is_err() {
            return Ok((state, Effects::new()));
        }
        let answers = event.effect();
        let record = match answers {
            Some(_) => Record::Answered(event),
            None => Record::Happened(event),
        };
        self.append(&record)?;
        let (Record::Answered(event) | Record::Happened(event)) = record else {
            unreachable!("made two lines above")
        };
        let lines = state.task.trace.len();
        let step = transition(self.rules, state, event).expect("admitted above");
        self.show(&step, answers, lines);
        Ok((step.state, step.effects))
    }

    fn show(&self, step: &Step, answered: Option<EffectId>, lines_before: usize) {
        let task = &step.state.task;
        if let Some(EffectId::Step { draft, step: at, .. }) = answered
            && let Some(progress) = match draft == task.draft {
                true => task.progress.as_ref(),
                false => task.artifacts.past.last(),
            }
            && let (Some(planned), Some(run)) =
                (progress.plan.steps.get(at as usize), progress.steps.get(at as usize))
        {
            let (tool, failed) = (&planned.tool, matches!(run, StepRun::Failed { .. }));
            let output = run.output().unwrap_or_default();
            self.observer.notice(Signal::Finished { step: at, tool, failed, output });
        }
        for line in task.trace.iter().skip(lines_before) {
            self.observer.notice(Signal::Traced(line));
        }
        for taken in &step.moves {
            self.observer.notice(Signal::Entered(taken.to));
        }
    }

    fn append(&mut self, record: &Record) -> Result<(), Halt> {
        self.journal.append(self.index, record)?;
        self.index += 1;
        Ok(())
    }

    /// Waits for what still runs beside an interrupted effect, so that no answer is lost.
    fn drain(&mut self, mut state: State, side: Option<Side<'_, '_>>) -> Result<State, Halt> {
        let Some(mut side) = side else { return Ok(state) };
        while side.in_flight > 0 {
            if let (_, Ok(event)) = side.receive() {
                state = self.apply(state, event)?.0;
            }
        }
        Ok(state)
    }
}

/// Threads for what runs side by side.
struct Side<'scope, 'env> {
    agent: &'env Agent,
    scope: &'scope Scope<'scope, 'env>,
    sender: Sender<Performed>,
    receiver: Receiver<Performed>,
    in_flight: usize,
}

impl Side<'_, '_> {
    fn perform(&mut self, run: String, prepared: Prepared) {
        self.in_flight += 1;
        let (agent, sender) = (self.agent, self.sender.clone());
        self.scope.spawn(move || {
            let performed = agent.world.perform(&agent.rules, &run, &prepared, None);
            let _ = sender.send((prepared.id, performed));
        });
    }

    fn receive(&mut self) -> Performed {
        self.in_flight -= 1;
        self.receiver.recv().expect("this holds a sender itself")
    }
}
