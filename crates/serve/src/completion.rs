//! What came of a turn, as a completion of OpenAI's protocol.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::problem::Result;
use crate::service::Service;
use planwright::journal::system::now_ms;
use planwright::machine::{EffectKind, Usage};
use planwright_app::shapes::ThreadName;
use planwright_app::{Pending, ShownTurn, StoredThread};

/// The turn's message.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CompletionReply {
    /// Follows from the thread and the turn.
    pub id: String,
    #[schema(example = "chat.completion")]
    object: &'static str,
    /// In seconds since 1970.
    created: u64,
    /// The agent.
    model: String,
    pub choices: Vec<Choice>,
    pub usage: CompletionUsage,
    /// Why the run has no answer.
    #[serde(skip)]
    pub error: Option<String>,
    /// With the thread: named in the next request, that is the next turn of it.
    metadata: CompletionMetadata,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Choice {
    index: u32,
    pub message: Said,
    /// `stop`.
    finish_reason: &'static str,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Said {
    #[schema(example = "assistant")]
    role: &'static str,
    /// The answer, or in words why there is none, or what a person is asked and how they answer.
    pub content: String,
}

/// What the turn has spent on all its model calls.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CompletionUsage {
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
    #[schema(value_type = Object)]
    prompt_tokens_details: Value,
}

impl CompletionUsage {
    fn of(usage: Usage) -> Self {
        CompletionUsage {
            prompt_tokens: usage.input_tokens,
            completion_tokens: usage.output_tokens,
            total_tokens: usage.input_tokens.saturating_add(usage.output_tokens),
            prompt_tokens_details: json!({"cached_tokens": usage.cached_tokens}),
        }
    }
}

impl CompletionReply {
    /// Tells of a turn of a thread.
    pub fn of(service: &Service, stored: &StoredThread, thread: &str, turn: u32) -> Result<Self> {
        let turn = service.turn(stored, turn)?;
        let usage = stored.fold(Some(turn.turn))?.state.counters().usage;
        let said = Said { role: "assistant", content: message_of(thread, &turn) };
        Ok(CompletionReply {
            id: format!("chatcmpl-{thread}-{}", turn.turn),
            object: "chat.completion",
            created: now_ms() / 1_000,
            model: turn.agent,
            error: turn.error,
            choices: vec![Choice { index: 0, message: said, finish_reason: "stop" }],
            usage: CompletionUsage::of(usage),
            metadata: CompletionMetadata { thread_id: Some(thread.to_owned()) },
        })
    }
}

/// What came of a turn, as a message of the assistant.
fn message_of(thread: &str, turn: &ShownTurn) -> String {
    let Some(open) = turn.open.as_ref().filter(|_| turn.result.is_none()) else {
        return turn.result.clone().unwrap_or_default();
    };
    let found = Some(&open.results).filter(|results| !results.is_empty());
    let found = found.map_or_else(String::new, |results| format!("{results}\n\n"));
    let how = match open {
        Pending { expired: true, .. } => {
            format!("The time for an answer is over: POST /threads/{thread}/resume goes on without one.")
        }
        open => {
            let approves =
                matches!(open.effect.kind, EffectKind::ApprovePlan { .. } | EffectKind::ApproveCall { .. });
            let (answer, other) = match approves {
                true => (json!({"approve": true}), " (or \"reject\": \"why\")"),
                false => (json!({"response": "…"}), ""),
            };
            let mut body = json!({"thread_id": thread, "token": open.token});
            answer.as_object().into_iter().flatten().for_each(|(key, value)| body[key] = value.clone());
            format!(
                "The run waits for a person. An answer goes on with it{other}:\n\nPOST /hitl/resume\n{body}"
            )
        }
    };
    format!("{found}{}\n\n{how}", open.text())
}

/// What names the thread.
#[derive(Debug, Default, Deserialize, Serialize, ToSchema)]
pub(crate) struct CompletionMetadata {
    /// The thread that it is a turn of; a new one where none is named.
    #[schema(value_type = Option<ThreadName>)]
    pub thread_id: Option<String>,
}
