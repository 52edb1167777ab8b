//! The world of a run: the model that answers and the tools that can be called.

use std::sync::Arc;

use super::agent::tool_names;
use super::config::{Cache, Server, Settings, shown_url};
use super::failure::{Failure, Outcome};
use planwright::driver::Cached;
use planwright::driver::{Agent, AgentBuilder};
use planwright::ports::ToolError;
use planwright::ports::{Human, Model, Tool};
use planwright::spec::Spec;
use planwright_docs::Docs;
use planwright_offline::Offline;

/// The model that answers, and how it is called on the screen.
pub fn model(settings: &Settings) -> Outcome<(Arc<dyn Model>, String)> {
    match &settings.server {
        None => Ok((Arc::new(Offline::new()), "the offline model (by rule, no language model)".to_owned())),
        Some(server) => {
            let name = format!("{} at {}", server.model, shown_url(&server.base_url));
            Ok((open_model(server)?, name))
        }
    }
}

fn open_model(server: &Server) -> Outcome<Arc<dyn Model>> {
    use super::config::StructuredOutput as Setting;
    use planwright_http::{OpenAi, OpenAiConfig, StructuredOutput};

    let mut config = OpenAiConfig::new(&server.base_url, &server.model);
    if let Some(key) = &server.key {
        config = config.api_key(key.clone());
    }
    if let Some(setting) = server.structured_output {
        config = config.structured_output(match setting {
            Setting::Auto => StructuredOutput::Auto,
            Setting::JsonSchema => StructuredOutput::JsonSchema,
            Setting::JsonObject => StructuredOutput::JsonObject,
            Setting::Prompt => StructuredOutput::Prompt,
        });
    }
    if let Some(timeout) = server.call_timeout {
        config = config.call_timeout(timeout);
    }
    if let Some(timeout) = server.connect_timeout {
        config = config.connect_timeout(timeout);
    }
    if let Some(tries) = server.max_tries {
        config = config.retry(planwright_http::Retry::default().tries(tries));
    }
    Ok(Arc::new(OpenAi::new(config).map_err(Failure::unusable)?))
}

/// The tools of these names that the program has.
fn toolbox(settings: &Settings, wanted: impl Fn(&str) -> bool) -> Outcome<Vec<Arc<dyn Tool>>> {
    let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
    if wanted("calc") {
        tools.push(Arc::new(planwright_docs::Calc::new()));
    }
    if wanted("docs") {
        tools.push(Arc::new(match &settings.docs {
            Some(folder) => super::docs::open_folder(folder).map_err(|error| unusable("--docs", &error))?,
            None => Docs::of(super::handbook::documents()),
        }));
    }
    if let Some(contracts) = super::contract::tools(settings, &wanted)? {
        let named = |tool: &Arc<dyn Tool>| wanted(&tool.contract().name);
        tools.extend(contracts.tools().into_iter().filter(named));
    }
    tools.extend(online(settings, &wanted)?);
    Ok(tools)
}

fn online(settings: &Settings, wanted: impl Fn(&str) -> bool) -> Outcome<Vec<Arc<dyn Tool>>> {
    use planwright_http::{Lookup, Search, Wiki};

    let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
    let bad = |field: &'static str| move |error: ToolError| unusable(field, &error);
    let wiki_url = settings.wiki_url.as_deref();
    if wanted("wiki") {
        tools.push(Arc::new(wiki_url.map_or_else(|| Ok(Wiki::new()), Wiki::at).map_err(bad("wiki_url"))?));
    }
    if wanted("lookup") {
        tools
            .push(Arc::new(wiki_url.map_or_else(|| Ok(Lookup::new()), Lookup::at).map_err(bad("wiki_url"))?));
    }
    if let (true, Some(key)) = (wanted("search"), &settings.search_key) {
        let search = Search::new(key.clone()).map_err(bad("search_key_env"))?;
        let search = match &settings.search_url {
            Some(url) => search.at(url).map_err(bad("search_url"))?,
            None => search,
        };
        tools.push(Arc::new(search));
    }
    Ok(tools)
}
fn unusable(setting: &str, error: &ToolError) -> Failure {
    Failure::unusable(format!("{setting}: {error}"))
}

/// Puts the agent of a spec together. What the spec names and the program does not have is an
/// error before anything runs.
pub fn agent(
    spec: Spec,
    settings: &Settings,
    model: Arc<dyn Model>,
    human: Option<Arc<dyn Human>>,
) -> Outcome<Agent> {
    let names = tool_names(&spec);
    let tools = toolbox(settings, |name: &str| names.contains(&name))?;
    let has = |name: &str| tools.iter().any(|tool| tool.contract().name == name);
    let missing: Vec<&str> = names.into_iter().filter(|name| !has(name)).collect();
    if !missing.is_empty() {
        return Err(absent(&spec.name, &missing, settings));
    }
    let name = spec.name.clone();
    let model = match &settings.cache {
        // What is worked out by rule is worked out again as fast as it is read.
        Some(cache) if spec.policy.enable_cache && settings.server.is_some() => cached(model, cache),
        _ => model,
    };
    let builder = Agent::builder(spec).shared_model(model);
    let builder = tools.into_iter().fold(builder, |builder, tool| builder.shared_tool(tool));
    let builder = human.into_iter().fold(builder, |builder, human| builder.shared_human(human));
    let builder = settings.secrets.iter().cloned().fold(builder, AgentBuilder::secret);
    builder.build().map_err(|error| Failure::unusable(format!("{name}: {error}")))
}

/// The model behind a cache in a folder.
fn cached(model: Arc<dyn Model>, cache: &Cache) -> Arc<dyn Model> {
    let mut cached = Cached::shared(model, &cache.folder);
    if let Some(entries) = cache.entries {
        cached = cached.max_entries(entries);
    }
    if let Some(bytes) = cache.bytes {
        cached = cached.max_bytes(bytes);
    }
    Arc::new(cached)
}

fn absent(agent: &str, missing: &[&str], settings: &Settings) -> Failure {
    if missing.contains(&"search") && settings.search_key.is_none() {
        let problem = format!("the tool `search` needs a key, and {} is not set", settings.search_key_env);
        return Failure::unusable(problem).hint("set it to the key of the search service");
    }
    let problem =
        format!("the agent {agent} names tools that this program does not have: {}", missing.join(", "));
    Failure::unusable(problem).hint(
        "leave them out of the spec or with --tools, or write a program that registers them with the library",
    )
}
