//! The protocol of Anthropic's Messages, which other servers speak as well.

mod messages;
mod payload;
mod reply;

use serde_json::Value;

use self::messages::render_request;
use self::reply::MessageDraft;
use crate::client::Client;
use crate::door::{Asked, Door, Protocol};
use planwright::ports::Secret;
use planwright::prompt::ModelRequest;

/// The version of the protocol, which every request names.
const VERSION: &str = "2023-06-01";

/// A client of a server with Anthropic's `/v1/messages`.
///
/// ```no_run
/// use planwright::ports::Secret;
/// use planwright_http::{Anthropic, ModelConfig};
///
/// let api_key = Secret::new(std::env::var("ANTHROPIC_API_KEY").unwrap_or_default());
/// let config = ModelConfig::new("https://api.anthropic.com", "claude-sonnet-4-5");
/// let model = Anthropic::new(ModelConfig { api_key, ..config })?;
/// # Ok::<(), planwright::ports::ModelError>(())
/// ```
pub type Anthropic = Door<Messages>;

/// The protocol of [`Anthropic`].
#[derive(Debug)]
pub struct Messages;

impl Protocol for Messages {
    const PROVIDER: &'static str = "anthropic";
    const PATH: &'static str = "/messages";
    const ROOT: &'static str = "/v1";
    const ANSWER: &'static str = "a message";
    const HAS_JSON_OBJECT: bool = false;
    const REASONING: Option<&'static str> = Some("signature");
    type Draft = MessageDraft;

    fn open_client(key: &Secret) -> Result<Client, String> {
        let mut client = Client::with_key_in("x-api-key", "", key)?;
        client.add_header("anthropic-version", VERSION).map(|()| client)
    }

    fn render(request: &ModelRequest, asked: Asked<'_>) -> Vec<(&'static str, Option<Value>)> {
        render_request(request, asked)
    }
}
