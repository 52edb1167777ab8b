//! Settings: what the caller asks for, else the environment, else the configuration file. A key is only
//! ever read from the environment, and no error here repeats a value that might be one.

use std::collections::BTreeMap;
use std::env::VarError;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::error::{Error, Result, read_text};
use planwright::journal::{Durability, Folded};
use planwright::ports::Secret;
use planwright::spec::Price;
use planwright_http::{StructuredOutput, credentials, is_credential, show_address};

const OPENAI: &str = "https://api.openai.com/v1";
const KEY: &str = "OPENAI_API_KEY";
const SEARCH_KEY: &str = "TAVILY_API_KEY";

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
    /// The folder that the tool `docs` searches
    #[cfg_attr(feature = "clap", arg(long, value_name = "DIR"))]
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
        let server = if args.offline { None } else { choose_server(args, &file)? };
        let embeddings = if args.offline { None } else { choose_embeddings(&file, server.as_ref())? };
        file.docs = args.docs.clone().or(file.docs);
        if let Some(docs) = file.docs.as_ref().filter(|docs| !docs.is_dir()) {
            let problem = format!("{}: expected a folder of documents, found none", docs.display());
            return Err(Error::unusable(problem).hint("name an existing folder with --docs DIR"));
        }
        file.contract = args.contract.clone().or(file.contract);
        file.standard = args.standard.clone().or(file.standard);
        file.currency = file.currency.filter(|currency| !currency.trim().is_empty());
        let cache = file.cache.folder.or_else(|| user_cache_folder("replies"));
        file.cache.folder = cache.filter(|_| !args.no_cache);
        let search_key = variable(file.search_key_env())?.map(Secret::new);
        let model_is_chosen = args.offline || args.model.is_some() || args.base_url.is_some();
        Ok(Settings { file, server, embeddings, search_key, secrets, model_is_chosen, index_progress })
    }

    /// The name of the model that answers.
    pub(crate) fn model_name(&self) -> &str {
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
    Ok(Some(Server { base_url, model, key, headers: Vec::new() }))
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
    let header = |(name, variable): (&String, &String)| Ok((name.clone(), key_from(variable, name)?));
    let headers = file.headers.iter().map(header).collect::<Result<_>>()?;
    Ok(Some(Server { base_url: base_url.unwrap_or_else(|| OPENAI.to_owned()), model, key, headers }))
}

/// An environment variable. An empty one counts as not set.
pub(crate) fn variable(name: &str) -> Result<Option<String>> {
    match std::env::var(name) {
        Ok(value) => Ok(Some(value).filter(|value| !value.trim().is_empty())),
        Err(VarError::NotPresent) => Ok(None),
        Err(_) => Err(Error::unusable(format!("the environment variable {name} is not UTF-8"))),
    }
}

/// The key that a variable of the user's choice holds.
fn key_from(name: &str, place: &str) -> Result<Secret> {
    check_variable_name(name, place)?;
    // What does not look like the name of a variable may be the key itself, so it is not repeated.
    let usual = name.len() <= 64 && !name.chars().any(|c| c.is_ascii_lowercase());
    let shown = if usual { format!("{name}, named by {place},") } else { format!("named by {place}") };
    variable(name)?.map(Secret::new).ok_or_else(|| {
        Error::unusable(format!("the environment variable {shown} is not set"))
            .hint("set it to what the server wants, or leave the setting out for a server that needs none")
    })
}

fn check_variable_name(name: &str, place: &str) -> Result<()> {
    let is_legal = |c: char| c == '_' || c.is_ascii_alphanumeric();
    if !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(is_legal) {
        return Ok(());
    }
    let problem = format!("{place}: expected the name of an environment variable, found something else");
    Err(Error::unusable(problem).hint("put the key into a variable and name that, never the key itself"))
}

/// The configuration file; `help/settings.txt` of the command line explains its keys.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ConfigFile {
    pub base_url: Option<String>,
    pub model: Option<String>,
    pub api_key_env: Option<String>,
    #[serde(rename = "api_key", deserialize_with = "refuse_key")]
    _api_key: (),
    pub agent: Option<String>,
    pub docs: Option<PathBuf>,
    pub structured_output: Option<StructuredOutput>,
    pub call_timeout_seconds: Option<u64>,
    pub connect_timeout_seconds: Option<u64>,
    pub ca_file: Option<PathBuf>,
    /// The variables that hold the values of further headers, by the names of the headers.
    pub headers: BTreeMap<String, String>,
    pub idle_timeout_seconds: Option<u64>,
    pub max_wait_seconds: Option<u64>,
    pub max_tries: Option<u32>,
    pub wiki_url: Option<String>,
    pub search_url: Option<String>,
    pub search_key_env: Option<String>,
    /// The prices of a spec go before these.
    pub prices: BTreeMap<String, Price>,
    pub currency: Option<String>,
    pub cache: CacheTable,
    pub contract: Option<PathBuf>,
    pub standard: Option<PathBuf>,
    pub embeddings: EmbeddingsTable,
    pub persistence: PersistenceTable,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CacheTable {
    pub folder: Option<PathBuf>,
    pub entries: Option<usize>,
    pub bytes: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct EmbeddingsTable {
    pub base_url: Option<String>,
    pub model: Option<String>,
    pub api_key_env: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PersistenceTable {
    pub mode: Mode,
    pub path: Option<PathBuf>,
    pub durability: Option<Durability>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mode {
    /// Only those that name a thread.
    #[default]
    Memory,
    /// Every run, in an SQLite file.
    Sqlite,
}

impl ConfigFile {
    pub(crate) fn search_key_env(&self) -> &str {
        self.search_key_env.as_deref().unwrap_or(SEARCH_KEY)
    }

    /// The values of all keys. A variable that is not set or is not UTF-8 holds none.
    pub(crate) fn keys(&self) -> Vec<Secret> {
        let value = |name: &str| variable(name).ok().flatten();
        let named = [&self.api_key_env, &self.search_key_env, &self.embeddings.api_key_env];
        let names = named.into_iter().flatten().map(String::as_str).chain([KEY, SEARCH_KEY]);
        let headers = self.headers.iter().filter(|(name, _)| is_credential(name));
        let headers = headers.filter_map(|(_, name)| value(name)).flat_map(|value| credentials(&value));
        names.filter_map(value).map(Secret::new).chain(headers).collect()
    }

    /// Loads the configuration file of this call. One that is asked for must exist.
    pub fn find(flag: Option<&Path>) -> Result<Self> {
        let set = std::env::var_os("PLANWRIGHT_CONFIG").filter(|path| !path.is_empty()).map(PathBuf::from);
        let usual = || Some(user_folder("APPDATA", "XDG_CONFIG_HOME", ".config")?.join("config.toml"));
        let path = flag.map(Path::to_owned).or(set).or_else(|| usual().filter(|path| path.exists()));
        path.map_or_else(|| Ok(ConfigFile::default()), |path| ConfigFile::load(&path))
    }

    /// Loads a file. Errors give line and column and never show the line: it might hold a key after all.
    fn load(path: &Path) -> Result<Self> {
        let (place, folder) = (path.display().to_string(), path.parent().unwrap_or(Path::new("")));
        let text = read_text(&place, path)?;
        let mut file: ConfigFile = toml::from_str(&text).map_err(|error| {
            let before = text.get(..error.span().map_or(0, |span| span.start)).unwrap_or(&text);
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            Error::unusable(format!("{place}:{line}:{column}: {}", error.message()))
        })?;
        let (ca, cache, store) = (&mut file.ca_file, &mut file.cache.folder, &mut file.persistence.path);
        let paths = [&mut file.docs, &mut file.contract, &mut file.standard, ca, cache, store];
        paths.into_iter().flatten().for_each(|path| *path = in_folder(folder, path));
        if let Some(agent) = file.agent.as_mut().filter(|agent| is_spec_file(agent)) {
            *agent = in_folder(folder, Path::new(agent)).to_string_lossy().into_owned();
        }
        Ok(file)
    }
}

fn refuse_key<'de, D: Deserializer<'de>>(_: D) -> Result<(), D::Error> {
    Err(D::Error::custom(
        "`api_key` is refused: a key in a file is soon in a backup or a repository. Put it into an environment \
         variable and name that in `api_key_env`",
    ))
}

pub(crate) fn is_spec_file(agent: &str) -> bool {
    agent.contains(['/', MAIN_SEPARATOR]) || agent.ends_with(".toml")
}

/// Paths in the file start from its folder; `~/` is the user's home.
fn in_folder(folder: &Path, path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), home()) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => folder.join(path),
    }
}

fn home() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| !home.as_os_str().is_empty())
}

/// The folder for one kind of what the program can work out again.
pub(crate) fn user_cache_folder(kind: &str) -> Option<PathBuf> {
    Some(user_folder("LOCALAPPDATA", "XDG_CACHE_HOME", ".cache")?.join(kind))
}

/// The program's folder of one kind, by the custom of the system.
pub(crate) fn user_folder(windows: &str, elsewhere: &str, in_home: &str) -> Option<PathBuf> {
    let variable = if cfg!(windows) { windows } else { elsewhere };
    let set = std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = set.or_else(|| Some(home()?.join(in_home)).filter(|_| !cfg!(windows)));
    Some(base?.join("planwright"))
}
