//! Settings: flags, else the environment, else the configuration file. A key is only ever read
//! from the environment, and no error here repeats a value that might be one.

use std::path::{Path, PathBuf};
use std::time::Duration;

mod file;

pub use file::{ConfigFile, StructuredOutput, usual_cache, usual_data};

use super::args::WorldArgs;
use super::failure::{Failure, Outcome};
use planwright::ports::Secret;
use planwright::spec::Prices;

const OPENAI: &str = "https://api.openai.com/v1";
const KEY: &str = "OPENAI_API_KEY";
const SEARCH_KEY: &str = "TAVILY_API_KEY";

/// Where replies are kept, for agents whose policy says so.
#[derive(Debug)]
pub struct Cache {
    pub folder: PathBuf,
    /// Most replies that are kept.
    pub entries: Option<usize>,
    /// Most bytes that they may take.
    pub bytes: Option<u64>,
}

/// Where answers come from, and how to get there. A build without HTTP reads it all and uses part.
#[derive(Debug)]
pub struct Settings {
    /// The server to ask; the offline model answers where there is none.
    pub server: Option<Server>,
    /// The agent the configuration file names.
    pub agent: Option<String>,
    /// The folder for `docs`; the built-in handbook where there is none.
    pub docs: Option<PathBuf>,
    /// The contract that the contract tools read, and the one to compare it with.
    pub contract: Option<PathBuf>,
    pub standard: Option<PathBuf>,
    /// Where texts become vectors; searched by words alone where there is none.
    pub embeddings: Option<Embeddings>,
    pub wiki_url: Option<String>,
    pub search_url: Option<String>,
    pub search_key: Option<Secret>,
    /// The variable that was looked at for it.
    pub search_key_env: String,
    /// What models cost; a spec's own prices go before these.
    pub prices: Prices,
    pub currency: Option<String>,
    /// Where replies are kept; `None` where nobody wants that, or there is no place for it.
    pub cache: Option<Cache>,
    /// All keys that are configured: no value of one is written down, whether this run uses it or not.
    pub secrets: Vec<Secret>,
}

/// A server with an OpenAI-compatible endpoint.
#[derive(Debug)]
pub struct Server {
    pub base_url: String,
    pub model: String,
    pub key: Option<Secret>,
    pub structured_output: Option<StructuredOutput>,
    pub call_timeout: Option<Duration>,
    pub connect_timeout: Option<Duration>,
    pub max_tries: Option<u32>,
}

impl Settings {
    /// The settings of this call of the program.
    pub fn read(args: &WorldArgs) -> Outcome<Self> {
        let file = ConfigFile::find(args.config.as_deref())?;
        let search_key_env = file.search_key_env.clone().unwrap_or_else(|| SEARCH_KEY.to_owned());
        variable_name(&search_key_env, "search_key_env")?;
        let server = if args.offline { None } else { server(args, &file)? };
        let docs = args.docs.clone().or(file.docs);
        if let Some(docs) = &docs
            && !docs.is_dir()
        {
            let problem = format!("{}: expected a folder of documents, found none", docs.display());
            return Err(Failure::unusable(problem).hint("name an existing folder with --docs DIR"));
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
            secrets: secrets(args.config.as_deref())?,
            cache: if args.no_cache { None } else { file.cache.settled() },
        })
    }
}

/// A server that turns texts into vectors.
#[derive(Debug)]
pub struct Embeddings {
    pub base_url: String,
    pub model: String,
    pub key: Option<Secret>,
}

/// Where texts become vectors, where a model for it is named: on the server of the chat model with
/// its key, unless another one is named.
fn embeddings(file: &file::EmbeddingsFile, server: Option<&Server>) -> Outcome<Option<Embeddings>> {
    let Some(model) = file.model.clone() else { return Ok(None) };
    let base_url = file.base_url.clone().or_else(|| server.map(|server| server.base_url.clone()));
    let Some(base_url) = base_url else {
        return Err(Failure::unusable("[embeddings] names a model and no server").hint("add base_url to it"));
    };
    let same = server.filter(|server| server.base_url == base_url);
    let key = match &file.api_key_env {
        Some(name) => Some(Secret::new(named_key(name, "`api_key_env` of [embeddings]")?)),
        None => same.and_then(|server| server.key.clone()),
    };
    Ok(Some(Embeddings { base_url, model, key }))
}

/// The server to ask, where one is configured.
fn server(args: &WorldArgs, file: &ConfigFile) -> Outcome<Option<Server>> {
    let pick = |flag: &Option<String>, name: &str, file: &Option<String>| -> Outcome<Option<String>> {
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
        Some((name, place)) => Some(named_key(name, place)?),
        None => variable(KEY)?,
    };
    let offline = "or answer offline with --offline";
    match (base_url, model, key) {
        (None, None, None) => Ok(None),
        (None, Some(_), None) => Err(Failure::unusable("a model is named, but no key and no server")
            .hint(format!("set {KEY} for {OPENAI}, or name your own server with --base-url URL, {offline}"))),
        (base_url, None, key) => {
            let place = match base_url {
                Some(url) => format!("for the server {}", shown_url(&url)),
                None => format!("for {OPENAI} ({})", if key.is_some() { "a key is set" } else { "no key" }),
            };
            let problem = format!("no model is named {place}");
            let hint = format!("name one with --model NAME or PLANWRIGHT_MODEL, {offline}");
            Err(Failure::unusable(problem).hint(hint))
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

/// A URL as it may be shown: without user, password, query and fragment.
pub fn shown_url(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.rsplit('@').next().unwrap_or_default().to_owned();
    };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    format!("{scheme}://{}{path}", host.rsplit('@').next().unwrap_or_default())
}

/// The values of all keys that are configured, whether a run would use them or not. A variable that is
/// not set, or does not read, holds none.
pub fn secrets(config: Option<&Path>) -> Outcome<Vec<Secret>> {
    let file = ConfigFile::find(config)?;
    let named = [file.api_key_env, file.search_key_env, file.embeddings.api_key_env];
    let usual = [KEY, SEARCH_KEY].map(str::to_owned);
    let value = |name: String| variable(&name).ok().flatten();
    Ok(named.into_iter().flatten().chain(usual).filter_map(value).map(Secret::new).collect())
}

/// An environment variable; empty is the same as not set.
pub fn variable(name: &str) -> Outcome<Option<String>> {
    match std::env::var(name) {
        Ok(value) => Ok(Some(value).filter(|value| !value.trim().is_empty())),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => {
            Err(Failure::unusable(format!("the environment variable {name} is not UTF-8")))
        }
    }
}

/// The key that a variable of the user's choice holds.
fn named_key(name: &str, place: &str) -> Outcome<String> {
    variable_name(name, place)?;
    // What does not look like the name of a variable may be the key itself, so it is not repeated.
    let usual = name.len() <= 64 && !name.chars().any(|c| c.is_ascii_lowercase());
    let shown = if usual { format!("{name}, named by {place},") } else { format!("named by {place}") };
    variable(name)?.ok_or_else(|| {
        Failure::unusable(format!("the environment variable {shown} is not set"))
            .hint("set it to the server's key, or leave the setting out for a server that needs none")
    })
}

fn variable_name(name: &str, place: &str) -> Outcome<()> {
    let legal =
        |(at, c): (usize, char)| c == '_' || c.is_ascii_alphabetic() || (at > 0 && c.is_ascii_digit());
    if !name.is_empty() && name.chars().enumerate().all(legal) {
        return Ok(());
    }
    let problem = format!("{place}: expected the name of an environment variable, found something else");
    Err(Failure::unusable(problem).hint("put the key into a variable and name that, never the key itself"))
}
