//! Exchanges: what was asked and what was answered, one by one, as a fixture keeps them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::machine::{EffectId, Event, HumanAnswer, ModelFailure, ModelReply, ToolOutcome};
use crate::prompt::{Message, human_digest, wait_digest};
use crate::spec::Digest;

/// One thing that was asked and answered, or that happened unasked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exchange {
    /// A model call.
    Model {
        /// The effect.
        effect: EffectId,
        /// The role that was asked: its name, or `agent:…` for one that does a step; after the names of
        /// the agents it is nested in, where it is.
        role: String,
        /// The digest of frame and payload.
        digest: Digest,
        /// Which answer to a request of this digest it is, from 1.
        occurrence: u32,
        /// The payload: the user message.
        request: Value,
        /// What was said after it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        conversation: Vec<Message>,
        /// What came.
        answer: ModelAnswer,
    },
    /// A tool call.
    Tool {
        /// The effect.
        effect: EffectId,
        /// The tool.
        tool: String,
        /// The digest of tool and canonical input.
        digest: Digest,
        /// Which call of this digest it is, from 1.
        occurrence: u32,
        /// What it was called with.
        input: Value,
        /// What came.
        answer: ToolAnswer,
    },
    /// A person was asked.
    Human {
        /// The effect.
        effect: EffectId,
        /// Which answer to this question it is, from 1.
        occurrence: u32,
        /// The question.
        question: String,
        /// What they said.
        answer: HumanAnswer,
    },
    /// A person was asked, and nobody answered in time.
    Expired {
        /// The effect.
        effect: EffectId,
        /// Which end of this question it is, from 1.
        occurrence: u32,
        /// The question.
        question: String,
    },
    /// Time passed before another try.
    Waited {
        /// The effect.
        effect: EffectId,
        /// Which wait of this length it is, from 1.
        occurrence: u32,
        /// How long, in milliseconds.
        delay_ms: u64,
    },
    /// Something that answers no effect.
    Happened(Event),
}

/// What a model answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelAnswer {
    /// A reply.
    Reply(ModelReply),
    /// No reply, for this reason.
    Failure(ModelFailure),
}

/// What a tool answered.
pub type ToolAnswer = ToolOutcome;

impl Exchange {
    /// The effect and the digest; `None` for what happened unasked.
    pub fn key(&self) -> Option<(EffectId, Digest)> {
        match self {
            Exchange::Model { effect, digest, .. } | Exchange::Tool { effect, digest, .. } => {
                Some((*effect, *digest))
            }
            Exchange::Human { effect, question, .. } | Exchange::Expired { effect, question, .. } => {
                Some((*effect, human_digest(question)))
            }
            Exchange::Waited { effect, delay_ms, .. } => Some((*effect, wait_digest(*delay_ms))),
            Exchange::Happened(_) => None,
        }
    }

    /// Who was asked: a role or a tool.
    pub fn asked(&self) -> &str {
        match self {
            Exchange::Model { role: asked, .. } | Exchange::Tool { tool: asked, .. } => asked,
            Exchange::Human { .. } | Exchange::Expired { .. } => "human",
            Exchange::Waited { .. } => "wait",
            Exchange::Happened(event) => event.kind(),
        }
    }

    /// The answer as the event that carries it.
    pub fn event(&self) -> Event {
        match self {
            Exchange::Model { effect, answer: ModelAnswer::Reply(reply), .. } => {
                Event::ModelReplied { effect: *effect, reply: reply.clone() }
            }
            Exchange::Model { effect, answer: ModelAnswer::Failure(failure), .. } => {
                Event::ModelFailed { effect: *effect, failure: failure.clone() }
            }
            Exchange::Tool { effect, answer, .. } => {
                Event::ToolReturned { effect: *effect, outcome: answer.clone() }
            }
            Exchange::Human { effect, answer, .. } => {
                Event::HumanAnswered { effect: *effect, answer: answer.clone() }
            }
            Exchange::Expired { effect, .. } => Event::Expired { effect: *effect },
            Exchange::Waited { effect, .. } => Event::TimePassed { effect: *effect },
            Exchange::Happened(event) => event.clone(),
        }
    }
}
