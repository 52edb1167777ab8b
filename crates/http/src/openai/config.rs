//! How to reach a server and what to expect of it.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::client::{Retry, show_address};
use planwright::ports::Secret;

/// How a reply's form is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StructuredOutput {
    /// The strictest way that the server takes, found out at the first request and kept.
    #[default]
    Auto,
    /// `response_format: json_schema`, strict.
    JsonSchema,
    /// `response_format: json_object`; the schema is told in the system message.
    JsonObject,
    /// No `response_format`; the schema is told in the system message.
    Prompt,
}

/// The settings of an [`OpenAi`](super::OpenAi) client.
///
/// ```
/// use planwright::ports::Secret;
/// use planwright_http::OpenAiConfig;
///
/// let config = OpenAiConfig::new("http://localhost:11434/v1", "qwen3").api_key(Secret::new("sk-1234"));
/// assert!(!format!("{config:?}").contains("sk-1234"));
/// ```
#[derive(Clone, Debug)]
pub struct OpenAiConfig {
    pub(super) base_url: BaseUrl,
    pub(super) model: String,
    pub(super) api_key: Secret,
    pub(super) connect_timeout: Duration,
    pub(super) call_timeout: Duration,
    pub(super) retry: Retry,
    pub(super) max_response_bytes: usize,
    pub(super) structured_output: StructuredOutput,
}

/// An address as it was configured. Its `Debug` shows no password and no query.
#[derive(Clone)]
pub(super) struct BaseUrl(pub(super) String);

impl fmt::Debug for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show_address(&self.0).fmt(f)
    }
}

impl OpenAiConfig {
    /// Names a server such as `http://localhost:8080/v1` and the model to ask where a role names none.
    pub fn new(base_url: impl Into<String>, model: impl Into<String>) -> Self {
        OpenAiConfig {
            base_url: BaseUrl(base_url.into()),
            model: model.into(),
            api_key: Secret::new(""),
            connect_timeout: Duration::from_secs(10),
            call_timeout: Duration::from_secs(300),
            retry: Retry::default(),
            max_response_bytes: 16 << 20,
            structured_output: StructuredOutput::Auto,
        }
    }

    /// Sets the key to send as `Authorization: Bearer …`. With an empty one the header is left out.
    #[must_use]
    pub fn api_key(mut self, key: Secret) -> Self {
        self.api_key = key;
        self
    }

    /// Sets how long one try may take to connect. 10 s unless set.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets how long one try may take, from looking up the name to the last byte. 300 s unless set.
    #[must_use]
    pub fn call_timeout(mut self, timeout: Duration) -> Self {
        self.call_timeout = timeout;
        self
    }

    /// Sets how often and how patiently a request is tried again while its failures may pass.
    #[must_use]
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// Sets the largest response that is read, in bytes after decompression. 16 MiB unless set.
    #[must_use]
    pub fn max_response_bytes(mut self, bytes: usize) -> Self {
        self.max_response_bytes = bytes;
        self
    }

    /// Sets how a reply's form is asked for. [`StructuredOutput::Auto`] unless set.
    #[must_use]
    pub fn structured_output(mut self, setting: StructuredOutput) -> Self {
        self.structured_output = setting;
        self
    }
}
