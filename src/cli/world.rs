//! The world of a run: the model that answers and the tools that can be called.

use std::sync::Arc;

use super::config::{Server, Settings, shown_url};
use super::failure::{Failure, Outcome};
use crate::driver::{Agent, Model, Tool};
use crate::spec::Spec;

/// The model that answers, and how it is called on the screen.
pub fn model(settings: &Settings) -> Outcome<(Arc<dyn Model>, String)> {
    match &settings.server {
        None => Ok((offline_model()?, "the offline model (extracts, no language model)".to_owned())),
        Some(server) => {
            let name = format!("{} at {}", server.model, shown_url(&server.base_url));
            Ok((open_model(server)?, name))
        }
    }
}

fn offline_model() -> Outcome<Arc<dyn Model>> {
    Err(Failure::unusable("this build has no offline model"))
}

fn open_model(server: &Server) -> Outcome<Arc<dyn Model>> {
    let Server { key: _, structured_output: _, call_timeout: _, connect_timeout: _, max_tries: _, .. } =
        server;
    Err(Failure::unusable("this build has no client for model servers"))
}

/// The tools of these names that the program has.
fn toolbox(settings: &Settings, wanted: impl Fn(&str) -> bool) -> Outcome<Vec<Arc<dyn Tool>>> {
    let _ = (wanted, &settings.wiki_url, &settings.search_url, super::handbook::documents());
    Ok(Vec::new())
}

/// Puts the agent of a spec together. What the spec names and the program does not have is an
/// error before anything runs.
pub fn agent(spec: Spec, settings: &Settings, model: Arc<dyn Model>) -> Outcome<Agent> {
    let wanted = |name: &str| spec.tools.iter().any(|tool| tool.name == name);
    let tools = toolbox(settings, wanted)?;
    let has = |name: &str| tools.iter().any(|tool| tool.contract().name == name);
    let missing: Vec<&str> =
        spec.tools.iter().map(|tool| tool.name.as_str()).filter(|name| !has(name)).collect();
    if !missing.is_empty() {
        return Err(absent(&spec.name, &missing, settings));
    }
    let name = spec.name.clone();
    let builder = Agent::builder(spec).shared_model(model);
    let builder = tools.into_iter().fold(builder, |builder, tool| builder.shared_tool(tool));
    builder.build().map_err(|error| Failure::unusable(format!("{name}: {error}")))
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
