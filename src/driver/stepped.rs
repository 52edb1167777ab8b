//! Stepped: a run that is taken from effect to effect from outside, for an engine of durable execution that keeps
//! what each effect answered and does not run the loop in `drive.rs`.
//!
//! **Invariant:** nothing here reads a clock, draws a number or asks the world, but for [`NewTurn::draw`] and
//! [`Task::perform`]: what those give is kept by the engine, so that the run can be stepped again to the same records.

use serde::{Deserialize, Serialize};

use super::agent::Agent;
use super::drive::Drive;
use super::environment::CancelToken;
use super::human_input::{HumanInput, answer_due, token_of, unknown_record};
use super::job::{make_header, make_run_id};
use super::resume::check_input;
use super::run::Stopped;
use super::threads::earlier::{bound, remember, turns_of};
use super::threads::handle::check_ended;
use crate::journal::{
    Folded, Journal, JournalError, Ledger, Record, RunStatus, Store, ThreadId, find_question,
    find_unrepeatable, fold, system::now_ms,
};
use crate::machine::{Effect, EffectId, Effects, Event, Input, State, Turn, admit, outstanding, start};
use crate::ports::Unanswered;
use crate::prompt::Request;
use crate::spec::Memory;

/// What a new turn begins with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NewTurn {
    /// The run's id.
    pub run: String,
    /// Which turn of its thread it is, from 0.
    pub turn: u32,
    /// When it begins, in milliseconds since 1970.
    pub at: u64,
    /// What it starts from. Holds no key.
    pub input: Input,
}

impl NewTurn {
    /// Draws an id and a time for the next turn of a thread, which may be new, and reads what the agent remembers. The
    /// history is what was said before the thread began.
    ///
    /// # Errors
    /// Those of [`ThreadHandle::ask`](super::ThreadHandle::ask) that come before anything is asked.
    pub fn draw(
        agent: &Agent,
        store: &dyn Store,
        thread: &ThreadId,
        question: String,
        history: Vec<Turn>,
    ) -> Result<Self, Stopped> {
        agent.check_secrets()?;
        agent.check_complete()?;
        let redactor = &agent.environment.redactor;
        if redactor.finds(thread.as_str()) {
            return Err(Stopped::Secret { place: "the thread's name".to_owned() });
        }
        let turn = turns_of(store, thread)?;
        check_ended(store, thread, turn)?;
        let remembers = agent.compiled().policy().memory == Memory::Thread;
        let mut input = Input { history, ..agent.input(question) };
        if remembers {
            input.history = if turn > 0 { remember(store, thread, turn)? } else { bound(input.history) };
        }
        Ok(NewTurn { run: make_run_id(), turn, at: now_ms(), input: redactor.clean(input) })
    }
}

/// A run between two effects.
#[derive(Clone)]
pub struct Stepped {
    agent: Agent,
    run: String,
    thread: String,
    state: State,
    ledger: Ledger,
    noted: Vec<Record>,
}

impl Stepped {
    /// Begins a turn.
    ///
    /// # Errors
    /// None that the turn was not refused for when it was drawn.
    pub fn begin(agent: &Agent, thread: &ThreadId, new: NewTurn) -> Result<Self, Stopped> {
        let NewTurn { run, turn, at, input } = new;
        let begun = start(&agent.compiled, input.clone());
        let thread = thread.to_string();
        let header = make_header(agent, run.clone(), (thread.clone(), turn), input, None);
        let (ledger, noted) = (Ledger::default(), Vec::new());
        let mut stepped = Stepped { agent: agent.clone(), run, thread, state: begun.state, ledger, noted };
        stepped.step(at, |drive, state| {
            drive.note(&state, header);
            drive.request(&state, begun.effects)?;
            Ok(state)
        })?;
        Ok(stepped)
    }

    /// Goes on with a run at a time, under the spec that it is in, with what a person says of it if they do. A token is
    /// that of what is answered.
    ///
    /// # Errors
    /// Those of [`Resume::run`](super::Resume::run) that come before anything is asked.
    pub fn go_on(
        agent: &Agent,
        records: &[Record],
        said: Option<HumanInput>,
        token: Option<&str>,
        at: u64,
    ) -> Result<Self, Stopped> {
        let folded = fold(records.iter().cloned())?;
        check_input(said.as_ref(), token, &folded, records)?;
        let mut stepped = Stepped::of(agent, folded);
        if !stepped.has_ended() {
            stepped.agent.check_complete()?;
        }
        stepped.step(at, |drive, state| {
            let event = match said {
                None => None,
                Some(HumanInput::Answer(answer)) => Some(drive.take_answer(&state, answer)?),
                Some(HumanInput::Resolution(resolution)) => drive.take_resolution(&state, resolution)?,
            };
            let state = match event {
                Some(event) => drive.apply(state, event, false)?,
                None => state,
            };
            drive.append(None)?;
            Ok(state)
        })?;
        if let Some((effect, tool)) = stepped.ledger.doubts(&stepped.agent.compiled, &stepped.state).next() {
            return Err(Stopped::InDoubt { effect, tool });
        }
        stepped.request(at)?;
        Ok(stepped)
    }

    /// A run as its records have it, to be ended from outside.
    ///
    /// # Errors
    /// If the records do not fold.
    pub fn open(agent: &Agent, records: &[Record]) -> Result<Self, Stopped> {
        Ok(Stepped::of(agent, fold(records.iter().cloned())?))
    }

    fn of(agent: &Agent, folded: Folded) -> Self {
        let Folded { run, thread, compiled, state, ledger, .. } = folded;
        let agent = Agent::of(compiled, std::sync::Arc::clone(&agent.environment));
        Stepped { agent, run, thread, state, ledger, noted: Vec::new() }
    }

    /// Asks for what the run waits for and that is not on record as asked.
    ///
    /// # Errors
    /// None that the run was not refused for when it was opened.
    pub fn request(&mut self, at: u64) -> Result<(), Stopped> {
        let effects: Effects = outstanding(&self.agent.compiled, &self.state).into();
        self.step(at, |drive, state| {
            drive.request(&state, effects)?;
            Ok(state)
        })
    }

    /// Whether an event fits what the run waits for.
    pub fn admits(&self, event: &Event) -> bool {
        admit(&self.agent.compiled, &self.state, event).is_ok()
    }

    /// Takes an event that came at a time, without its keys. Gives whether it fits; one that does not changes nothing.
    /// Unless the run `goes_on`, what it asks next is not asked for.
    ///
    /// # Errors
    /// None that the run was not refused for when it was opened.
    pub fn take(&mut self, event: Event, at: u64, goes_on: bool) -> Result<bool, Stopped> {
        if !self.admits(&event) {
            return Ok(false);
        }
        let compiled = std::sync::Arc::clone(&self.agent.compiled);
        self.step(at, |drive, state| {
            let event = drive.agent.environment.redactor.clean(event);
            if matches!(event, Event::Cancelled { .. }) {
                let doubts: Vec<EffectId> =
                    drive.ledger.doubts(&compiled, &state).map(|(id, _)| id).collect();
                doubts.into_iter().for_each(|effect| drive.note(&state, unknown_record(effect)));
            }
            Ok(drive.apply(state, event, goes_on)?)
        })?;
        Ok(true)
    }

    /// Notes that an effect got no answer.
    ///
    /// # Errors
    /// None that the run was not refused for when it was opened.
    pub fn note_unanswered(&mut self, effect: EffectId, cause: &Unanswered, at: u64) -> Result<(), Stopped> {
        self.step(at, |drive, state| {
            drive.note_unanswered(&state, effect, cause);
            drive.append(None)?;
            Ok(state)
        })
    }

    /// Steps with the parts of the loop, under the time that is given. What comes of it is noted; if it fails, nothing
    /// has changed.
    fn step(
        &mut self,
        at: u64,
        does: impl FnOnce(&mut Drive<'_>, State) -> Result<State, Stopped>,
    ) -> Result<(), Stopped> {
        let mut tail = Tail::default();
        let names = (self.run.clone(), self.thread.clone());
        let mut drive = Drive::new(&self.agent, names, &mut tail, &(), CancelToken::new());
        (drive.ledger, drive.at) = (self.ledger.clone(), Some(at));
        let state = does(&mut drive, self.state.clone())?;
        (self.ledger, self.state) = (drive.ledger, state);
        self.noted.extend(tail.0);
        Ok(())
    }

    /// Takes the records that came since they were last taken, with the index of the first.
    pub fn take_records(&mut self) -> (u64, Vec<Record>) {
        let records = std::mem::take(&mut self.noted);
        (self.ledger.len - records.len() as u64, records)
    }

    /// The run's id.
    pub fn run(&self) -> &str {
        &self.run
    }

    /// The agent that it runs under.
    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        self.state.phase.name().is_terminal()
    }

    /// What it waits for, in the order of its steps.
    pub fn outstanding(&self) -> Vec<Effect> {
        outstanding(&self.agent.compiled, &self.state)
    }

    /// Its status.
    pub fn status(&self) -> RunStatus {
        RunStatus::at(&self.agent.compiled, &self.state, &self.ledger)
    }

    /// The token that an answer must carry, if it waits for one.
    pub fn token(&self) -> Option<String> {
        token_of(&self.run, &self.agent.compiled, &self.state, &self.ledger)
    }

    /// The question that it waits with, and when the time for an answer is over, in milliseconds since 1970.
    pub fn find_time_out(&self) -> Option<(EffectId, u64)> {
        let (effect, _) = find_question(&self.agent.compiled, &self.state)?;
        Some((effect, answer_due(&self.agent.compiled, &self.state, &self.ledger, effect)?))
    }

    /// One effect to be performed, on any thread.
    pub fn task(&self, effect: Effect) -> Task {
        Task { agent: self.agent.clone(), run: self.run.clone(), state: self.state.clone(), effect }
    }
}

/// One effect of a run, to be performed.
pub struct Task {
    agent: Agent,
    run: String,
    state: State,
    effect: Effect,
}

impl Task {
    /// The effect's id. With the run's it is the idempotency key of a call.
    pub fn id(&self) -> EffectId {
        self.effect.id()
    }

    /// The tool, if performing the effect twice would change something twice.
    pub fn find_unrepeatable(&self) -> Option<String> {
        find_unrepeatable(&self.agent.compiled, &self.state, self.effect.id())
    }

    /// Performs the effect once. `None` if `stop` has cut it short; what may not be made twice is waited for.
    ///
    /// # Errors
    /// If there was no answer.
    pub fn perform(&self, stop: &dyn Fn() -> bool) -> Result<Option<Event>, Unanswered> {
        let request = Request::of(&self.agent.compiled, &self.state, self.effect)
            .expect("the machine asks only for what the state holds");
        let environment = &self.agent.environment;
        environment.perform((&self.run, None), &request, None, &|_, _, _| {}, (stop, &|| false))
    }
}

/// The records that one step appends.
#[derive(Default)]
struct Tail(Vec<Record>);

impl Journal for Tail {
    fn append(&mut self, _: u64, records: Vec<Record>) -> Result<(), JournalError> {
        self.0.extend(records);
        Ok(())
    }

    fn records(&self) -> Result<Vec<Record>, JournalError> {
        Ok(self.0.clone())
    }
}
