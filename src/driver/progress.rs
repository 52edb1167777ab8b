//! Progress: what an observer sees, as values that can be sent, stored and shown elsewhere; and a run on a
//! thread of its own, as an iterator over them.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::agent::Agent;
use super::clock::CancelToken;
use super::run::{Run, Stopped};
use crate::machine::{Input, TraceLine};
use crate::ports::{Observer, Signal, Span};
use crate::prompt::RequestBody;
use crate::spec::RoleName;

/// How many items of a stream may wait to be taken. A run that is further ahead waits.
const ROOM: usize = 256;

/// The kinds of [`Progress`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ProgressKind {
    /// The run entered a phase; `step` is its name.
    Phase,
    /// The run works on the answer; `step` says how: `planning`, `tool_selected`, `tool_result`,
    /// `evaluation_result`, `generating`, or the name of the role that is asked.
    Thinking,
    /// A piece of the answer.
    Token,
    /// Where the answer comes from.
    Sources,
    /// The run left a trace line.
    Trace,
    /// A person is asked.
    Question,
    /// The run has ended: the answer.
    Answer,
    /// The run has ended without one, or was stopped.
    Error,
}

/// One thing that happened in a run: `{"type": …, "step": …, "content": …}`.
///
/// ```
/// use planwright::driver::{Progress, ProgressKind};
///
/// let token: Progress = serde_json::from_str(r#"{"type": "token", "step": "token", "content": "안녕"}"#)?;
/// assert_eq!(token.kind, ProgressKind::Token);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// The kind.
    #[serde(rename = "type")]
    pub kind: ProgressKind,
    /// The kind within the kind.
    pub step: String,
    /// The content: a text, or a JSON value.
    pub content: Value,
}

impl Progress {
    fn new(kind: ProgressKind, step: impl Into<String>, content: impl Into<Value>) -> Self {
        Progress { kind, step: step.into(), content: content.into() }
    }

    /// A signal as a value. Most answers have none: a result, a trace line or a phase follows from them.
    pub fn of(signal: &Signal<'_>) -> Option<Self> {
        use ProgressKind::{Phase, Sources, Thinking, Token, Trace};
        Some(match signal {
            Signal::Entered(phase) => Progress::new(Phase, phase.to_string(), phase.to_string()),
            Signal::Asked { span, request } => Progress::of_request(span, request),
            Signal::Answered { span, answer } if answer.cached => {
                Progress::new(Thinking, "cached", json!({"effect": span.effect}))
            }
            Signal::Finished { step, tool, failed, output } => {
                let content = json!({"step": step, "tool": tool, "failed": failed, "output": output});
                Progress::new(Thinking, "tool_result", content)
            }
            Signal::Traced(TraceLine::Validate { verdict: Some(verdict), .. }) => {
                Progress::new(Thinking, "evaluation_result", json!(verdict))
            }
            Signal::Traced(line) => {
                let content = json!(line);
                let phase = content["phase"].as_str().unwrap_or_default().to_owned();
                Progress::new(Trace, phase, content)
            }
            Signal::Token(text) => Progress::new(Token, "token", *text),
            Signal::Sources(sources) => Progress::new(Sources, "sources", json!(sources)),
            _ => return None,
        })
    }

    fn of_request(span: &Span<'_>, request: &RequestBody<'_>) -> Self {
        use ProgressKind::{Question, Thinking};
        let effect = span.effect;
        match request {
            RequestBody::Model { role, .. } => {
                let step = match role {
                    RoleName::Planner | RoleName::Replanner => "planning",
                    RoleName::Writer | RoleName::Conversation => "generating",
                    other => other.as_str(),
                };
                Progress::new(Thinking, step, json!({"role": role, "effect": effect}))
            }
            RequestBody::Tool { step, tool, input, .. } => {
                let step = effect.step().unwrap_or(*step);
                Progress::new(Thinking, "tool_selected", json!({"step": step, "tool": tool, "input": input}))
            }
            RequestBody::Human { step, question } => {
                let step = effect.step().unwrap_or(*step);
                Progress::new(
                    Question,
                    "human",
                    json!({"effect": effect, "step": step, "question": question}),
                )
            }
            RequestBody::Wait { delay_ms } => {
                Progress::new(Thinking, "waiting", json!({"effect": effect, "delay_ms": delay_ms}))
            }
        }
    }

    /// What came of a run, as the last thing that happened in it.
    pub fn ended(result: &Result<Run, Stopped>) -> Self {
        use ProgressKind::{Answer, Error, Question};
        let run = match result {
            Ok(run) => run,
            Err(Stopped::Unsaved { run, .. }) => run,
            Err(stopped) => return Progress::new(Error, "stopped", stopped.to_string()),
        };
        if let Some(waiting) = run.waiting() {
            let content =
                json!({"effect": waiting.effect, "step": waiting.step, "question": waiting.question});
            return Progress::new(Question, "waiting", content);
        }
        match run.error() {
            Some(error) => {
                Progress::new(Error, "ended", json!({"code": error.code, "message": error.message}))
            }
            None => Progress::new(Answer, "answer", run.answer().unwrap_or_default()),
        }
    }
}

/// An observer that hands on everything as [`Progress`].
///
/// ```
/// use std::cell::RefCell;
/// use planwright::driver::{Agent, ProgressKind, Reporter};
/// use planwright_docs::Calc;
/// use planwright_offline::Offline;
///
/// let spec = planwright::agents::shipped("validated").unwrap().with_tools(|tool| tool.name == "calc");
/// let agent = Agent::builder(spec).model(Offline::new()).tool(Calc::new()).build()?;
/// let kinds = RefCell::new(Vec::new());
/// let reporter = Reporter::new(|progress| kinds.borrow_mut().push(progress.kind));
/// agent.job("12/4+9?").observer(&reporter).run()?;
/// assert_eq!(kinds.borrow()[0], ProgressKind::Phase);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Reporter<F>(F);

impl<F: Fn(Progress)> Reporter<F> {
    /// Hands everything on, tokens included.
    pub fn new(hand_on: F) -> Self {
        Reporter(hand_on)
    }
}

impl<F: Fn(Progress)> Observer for Reporter<F> {
    fn notice(&self, signal: Signal<'_>) {
        Progress::of(&signal).into_iter().for_each(&self.0);
    }

    fn wants_tokens(&self) -> bool {
        true
    }
}

/// One item of a [`Stream`].
#[derive(Debug)]
pub enum Streamed {
    /// Something happened.
    Progress(Progress),
    /// What came of the run. Nothing follows.
    Ended(Result<Run, Stopped>),
}

/// What happens in a run, while it happens: what a [`Reporter`] hands on, then [`Progress::ended`], then
/// [`Streamed::Ended`]. Dropping it stops the run at its next answer.
#[derive(Debug)]
pub struct Stream {
    receiver: Receiver<Streamed>,
    cancel: CancelToken,
    thread: Option<JoinHandle<()>>,
}

impl Agent {
    /// Runs a question on a thread of its own and hands out what happens while it does. The last item is
    /// what came of it; dropping the stream stops the run.
    ///
    /// ```
    /// use planwright::prelude::*;
    /// use planwright_docs::Calc;
    /// use planwright_offline::Offline;
    ///
    /// let spec = planwright::agents::shipped("validated").unwrap().with_tools(|tool| tool.name == "calc");
    /// let agent = Agent::builder(spec).model(Offline::new()).tool(Calc::new()).build()?;
    /// for item in agent.stream("12/4+9?") {
    ///     match item {
    ///         Streamed::Progress(progress) => println!("{}", serde_json::to_string(&progress)?),
    ///         Streamed::Ended(run) => assert_eq!(run?.error(), None),
    ///     }
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stream(&self, question: impl Into<String>) -> Stream {
        let (sender, receiver) = sync_channel(ROOM);
        let cancel = CancelToken::new();
        let (agent, input) = (self.clone(), self.input(question));
        let (token, backup) = (cancel.clone(), sender.clone());
        let thread = std::thread::Builder::new().name("planwright stream".to_owned());
        let spawned = thread.spawn(move || run_and_send(&agent, input, &sender, &token));
        let thread = spawned.map_err(|error| {
            let problem = format!("no thread for the run: {error}");
            // The channel is empty, so this finds room.
            let _ = backup.try_send(Streamed::Ended(Err(Stopped::Incomplete(problem))));
        });
        Stream { receiver, cancel, thread: thread.ok() }
    }
}

impl Stream {
    /// Stops the run without dropping the stream: the rest can still be seen.
    pub fn cancel_token(&self) -> CancelToken {
        self.cancel.clone()
    }
}

fn run_and_send(agent: &Agent, input: Input, sender: &SyncSender<Streamed>, token: &CancelToken) {
    let reporter = Reporter::new(|progress| {
        if sender.send(Streamed::Progress(progress)).is_err() {
            token.cancel();
        }
    });
    let result = agent.job(input).observer(&reporter).cancel(token.clone()).run();
    // A receiver that is gone misses nothing.
    let _ = sender.send(Streamed::Progress(Progress::ended(&result)));
    let _ = sender.send(Streamed::Ended(result));
}

impl Iterator for Stream {
    type Item = Streamed;

    /// Waits for the next item.
    ///
    /// # Panics
    /// If a port of the agent's panicked in the run: the panic is passed on.
    fn next(&mut self) -> Option<Streamed> {
        let item = self.receiver.recv();
        if item.is_err()
            && let Some(thread) = self.thread.take()
            && let Err(panic) = thread.join()
        {
            std::panic::resume_unwind(panic);
        }
        item.ok()
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}
