//! The protocol of OpenAI's Responses: a request is a list of items, and nothing is kept at the server.

mod items;
mod reply;

use serde_json::Value;

use self::items::render_request;
use self::reply::ResponseDraft;
use crate::door::{Asked, Door, Protocol};
use planwright::prompt::ModelRequest;

/// A client of a server with OpenAI's `/v1/responses`, where some models alone take tools.
///
/// ```no_run
/// use planwright::ports::Secret;
/// use planwright_http::{ModelConfig, Responses};
///
/// let api_key = Secret::new(std::env::var("OPENAI_API_KEY").unwrap_or_default());
/// let config = ModelConfig::new("https://api.openai.com/v1", "gpt-5");
/// let model = Responses::new(ModelConfig { api_key, ..config })?;
/// # Ok::<(), planwright::ports::ModelError>(())
/// ```
pub type Responses = Door<ResponseItems>;

/// The protocol of [`Responses`].
#[derive(Debug)]
pub struct ResponseItems;

impl Protocol for ResponseItems {
    const PROVIDER: &'static str = "openai";
    const PATH: &'static str = "/responses";
    const ROOT: &'static str = "/v1";
    const ANSWER: &'static str = "a response";
    const HAS_JSON_OBJECT: bool = true;
    const REASONING: Option<&'static str> = Some("encrypted");
    type Draft = ResponseDraft;

    fn render(request: &ModelRequest, asked: Asked<'_>) -> Vec<(&'static str, Option<Value>)> {
        render_request(request, asked)
    }
}
