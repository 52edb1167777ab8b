//! Events: what may happen to a run.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use thiserror::Error;

use super::effect::{Answerer, EffectId};
use super::usage::Usage;
use crate::contract::{AskedCall, PlanStep, Source};

/// What happened in the world, unread: the machine reads it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// The model replied.
    ModelReplied {
        /// The effect this answers.
        effect: EffectId,
        /// The reply, as received.
        reply: ModelReply,
    },
    /// The model answered that it will not or cannot.
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
    /// A person answered.
    HumanAnswered {
        /// The effect this answers.
        effect: EffectId,
        /// What they said.
        answer: HumanAnswer,
    },
    /// The time that a run waited for has passed.
    TimePassed {
        /// The effect this answers.
        effect: EffectId,
    },
    /// The time that a person had to answer is over.
    Expired {
        /// The effect this answers.
        effect: EffectId,
    },
    /// Someone stopped the run. Answers no effect.
    Cancelled {
        /// Why, in their words.
        reason: String,
    },
    /// The run's deadline passed. Answers no effect.
    DeadlinePassed,
}

impl Event {
    /// The effect this answers, if it answers one.
    #[inline]
    pub fn effect(&self) -> Option<EffectId> {
        match self {
            Event::ModelReplied { effect, .. }
            | Event::ModelFailed { effect, .. }
            | Event::ToolReturned { effect, .. }
            | Event::HumanAnswered { effect, .. }
            | Event::TimePassed { effect }
            | Event::Expired { effect } => Some(*effect),
            Event::Cancelled { .. } | Event::DeadlinePassed => None,
        }
    }

    /// Whose answer it is, if it is one.
    pub(in crate::machine) fn answerer(&self) -> Option<Answerer> {
        Some(match self {
            Event::ModelReplied { .. } | Event::ModelFailed { .. } => Answerer::Model,
            Event::ToolReturned { .. } => Answerer::Tool,
            Event::HumanAnswered { .. } | Event::Expired { .. } => Answerer::Person,
            Event::TimePassed { .. } => Answerer::Time,
            Event::Cancelled { .. } | Event::DeadlinePassed => return None,
        })
    }

    /// Makes it the answer to another effect.
    #[must_use]
    pub fn addressed(mut self, to: EffectId) -> Self {
        match &mut self {
            Event::ModelReplied { effect, .. }
            | Event::ModelFailed { effect, .. }
            | Event::ToolReturned { effect, .. }
            | Event::HumanAnswered { effect, .. }
            | Event::TimePassed { effect }
            | Event::Expired { effect } => *effect = to,
            Event::Cancelled { .. } | Event::DeadlinePassed => {}
        }
        self
    }

    /// The name of this kind of event.
    pub fn kind(&self) -> &'static str {
        match self {
            Event::ModelReplied { .. } => "model_replied",
            Event::ModelFailed { .. } => "model_failed",
            Event::ToolReturned { .. } => "tool_returned",
            Event::HumanAnswered { .. } => "human_answered",
            Event::TimePassed { .. } => "time_passed",
            Event::Expired { .. } => "expired",
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
    /// The tool calls it asks for, in order; native function calling only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<AskedCall>,
    /// What the model thought before it, where the server sends that apart. It is shown to people and read by nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub thoughts: String,
    /// What the server wants back beside the calls, unchanged: signed thoughts, sealed reasoning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasoning: Vec<Value>,
    /// What it cost.
    #[serde(default, skip_serializing_if = "Usage::is_zero")]
    pub usage: Usage,
    /// The name that the model was asked under, if its price is to be known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// The name of the server that answered, where several may be asked.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub server: String,
    /// Whether it came out of the cache.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
}

impl ModelReply {
    /// A reply in words.
    pub fn text(text: impl Into<String>) -> Self {
        ModelReply { text: text.into(), ..ModelReply::default() }
    }

    /// A reply that asks for tool calls.
    pub fn calls<T: Into<String>>(calls: impl IntoIterator<Item = (T, Value)>) -> Self {
        let call = |(name, arguments): (T, Value)| (name.into(), arguments.to_string());
        let calls = calls.into_iter().map(call).map(|(name, arguments)| AskedCall { name, arguments });
        ModelReply { tool_calls: calls.collect(), ..ModelReply::default() }
    }
}

/// An answer that is no reply. The same request would get it again, so the machine decides what follows.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
#[error("{class}: {message}")]
pub struct ModelFailure {
    /// The kind of answer.
    pub class: FailureClass,
    /// What the server or the model said.
    pub message: String,
    /// The reply as far as it came, if it was cut.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// What it cost.
    #[serde(default, skip_serializing_if = "Usage::is_zero")]
    pub usage: Usage,
    /// The name that the model was asked under, if its price is to be known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
}

impl ModelFailure {
    /// A failure of this class, at no known cost.
    pub fn new(class: FailureClass, message: impl Into<String>) -> Self {
        let (message, text, usage, model) = (message.into(), String::new(), Usage::default(), String::new());
        ModelFailure { class, message, text, usage, model }
    }
}

/// The kinds of answers that are no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
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
    /// There was nothing to work on. A step that ends so is not tried again: nothing more would be there.
    NothingFound,
}

impl FailureClass {
    /// Every class.
    pub const ALL: [FailureClass; 7] = [
        FailureClass::Refusal,
        FailureClass::Length,
        FailureClass::ContentFilter,
        FailureClass::ContextLength,
        FailureClass::BadRequest,
        FailureClass::TooLarge,
        FailureClass::NothingFound,
    ];
}

impl fmt::Display for FailureClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
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
        /// Where that comes from, as far as the tool knows.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        sources: Vec<Source>,
        /// The output as data, which conforms to what the tool's contract declares.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<Box<Value>>,
    },
    /// The tool failed. A failed step is a recorded result, never a crash.
    Failed {
        /// One word for the kind: `timeout`, `http`, `input`, ….
        kind: String,
        /// What went wrong.
        message: String,
    },
}

/// What a person said about a step or a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HumanAnswer {
    /// Yes: the plan is carried out, or the tool called, exactly as it was shown.
    Approve,
    /// Yes to these of several calls that are asked about together. The others are a no.
    ApproveCalls {
        /// Which, in the order of the question.
        calls: Vec<AllowedCall>,
    },
    /// An answer in words, which later steps are shown. It takes the place of a call that is asked about.
    Respond {
        /// What they said.
        text: String,
    },
    /// No. The policy's `on_rejection` decides what follows.
    Reject {
        /// Why.
        reason: String,
    },
    /// Yes, but the remaining steps are to be these. They pass the same checks as a planner's.
    Edit {
        /// The steps from the next on, or all steps of a plan that is asked about.
        steps: Vec<PlanStep>,
    },
    /// Yes, but the tool is to be called with this. It passes the same checks as a planner's.
    EditInput {
        /// The input.
        input: Value,
    },
}

/// One of several calls that a person was asked about and allows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "expected positions of calls, from 1, or objects of position and input"
)]
pub enum AllowedCall {
    /// The call at this position of the question, from 1, as it was shown.
    AsShown(#[serde(deserialize_with = "deserialize_position")] u32),
    /// The call at this position with another input, which passes the same checks as a planner's.
    Edited {
        /// The position, from 1.
        #[serde(deserialize_with = "deserialize_position")]
        position: u32,
        /// What the tool is to be called with.
        input: Value,
    },
}

/// Reads a position. JSON has no integers: `2.0` is the whole number 2 as well.
fn deserialize_position<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    let number = serde_json::Number::deserialize(from)?;
    let is_position = |number: &f64| number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(number);
    let position = number.as_f64().filter(is_position).map(|number| number as u32);
    position.ok_or_else(|| D::Error::custom(format!("expected a position, found {number}")))
}

impl AllowedCall {
    /// The position of the call in the question, from 1.
    pub fn position(&self) -> u32 {
        match self {
            AllowedCall::AsShown(position) | AllowedCall::Edited { position, .. } => *position,
        }
    }

    /// What the tool is to be called with, if that is something else than was shown.
    pub fn input(&self) -> Option<&Value> {
        match self {
            AllowedCall::AsShown(_) => None,
            AllowedCall::Edited { input, .. } => Some(input),
        }
    }
}

impl HumanAnswer {
    /// An answer in words.
    pub fn respond(text: impl Into<String>) -> Self {
        HumanAnswer::Respond { text: text.into() }
    }

    /// No, and why.
    pub fn reject(reason: impl Into<String>) -> Self {
        HumanAnswer::Reject { reason: reason.into() }
    }

    /// The name of this kind of answer.
    pub fn kind(&self) -> &'static str {
        match self {
            HumanAnswer::Approve => "approve",
            HumanAnswer::ApproveCalls { .. } => "approve_calls",
            HumanAnswer::Respond { .. } => "respond",
            HumanAnswer::Reject { .. } => "reject",
            HumanAnswer::Edit { .. } => "edit",
            HumanAnswer::EditInput { .. } => "edit_input",
        }
    }
}

impl ToolOutcome {
    /// A tool returned this, from no known source.
    pub fn returned(output: impl Into<String>) -> Self {
        ToolOutcome::Returned { output: output.into(), sources: Vec::new(), data: None }
    }
}
