//! Settings: what the caller asks for, else the environment, else the configuration file. A key is only
//! ever read from the environment, and no error here repeats a value that might be one.

use std::collections::BTreeMap;
use std::num::ParseIntError;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use crate::config::{ConfigFile, check_variable_name, key_from, user_cache_folder, variable};
use crate::error::{Error, Result, read_text};
use crate::mcp::McpServers;
use crate::overrides::Overrides;
use crate::provider::Provider;
use crate::servers::{Server, choose_server, open_named, resolve_headers};
use planwright::journal::Folded;
use planwright::ports::Secret;
use planwright::spec::Spec;

/// Hears how many of how many documents of a folder are indexed.
pub type IndexProgress = Arc<dyn Fn(&Path, usize, usize) + Send + Sync>;

/// Where answers come from, and how to get there.
pub struct Settings {
    /// The configuration file, with what the caller asks for in its place.
    pub(crate) file: ConfigFile,
    /// The server to ask; without one the offline model answers.
    pub(crate) server: Option<Server>,
    /// The servers of `[models]`, by their names.
    pub(crate) named: BTreeMap<String, Server>,
    /// The server for embeddings; without one `hybrid_search` searches by words alone.
    pub(crate) embeddings: Option<Server>,
    pub(crate) search_key: Option<Secret>,
    /// All keys that are configured: no value of one is written down, whether this run uses it or not.
    pub(crate) secrets: Vec<Secret>,
    /// Whether the caller chose the model.
    pub(crate) model_is_chosen: bool,
    pub(crate) index_progress: Option<IndexProgress>,
    /// The MCP servers that are connected to.
    pub(crate) mcp: McpServers,
    /// What the caller asked for.
    pub(crate) typed: Overrides,
}

impl Settings {
    /// Resolves the settings. `config` names the configuration file.
    ///
    /// # Errors
    /// Where a file, a variable or a setting cannot be used, or they contradict one another.
    pub fn resolve(
        args: &Overrides,
        config: Option<&Path>,
        index_progress: Option<IndexProgress>,
    ) -> Result<Self> {
        let mut file = ConfigFile::find(config)?;
        let secrets = file.keys();
        check_variable_name(file.search_key_env(), "search_key_env")?;
        file.provider = provider_of("PLANWRIGHT_PROVIDER")?.or(file.provider);
        file.max_wait_seconds = seconds_of("PLANWRIGHT_MAX_WAIT_SECONDS")?.or(file.max_wait_seconds);
        file.idle_timeout_seconds =
            seconds_of("PLANWRIGHT_IDLE_TIMEOUT_SECONDS")?.or(file.idle_timeout_seconds);
        let named = if args.offline { BTreeMap::new() } else { open_named(&file)? };
        let server = if args.offline { None } else { choose_server(args, &file, &named)? };
        let embeddings = if args.offline { None } else { choose_embeddings(&file, server.as_ref())? };
        file.docs = args.docs.clone().or(file.docs);
        if let Some(docs) = file.docs.as_ref().filter(|docs| !docs.exists()) {
            let problem = format!("{}: expected a folder of documents or a document", docs.display());
            return Err(Error::unusable(problem).hint("name an existing folder or file with --docs"));
        }
        file.contract = args.contract.clone().or(file.contract);
        file.standard = args.standard.clone().or(file.standard);
        for (name, path) in [("contract", &file.contract), ("standard", &file.standard)] {
            if let Some(path) = path.as_ref().filter(|path| !path.is_file()) {
                let problem = format!("{}: expected a contract in a file", path.display());
                return Err(Error::unusable(problem).hint(format!("name an existing file with --{name}")));
            }
        }
        file.currency = file.currency.filter(|currency| !currency.trim().is_empty());
        let cache = file.cache.folder.or_else(|| user_cache_folder("replies"));
        file.cache.folder = cache.filter(|_| !args.no_cache);
        let search_key = variable(file.search_key_env())?.map(Secret::new);
        let model_is_chosen = args.offline || args.model.is_some() || args.base_url.is_some();
        let (typed, mcp) = (args.clone(), McpServers::default());
        mcp.own(&file.mcp);
        if let Some(path) = &typed.mcp {
            let text = read_text("--mcp", path)?;
            mcp.own(Spec::from_toml_unchecked(&text).map_err(Error::at("--mcp"))?.all_mcp());
        }
        Ok(Settings {
            file,
            server,
            named,
            embeddings,
            search_key,
            secrets,
            model_is_chosen,
            index_progress,
            mcp,
            typed,
        })
    }

    /// The name of the model that answers.
    pub fn model_name(&self) -> &str {
        self.server.as_ref().map_or("offline", |server| &server.model)
    }

    pub(crate) fn model_fits(&self, folded: &Folded) -> bool {
        self.model_is_chosen || folded.model.is_empty() || folded.model == self.model_name()
    }
}

/// The values of all keys that are configured, whether a run would use them or not.
///
/// # Errors
/// Where the configuration file cannot be used.
pub fn configured_keys(config: Option<&Path>) -> Result<Vec<Secret>> {
    Ok(ConfigFile::find(config)?.keys())
}

/// The server for embeddings, if the file names a model for them: the chat model's with its key, or another one.
fn choose_embeddings(file: &ConfigFile, server: Option<&Server>) -> Result<Option<Server>> {
    let Some(model) = file.embeddings.model.clone() else { return Ok(None) };
    let same = server.filter(|server| server.provider != Provider::Anthropic);
    let same = same.map(|server| server.base_url.clone());
    let Some(base_url) = file.embeddings.base_url.clone().or(same) else {
        let problem = "[embeddings] names a model and no server that has embeddings";
        return Err(Error::unusable(problem).hint("add base_url to it"));
    };
    let key = match &file.embeddings.api_key_env {
        Some(name) => Some(key_from(name, "`api_key_env` of [embeddings]")?),
        None => server.filter(|server| server.base_url == base_url).and_then(|server| server.key.clone()),
    };
    let headers = match server.filter(|server| server.base_url == base_url) {
        Some(server) if file.embeddings.headers.is_empty() => server.headers.clone(),
        _ => resolve_headers(&file.embeddings.headers)?,
    };
    Ok(Some(Server { base_url, model, key, headers, ..Server::default() }))
}

/// The provider that a variable names.
fn provider_of(name: &str) -> Result<Option<Provider>> {
    let parse = |text: String| {
        serde_json::from_value(text.trim().into()).map_err(|_| {
            Error::unusable(format!("{name}: expected openai, anthropic or responses, found {text:?}"))
        })
    };
    variable(name)?.map(parse).transpose()
}

/// A whole number of seconds that a variable holds.
fn seconds_of<N: FromStr<Err = ParseIntError>>(name: &str) -> Result<Option<N>> {
    let parse = |text: String| {
        text.trim().parse().map_err(|error| {
            Error::unusable(format!("{name}: expected a whole number of seconds, found {text:?}: {error}"))
        })
    };
    variable(name)?.map(parse).transpose()
}
