//! What a client of a model's server is told.

use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value};

use super::dialect::StructuredOutput;
use crate::client::{Network, Retry, show_address};
use planwright::ports::Secret;

/// The settings of a model behind a server: an [`OpenAi`](crate::OpenAi), an [`Anthropic`](crate::Anthropic) or a
/// [`Responses`](crate::Responses).
#[derive(Clone)]
pub struct ModelConfig {
    /// A server such as `http://localhost:8080/v1`.
    pub base_url: String,
    /// The model to ask where a role names none.
    pub model: String,
    /// The key to send, as the protocol has it: `Authorization: Bearer …` or `x-api-key`. An empty one is left out.
    pub api_key: Secret,
    /// Headers to send beside it, by name: `api-key` for Azure, `X-Title` for OpenRouter. No error shows a value.
    pub headers: Vec<(String, Secret)>,
    /// Members of every request as they are, in place of others of their names: `thinking`, `max_tokens`,
    /// `service_tier`. `model` and `stream` stay as they are asked for.
    pub extra: Map<String, Value>,
    /// Certificates to trust, and a proxy, in place of those of the environment.
    pub network: Network,
    /// How long one try may take to connect. 10 s unless set.
    pub connect_timeout: Duration,
    /// How long one try may take, from looking up the name to the last byte. 300 s unless set.
    pub call_timeout: Duration,
    /// The longest time between two pieces of an answer that has begun. 120 s unless set.
    pub idle_timeout: Duration,
    /// How often and how patiently a request is tried again while its failures may pass.
    pub retry: Retry,
    /// The largest response that is read, in bytes after decompression. 16 MiB unless set.
    pub max_response_bytes: usize,
    /// How a reply's form is asked for. [`StructuredOutput::Auto`] unless set.
    pub structured_output: StructuredOutput,
}

impl ModelConfig {
    /// The usual settings for a server and a model.
    pub fn new(base_url: impl Into<String>, model: impl Into<String>) -> Self {
        ModelConfig {
            base_url: base_url.into(),
            model: model.into(),
            api_key: Secret::new(""),
            headers: Vec::new(),
            extra: Map::new(),
            network: Network::default(),
            connect_timeout: Duration::from_secs(10),
            call_timeout: Duration::from_secs(300),
            idle_timeout: Duration::from_secs(120),
            retry: Retry::default(),
            max_response_bytes: 16 << 20,
            structured_output: StructuredOutput::Auto,
        }
    }
}

/// Shows no password and no query of the address.
impl fmt::Debug for ModelConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ModelConfig { base_url, model, retry, .. } = self;
        let mut shown = f.debug_struct("ModelConfig");
        shown.field("base_url", &show_address(base_url)).field("model", model).field("retry", retry);
        shown.finish_non_exhaustive()
    }
}
