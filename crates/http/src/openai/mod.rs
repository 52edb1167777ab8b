//! The protocol of chat completions: OpenAI, Ollama, llama.cpp, vLLM, LM Studio, LiteLLM and their like.

mod calls;
mod messages;
mod reply;

use serde_json::Value;

use self::calls::parse_generated_calls;
use self::messages::render_request;
use self::reply::Completion;
use crate::client::ServerError;
use crate::door::{Asked, Door, Protocol};
use planwright::machine::ModelReply;
use planwright::prompt::ModelRequest;

/// A client of a server with an OpenAI-compatible chat-completions endpoint.
///
/// ```no_run
/// use planwright::ports::Secret;
/// use planwright_http::{ModelConfig, OpenAi};
///
/// let local = OpenAi::new(ModelConfig::new("http://localhost:11434/v1", "qwen3"))?;
/// let api_key = Secret::new(std::env::var("OPENAI_API_KEY").unwrap_or_default());
/// let hosted = ModelConfig::new("https://api.openai.com/v1", "gpt-4.1-mini");
/// let hosted = OpenAi::new(ModelConfig { api_key, ..hosted })?;
/// # Ok::<(), planwright::ports::ModelError>(())
/// ```
pub type OpenAi = Door<ChatCompletions>;

/// The protocol of [`OpenAi`].
#[derive(Debug)]
pub struct ChatCompletions;

impl Protocol for ChatCompletions {
    const PROVIDER: &'static str = "openai";
    const PATH: &'static str = "/chat/completions";
    const ANSWER: &'static str = "a chat completion";
    const HAS_JSON_OBJECT: bool = true;
    type Draft = Completion;

    fn render(request: &ModelRequest, asked: Asked<'_>) -> Vec<(&'static str, Option<Value>)> {
        render_request(request, asked)
    }

    fn read_generation(error: &ServerError) -> Option<ModelReply> {
        let text = error.details["failed_generation"].as_str().filter(|text| !text.is_empty())?;
        if error.has_mark("tool_use_failed") {
            return Some(ModelReply { tool_calls: parse_generated_calls(text), ..ModelReply::default() });
        }
        error.has_mark("json_validate_failed").then(|| ModelReply::text(text))
    }
}
