//! The tools that can be called.

use std::path::PathBuf;
use std::sync::Arc;

use crate::config::user_cache_folder;
use crate::error::{Error, Result};
use crate::servers::Server;
use crate::settings::Settings;
use planwright::ports::{Embedder, Secret, Tool, ToolError};
use planwright::spec::Spec;
use planwright_docs::{Articles, Calc, ContractTools, Docs};
use planwright_http::{Embeddings, Lookup, MediaWiki, Retry, Search, Wiki};

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

/// Passes a setting on where it is made.
fn set<B, V>(builder: B, value: Option<V>, set: impl FnOnce(B, V) -> B) -> B {
    match value {
        Some(value) => set(builder, value),
        None => builder,
    }
}

/// The error of a setting that a tool's client does not take. Nothing was asked yet.
fn refused(place: &str) -> impl Fn(ToolError) -> Error {
    move |error| Error::at(place)(error.message)
}

type Tools = Vec<Arc<dyn Tool>>;

/// The tools of an agent, and the parts of the contract that they read; `warnings` are for people. A tool that the
/// program does not have is an error before anything runs.
pub(crate) fn open_tools(
    spec: &Spec,
    settings: &Settings,
    warnings: &mut Vec<String>,
) -> Result<(Tools, Vec<String>)> {
    let is_pinned = |name: &str| spec.all_mcp().iter().any(|(_, server)| server.pins.contains_key(name));
    let names = spec.all_tools().into_iter().map(|tool| &*tool.name).filter(|name| !is_pinned(name));
    let names: Vec<&str> = names.collect();
    let reads_contract = names.iter().any(|name| CONTRACT_TOOLS.contains(name));
    let contract = reads_contract.then(|| open_contract(settings)).transpose()?;
    let articles = contract.as_ref().map(ContractTools::tools).unwrap_or_default();
    let (mut tools, mut missing) = (Tools::new(), Vec::new());
    for name in names {
        match (name, &settings.search_key) {
            ("calc", _) => tools.push(Arc::new(Calc::new())),
            ("docs", _) => tools.push(Arc::new(open_docs(settings, warnings)?)),
            ("wiki", _) => tools.push(Arc::new(Wiki(open_wiki(settings)?))),
            ("lookup", _) => tools.push(Arc::new(Lookup(open_wiki(settings)?))),
            ("search", Some(key)) => tools.push(Arc::new(open_search(settings, key)?)),
            _ => match articles.iter().find(|tool| tool.contract().name == name) {
                Some(tool) => tools.push(Arc::clone(tool)),
                None => missing.push(name),
            },
        }
    }
    if settings.typed.contract.is_some() && !reads_contract {
        warnings.push(format!("--contract is not used: the agent {} has no tool that reads one", spec.name));
    }
    if settings.typed.docs.is_some() && !spec.all_tools().iter().any(|tool| tool.name == "docs") {
        warnings
            .push(format!("--docs is not used: the agent {} has no tool that searches documents", spec.name));
    }
    if missing.is_empty() {
        tools.extend(settings.mcp.open_tools(spec, &settings.file.network(), warnings)?);
        return Ok((tools, contract.map(|contract| contract.outline()).unwrap_or_default()));
    }
    if missing.contains(&"search") && settings.search_key.is_none() {
        let variable = settings.file.search_key_env();
        let problem = format!("the tool `search` needs a key, and {variable} is not set");
        return Err(Error::unusable(problem).hint("set it to the key of the search service"));
    }
    let (agent, missing) = (&spec.name, missing.join(", "));
    let hint =
        "leave them out of the spec or with --tools, or write a program that registers them with the library";
    Err(Error::unusable(format!("the agent {agent} names tools that this program does not have: {missing}"))
        .hint(hint))
}

/// The documents of the folder, with their index in the user's cache, or the handbook. The first few that are not
/// searched are named in `warnings` with the reason.
fn open_docs(settings: &Settings, warnings: &mut Vec<String>) -> Result<Docs> {
    const SHOWN: usize = 3;
    let Some(folder) = settings.file.docs.clone() else {
        let owned = |&(path, text): &(&str, &str)| (path.to_owned(), text.to_owned());
        return Ok(Docs::of(HANDBOOK.iter().map(owned).collect()));
    };
    let docs = Docs::folder(&folder).map_err(Error::at("--docs"))?;
    let docs = set(docs, settings.index_progress.clone(), |docs, progress| {
        docs.on_progress(move |done, total| progress(&folder, done, total))
    });
    let docs = set(docs, user_cache_folder("docs"), Docs::cached_in);
    let skipped = docs.skipped().map_err(Error::at("--docs"))?;
    warnings.extend(skipped.iter().take(SHOWN).cloned());
    if skipped.len() > SHOWN {
        warnings.push(format!("not searched: {} more", skipped.len() - SHOWN));
    }
    Ok(docs)
}

fn open_wiki(settings: &Settings) -> Result<MediaWiki> {
    let opened = settings.file.wiki_url.as_deref().map_or_else(|| Ok(MediaWiki::default()), MediaWiki::at);
    let opened = opened.map_err(refused("wiki_url"))?;
    opened.through(&settings.file.network()).map_err(Error::unusable)
}

fn open_search(settings: &Settings, key: &Secret) -> Result<Search> {
    let search = Search::new(key.clone()).map_err(refused("search_key_env"))?;
    let search = search.through(&settings.file.network()).map_err(Error::unusable)?;
    match &settings.file.search_url {
        Some(url) => search.at(url).map_err(refused("search_url")),
        None => Ok(search),
    }
}

/// The tools over the contract and the standard contract; examples stand in for those that are not named.
fn open_contract(settings: &Settings) -> Result<ContractTools> {
    let open = |path: &Option<PathBuf>, example: fn() -> Articles| match path {
        Some(path) => Articles::open(path).map_err(|error| Error::unusable(error.message)),
        None => Ok(example()),
    };
    let user = open(&settings.file.contract, Articles::example)?;
    let standard = open(&settings.file.standard, Articles::example_standard)?;
    let open_embedder = |server: &Server| -> Result<Arc<dyn Embedder>> {
        let key = server.key.clone().unwrap_or_else(|| Secret::new(""));
        let client = Embeddings::new(&server.base_url, &server.model, &key);
        // A search by words alone is better than a long wait.
        let retry = Retry { tries: 2, ..Retry::default() };
        let mut client = client.map_err(refused("[embeddings]"))?.retry(retry);
        for (name, value) in &server.headers {
            client = client.header(name, value).map_err(refused("[embeddings]"))?;
        }
        let client = client.through(&settings.file.network()).map_err(Error::unusable)?;
        Ok(Arc::new(client))
    };
    let embedder = settings.embeddings.as_ref().map(open_embedder).transpose()?;
    Ok(ContractTools::new(user, standard, embedder))
}
