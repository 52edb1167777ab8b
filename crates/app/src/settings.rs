//! Settings: what the caller asks for, else the environment, else the configuration file. A key is only
//! ever read from the environment, and no error here repeats a value that might be one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

mod file;

pub(crate) use file::{Cache, ConfigFile, Mode, is_spec_file, user_cache_folder, user_data_folder};

use crate::error::{Error, Result};
use planwright::ports::Secret;
use planwright::spec::Prices;
use planwright_http::StructuredOutput;

const OPENAI: &str = "https://api.openai.com/v1";
const KEY: &str = "OPENAI_API_KEY";
const SEARCH_KEY: &str = "TAVILY_API_KEY";

/// What the caller asks for. Each field goes before the environment and the configuration file.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// The model.
    pub model: Option<String>,
    /// The server's address.
    pub base_url: Option<String>,
    /// The name of the variable that holds the server's key.
    pub api_key_env: Option<String>,
    /// Whether the offline model answers, whatever is configured.
    pub offline: bool,
    /// The folder that the tool `docs` searches.
    pub docs: Option<PathBuf>,
    /// The contract that the contract tools read.
    pub contract: Option<PathBuf>,
    /// The contract to compare it with.
    pub standard: Option<PathBuf>,
    /// Whether the model is asked although the cache holds an answer.
    pub no_cache: bool,
    /// The configuration file.
    pub config: Option<PathBuf>,
}

impl Overrides {
    /// Whether the caller chooses the model.
    pub fn chooses_model(&self) -> bool {
        self.offline || self.model.is_some() || self.base_url.is_some()
    }
}

/// Hears how many of how many documents of a folder are indexed.
pub type IndexProgress = Arc<dyn Fn(&Path, usize, usize) + Send + Sync>;

/// Where answers come from, and how to get there.
pub struct Settings {
    /// The server to ask; without one the offline model answers.
    pub(crate) server: Option<Server>,
    /// The agent that the configuration file names.
    pub(crate) agent: Option<String>,
    /// The folder for `docs`; without one the built-in handbook is searched.
    pub(crate) docs: Option<PathBuf>,
    pub(crate) contract: Option<PathBuf>,
    pub(crate) standard: Option<PathBuf>,
    /// The server for embeddings; without one `hybrid_search` searches by words alone.
    pub(crate) embeddings: Option<Embeddings>,
    pub(crate) wiki_url: Option<String>,
    pub(crate) search_url: Option<String>,
    pub(crate) search_key: Option<Secret>,
    /// The variable that `search_key` comes from.
    pub(crate) search_key_env: String,
    /// What models cost; the prices of a spec go before these.
    pub(crate) prices: Prices,
    pub(crate) currency: Option<String>,
    pub(crate) cache: Option<Cache>,
    /// All keys that are configured: no value of one is written down, whether this run uses it or not.
    pub(crate) secrets: Vec<Secret>,
    /// Whether the caller chose the model.
    pub(crate) model_is_chosen: bool,
    pub(crate) index_progress: Option<IndexProgress>,
}

/// A server with an OpenAI-compatible endpoint.
#[derive(Debug)]
pub(crate) struct Server {
    pub base_url: String,
    pub model: String,
    pub key: Option<Secret>,
    pub structured_output: Option<StructuredOutput>,
    pub call_timeout: Option<Duration>,
    pub connect_timeout: Option<Duration>,
    pub max_tries: Option<u32>,
}

impl Settings {
    /// Resolves the settings.
    ///
    /// # Errors
    /// Where a file, a variable or a setting cannot be used, or they contradict one another.
    pub fn resolve(args: &Overrides) -> Result<Self> {
        let file = ConfigFile::find(args.config.as_deref())?;
        let search_key_env = file.search_key_env.clone().unwrap_or_else(|| SEARCH_KEY.to_owned());
        check_variable_name(&search_key_env, "search_key_env")?;
        let server = if args.offline { None } else { server(args, &file)? };
        let docs = args.docs.clone().or(file.docs);
        if let Some(docs) = &docs
            && !docs.is_dir()
        {
            let problem = format!("{}: expected a folder of documents, found none", docs.display());
            return Err(Error::unusable(problem).hint("name an existing folder with --docs DIR"));
        }
        Ok(Settings {
            agent: file.agent,
            docs,
            contract: args.contract.clone().or(file.contract),
            standard: args.standard.clone().or(file.standard),
            embeddings: if args.offline { None } else { embeddings(&file.embeddings, server.as_ref())? },
            server,
            wiki_url: file.wiki_url,
            search_url: file.search_url,
            search_key: variable(&search_key_env)?.map(Secret::new),
            search_key_env,
            prices: file.prices,
            currency: file.currency.filter(|currency| !currency.trim().is_empty()),
            secrets: configured_keys(args.config.as_deref())?,
            cache: if args.no_cache { None } else { file.cache.resolve() },
            model_is_chosen: args.chooses_model(),
            index_progress: None,
        })
    }

    /// Reports how far the index of the documents is while it is built.
    #[must_use]
    pub fn on_index_progress(mut self, progress: IndexProgress) -> Self {
        self.index_progress = Some(progress);
        self
    }
}

/// A server that turns texts into vectors.
#[derive(Debug)]
pub(crate) struct Embeddings {
    pub base_url: String,
    pub model: String,
    pub key: Option<Secret>,
}

/// The server for embeddings, if the file names a model for them. It is the chat model's server with its key
/// unless the file names another one.
fn embeddings(file: &file::EmbeddingsFile, server: Option<&Server>) -> Result<Option<Embeddings>> {
    let Some(model) = file.model.clone() else { return Ok(None) };
    let base_url = file.base_url.clone().or_else(|| server.map(|server| server.base_url.clone()));
    let Some(base_url) = base_url else {
        return Err(Error::unusable("[embeddings] names a model and no server").hint("add base_url to it"));
    };
    let same = server.filter(|server| server.base_url == base_url);
    let key = match &file.api_key_env {
        Some(name) => Some(Secret::new(key_from(name, "`api_key_env` of [embeddings]")?)),
        None => same.and_then(|server| server.key.clone()),
    };
    Ok(Some(Embeddings { base_url, model, key }))
}

/// The server to ask, if one is configured.
fn server(args: &Overrides, file: &ConfigFile) -> Result<Option<Server>> {
    let pick = |flag: &Option<String>, name: &str, file: &Option<String>| -> Result<Option<String>> {
        let given = flag.clone().filter(|value| !value.trim().is_empty());
        Ok(given.or(variable(name)?).or_else(|| file.clone()))
    };
    let base_url = pick(&args.base_url, "OPENAI_BASE_URL", &file.base_url)?;
    let model = pick(&args.model, "PLANWRIGHT_MODEL", &file.model)?;
    let key_env = match (&args.api_key_env, &file.api_key_env) {
        (Some(name), _) => Some((name, "--api-key-env")),
        (None, Some(name)) => Some((name, "`api_key_env` in the configuration file")),
        (None, None) => None,
    };
    let key = match key_env {
        Some((name, place)) => Some(key_from(name, place)?),
        None => variable(KEY)?,
    };
    let offline = "or answer offline with --offline";
    match (base_url, model, key) {
        (None, None, None) => Ok(None),
        (None, Some(_), None) => Err(Error::unusable("a model is named, but no key and no server")
            .hint(format!("set {KEY} for {OPENAI}, or name your own server with --base-url URL, {offline}"))),
        (base_url, None, key) => {
            let place = match base_url {
                Some(url) => format!("for the server {}", shown_url(&url)),
                None => format!("for {OPENAI} ({})", if key.is_some() { "a key is set" } else { "no key" }),
            };
            let problem = format!("no model is named {place}");
            let hint = format!("name one with --model NAME or PLANWRIGHT_MODEL, {offline}");
            Err(Error::unusable(problem).hint(hint))
        }
        (base_url, Some(model), key) => Ok(Some(Server {
            base_url: base_url.unwrap_or_else(|| OPENAI.to_owned()),
            model,
            key: key.map(Secret::new),
            structured_output: file.structured_output,
            call_timeout: file.call_timeout_seconds.map(Duration::from_secs),
            connect_timeout: file.connect_timeout_seconds.map(Duration::from_secs),
            max_tries: file.max_tries,
        })),
    }
}

/// A URL for the screen: without user, password, query and fragment.
pub(crate) fn shown_url(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.rsplit('@').next().unwrap_or_default().to_owned();
    };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    format!("{scheme}://{}{path}", host.rsplit('@').next().unwrap_or_default())
}

/// The values of all keys that are configured, whether a run would use them or not. A variable that is not
/// set or is not UTF-8 holds none.
///
/// # Errors
/// Where the configuration file cannot be used.
pub fn configured_keys(config: Option<&Path>) -> Result<Vec<Secret>> {
    let file = ConfigFile::find(config)?;
    let named = [file.api_key_env, file.search_key_env, file.embeddings.api_key_env];
    let usual = [KEY, SEARCH_KEY].map(str::to_owned);
    let value = |name: String| variable(&name).ok().flatten();
    Ok(named.into_iter().flatten().chain(usual).filter_map(value).map(Secret::new).collect())
}

/// An environment variable. An empty one counts as not set.
pub(crate) fn variable(name: &str) -> Result<Option<String>> {
    match std::env::var(name) {
        Ok(value) => Ok(Some(value).filter(|value| !value.trim().is_empty())),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => {
            Err(Error::unusable(format!("the environment variable {name} is not UTF-8")))
        }
    }
}

/// The key that a variable of the user's choice holds.
fn key_from(name: &str, place: &str) -> Result<String> {
    check_variable_name(name, place)?;
    // What does not look like the name of a variable may be the key itself, so it is not repeated.
    let usual = name.len() <= 64 && !name.chars().any(|c| c.is_ascii_lowercase());
    let shown = if usual { format!("{name}, named by {place},") } else { format!("named by {place}") };
    variable(name)?.ok_or_else(|| {
        Error::unusable(format!("the environment variable {shown} is not set"))
            .hint("set it to the server's key, or leave the setting out for a server that needs none")
    })
}

fn check_variable_name(name: &str, place: &str) -> Result<()> {
    let legal =
        |(at, c): (usize, char)| c == '_' || c.is_ascii_alphabetic() || (at > 0 && c.is_ascii_digit());
    if !name.is_empty() && name.chars().enumerate().all(legal) {
        return Ok(());
    }
    let problem = format!("{place}: expected the name of an environment variable, found something else");
    Err(Error::unusable(problem).hint("put the key into a variable and name that, never the key itself"))
}
