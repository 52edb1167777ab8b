//! Providers of models, and what the configuration file says of a model and a role.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use planwright_http::StructuredOutput;

/// The protocol of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[cfg_attr(feature = "clap", value(rename_all = "lower"))]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    /// Chat completions, as OpenAI and most others have them.
    #[default]
    OpenAi,
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Responses, where some models alone take tools.
    Responses,
}

impl Provider {
    /// The address of its own servers.
    pub(crate) fn base_url(self) -> &'static str {
        match self {
            Provider::OpenAi | Provider::Responses => "https://api.openai.com/v1",
            Provider::Anthropic => "https://api.anthropic.com/v1",
        }
    }

    /// The variables that usually hold an address and a key.
    pub(crate) fn variables(self) -> (&'static str, &'static str) {
        match self {
            Provider::OpenAi | Provider::Responses => ("OPENAI_BASE_URL", "OPENAI_API_KEY"),
            Provider::Anthropic => ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
        }
    }

    /// What its servers are called.
    pub(crate) fn describe_servers(self) -> &'static str {
        match self {
            Provider::OpenAi => "an OpenAI-compatible server",
            Provider::Anthropic => "a server of Anthropic's Messages",
            Provider::Responses => "a server of OpenAI's Responses",
        }
    }

    /// The variables that usually hold keys.
    pub(crate) const KEYS: [&'static str; 2] = ["OPENAI_API_KEY", "ANTHROPIC_API_KEY"];
}

/// What the configuration file says of one model: at its top of the usual one, in `[models.NAME]` of others.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ModelTable {
    pub provider: Option<Provider>,
    pub base_url: Option<String>,
    pub model: Option<String>,
    pub api_key_env: Option<String>,
    /// The variables that hold the values of further headers, by the names of the headers.
    pub headers: BTreeMap<String, String>,
    pub structured_output: Option<StructuredOutput>,
    /// Members that every request has as they are.
    pub request: Map<String, Value>,
    pub max_tries: Option<NonZeroU32>,
    /// Which models are asked where this one is interrupted.
    pub fallback: Vec<String>,
}

/// The model of a role, by its name in `[models]` or at the usual server.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RoleTable {
    pub model: String,
}
