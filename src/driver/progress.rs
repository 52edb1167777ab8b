//! Progress: what an observer sees, as values that can be sent, stored and shown elsewhere; and streams of
//! them.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::agent::Agent;
use super::environment::CancelToken;
use super::run::{Run, Stopped};
use crate::machine::{EffectId, State, TraceLine};
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
    /// `evaluation_result`, `generating`, or the name of the role that is asked; `answered` and `said` tell of
    /// a model's reply.
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

/// One thing that happened in a run: `{"type": …, "step": …, "content": …, "time": …, "agent": …}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// The kind.
    #[serde(rename = "type")]
    pub kind: ProgressKind,
    /// The kind within the kind.
    pub step: String,
    /// The content: a text, or a JSON value. What took time says so under `duration`, in seconds.
    pub content: Value,
    /// Why the answer was not accepted when it was checked, beside an answer that is given all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objection: Option<String>,
    /// When it was seen, in UTC: `2026-11-20T00:30:00.123Z`. Empty before it is [stamped](Progress::stamped).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub time: String,
    /// The agent whose run it is. Empty before it is [stamped](Progress::stamped).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub agent: String,
}

impl Progress {
    fn new(kind: ProgressKind, step: impl Into<String>, content: impl Into<Value>) -> Self {
        Progress {
            kind,
            step: step.into(),
            content: content.into(),
            objection: None,
            time: String::new(),
            agent: String::new(),
        }
    }

    /// With the time, in milliseconds since 1970 (0 if it is not known), and the name of the agent.
    #[must_use]
    pub fn stamped(self, now_ms: u64, agent: &str) -> Self {
        let time = i64::try_from(now_ms).ok().filter(|now| *now > 0);
        let time = time.and_then(|now| Timestamp::from_millisecond(now).ok());
        let time = time.map_or_else(String::new, |time| format!("{time:.3}"));
        Progress { time, agent: agent.to_owned(), ..self }
    }

    fn question(kind: &str, effect: EffectId, step: u32, question: &str) -> Self {
        let content = json!({"effect": effect, "step": step, "question": question});
        Progress::new(ProgressKind::Question, kind, content)
    }

    /// A signal as a value. An answer of a tool or a person has none: its result follows.
    pub fn of(signal: &Signal<'_>) -> Option<Self> {
        use ProgressKind::{Phase, Sources, Thinking, Token, Trace};
        Some(match signal {
            Signal::Entered(phase) => Progress::new(Phase, phase.to_string(), phase.to_string()),
            Signal::Asked { span, request } => Progress::of_request(span, request),
            Signal::Answered { span, answer, .. } if answer.usage.is_some() => {
                let step = if answer.cached { "cached" } else { "answered" };
                let content = json!({
                    "effect": span.effect, "asked": span.asked, "duration": seconds(answer.duration),
                    "usage": answer.usage, "failure": answer.failure,
                });
                Progress::new(Thinking, step, content)
            }
            Signal::Said { span, thoughts, words } => {
                let content = json!({
                    "effect": span.effect, "asked": span.asked, "thoughts": thoughts, "words": words,
                });
                Progress::new(Thinking, "said", content)
            }
            Signal::Finished { step, tool, failed, output, duration, .. } => Progress::new(
                Thinking,
                "tool_result",
                json!({
                    "step": step, "tool": tool, "failed": failed, "output": output,
                    "duration": duration.map(seconds),
                }),
            ),
            Signal::Traced(TraceLine::Validate { verdict: Some(verdict), .. }) => {
                Progress::new(Thinking, "evaluation_result", json!(verdict))
            }
            Signal::Traced(line) => {
                let content = json!(line);
                let phase = content["phase"].as_str().unwrap_or_default().to_owned();
                Progress::new(Trace, phase, content)
            }
            Signal::Retrying { span, error, most, delay } => Progress::new(
                Thinking,
                "retrying",
                json!({
                    "effect": span.effect, "try": error.tries + 1, "most": most,
                    "delay_ms": delay.as_millis() as u64, "cause": error.cause.to_string(),
                    "message": error.message,
                }),
            ),
            Signal::Token(text) => Progress::new(Token, "token", *text),
            Signal::Restarted => Progress::new(Token, "restarted", ""),
            Signal::Sources(sources) => Progress::new(Sources, "sources", json!(sources)),
            _ => return None,
        })
    }

    fn of_request(span: &Span<'_>, request: &RequestBody<'_>) -> Self {
        use ProgressKind::Thinking;
        let effect = span.effect;
        match request {
            RequestBody::Model { role, .. } => {
                let step = match role {
                    RoleName::Planner | RoleName::Replanner => "planning".to_owned(),
                    RoleName::Writer | RoleName::Conversation => "generating".to_owned(),
                    other => other.to_string(),
                };
                Progress::new(Thinking, step, json!({"role": role, "effect": effect}))
            }
            RequestBody::Tool { step, tool, input, .. } => {
                let step = effect.step().unwrap_or(*step);
                Progress::new(Thinking, "tool_selected", json!({"step": step, "tool": tool, "input": input}))
            }
            RequestBody::Human { step, question } => {
                let step = effect.step().unwrap_or(*step);
                Progress::question("human", effect, step, question)
            }
            RequestBody::Wait { delay_ms } => {
                Progress::new(Thinking, "waiting", json!({"effect": effect, "delay_ms": delay_ms}))
            }
        }
    }

    /// What came of a run, as the last thing that happened in it.
    pub fn ended(result: &Result<Run, Stopped>) -> Self {
        let run = match result {
            Ok(run) => run,
            Err(Stopped::Unsaved { run, .. }) => run,
            Err(stopped) => return Progress::new(ProgressKind::Error, "stopped", stopped.to_string()),
        };
        match run.waiting() {
            Some(waiting) => Progress::question("waiting", waiting.effect, waiting.step, &waiting.question),
            None => Progress::of_end(run.state()),
        }
    }

    /// How a run has ended.
    pub(super) fn of_end(state: &State) -> Self {
        match state.error() {
            Some(error) => {
                let content = json!({"code": error.code, "message": error.message});
                Progress::new(ProgressKind::Error, "ended", content)
            }
            None => Progress {
                objection: state.objection().map(str::to_owned),
                ..Progress::new(ProgressKind::Answer, "answer", state.answer().unwrap_or_default())
            },
        }
    }
}

/// Seconds, to the millisecond.
fn seconds(duration: Duration) -> f64 {
    duration.as_millis() as f64 / 1_000.0
}

/// What happens in a run, while it happens: an iterator whose last item is [`Progress::ended`], unless a port
/// panics or no thread can be started, which [`finish`](Stream::finish) tells. Dropping it stops the run at its
/// next answer.
#[derive(Debug)]
pub struct Stream {
    receiver: Receiver<Progress>,
    cancel: CancelToken,
    thread: Result<JoinHandle<Result<Run, Stopped>>, std::io::Error>,
}

impl Agent {
    /// Runs a question on a thread of its own and hands out what happens while it does.
    ///
    /// ```
    /// use planwright::prelude::*;
    /// use planwright_docs::Calc;
    /// use planwright_offline::Offline;
    ///
    /// let spec = planwright::agents::shipped("validated").unwrap().with_tools(|tool| tool.name == "calc");
    /// let agent = Agent::builder(spec).model(Offline::new()).tool(Calc::new()).build()?;
    /// let mut stream = agent.stream("12/4+9?");
    /// for progress in &mut stream {
    ///     println!("{}", serde_json::to_string(&progress)?);
    /// }
    /// assert_eq!(stream.finish()?.error(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stream(&self, question: impl Into<String>) -> Stream {
        let (sender, receiver) = sync_channel(ROOM);
        let cancel = CancelToken::new();
        let (agent, input, token) = (self.clone(), self.input(question), cancel.clone());
        let run = move || {
            let relay = Relay { sender, token, agent: agent.clone() };
            let result = agent.job(input).observer(&relay).cancel(relay.token.clone()).run();
            relay.send(Progress::ended(&result));
            result
        };
        let thread = std::thread::Builder::new().name("planwright stream".to_owned()).spawn(run);
        Stream { receiver, cancel, thread }
    }
}

impl Stream {
    /// The token that stops the run. The rest can still be seen.
    pub fn cancel_token(&self) -> CancelToken {
        self.cancel.clone()
    }

    /// Waits for the end of the run, and gives what came of it.
    ///
    /// # Errors
    /// [`Stopped`].
    ///
    /// # Panics
    /// If a port of the agent's panicked in the run: the panic is passed on.
    pub fn finish(mut self) -> Result<Run, Stopped> {
        self.by_ref().for_each(drop);
        let unstarted = Err(std::io::Error::other("the run has ended"));
        match std::mem::replace(&mut self.thread, unstarted) {
            Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(error) => Err(Stopped::Incomplete(format!("no thread for the run: {error}"))),
        }
    }
}

impl Iterator for Stream {
    type Item = Progress;

    /// Waits for the next item.
    fn next(&mut self) -> Option<Progress> {
        self.receiver.recv().ok()
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

/// Sends what it sees down a stream. A stream that was dropped stops the run.
struct Relay {
    sender: SyncSender<Progress>,
    token: CancelToken,
    agent: Agent,
}

impl Relay {
    fn send(&self, progress: Progress) {
        let Agent { environment, compiled, .. } = &self.agent;
        let progress = progress.stamped(environment.clock.now_ms(), &compiled.spec().name);
        if self.sender.send(progress).is_err() {
            self.token.cancel();
        }
    }
}

impl Observer for Relay {
    fn notice(&self, signal: Signal<'_>) {
        Progress::of(&signal).into_iter().for_each(|progress| self.send(progress));
    }

    fn wants_tokens(&self) -> bool {
        true
    }
}
