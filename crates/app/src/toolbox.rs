//! The model that answers and the tools that can be called.

use std::path::Path;
use std::sync::Arc;

use crate::catalog::tool_names;
use crate::error::{Error, Result};
use crate::settings::{Cache, Server, Settings, shown_url, user_cache_folder};
use crate::{contract, handbook};
use planwright::driver::{Agent, AgentBuilder, Cached};
use planwright::ports::{Human, Model, Tool, ToolError};
use planwright::spec::Spec;
use planwright_docs::{Calc, Docs};
use planwright_http::{Lookup, MediaWiki, OpenAi, OpenAiConfig, Retry, Search, Wiki};
use planwright_offline::Offline;

/// The model that answers, and what the screen calls it.
pub fn open_model(settings: &Settings) -> Result<(Arc<dyn Model>, String)> {
    match &settings.server {
        None => Ok((Arc::new(Offline::new()), "the offline model (by rule, no language model)".to_owned())),
        Some(server) => {
            let name = format!("{} at {}", server.model, shown_url(&server.base_url));
            Ok((open_server(server)?, name))
        }
    }
}

fn open_server(server: &Server) -> Result<Arc<dyn Model>> {
    let mut config = OpenAiConfig::new(&server.base_url, &server.model);
    if let Some(key) = &server.key {
        config = config.api_key(key.clone());
    }
    if let Some(setting) = server.structured_output {
        config = config.structured_output(setting);
    }
    if let Some(timeout) = server.call_timeout {
        config = config.call_timeout(timeout);
    }
    if let Some(timeout) = server.connect_timeout {
        config = config.connect_timeout(timeout);
    }
    if let Some(tries) = server.max_tries {
        config = config.retry(Retry::default().tries(tries));
    }
    Ok(Arc::new(OpenAi::new(config).map_err(Error::unusable)?))
}

/// The tools of the wanted names that the program has. What a person should know about them goes to
/// `warnings`.
fn open_tools(
    settings: &Settings,
    wanted: impl Fn(&str) -> bool,
    warnings: &mut Vec<String>,
) -> Result<Vec<Arc<dyn Tool>>> {
    let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
    if wanted("calc") {
        tools.push(Arc::new(Calc::new()));
    }
    if wanted("docs") {
        tools.push(Arc::new(match &settings.docs {
            Some(folder) => open_docs(folder, settings, warnings).map_err(bad_setting("--docs"))?,
            None => Docs::of(handbook::documents()),
        }));
    }
    if let Some(contracts) = contract::open_tools(settings, &wanted)? {
        tools.extend(contracts.tools().into_iter().filter(|tool| wanted(&tool.contract().name)));
    }
    let wiki_url = settings.wiki_url.as_deref();
    let open_wiki = || {
        let opened = wiki_url.map_or_else(|| Ok(MediaWiki::default()), MediaWiki::at);
        opened.map_err(bad_setting("wiki_url"))
    };
    if wanted("wiki") {
        tools.push(Arc::new(Wiki(open_wiki()?)));
    }
    if wanted("lookup") {
        tools.push(Arc::new(Lookup(open_wiki()?)));
    }
    if let (true, Some(key)) = (wanted("search"), &settings.search_key) {
        let search = Search::new(key.clone()).map_err(bad_setting("search_key_env"))?;
        tools.push(Arc::new(match &settings.search_url {
            Some(url) => search.at(url).map_err(bad_setting("search_url"))?,
            None => search,
        }));
    }
    Ok(tools)
}

/// The documents of a folder, with their index in the user's cache. The first few that are not searched are named
/// with the reason.
fn open_docs(folder: &Path, settings: &Settings, warnings: &mut Vec<String>) -> Result<Docs, ToolError> {
    const SHOWN: usize = 3;
    let mut docs = Docs::folder(folder)?;
    if let Some(progress) = settings.index_progress.clone() {
        let folder = folder.to_owned();
        docs = docs.on_progress(move |done, total| progress(&folder, done, total));
    }
    if let Some(cache) = user_cache_folder("docs") {
        docs = docs.cached_in(cache);
    }
    let skipped = docs.skipped()?;
    warnings.extend(skipped.iter().take(SHOWN).map(ToString::to_string));
    if skipped.len() > SHOWN {
        warnings.push(format!("not searched: {} more", skipped.len() - SHOWN));
    }
    Ok(docs)
}

fn bad_setting(setting: &str) -> impl Fn(ToolError) -> Error {
    move |error| Error::unusable(format!("{setting}: {error}"))
}

/// Builds the agent of a spec. A tool that the spec names and the program does not have is an error before
/// anything runs.
pub fn build_agent(
    spec: Spec,
    settings: &Settings,
    model: Arc<dyn Model>,
    human: Option<Arc<dyn Human>>,
    warnings: &mut Vec<String>,
) -> Result<Agent> {
    let names = tool_names(&spec);
    let tools = open_tools(settings, |name: &str| names.contains(&name), warnings)?;
    let has = |name: &str| tools.iter().any(|tool| tool.contract().name == name);
    let missing: Vec<&str> = names.into_iter().filter(|name| !has(name)).collect();
    if !missing.is_empty() {
        return Err(missing_tools(&spec.name, &missing, settings));
    }
    let name = spec.name.clone();
    let model = match &settings.cache {
        // The offline model works a reply out as fast as a cache gives it.
        Some(cache) if spec.policy.enable_cache && settings.server.is_some() => with_cache(model, cache),
        _ => model,
    };
    let builder = Agent::builder(spec).shared_model(model);
    let builder = tools.into_iter().fold(builder, |builder, tool| builder.shared_tool(tool));
    let builder = human.into_iter().fold(builder, |builder, human| builder.shared_human(human));
    let builder = settings.secrets.iter().cloned().fold(builder, AgentBuilder::secret);
    builder.build().map_err(|error| Error::unusable(format!("{name}: {error}")))
}

/// The model behind a cache in a folder.
fn with_cache(model: Arc<dyn Model>, cache: &Cache) -> Arc<dyn Model> {
    let mut cached = Cached::shared(model, &cache.folder);
    if let Some(entries) = cache.entries {
        cached = cached.max_entries(entries);
    }
    if let Some(bytes) = cache.bytes {
        cached = cached.max_bytes(bytes);
    }
    Arc::new(cached)
}

fn missing_tools(agent: &str, missing: &[&str], settings: &Settings) -> Error {
    if missing.contains(&"search") && settings.search_key.is_none() {
        let problem = format!("the tool `search` needs a key, and {} is not set", settings.search_key_env);
        return Error::unusable(problem).hint("set it to the key of the search service");
    }
    let problem =
        format!("the agent {agent} names tools that this program does not have: {}", missing.join(", "));
    Error::unusable(problem).hint(
        "leave them out of the spec or with --tools, or write a program that registers them with the library",
    )
}
