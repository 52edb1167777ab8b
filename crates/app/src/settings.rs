//! Settings: what the caller asks for, else the environment, else the configuration file. A key is only
//! ever read from the environment, and no error here repeats a value that might be one.

use std::collections::BTreeMap;
use std::num::ParseIntError;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use crate::config::{ConfigFile, KEY, check_variable_name, key_from, user_cache_folder, variable};
use crate::error::{Error, Result};
use crate::store::flag;
use planwright::journal::Folded;
use planwright::ports::Secret;
use planwright_http::show_address;

const OPENAI: &str = "https://api.openai.com/v1";

/// What the caller asks for. Each field goes before the environment and the configuration file.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct Overrides {
    /// The model to ask [env: PLANWRIGHT_MODEL]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME"))]
    pub model: Option<String>,
    /// An OpenAI-compatible server, such as http://localhost:8080/v1 [env: OPENAI_BASE_URL]
    #[cfg_attr(feature = "clap", arg(long, value_name = "URL"))]
    pub base_url: Option<String>,
    /// The environment variable that holds the server's key [default: OPENAI_API_KEY]
    #[cfg_attr(feature = "clap", arg(long, value_name = "VARIABLE"))]
    pub api_key_env: Option<String>,
    /// Answer with the offline model, whatever is configured
    #[cfg_attr(feature = "clap", arg(long, conflicts_with_all = ["model", "base_url", "api_key_env"]))]
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
}

impl Overrides {
    /// The flags as they can be typed, each with a blank before it.
    pub fn flags(&self) -> String {
        let Overrides { model, base_url, api_key_env, offline, docs, contract, standard, no_cache } = self;
        // An address with a password in it is not said, and without one the command must not ask another server.
        let base_url = base_url.as_ref().map(|url| match show_address(url) == *url {
            true => url.as_str(),
            false => "URL",
        });
        let model = model.as_deref();
        let texts = [("model", model), ("base-url", base_url), ("api-key-env", api_key_env.as_deref())];
        let paths = [("docs", docs), ("contract", contract), ("standard", standard)];
        let texts = texts.into_iter().filter_map(|(name, text)| Some(flag(name, text?)));
        let paths = paths.iter().filter_map(|(name, path)| Some(flag(name, path.as_ref()?.display())));
        let switches = [("offline", offline), ("no-cache", no_cache)];
        let switches = switches.iter().filter(|(_, set)| **set).map(|(name, _)| format!(" --{name}"));
        texts.chain(paths).chain(switches).collect()
    }
}

/// Hears how many of how many documents of a folder are indexed.
pub type IndexProgress = Arc<dyn Fn(&Path, usize, usize) + Send + Sync>;

/// Where answers come from, and how to get there.
pub struct Settings {
    /// The configuration file, with what the caller asks for in its place.
    pub(crate) file: ConfigFile,
    /// The server to ask; without one the offline model answers.
    pub(crate) server: Option<Server>,
    /// The server for embeddings; without one `hybrid_search` searches by words alone.
    pub(crate) embeddings: Option<Server>,
    pub(crate) search_key: Option<Secret>,
    /// All keys that are configured: no value of one is written down, whether this run uses it or not.
    pub(crate) secrets: Vec<Secret>,
    /// Whether the caller chose the model.
    pub(crate) model_is_chosen: bool,
    pub(crate) index_progress: Option<IndexProgress>,
    /// What the caller asked for.
    pub(crate) typed: Overrides,
}

/// A model behind an OpenAI-compatible server.
pub(crate) struct Server {
    pub base_url: String,
    pub model: String,
    pub key: Option<Secret>,
    pub headers: Vec<(String, Secret)>,
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
        file.max_wait_seconds = seconds_of("PLANWRIGHT_MAX_WAIT_SECONDS")?.or(file.max_wait_seconds);
        file.idle_timeout_seconds =
            seconds_of("PLANWRIGHT_IDLE_TIMEOUT_SECONDS")?.or(file.idle_timeout_seconds);
        let server = if args.offline { None } else { choose_server(args, &file)? };
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
        let typed = args.clone();
        Ok(Settings { file, server, embeddings, search_key, secrets, model_is_chosen, index_progress, typed })
    }

    /// The name of the model that answers.
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
    let same = server.map(|server| server.base_url.clone());
    let Some(base_url) = file.embeddings.base_url.clone().or(same) else {
        return Err(Error::unusable("[embeddings] names a model and no server").hint("add base_url to it"));
    };
    let key = match &file.embeddings.api_key_env {
        Some(name) => Some(key_from(name, "`api_key_env` of [embeddings]")?),
        None => server.filter(|server| server.base_url == base_url).and_then(|server| server.key.clone()),
    };
    let headers = match server.filter(|server| server.base_url == base_url) {
        Some(server) if file.embeddings.headers.is_empty() => server.headers.clone(),
        _ => resolve_headers(&file.embeddings.headers)?,
    };
    Ok(Some(Server { base_url, model, key, headers }))
}

/// The further headers of a server, by the variables that hold their values.
fn resolve_headers(headers: &BTreeMap<String, String>) -> Result<Vec<(String, Secret)>> {
    headers.iter().map(|(name, variable)| Ok((name.clone(), key_from(variable, name)?))).collect()
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

fn choose_server(args: &Overrides, file: &ConfigFile) -> Result<Option<Server>> {
    let pick = |flag: &Option<String>, name: &str, file: &Option<String>| -> Result<Option<String>> {
        let given = flag.clone().filter(|value| !value.trim().is_empty());
        Ok(given.or(variable(name)?).or_else(|| file.clone()))
    };
    if args.base_url.as_ref().is_some_and(|url| url.trim().is_empty()) {
        return Err(Error::unusable("--base-url: expected an address, found nothing"));
    }
    let base_url = pick(&args.base_url, "OPENAI_BASE_URL", &file.base_url)?;
    let model = pick(&args.model, "PLANWRIGHT_MODEL", &file.model)?;
    let key = match (&args.api_key_env, &file.api_key_env) {
        (Some(name), _) => Some(key_from(name, "--api-key-env")?),
        (None, Some(name)) => Some(key_from(name, "`api_key_env` in the configuration file")?),
        (None, None) => variable(KEY)?.map(Secret::new),
    };
    let offline = "or answer offline with --offline";
    let place = match (&base_url, &key) {
        (Some(url), _) => format!("the server {}", show_address(url)),
        (None, Some(_)) => format!("{OPENAI} (a key is set)"),
        (None, None) if model.is_none() => return Ok(None),
        (None, None) => {
            let hint =
                format!("set {KEY} for {OPENAI}, or name your own server with --base-url URL, {offline}");
            return Err(Error::unusable("a model is named, but no key and no server").hint(hint));
        }
    };
    let model = model.ok_or_else(|| {
        let hint = format!("name one with --model NAME or PLANWRIGHT_MODEL, {offline}");
        Error::unusable(format!("no model is named for {place}")).hint(hint)
    })?;
    let headers = resolve_headers(&file.headers)?;
    Ok(Some(Server { base_url: base_url.unwrap_or_else(|| OPENAI.to_owned()), model, key, headers }))
}
