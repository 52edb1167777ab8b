//! What a caller asks for: the options of a command line.

use std::path::PathBuf;

use crate::agent_line::variant;
use crate::provider::Provider;
use crate::store::flag;
use planwright_http::show_address;

/// What the caller asks for. Each field goes before the environment and the configuration file.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct Overrides {
    /// The model to ask [env: PLANWRIGHT_MODEL]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME"))]
    pub model: Option<String>,
    /// The protocol of the server [env: PLANWRIGHT_PROVIDER] [default: openai]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME", value_enum))]
    pub provider: Option<Provider>,
    /// A server, such as http://localhost:8080/v1 [env: OPENAI_BASE_URL, ANTHROPIC_BASE_URL]
    #[cfg_attr(feature = "clap", arg(long, value_name = "URL"))]
    pub base_url: Option<String>,
    /// The environment variable that holds the server's key [default: OPENAI_API_KEY, ANTHROPIC_API_KEY]
    #[cfg_attr(feature = "clap", arg(long, value_name = "VARIABLE"))]
    pub api_key_env: Option<String>,
    /// Answer with the offline model, whatever is configured
    #[cfg_attr(feature = "clap", arg(long, conflicts_with_all = ["model", "provider", "base_url", "api_key_env"]))]
    pub offline: bool,
    /// The folder that the tool `docs` searches, or one document
    #[cfg_attr(feature = "clap", arg(long, value_name = "DIR|FILE"))]
    pub docs: Option<PathBuf>,
    /// The contract that the contract tools read; a short example where none is named
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    pub contract: Option<PathBuf>,
    /// The standard contract to compare it with; a short example where none is named
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    pub standard: Option<PathBuf>,
    /// Ask the model anew, also where the agent's policy would answer from the cache
    #[cfg_attr(feature = "clap", arg(long))]
    pub no_cache: bool,
    /// A spec file whose MCP servers may be used by a run that goes on: none is because a record says so
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    pub mcp: Option<PathBuf>,
}

impl Overrides {
    /// The flags as they can be typed, each with a blank before it.
    pub fn flags(&self) -> String {
        let Overrides { model, provider, base_url, api_key_env, offline, docs, contract, standard, .. } =
            self;
        let Overrides { no_cache, mcp, .. } = self;
        // An address with a password in it is not said, and without one the command must not ask another server.
        let base_url = base_url.as_ref().map(|url| match show_address(url) == *url {
            true => url.as_str(),
            false => "URL",
        });
        let model = model.as_deref();
        let provider = provider.as_ref().map(variant);
        let texts = [
            ("model", model),
            ("provider", provider.as_deref()),
            ("base-url", base_url),
            ("api-key-env", api_key_env.as_deref()),
        ];
        let paths = [("docs", docs), ("contract", contract), ("standard", standard), ("mcp", mcp)];
        let texts = texts.into_iter().filter_map(|(name, text)| Some(flag(name, text?)));
        let paths = paths.iter().filter_map(|(name, path)| Some(flag(name, path.as_ref()?.display())));
        let switches = [("offline", offline), ("no-cache", no_cache)];
        let switches = switches.iter().filter(|(_, set)| **set).map(|(name, _)| format!(" --{name}"));
        texts.chain(paths).chain(switches).collect()
    }
}
