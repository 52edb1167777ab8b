//! The configuration file and the environment: where settings are read.

use std::collections::BTreeMap;
use std::env::VarError;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::error::{Error, Result, read_text};
use crate::provider::{ModelTable, Provider, RoleTable};
use crate::store_address::{is_address, store_secrets};
use planwright::journal::Durability;
use planwright::ports::Secret;
use planwright::spec::{McpPins, McpServer, Price, RoleName, TomlError, parse_toml};
use planwright_http::{Network, StructuredOutput, credentials, is_credential};
use planwright_mcp::is_secret_variable;

const SEARCH_KEY: &str = "TAVILY_API_KEY";

/// An environment variable. An empty one counts as not set.
pub(crate) fn variable(name: &str) -> Result<Option<String>> {
    match std::env::var(name) {
        Ok(value) => Ok(Some(value).filter(|value| !value.trim().is_empty())),
        Err(VarError::NotPresent) => Ok(None),
        Err(_) => Err(Error::unusable(format!("the environment variable {name} is not UTF-8"))),
    }
}

/// The key that a variable of the user's choice holds.
pub(crate) fn key_from(name: &str, place: &str) -> Result<Secret> {
    check_variable_name(name, place)?;
    // What does not look like the name of a variable may be the key itself, so it is not repeated.
    let usual = name.len() <= 64 && !name.chars().any(|c| c.is_ascii_lowercase());
    let shown = if usual { format!("{name}, named by {place},") } else { format!("named by {place}") };
    variable(name)?.map(Secret::new).ok_or_else(|| {
        Error::unusable(format!("the environment variable {shown} is not set"))
            .hint("set it to what the server wants, or leave the setting out for a server that needs none")
    })
}

pub(crate) fn check_variable_name(name: &str, place: &str) -> Result<()> {
    let is_legal = |c: char| c == '_' || c.is_ascii_alphanumeric();
    if !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(is_legal) {
        return Ok(());
    }
    let problem = format!("{place}: expected the name of an environment variable, found something else");
    Err(Error::unusable(problem).hint("put the key into a variable and name that, never the key itself"))
}

/// The configuration file; `help/settings.txt` of the command line explains its keys. It has no `Debug`: an address in
/// it may hold a password.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ConfigFile {
    pub provider: Option<Provider>,
    pub base_url: Option<String>,
    pub model: Option<String>,
    pub api_key_env: Option<String>,
    /// Members that every request to the model has as they are.
    pub request: Map<String, Value>,
    /// Which of `models` are asked where the usual one is interrupted.
    pub fallback: Vec<String>,
    pub models: BTreeMap<String, ModelTable>,
    pub roles: BTreeMap<RoleName, RoleTable>,
    #[serde(rename = "api_key", deserialize_with = "refuse_key")]
    _api_key: (),
    pub agent: Option<String>,
    pub docs: Option<PathBuf>,
    pub structured_output: Option<StructuredOutput>,
    pub call_timeout_seconds: Option<NonZeroU64>,
    pub connect_timeout_seconds: Option<NonZeroU64>,
    pub max_response_bytes: Option<NonZeroUsize>,
    pub ca_file: Option<PathBuf>,
    pub proxy: Option<String>,
    /// The variables that hold the values of further headers, by the names of the headers.
    pub headers: BTreeMap<String, String>,
    pub idle_timeout_seconds: Option<NonZeroU64>,
    pub max_wait_seconds: Option<u64>,
    pub max_tries: Option<NonZeroU32>,
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
    /// The MCP servers whose tools every agent is given.
    pub mcp: BTreeMap<String, McpServer>,
    /// What is pinned of them, from the file beside this one.
    #[serde(skip)]
    pub mcp_pins: McpPins,
    /// Where this file is.
    #[serde(skip)]
    pub path: Option<PathBuf>,
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
    pub headers: BTreeMap<String, String>,
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
    /// Every run, in a Postgres database.
    Postgres,
}

impl ConfigFile {
    pub(crate) fn search_key_env(&self) -> &str {
        self.search_key_env.as_deref().unwrap_or(SEARCH_KEY)
    }

    /// The values of all keys. A variable that is not set or is not UTF-8 holds none.
    pub fn keys(&self) -> Vec<Secret> {
        let value = |name: &str| variable(name).ok().flatten();
        let named = [&self.api_key_env, &self.search_key_env, &self.embeddings.api_key_env];
        let named = named.into_iter().chain(self.models.values().map(|table| &table.api_key_env));
        let named = named.chain(self.mcp.values().map(|server| &server.bearer_token_env));
        let env = self.mcp.values().flat_map(|server| &server.env).filter(|name| is_secret_variable(name));
        let names = named.flatten().map(String::as_str).chain([SEARCH_KEY]).chain(Provider::KEYS);
        let names = names.chain(env.map(String::as_str));
        let headers = self.headers.iter().chain(&self.embeddings.headers);
        let headers = headers.chain(self.models.values().flat_map(|table| &table.headers));
        let headers = headers.chain(self.mcp.values().flat_map(|server| &server.headers));
        let headers = headers.filter(|(name, _)| is_credential(name));
        let headers = headers.filter_map(|(_, name)| value(name)).flat_map(|value| credentials(&value));
        let keys = names.filter_map(value).map(Secret::new).chain(headers);
        let stores = self.persistence.path.as_ref().and_then(|path| path.to_str()).map(str::to_owned);
        let stores = stores.into_iter().chain(value("PLANWRIGHT_STORE"));
        keys.chain(store_secrets(stores)).chain(value("PGPASSWORD").map(Secret::new)).collect()
    }

    /// How every client gets to its server.
    pub fn network(&self) -> Network {
        let idle_timeout = self.idle_timeout_seconds.map(|seconds| Duration::from_secs(seconds.get()));
        Network { ca_file: self.ca_file.clone(), proxy: self.proxy.clone(), idle_timeout }
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
        let mut file: ConfigFile = parse_toml(&text).map_err(|TomlError { line, column, problem }| {
            Error::unusable(format!("{place}:{line}:{column}: {problem}"))
        })?;
        let (ca, cache, store) = (&mut file.ca_file, &mut file.cache.folder, &mut file.persistence.path);
        let paths = [&mut file.docs, &mut file.contract, &mut file.standard, ca, cache, store];
        paths
            .into_iter()
            .flatten()
            .filter(|path| !is_address(path))
            .for_each(|path| *path = in_folder(folder, path));
        if let Some(agent) = file.agent.as_mut().filter(|agent| is_spec_file(agent)) {
            *agent = in_folder(folder, Path::new(agent)).to_string_lossy().into_owned();
        }
        file.mcp_pins = planwright::agents::read_pins(path).map_err(Error::unusable)?;
        file.path = Some(path.to_owned());
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
