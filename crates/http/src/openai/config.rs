//! How to reach a server and what to expect of it.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use ureq::http::Uri;

use crate::transport::shown;
use planwright::ports::Secret;

/// How a reply's form is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
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

impl StructuredOutput {
    /// Every setting, in the order in which `auto` gives way.
    pub const ALL: [StructuredOutput; 4] = [
        StructuredOutput::Auto,
        StructuredOutput::JsonSchema,
        StructuredOutput::JsonObject,
        StructuredOutput::Prompt,
    ];

    /// The setting as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            StructuredOutput::Auto => "auto",
            StructuredOutput::JsonSchema => "json_schema",
            StructuredOutput::JsonObject => "json_object",
            StructuredOutput::Prompt => "prompt",
        }
    }
}

impl fmt::Display for StructuredOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for StructuredOutput {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|known| known.as_str() == text).ok_or_else(|| {
            let known = Self::ALL.map(Self::as_str).join(", ");
            format!("expected one of {known}, found {text:?}")
        })
    }
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
#[derive(Clone)]
pub struct OpenAiConfig {
    pub(super) base_url: String,
    pub(super) model: String,
    pub(super) api_key: Option<Secret>,
    pub(super) connect_timeout: Duration,
    pub(super) call_timeout: Duration,
    pub(super) max_tries: u32,
    pub(super) max_wait: Duration,
    pub(super) max_response_bytes: usize,
    pub(super) structured_output: StructuredOutput,
    pub(super) per_model: Vec<(String, StructuredOutput)>,
}

impl OpenAiConfig {
    /// The model to ask where a role names none, at a server such as `http://localhost:8080/v1`.
    pub fn new(base_url: impl Into<String>, model: impl Into<String>) -> Self {
        OpenAiConfig {
            base_url: base_url.into(),
            model: model.into(),
            api_key: None,
            connect_timeout: Duration::from_secs(10),
            call_timeout: Duration::from_secs(300),
            max_tries: 6,
            max_wait: Duration::from_secs(20),
            max_response_bytes: 16 * 1024 * 1024,
            structured_output: StructuredOutput::Auto,
            per_model: Vec::new(),
        }
    }

    /// The key to send as `Authorization: Bearer …`. Without one, or with an empty one, the header
    /// is left out.
    #[must_use]
    pub fn api_key(mut self, key: Secret) -> Self {
        self.api_key = Some(key).filter(|key| !key.expose().is_empty());
        self
    }

    /// How long one try may take to connect. 10 s unless set.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// How long one try may take as a whole, from looking up the name to the last byte. 300 s
    /// unless set.
    #[must_use]
    pub fn call_timeout(mut self, timeout: Duration) -> Self {
        self.call_timeout = timeout;
        self
    }

    /// How often a request is tried while the failures may pass; at least once. 6 unless set.
    #[must_use]
    pub fn max_tries(mut self, tries: u32) -> Self {
        self.max_tries = tries.max(1);
        self
    }

    /// The longest wait between two tries. A server that asks for more is not tried again. 20 s
    /// unless set.
    #[must_use]
    pub fn max_wait(mut self, wait: Duration) -> Self {
        self.max_wait = wait;
        self
    }

    /// Largest response that is read, in bytes after decompression. 16 MiB unless set.
    #[must_use]
    pub fn max_response_bytes(mut self, bytes: usize) -> Self {
        self.max_response_bytes = bytes;
        self
    }

    /// How a reply's form is asked for. [`StructuredOutput::Auto`] unless set.
    #[must_use]
    pub fn structured_output(mut self, setting: StructuredOutput) -> Self {
        self.structured_output = setting;
        self
    }

    /// The same for one model that a role may name.
    #[must_use]
    pub fn structured_output_of(mut self, model: impl Into<String>, setting: StructuredOutput) -> Self {
        let model = model.into();
        self.per_model.retain(|(known, _)| *known != model);
        self.per_model.push((model, setting));
        self
    }

    pub(super) fn setting_for(&self, model: &str) -> StructuredOutput {
        let own = self.per_model.iter().find(|(known, _)| known == model);
        own.map_or(self.structured_output, |(_, setting)| *setting)
    }
}

impl fmt::Debug for OpenAiConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAiConfig")
            .field("base_url", &shown(&self.base_url))
            .field("model", &self.model)
            .field("api_key", &self.api_key)
            .field("connect_timeout", &self.connect_timeout)
            .field("call_timeout", &self.call_timeout)
            .field("max_tries", &self.max_tries)
            .field("max_wait", &self.max_wait)
            .field("max_response_bytes", &self.max_response_bytes)
            .field("structured_output", &self.structured_output)
            .field("per_model", &self.per_model)
            .finish()
    }
}

/// Where the completions of a server are. A query (`?api-version=…`) is kept.
pub(super) fn endpoint(base_url: &str) -> Result<Uri, String> {
    const PATH: &str = "/chat/completions";
    let base_url = base_url.trim();
    let expected =
        |found: String| format!("expected a base URL such as \"http://localhost:8080/v1\", found {found}");
    if base_url.is_empty() {
        return Err(expected("nothing".to_owned()));
    }
    let unfit = || expected(format!("{:?}", shown(base_url)));
    let uri: Uri = base_url.parse().map_err(|_| unfit())?;
    let (Some("http" | "https"), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
        return Err(unfit());
    };
    if authority.host().is_empty() {
        return Err(unfit());
    }
    if authority.as_str().contains('@') {
        return Err(expected("one with a user name; give the key as a key".to_owned()));
    }
    let mut path = uri.path().trim_end_matches('/').to_owned();
    if !path.ends_with(PATH) {
        path.push_str(PATH);
    }
    if let Some(query) = uri.query() {
        path.push('?');
        path.push_str(query);
    }
    let mut parts = uri.into_parts();
    parts.path_and_query = Some(path.parse().map_err(|_| unfit())?);
    Uri::from_parts(parts).map_err(|_| unfit())
}
