//! The configuration file: where it is, and what may stand in it.

use std::path::{MAIN_SEPARATOR, Path, PathBuf};

use serde::Deserialize;

use crate::error::{Error, Result};
use planwright::journal::Durability;
use planwright::spec::Prices;
use planwright_http::StructuredOutput;

/// The configuration file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ConfigFile {
    pub base_url: Option<String>,
    pub model: Option<String>,
    pub api_key_env: Option<String>,
    /// Named here to be refused with a reason.
    api_key: Option<toml::Spanned<serde::de::IgnoredAny>>,
    pub agent: Option<String>,
    /// The folder for `docs`; without one the built-in handbook is searched.
    pub docs: Option<PathBuf>,
    pub structured_output: Option<StructuredOutput>,
    pub call_timeout_seconds: Option<u64>,
    pub connect_timeout_seconds: Option<u64>,
    pub max_tries: Option<u32>,
    pub wiki_url: Option<String>,
    pub search_url: Option<String>,
    pub search_key_env: Option<String>,
    /// What models cost, for a million tokens; the prices of a spec go before these.
    pub prices: Prices,
    /// The currency of the prices, for people.
    pub currency: Option<String>,
    pub cache: CacheTable,
    /// The contract that the contract tools read, and the one to compare it with.
    pub contract: Option<PathBuf>,
    pub standard: Option<PathBuf>,
    pub embeddings: EmbeddingsTable,
    pub persistence: PersistenceTable,
}

/// Where replies are cached, for agents whose policy asks for it, and how much of them.
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
        let asked_for = std::env::var_os("PLANWRIGHT_CONFIG").filter(|path| !path.is_empty());
        if let Some(path) = flag.map(Path::to_owned).or(asked_for.map(PathBuf::from)) {
            return ConfigFile::load(&path);
        }
        let usual =
            user_folder("APPDATA", "XDG_CONFIG_HOME", ".config").map(|folder| folder.join("config.toml"));
        usual
            .filter(|path| path.exists())
            .map_or_else(|| Ok(ConfigFile::default()), |path| ConfigFile::load(&path))
    }

    fn load(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| Error::caused(format!("{}: cannot be read", path.display()), error))?;
        let mut file = ConfigFile::parse(&text)
            .map_err(|problem| Error::unusable(format!("{}:{problem}", path.display())))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let (cache, store) = (&mut file.cache.folder, &mut file.persistence.path);
        let paths = [&mut file.docs, &mut file.contract, &mut file.standard, cache, store];
        paths.into_iter().flatten().for_each(|path| *path = in_folder(folder, path));
        if let Some(agent) = file.agent.as_mut().filter(|agent| is_spec_file(agent)) {
            *agent = in_folder(folder, Path::new(agent)).to_string_lossy().into_owned();
        }
        Ok(file)
    }

    /// Parses the file. Errors say `line:column: problem` and never show a line of the file: it
    /// might hold a key after all.
    fn parse(text: &str) -> Result<Self, String> {
        let place = |at: usize| {
            let before = text.get(..at).unwrap_or(text);
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            format!("{}:{column}", before.matches('\n').count() + 1)
        };
        let file: ConfigFile = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            format!("{}: {}", place(at), error.message())
        })?;
        if let Some(key) = &file.api_key {
            let at = place(key.span().start);
            return Err(format!(
                "{at}: `api_key` is refused: a key in a file is soon in a backup or a repository. Put it \
                 into an environment variable and name that in `api_key_env`"
            ));
        }
        Ok(file)
    }
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

/// The folder for the user's data.
pub(crate) fn user_data_folder() -> Option<PathBuf> {
    user_folder("LOCALAPPDATA", "XDG_DATA_HOME", ".local/share")
}

/// The program's folder of one kind, by the custom of the system.
fn user_folder(windows: &str, elsewhere: &str, in_home: &str) -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = match cfg!(windows) {
        true => absolute(windows),
        false => absolute(elsewhere).or_else(|| Some(home()?.join(in_home))),
    };
    Some(base?.join("planwright"))
}
