//! Thread: a sequence of runs with the memory of what was said before, within one process.
//!
//! **Invariant:** what is remembered is bounded, in turns and in bytes.

use super::agent::{Agent, asked};
use super::run::{Run, Stopped, Waiting};
use super::stop::CancelToken;
use crate::machine::{HumanAnswer, Input, Speaker, Turn};
use crate::ports::{Nobody, Observer};
use crate::spec::Memory;

/// Most turns, question and answer together, that a thread remembers. The oldest go first.
pub const MAX_TURNS: usize = 20;
/// Most bytes of what a thread remembers.
pub const MAX_HISTORY_BYTES: usize = 32 << 10;
/// Most bytes of one question or answer that is remembered; what is longer is cut, and marked as cut.
pub const MAX_MESSAGE_BYTES: usize = 8 << 10;

/// A conversation: every question is a run of its own, and where the agent's policy says
/// `memory = "thread"` it is shown what was said before.
///
/// ```
/// use planwright::driver::{Agent, Thread};
/// use planwright::model::Offline;
///
/// let spec = planwright::agents::shipped("validated").unwrap().with_tools(|tool| tool.name == "calc");
/// let agent = Agent::builder(spec).model(Offline::new()).tool(planwright::tool::Calc::new()).build()?;
/// let mut thread = Thread::new(&agent);
/// thread.ask("12/4+9?")?;
/// thread.ask("7*6?")?;
/// assert_eq!(thread.history().next().unwrap().0, "12/4+9?");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Thread {
    agent: Agent,
    /// The parts of the material that it is about.
    outline: Vec<String>,
    turns: Vec<(String, String)>,
    /// The run that waits for a person, where one does.
    open: Option<Run>,
}

impl Thread {
    /// A conversation in which nothing was said yet.
    pub fn new(agent: &Agent) -> Self {
        Thread { agent: agent.clone(), outline: Vec::new(), turns: Vec::new(), open: None }
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
    /// [`Stopped::Waiting`] with the open question where the thread waits for a person, and whatever
    /// else stops a run.
    pub fn ask(&mut self, question: impl Into<String>) -> Result<Run, Stopped> {
        self.ask_with(question, &Nobody, CancelToken::new())
    }

    /// The same, watched and for somebody who may stop it.
    ///
    /// # Errors
    /// As [`ask`](Thread::ask).
    pub fn ask_with(
        &mut self,
        question: impl Into<String>,
        observer: &dyn Observer,
        cancel: CancelToken,
    ) -> Result<Run, Stopped> {
        if let Some(waiting) = self.waiting() {
            return Err(Stopped::Waiting { question: waiting.question.clone() });
        }
        let input = self.input(question.into());
        let run = self.agent.job(input).observer(observer).cancel(cancel).run()?;
        self.keep(&run);
        Ok(run)
    }

    /// Answers the question that the thread waits with, and goes on with its run.
    ///
    /// # Errors
    /// [`Stopped::NotWaiting`]; [`Stopped::Refused`] where the answer does not fit, and the thread waits
    /// on; and whatever else stops a run.
    pub fn respond(&mut self, answer: HumanAnswer) -> Result<Run, Stopped> {
        self.respond_with(answer, &Nobody, CancelToken::new())
    }

    /// The same, watched and for somebody who may stop it.
    ///
    /// # Errors
    /// As [`respond`](Thread::respond).
    pub fn respond_with(
        &mut self,
        answer: HumanAnswer,
        observer: &dyn Observer,
        cancel: CancelToken,
    ) -> Result<Run, Stopped> {
        let open = self.open.as_ref().ok_or(Stopped::NotWaiting)?;
        match open.respond_with(&self.agent, answer, observer, cancel) {
            Ok(run) => {
                self.keep(&run);
                Ok(run)
            }
            // The answer was taken before the world went away: the question is not open any more, and
            // what was interrupted holds its own records.
            Err(stopped @ Stopped::Interrupted(_)) => {
                self.open = None;
                Err(stopped)
            }
            Err(stopped) => Err(stopped),
        }
    }

    /// The question that the thread waits with, where it does.
    pub fn waiting(&self) -> Option<&Waiting> {
        self.open.as_ref().and_then(Run::waiting)
    }

    /// What is remembered: each question as it was asked, with its answer, oldest first.
    pub fn history(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.turns.iter().map(|(question, answer)| (question.as_str(), answer.as_str()))
    }

    /// The agent that answers.
    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    fn input(&self, question: String) -> Input {
        let mut input = Input { outline: self.outline.clone(), ..asked(&self.agent, question) };
        if self.agent.rules().policy().memory == Memory::Thread {
            remember(&mut input, &self.turns);
        }
        input
    }

    /// Keeps what came of a run: the answer, or the run itself while it waits. A run that ended
    /// without an answer leaves nothing behind.
    fn keep(&mut self, run: &Run) {
        self.open = run.is_waiting().then(|| run.clone());
        let Some(answer) = run.answer() else { return };
        self.turns.push((run.state().task.input.question.clone(), answer.to_owned()));
        self.turns = trim(std::mem::take(&mut self.turns));
    }
}

/// What is remembered of these turns: the last of them, each cut to size.
pub(super) fn trim(mut turns: Vec<(String, String)>) -> Vec<(String, String)> {
    for (question, answer) in &mut turns {
        (*question, *answer) = (cut(question), cut(answer));
    }
    let bytes = |(question, answer): &(String, String)| question.len() + answer.len();
    let (mut all, mut first) = (turns.iter().map(bytes).sum::<usize>(), 0);
    while turns.len() - first > MAX_TURNS || all > MAX_HISTORY_BYTES {
        all -= bytes(&turns[first]);
        first += 1;
    }
    turns.split_off(first)
}

/// Puts the earlier turns into an input.
pub(super) fn remember(input: &mut Input, turns: &[(String, String)]) {
    let turn = |role, content: &String| Turn { role, content: content.clone() };
    let pair = |(question, answer): &(String, String)| {
        [turn(Speaker::User, question), turn(Speaker::Assistant, answer)]
    };
    input.history = turns.iter().flat_map(pair).collect();
}

/// A message as it is remembered.
fn cut(text: &str) -> String {
    const MARK: &str = "…";
    if text.len() <= MAX_MESSAGE_BYTES {
        return text.to_owned();
    }
    let mut end = MAX_MESSAGE_BYTES - MARK.len();
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{MARK}", &text[..end])
}
