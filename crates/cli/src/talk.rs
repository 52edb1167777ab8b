//! A conversation: in memory, or in a thread that outlives this process.

use super::args::ChatArgs;
use super::config::Settings;
use super::failure::Outcome;
use super::pending::{self, Stored};
use super::resume_setup::agent_for;
use super::screen::Screen;
use super::store::Place;
use super::watch::Watch;
use super::{contract, world};
use planwright::driver::{
    Agent, CancelToken, Run, Stopped, Thread, Waiting, history, open_question, time_for,
};
use planwright::journal::{Folded, RunStatus};
use planwright::machine::{HumanAnswer, Input};

/// A conversation.
pub enum Talk {
    Memory(Box<Thread>),
    Stored(Box<StoredTalk>),
}

/// A conversation in a thread.
pub struct StoredTalk {
    pub stored: Stored,
    agent: Agent,
    settings: Settings,
    /// Whether this call chooses the model, whichever its turns began with.
    chosen: bool,
    /// The parts of the material that it is about.
    outline: Vec<String>,
    /// Where its last turn stands, and what it asks.
    standing: Option<RunStatus>,
    waiting: Option<Waiting>,
    /// What its last turn was asked.
    pub question: String,
}

impl StoredTalk {
    /// The conversation in a thread, which may be new.
    pub fn open(
        stored: Stored,
        agent: &Agent,
        settings: Settings,
        outline: Vec<String>,
        chosen: bool,
    ) -> Outcome<Self> {
        let agent = agent.clone();
        let (standing, waiting, question) = (None, None, String::new());
        let mut talk = StoredTalk { stored, agent, settings, chosen, outline, standing, waiting, question };
        talk.look()?;
        Ok(talk)
    }

    /// Looks where the thread stands.
    pub fn look(&mut self) -> Outcome<()> {
        let last = pending::last(&self.stored)?;
        self.waiting = last.as_ref().and_then(|last| open_question(&last.run, &last.rules, &last.state));
        self.standing = last.as_ref().map(RunStatus::of);
        // What is in doubt goes before what is asked.
        if !matches!(self.standing, Some(RunStatus::Waiting { .. })) {
            self.waiting = None;
        }
        self.question = last.map_or_else(String::new, |last| last.state.task.input.question);
        Ok(())
    }

    /// Whether the last turn was stopped, and can go on by itself.
    pub fn is_unfinished(&self) -> bool {
        matches!(self.standing, Some(RunStatus::Unfinished))
    }

    pub fn waiting(&self) -> Option<&Waiting> {
        self.waiting.as_ref()
    }

    /// What is asked in this thread, as a whole input. Its history is the thread's.
    pub fn input(&self, question: &str) -> Input {
        let now = time_for(self.agent.rules().policy());
        Input { now, outline: self.outline.clone(), ..Input::question(question) }
    }

    pub fn ask(&self, input: Input, watch: &Watch<'_>, token: CancelToken) -> Result<Run, Stopped> {
        self.stored.handle().observer(watch).cancelled_by(token).ask_with(&self.agent, input)
    }

    /// Answers the question that was shown, and no other.
    pub fn respond(
        &self,
        answer: HumanAnswer,
        watch: &Watch<'_>,
        cancel: CancelToken,
    ) -> Outcome<Result<Run, Stopped>> {
        let Some(waiting) = &self.waiting else { return Ok(Err(Stopped::NotWaiting)) };
        let agent = self.agent_of(&self.stored.folded(None)?)?;
        let handle = self.stored.handle().observer(watch).cancelled_by(cancel);
        Ok(handle.token(waiting.token.as_str()).answer(&agent, answer))
    }

    /// Goes on with the last turn.
    pub fn resume(&self, watch: &Watch<'_>, cancel: CancelToken) -> Outcome<Result<Run, Stopped>> {
        let agent = self.agent_of(&self.stored.folded(None)?)?;
        Ok(self.stored.handle().observer(watch).cancelled_by(cancel).resume(&agent))
    }

    /// Ends the last turn.
    ///
    /// # Errors
    /// A write in doubt is not forgotten: [`Stopped::InDoubt`].
    pub fn cancel(&self) -> Result<(), Stopped> {
        if let Some(RunStatus::InDoubt { effect, tool }) = &self.standing {
            return Err(Stopped::InDoubt { effect: *effect, tool: tool.clone() });
        }
        self.stored.handle().cancel("cancelled in the chat", &[])
    }

    /// The agent of a turn: of the rules that it began with.
    fn agent_of(&self, turn: &Folded) -> Outcome<Agent> {
        let spec = turn.rules.spec();
        let began = &turn.model;
        let same_model = self.chosen || began.is_empty() || began == world::model(&self.settings)?.0.name();
        if same_model && spec == self.agent.rules().spec() && turn.state.task.input.outline == self.outline {
            return Ok(self.agent.clone());
        }
        Ok(agent_for(spec.clone(), turn, &self.settings, self.chosen, None)?.0)
    }
}

impl Talk {
    /// The conversation: in a thread where one is named, or where every run is kept.
    pub fn open(args: &ChatArgs, agent: &Agent, settings: Settings, screen: &Screen) -> Outcome<Self> {
        let outline = contract::outline(agent, &settings)?;
        let place = Place::find(&args.store, args.world.config.as_deref())?;
        match place.thread(args.thread.as_ref(), screen)? {
            None => Ok(Talk::Memory(Box::new(Thread::new(agent).about(outline)))),
            Some(stored) => {
                let chosen = args.world.chooses_model();
                Ok(Talk::Stored(Box::new(StoredTalk::open(stored, agent, settings, outline, chosen)?)))
            }
        }
    }

    /// The question that the conversation waits with, where it does.
    pub fn waiting(&self) -> Option<&Waiting> {
        match self {
            Talk::Memory(thread) => thread.waiting(),
            Talk::Stored(talk) => talk.waiting(),
        }
    }

    /// The agent that answers.
    pub fn agent(&self) -> &Agent {
        match self {
            Talk::Memory(thread) => thread.agent(),
            Talk::Stored(talk) => &talk.agent,
        }
    }

    /// Each question that is remembered, with its answer.
    pub fn history(&self) -> Outcome<Vec<(String, String)>> {
        match self {
            Talk::Memory(thread) => Ok(thread.history()),
            Talk::Stored(talk) => Ok(history(talk.stored.threads.store(), &talk.stored.thread)?),
        }
    }

    /// Asks a question.
    pub fn ask(
        &mut self,
        said: &str,
        watch: &Watch<'_>,
        token: CancelToken,
    ) -> Outcome<Result<Run, Stopped>> {
        match self {
            Talk::Memory(thread) => Ok(thread.ask_with(said, watch, token)),
            Talk::Stored(talk) => {
                let result = talk.ask(talk.input(said), watch, token);
                talk.look()?;
                Ok(result)
            }
        }
    }

    /// Answers the open question.
    pub fn respond(
        &mut self,
        answer: HumanAnswer,
        watch: &Watch<'_>,
        token: CancelToken,
    ) -> Outcome<Result<Run, Stopped>> {
        match self {
            Talk::Memory(thread) => Ok(thread.respond_with(answer, watch, token)),
            Talk::Stored(talk) => {
                let result = talk.respond(answer, watch, token)?;
                talk.look()?;
                Ok(result)
            }
        }
    }
}
