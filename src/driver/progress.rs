//! Progress: what an observer sees, as values that can be sent, stored and shown elsewhere. Each has
//! the same three fields: `{"type": …, "step": …, "content": …}`.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::run::Run;
use super::stopped::Stopped;
use crate::machine::TraceLine;
use crate::ports::{Observer, Signal, Span};
use crate::prompt::RequestBody;
use crate::spec::RoleName;

/// What kind of thing happened.
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

/// One thing that happened in a run.
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
    /// What of that kind.
    pub step: String,
    /// What there is to say about it: a text, or a JSON value.
    pub content: Value,
}

impl Progress {
    fn new(kind: ProgressKind, step: impl Into<String>, content: impl Into<Value>) -> Self {
        Progress { kind, step: step.into(), content: content.into() }
    }

    fn thinking(step: &str, content: impl Into<Value>) -> Self {
        Progress::new(ProgressKind::Thinking, step, content)
    }

    /// A signal as a value. Most answers have none: what came of them shows as a step's result, a trace line
    /// or a phase.
    pub fn of(signal: &Signal<'_>) -> Option<Self> {
        Some(match signal {
            Signal::Entered(phase) => {
                Progress::new(ProgressKind::Phase, phase.to_string(), phase.to_string())
            }
            Signal::Asked { span, request } => Progress::of_request(span, request),
            Signal::Answered { span, answer } if answer.cached => {
                Progress::thinking("cached", json!({"effect": span.effect}))
            }
            Signal::Finished { step, tool, failed, output } => {
                let content = json!({"step": step, "tool": tool, "failed": failed, "output": output});
                Progress::thinking("tool_result", content)
            }
            Signal::Traced(line @ TraceLine::Validate { verdict: Some(verdict), .. }) => {
                let content = serde_json::to_value(verdict).or_else(|_| serde_json::to_value(line));
                Progress::thinking("evaluation_result", content.unwrap_or_default())
            }
            Signal::Traced(line) => {
                let content = serde_json::to_value(line).unwrap_or_default();
                let step = content.get("phase").and_then(Value::as_str).unwrap_or_default().to_owned();
                Progress::new(ProgressKind::Trace, step, content)
            }
            Signal::Token(text) => Progress::new(ProgressKind::Token, "token", *text),
            Signal::Sources(sources) => {
                let content = serde_json::to_value(sources).unwrap_or_default();
                Progress::new(ProgressKind::Sources, "sources", content)
            }
            _ => return None,
        })
    }

    fn of_request(span: &Span<'_>, request: &RequestBody<'_>) -> Self {
        let effect = span.effect;
        match request {
            RequestBody::Model { role, .. } => {
                let step = match role {
                    RoleName::Planner | RoleName::Replanner => "planning",
                    RoleName::Writer | RoleName::Conversation => "generating",
                    other => other.as_str(),
                };
                Progress::thinking(step, json!({"role": role, "effect": effect}))
            }
            RequestBody::Tool { step, tool, input, .. } => {
                let step = effect.step().unwrap_or(*step);
                Progress::thinking("tool_selected", json!({"step": step, "tool": tool, "input": input}))
            }
            RequestBody::Human { step, question } => {
                let step = effect.step().unwrap_or(*step);
                let content = json!({"effect": effect, "step": step, "question": question});
                Progress::new(ProgressKind::Question, "human", content)
            }
            RequestBody::Wait { delay_ms } => {
                Progress::thinking("waiting", json!({"effect": effect, "delay_ms": delay_ms}))
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
        match (run.answer(), run.error(), run.waiting()) {
            (_, _, Some(waiting)) => {
                let content =
                    json!({"effect": waiting.effect, "step": waiting.step, "question": waiting.question});
                Progress::new(ProgressKind::Question, "waiting", content)
            }
            (_, Some(error), _) => {
                let content = json!({"code": error.code, "message": error.message});
                Progress::new(ProgressKind::Error, "ended", content)
            }
            (answer, None, None) => Progress::new(ProgressKind::Answer, "answer", answer.unwrap_or_default()),
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
pub struct Reporter<F> {
    hand_on: F,
    tokens: bool,
}

impl<F: Fn(Progress)> Reporter<F> {
    /// Hands everything on, tokens included.
    pub fn new(hand_on: F) -> Self {
        Reporter { hand_on, tokens: true }
    }

    /// Leaves the tokens out.
    #[must_use]
    pub fn without_tokens(mut self) -> Self {
        self.tokens = false;
        self
    }
}

impl<F: Fn(Progress)> Observer for Reporter<F> {
    fn notice(&self, signal: Signal<'_>) {
        if let Some(progress) = Progress::of(&signal) {
            (self.hand_on)(progress);
        }
    }

    fn wants_tokens(&self) -> bool {
        self.tokens
    }
}
