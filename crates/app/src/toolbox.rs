//! The model that answers and the tools that can be called.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::config_file::user_cache_folder;
use crate::error::{Error, Result};
use crate::settings::{Server, Settings};
use planwright::driver::Cached;
use planwright::ports::{Embedder, Model, Tool, ToolError};
use planwright_docs::{Articles, Calc, ContractTools, Docs};
use planwright_http::{
    Embeddings, Lookup, MediaWiki, OpenAi, OpenAiConfig, Retry, Search, Wiki, show_address,
};
use planwright_offline::Offline;

/// The tools that read a contract.
const CONTRACT_TOOLS: [&str; 4] =
    ["hybrid_search", "get_article_by_index", "get_article_by_title", "lookup_standard_contract"];

/// planwright's own documents, for the tool `docs` if the user names no folder, by their paths in the repository.
const HANDBOOK: &[(&str, &str)] = &[
    ("README.md", include_str!("../../../README.md")),
    ("docs/ARCHITECTURE.md", include_str!("../../../docs/ARCHITECTURE.md")),
    ("docs/guide/runs.md", include_str!("../../../docs/guide/runs.md")),
    ("docs/guide/ko.md", include_str!("../../../docs/guide/ko.md")),
    ("docs/guide/agents.md", include_str!("../../../docs/guide/agents.md")),
    ("docs/guide/specs.md", include_str!("../../../docs/guide/specs.md")),
    ("docs/guide/fixtures.md", include_str!("../../../docs/guide/fixtures.md")),
    ("docs/guide/models.md", include_str!("../../../docs/guide/models.md")),
];

/// Opens the model that answers, and says what the screen calls it.
pub(crate) fn open_model(settings: &Settings) -> Result<(Arc<dyn Model>, String)> {
    let Some(server) = &settings.server else {
        return Ok((Arc::new(Offline::new()), "the offline model (by rule, no language model)".to_owned()));
    };
    let name = format!("{} at {}", server.model, show_address(&server.base_url));
    let file = &settings.file;
    let mut config = OpenAiConfig::new(&server.base_url, &server.model);
    if let Some(key) = &server.key {
        config = config.api_key(key.clone());
    }
    if let Some(setting) = file.structured_output {
        config = config.structured_output(setting);
    }
    if let Some(seconds) = file.call_timeout_seconds {
        config = config.call_timeout(Duration::from_secs(seconds));
    }
    if let Some(seconds) = file.connect_timeout_seconds {
        config = config.connect_timeout(Duration::from_secs(seconds));
    }
    if let Some(tries) = file.max_tries {
        config = config.retry(Retry::default().tries(tries));
    }
    Ok((Arc::new(OpenAi::new(config).map_err(Error::unusable)?), name))
}

/// The model behind a cache in a folder. The offline model works a reply out as fast as a cache gives it.
pub(crate) fn cache_replies(model: Arc<dyn Model>, settings: &Settings) -> Arc<dyn Model> {
    let cache = &settings.file.cache;
    let Some(folder) = cache.folder.as_ref().filter(|_| settings.server.is_some()) else { return model };
    let mut cached = Cached::new(model, folder);
    if let Some(entries) = cache.entries {
        cached = cached.max_entries(entries);
    }
    if let Some(bytes) = cache.bytes {
        cached = cached.max_bytes(bytes);
    }
    Arc::new(cached)
}

/// The tools of an agent, and what comes with them.
pub(crate) struct Toolbox {
    pub tools: Vec<Arc<dyn Tool>>,
    /// The parts of the contract, if a tool reads one.
    pub outline: Vec<String>,
    /// What a person should know about the tools.
    pub warnings: Vec<String>,
}

impl Toolbox {
    /// Opens the tools of these names. One that the program does not have is an error before anything runs.
    pub fn open(names: &[&str], agent: &str, settings: &Settings) -> Result<Self> {
        let reads_contract = names.iter().any(|name| CONTRACT_TOOLS.contains(name));
        let contract = reads_contract.then(|| open_contract(settings)).transpose()?;
        let articles = contract.as_ref().map(ContractTools::tools).unwrap_or_default();
        let (mut tools, mut missing, mut warnings) = (Vec::<Arc<dyn Tool>>::new(), Vec::new(), Vec::new());
        for &name in names {
            match name {
                "calc" => tools.push(Arc::new(Calc::new())),
                "docs" => tools.push(Arc::new(open_docs(settings, &mut warnings)?)),
                "wiki" => tools.push(Arc::new(Wiki(open_wiki(settings)?))),
                "lookup" => tools.push(Arc::new(Lookup(open_wiki(settings)?))),
                "search" if settings.search_key.is_some() => tools.push(Arc::new(open_search(settings)?)),
                name => match articles.iter().find(|tool| tool.contract().name == name) {
                    Some(tool) => tools.push(Arc::clone(tool)),
                    None => missing.push(name),
                },
            }
        }
        if !missing.is_empty() {
            return Err(missing_tools(agent, &missing, settings));
        }
        let outline = contract.map(|contract| contract.outline()).unwrap_or_default();
        Ok(Toolbox { tools, outline, warnings })
    }
}

/// The documents of the folder, with their index in the user's cache, or the handbook. The first few that are not
/// searched are named in `warnings` with the reason.
fn open_docs(settings: &Settings, warnings: &mut Vec<String>) -> Result<Docs> {
    const SHOWN: usize = 3;
    let Some(folder) = settings.file.docs.clone() else {
        return Ok(Docs::of(
            HANDBOOK.iter().map(|&(path, text)| (path.to_owned(), text.to_owned())).collect(),
        ));
    };
    let mut docs = Docs::folder(&folder).map_err(bad_setting("--docs"))?;
    if let Some(progress) = settings.index_progress.clone() {
        docs = docs.on_progress(move |done, total| progress(&folder, done, total));
    }
    if let Some(cache) = user_cache_folder("docs") {
        docs = docs.cached_in(cache);
    }
    let skipped = docs.skipped().map_err(bad_setting("--docs"))?;
    warnings.extend(skipped.iter().take(SHOWN).map(ToString::to_string));
    if skipped.len() > SHOWN {
        warnings.push(format!("not searched: {} more", skipped.len() - SHOWN));
    }
    Ok(docs)
}

fn open_wiki(settings: &Settings) -> Result<MediaWiki> {
    let opened = settings.file.wiki_url.as_deref().map_or_else(|| Ok(MediaWiki::default()), MediaWiki::at);
    opened.map_err(bad_setting("wiki_url"))
}

fn open_search(settings: &Settings) -> Result<Search> {
    let key = settings.search_key.clone().expect("asked for with a key only");
    let search = Search::new(key).map_err(bad_setting("search_key_env"))?;
    match &settings.file.search_url {
        Some(url) => search.at(url).map_err(bad_setting("search_url")),
        None => Ok(search),
    }
}

/// The tools over the contract and the standard contract.
fn open_contract(settings: &Settings) -> Result<ContractTools> {
    let open = |path: &Path| Articles::open(path).map_err(|error| Error::unusable(error.message));
    let user = settings.file.contract.as_deref().map(open).transpose()?;
    let standard = settings.file.standard.as_deref().map(open).transpose()?;
    let (user, standard) =
        (user.unwrap_or_else(Articles::example), standard.unwrap_or_else(Articles::example_standard));
    let embedder = settings.embeddings.as_ref().map(open_embedder).transpose()?;
    Ok(ContractTools::new(user, standard, embedder))
}

fn open_embedder(server: &Server) -> Result<Arc<dyn Embedder>> {
    let client = Embeddings::new(&server.base_url, &server.model).map_err(bad_setting("[embeddings]"))?;
    // A search by words alone is better than a long wait.
    let mut client = client.retry(Retry::default().tries(2));
    if let Some(key) = &server.key {
        client = client.key(key.clone()).map_err(bad_setting("[embeddings]"))?;
    }
    Ok(Arc::new(client))
}

fn bad_setting(setting: &str) -> impl Fn(ToolError) -> Error {
    move |error| Error::unusable(format!("{setting}: {error}"))
}

fn missing_tools(agent: &str, missing: &[&str], settings: &Settings) -> Error {
    if missing.contains(&"search") && settings.search_key.is_none() {
        let variable = settings.file.search_key_env();
        let problem = format!("the tool `search` needs a key, and {variable} is not set");
        return Error::unusable(problem).hint("set it to the key of the search service");
    }
    let problem =
        format!("the agent {agent} names tools that this program does not have: {}", missing.join(", "));
    Error::unusable(problem).hint(
        "leave them out of the spec or with --tools, or write a program that registers them with the library",
    )
}
