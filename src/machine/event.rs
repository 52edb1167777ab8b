//! The two vocabularies: what may happen to a run (events, past tense) and what it may ask of the
//! world (effects, imperative), with the ids that tie an answer to what was asked.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::spec::RoleName;

/// The id of one effect. It derives from what is asked (which draft, which step, which try) and
/// not from a counter, so nothing depends on the order of arrival. Written `plan.1.1`,
/// `step.1.3.1`, `validate.1.1`, `write.1.1`; all numbers count from 1.
///
/// ```
/// use planwright::machine::EffectId;
///
/// let id: EffectId = "step.1.3.1".parse()?;
/// assert_eq!(id, EffectId::Step { draft: 1, step: 2, attempt: 1 });
/// assert_eq!(id.to_string(), "step.1.3.1");
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EffectId {
    /// Asking for a plan.
    Plan {
        /// Which draft of the plan, from 1.
        draft: u32,
        /// Which asking for it, from 1; later ones are repairs.
        ask: u32,
    },
    /// Calling the tool of a step.
    Step {
        /// The draft the step belongs to, from 1.
        draft: u32,
        /// The step's position in the plan, from 0 (written from 1).
        step: u32,
        /// Which try, from 1.
        attempt: u32,
    },
    /// Asking for a verdict.
    Validate {
        /// The draft whose results are judged, from 1.
        draft: u32,
        /// Which asking for it, from 1; later ones are repairs.
        ask: u32,
    },
    /// Asking for the answer.
    Write {
        /// The draft whose results are written up, from 1.
        draft: u32,
        /// Which asking for it, from 1; later ones are repairs.
        ask: u32,
    },
}

impl fmt::Display for EffectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EffectId::Plan { draft, ask } => write!(f, "plan.{draft}.{ask}"),
            EffectId::Step { draft, step, attempt } => {
                write!(f, "step.{draft}.{}.{attempt}", u64::from(*step) + 1)
            }
            EffectId::Validate { draft, ask } => write!(f, "validate.{draft}.{ask}"),
            EffectId::Write { draft, ask } => write!(f, "write.{draft}.{ask}"),
        }
    }
}

impl FromStr for EffectId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split('.');
        let kind = parts.next().unwrap_or_default();
        let numbers: Option<Vec<u32>> =
            parts.map(|part| part.parse().ok().filter(|&number| number > 0)).collect();
        let id = match (kind, numbers.as_deref()) {
            ("plan", Some(&[draft, ask])) => EffectId::Plan { draft, ask },
            ("step", Some(&[draft, step, attempt])) => EffectId::Step { draft, step: step - 1, attempt },
            ("validate", Some(&[draft, ask])) => EffectId::Validate { draft, ask },
            ("write", Some(&[draft, ask])) => EffectId::Write { draft, ask },
            _ => return Err(format!("expected an effect id like \"plan.1.1\", found {text:?}")),
        };
        // One text per id: "plan.01.1" is refused, as it would not be written back the same.
        if id.to_string() == text { Ok(id) } else { Err(format!("expected \"{id}\", found {text:?}")) }
    }
}

impl Serialize for EffectId {
    fn serialize<S: Serializer>(&self, sink: S) -> Result<S::Ok, S::Error> {
        sink.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for EffectId {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        String::deserialize(source)?.parse().map_err(serde::de::Error::custom)
    }
}

/// What a run asks of the world. Small: the words of a request are rendered from the state by
/// [`prompt::render`](crate::prompt::render), the input of a tool call is read from the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Ask the model in one of its roles.
    AskModel {
        /// The id its answer must carry.
        id: EffectId,
        /// The role to ask.
        role: RoleName,
    },
    /// Call one tool once. Whether to try again is a rule of the machine, never of the driver.
    CallTool {
        /// The id its answer must carry.
        id: EffectId,
        /// The step's position in the plan, from 0.
        step: u32,
    },
}

impl Effect {
    /// The id that the answer must carry.
    pub fn id(&self) -> EffectId {
        match self {
            Effect::AskModel { id, .. } | Effect::CallTool { id, .. } => *id,
        }
    }
}

/// What happened in the world, as it was said there. Reading it is the machine's affair.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The model answered. The text is as received; `contract/` reads it.
    ModelReplied {
        /// The effect this answers.
        effect: EffectId,
        /// The answer.
        reply: ModelReply,
    },
    /// The model's answer is that it will not or cannot.
    ModelFailed {
        /// The effect this answers.
        effect: EffectId,
        /// What came instead of a reply.
        failure: ModelFailure,
    },
    /// A tool call ended, well or not.
    ToolReturned {
        /// The effect this answers.
        effect: EffectId,
        /// What came of it.
        outcome: ToolOutcome,
    },
    /// Someone stopped the run. Answers no effect.
    Cancelled {
        /// Why, in the words of whoever did.
        reason: String,
    },
    /// The run's deadline passed. Answers no effect.
    DeadlinePassed,
}

impl Event {
    /// The effect this answers, if it answers one.
    pub fn effect(&self) -> Option<EffectId> {
        match self {
            Event::ModelReplied { effect, .. }
            | Event::ModelFailed { effect, .. }
            | Event::ToolReturned { effect, .. } => Some(*effect),
            Event::Cancelled { .. } | Event::DeadlinePassed => None,
        }
    }

    /// The name of this kind of event.
    pub fn kind(&self) -> &'static str {
        match self {
            Event::ModelReplied { .. } => "model_replied",
            Event::ModelFailed { .. } => "model_failed",
            Event::ToolReturned { .. } => "tool_returned",
            Event::Cancelled { .. } => "cancelled",
            Event::DeadlinePassed => "deadline_passed",
        }
    }
}

/// A model's answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelReply {
    /// The text, as received.
    pub text: String,
    /// What it cost.
    #[serde(default, skip_serializing_if = "Usage::is_zero")]
    pub usage: Usage,
}

impl ModelReply {
    /// A reply of which nothing is known but its text.
    pub fn text(text: impl Into<String>) -> Self {
        ModelReply { text: text.into(), usage: Usage::default() }
    }
}

/// What model calls cost, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Of the tokens read, those that the server had in its cache.
    pub cached_tokens: u64,
}

impl Usage {
    /// Whether nothing was counted.
    pub fn is_zero(&self) -> bool {
        *self == Usage::default()
    }

    /// Adds what another call cost.
    pub fn add(&mut self, other: Usage) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
    }
}

/// An answer that is no reply. The same request would get it again, so it is not transport: the
/// machine decides what follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelFailure {
    /// The kind of answer.
    pub class: FailureClass,
    /// What the server or the model said.
    pub message: String,
}

impl fmt::Display for ModelFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.class, self.message)
    }
}

/// The kinds of answers that are no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// The model refused.
    Refusal,
    /// The reply was cut at the token limit.
    Length,
    /// A filter withheld the reply.
    ContentFilter,
    /// The request is longer than the model's context.
    ContextLength,
    /// The server would not take the request.
    BadRequest,
    /// The reply is over the size limit and was not read.
    TooLarge,
}

impl FailureClass {
    /// Every class.
    pub const ALL: [FailureClass; 6] = [
        FailureClass::Refusal,
        FailureClass::Length,
        FailureClass::ContentFilter,
        FailureClass::ContextLength,
        FailureClass::BadRequest,
        FailureClass::TooLarge,
    ];
}

impl fmt::Display for FailureClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FailureClass::Refusal => "refusal",
            FailureClass::Length => "length",
            FailureClass::ContentFilter => "content_filter",
            FailureClass::ContextLength => "context_length",
            FailureClass::BadRequest => "bad_request",
            FailureClass::TooLarge => "too_large",
        })
    }
}

/// What came of a tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolOutcome {
    /// The tool returned.
    Returned {
        /// What it returned.
        output: String,
    },
    /// The tool failed. A failed step is a recorded result, never a crash.
    Failed {
        /// One word for the kind: `timeout`, `http`, `input`, ….
        kind: String,
        /// What went wrong.
        message: String,
    },
}
