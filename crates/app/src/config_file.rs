//! The configuration file: where it is, and what may stand in it.

use std::collections::BTreeMap;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::error::{Error, Result, read_text};
use planwright::journal::Durability;
use planwright::spec::Price;
use planwright_http::StructuredOutput;

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

/// Which runs are stored.
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
    /// Loads the configuration file of this call. One that is asked for must exist.
    pub fn find(flag: Option<&Path>) -> Result<Self> {
        let named = std::env::var_os("PLANWRIGHT_CONFIG").filter(|path| !path.is_empty());
        if let Some(path) = flag.map(Path::to_owned).or(named.map(PathBuf::from)) {
            return ConfigFile::load(&path);
        }
        match user_folder("APPDATA", "XDG_CONFIG_HOME", ".config").map(|folder| folder.join("config.toml")) {
            Some(usual) if usual.exists() => ConfigFile::load(&usual),
            _ => Ok(ConfigFile::default()),
        }
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
        let (cache, store) = (&mut file.cache.folder, &mut file.persistence.path);
        let paths = [&mut file.docs, &mut file.contract, &mut file.standard, cache, store];
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

/// Whether an agent is named by its file.
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
