//! Exchanges: requests with their answers, as a fixture keeps them.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::machine::{EffectId, Event, HumanAnswer, ModelFailure, ModelReply, ToolOutcome};
use crate::prompt::{Message, Request, RequestBody, human_digest, wait_digest};
use crate::spec::Digest;

/// One request with its answer, or something that happened unasked. Occurrences are counted from 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exchange {
    /// A model call.
    Model {
        /// The effect.
        effect: EffectId,
        /// The role: its name, or `agent:…` for an agent that does a step, after the names of the agents that
        /// it is nested in.
        role: String,
        /// The digest of frame and payload.
        digest: Digest,
        /// Which answer to this digest it is.
        occurrence: u32,
        /// The payload: the user message.
        request: Value,
        /// The messages after it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        conversation: Vec<Message>,
        /// The answer.
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
        /// Which call of this digest it is.
        occurrence: u32,
        /// The input.
        input: Value,
        /// The answer.
        answer: ToolOutcome,
    },
    /// A person answered a question.
    Human {
        /// The effect.
        effect: EffectId,
        /// Which answer to this question it is.
        occurrence: u32,
        /// The question.
        question: String,
        /// What they said.
        answer: HumanAnswer,
    },
    /// A question was not answered in time.
    Expired {
        /// The effect.
        effect: EffectId,
        /// Which end of this question it is.
        occurrence: u32,
        /// The question.
        question: String,
    },
    /// Time passed before another try.
    Waited {
        /// The effect.
        effect: EffectId,
        /// Which wait of this length it is.
        occurrence: u32,
        /// How long, in milliseconds.
        delay_ms: u64,
    },
    /// Something that answers no effect.
    Happened(Event),
}

/// The answer of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelAnswer {
    /// A reply.
    Reply(ModelReply),
    /// The reason why there is none.
    Failure(ModelFailure),
}

impl Exchange {
    /// The exchange of a request with the event that answers it; `None` if the event answers something else.
    /// `occurrences` counts the answers to each digest.
    pub(super) fn new(
        request: Option<Request<'_>>,
        event: Event,
        occurrences: &mut HashMap<Digest, u32>,
    ) -> Option<Self> {
        let Some(Request { effect, asked, digest, body, .. }) = request else {
            let unasked = matches!(event, Event::Cancelled { .. } | Event::DeadlinePassed);
            return unasked.then_some(Exchange::Happened(event));
        };
        let count = occurrences.entry(digest).or_default();
        let occurrence = *count + 1;
        let exchange = match (body, event) {
            (RequestBody::Model { request, .. }, event) => {
                let answer = match event {
                    Event::ModelReplied { reply, .. } => ModelAnswer::Reply(reply),
                    Event::ModelFailed { failure, .. } => ModelAnswer::Failure(failure),
                    _ => return None,
                };
                let conversation = request.conversation;
                let request = serde_json::from_str(&request.payload).ok()?;
                Exchange::Model {
                    effect,
                    role: asked.into_owned(),
                    digest,
                    occurrence,
                    request,
                    conversation,
                    answer,
                }
            }
            (RequestBody::Tool { tool, input, .. }, Event::ToolReturned { outcome: answer, .. }) => {
                Exchange::Tool { effect, tool: tool.into_owned(), digest, occurrence, input, answer }
            }
            (RequestBody::Human { question, .. }, Event::HumanAnswered { answer, .. }) => {
                Exchange::Human { effect, occurrence, question, answer }
            }
            (RequestBody::Human { question, .. }, Event::Expired { .. }) => {
                Exchange::Expired { effect, occurrence, question }
            }
            (RequestBody::Wait { delay_ms }, Event::TimePassed { .. }) => {
                Exchange::Waited { effect, occurrence, delay_ms }
            }
            _ => return None,
        };
        *count = occurrence;
        Some(exchange)
    }

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

    /// The role or tool that was asked.
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
