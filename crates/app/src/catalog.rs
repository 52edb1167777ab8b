//! Agents by name or file, and which of their tools a run may use.

use std::path::Path;

use crate::config_file::is_spec_file;
use crate::error::{Error, Result, read_text};
use crate::settings::Settings;
use planwright::agents;
use planwright::driver::Agent;
use planwright::journal::Fixture;
use planwright::spec::{CompiledSpec, Spec};

/// Loads a shipped agent by name, or a spec from a file.
///
/// # Errors
/// Where there is no such agent, or the file holds no spec.
pub fn load_spec(agent: &str) -> Result<Spec> {
    Spec::from_toml(&spec_source(agent)?).map_err(Error::at(agent))
}

/// Reads the text of an agent's spec.
///
/// # Errors
/// Where there is no such agent or file.
pub fn spec_source(agent: &str) -> Result<String> {
    if is_spec_file(agent) {
        return read_text(agent, Path::new(agent));
    }
    agents::source(agent).map(str::to_owned).ok_or_else(|| {
        let known = agents::names().collect::<Vec<_>>().join(", ");
        let mut problem = format!("no agent is called {agent:?}; the shipped ones are {known}");
        if Path::new(agent).exists() {
            problem.push_str(&format!(" (for the file, write ./{agent})"));
        }
        Error::unusable(problem).hint("a file is named by a path with a `/` or the ending .toml")
    })
}

/// Compiles the spec of the agent of this name or file.
///
/// # Errors
/// As [`load_spec`], and where the spec contradicts itself.
pub fn compile_agent(agent: &str) -> Result<CompiledSpec> {
    load_spec(agent)?.check().map_err(Error::at(agent))
}

/// The spec that a fixture is replayed under: that of the agent that is asked for, else of the shipped agent of
/// its name, else its own. A shipped agent gets the tools that the fixture's has.
///
/// # Errors
/// As [`load_spec`].
pub fn spec_for_fixture(fixture: &Fixture, asked_for: Option<&str>, as_recorded: bool) -> Result<Spec> {
    let shipped = agents::shipped(&fixture.spec.name).filter(|_| !as_recorded);
    Ok(match asked_for {
        Some(agent) if is_spec_file(agent) => {
            let names = tool_names(&fixture.spec);
            with_tools(load_spec(agent)?, &|name| names.contains(&name))
        }
        Some(agent) => with_tools_of(load_spec(agent)?, &fixture.spec),
        None => shipped.map_or_else(|| fixture.spec.clone(), |spec| with_tools_of(spec, &fixture.spec)),
    })
}

/// A spec with those of its tools that the recorded spec has, and with the tools that only that one has.
pub fn with_tools_of(spec: Spec, recorded: &Spec) -> Spec {
    let has = |spec: &Spec, name: &str| spec.tools.iter().any(|tool| tool.name == name);
    let missing = recorded.tools.iter().filter(|tool| !has(&spec, &tool.name)).cloned().collect::<Vec<_>>();
    let names = tool_names(recorded);
    let mut spec = with_tools(spec, &|tool| names.contains(&tool));
    spec.tools.extend(missing);
    spec
}

/// An agent that only replays: it has no model and no tools.
///
/// # Errors
/// Where the spec cannot be used.
pub fn replaying_agent(spec: Spec) -> Result<Agent> {
    let name = spec.name.clone();
    Agent::builder(spec).build().map_err(Error::at(name))
}

/// Leaves in a spec the tools that a run may use: those of `--tools`, else all that work with these settings. A
/// tool that the program does not know stays, to be reported.
pub(crate) fn choose_tools(spec: Spec, asked_for: Option<&str>, settings: &Settings) -> Result<Spec> {
    let has = tool_names(&spec);
    if let Some(list) = asked_for {
        let names: Vec<&str> = list.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        if let Some(unknown) = names.iter().find(|name| !has.contains(name)) {
            let (agent, has) = (&spec.name, has.join(", "));
            let problem = format!("--tools: the agent {agent} has no tool {unknown:?}; it has {has}");
            return Err(Error::unusable(problem));
        }
        if names.contains(&"search") && settings.search_key.is_none() {
            let variable = settings.file.search_key_env();
            let problem = format!("--tools: `search` needs a key, and {variable} is not set");
            return Err(Error::unusable(problem).hint("set it, or leave `search` out"));
        }
        return Ok(with_tools(spec, &|tool| names.contains(&tool)));
    }
    let online = settings.server.is_some();
    // A language model would take the handbook for the user's own documents. With nothing else to
    // plan with, it is still better than nothing.
    let docs = !online || settings.file.docs.is_some() || has.iter().all(|tool| *tool == "docs");
    Ok(with_tools(spec, &|tool| match tool {
        "docs" => docs,
        "wiki" | "lookup" => online,
        "search" => online && settings.search_key.is_some(),
        _ => true,
    }))
}

/// The tools that a spec and its nested agents name, each once.
pub fn tool_names(spec: &Spec) -> Vec<&str> {
    let mut names: Vec<&str> = spec.tools.iter().map(|tool| tool.name.as_str()).collect();
    for inner in spec.agents.iter().filter_map(|nested| nested.spec.as_deref()) {
        let more: Vec<&str> = tool_names(inner).into_iter().filter(|name| !names.contains(name)).collect();
        names.extend(more);
    }
    names
}

/// The spec with only some of its tools, also in its nested agents.
fn with_tools(mut spec: Spec, keep: &dyn Fn(&str) -> bool) -> Spec {
    for nested in &mut spec.agents {
        nested.spec = nested.spec.take().map(|inner| Box::new(with_tools(*inner, keep)));
    }
    spec.with_tools(|tool| keep(&tool.name))
}
