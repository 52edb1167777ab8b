//! Which agent, and which of its tools.

use std::path::Path;

use super::config::Settings;
use super::failure::{Failure, Outcome};
use planwright::agents;
use planwright::driver::Agent;
use planwright::journal::Fixture;
use planwright::spec::{CompiledSpec, Spec};

/// Whether an agent is named by its file.
pub fn is_file(agent: &str) -> bool {
    agent.contains(['/', std::path::MAIN_SEPARATOR]) || agent.ends_with(".toml")
}

/// A shipped agent by name, or a spec from a file.
pub fn spec(agent: &str) -> Outcome<Spec> {
    if is_file(agent) {
        let text = source(agent)?;
        return agents::load(&text).map_err(|error| Failure::unusable(format!("{agent}: {error}")));
    }
    agents::shipped(agent).ok_or_else(|| unknown(agent))
}

/// An agent as it was written.
pub fn source(agent: &str) -> Outcome<String> {
    if is_file(agent) {
        return std::fs::read_to_string(agent)
            .map_err(|error| Failure::caused(format!("{agent}: cannot be read"), error));
    }
    agents::source(agent).map(str::to_owned).ok_or_else(|| unknown(agent))
}

fn unknown(agent: &str) -> Failure {
    let known = agents::names().collect::<Vec<_>>().join(", ");
    let mut problem = format!("no agent is called {agent:?}; the shipped ones are {known}");
    if Path::new(agent).exists() {
        problem.push_str(&format!(" (for the file, write ./{agent})"));
    }
    Failure::unusable(problem).hint("a file is named by a path with a `/` or the ending .toml")
}

/// The spec, checked.
pub fn rules(agent: &str, spec: Spec) -> Outcome<CompiledSpec> {
    spec.check().map_err(|error| Failure::unusable(format!("{agent}: {error}")))
}

/// The rules a fixture is replayed under: those of the agent that is asked for, else of the
/// shipped agent of its name, else its own. A shipped agent gets the tools that the fixture's has.
pub fn for_fixture(fixture: &Fixture, asked_for: Option<&str>, as_recorded: bool) -> Outcome<Spec> {
    if let Some(agent) = asked_for {
        let found = spec(agent)?;
        let names = tool_names(&fixture.spec);
        let has = |name: &str| names.contains(&name);
        return Ok(match is_file(agent) {
            true => with_tools(found, &has),
            false => with_tools_of(found, &fixture.spec),
        });
    }
    match agents::shipped(&fixture.spec.name).filter(|_| !as_recorded) {
        Some(shipped) => Ok(with_tools_of(shipped, &fixture.spec)),
        None => Ok(fixture.spec.clone()),
    }
}

/// An agent with the tools that another spec has, and those that it alone has.
pub fn with_tools_of(shipped: Spec, recorded: &Spec) -> Spec {
    let has = |spec: &Spec, name: &str| spec.tools.iter().any(|tool| tool.name == name);
    let own = recorded.tools.iter().filter(|tool| !has(&shipped, &tool.name)).cloned().collect::<Vec<_>>();
    let names = tool_names(recorded);
    let mut spec = with_tools(shipped, &|tool| names.contains(&tool));
    spec.tools.extend(own);
    spec
}

/// An agent that only replays: it can ask nobody.
pub fn replaying(spec: Spec) -> Outcome<Agent> {
    let name = spec.name.clone();
    Agent::builder(spec).build().map_err(|error| Failure::unusable(format!("{name}: {error}")))
}

/// Leaves in a spec the tools that this run may use: those of `--tools`, else those that can be
/// used without being asked for. A tool that the program does not know stays, to be reported.
pub fn choose_tools(spec: Spec, asked_for: Option<&str>, settings: &Settings) -> Outcome<Spec> {
    if let Some(list) = asked_for {
        let names: Vec<&str> = list.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        let has = tool_names(&spec);
        if let Some(unknown) = names.iter().find(|name| !has.contains(name)) {
            let has = has.join(", ");
            let problem = format!("--tools: the agent {} has no tool {unknown:?}; it has {has}", spec.name);
            return Err(Failure::unusable(problem));
        }
        if names.contains(&"search") && settings.search_key.is_none() {
            let problem =
                format!("--tools: `search` needs a key, and {} is not set", settings.search_key_env);
            return Err(Failure::unusable(problem).hint("set it, or leave `search` out"));
        }
        return Ok(with_tools(spec, &|tool| names.contains(&tool)));
    }
    let online = settings.server.is_some();
    // A language model would take the handbook for the user's own documents. With nothing else to
    // plan with, it is still better than nothing.
    let handbook = !online || tool_names(&spec).iter().all(|tool| *tool == "docs");
    Ok(with_tools(spec, &|tool| match tool {
        "docs" => handbook || settings.docs.is_some(),
        "wiki" | "lookup" => online,
        "search" => online && settings.search_key.is_some(),
        _ => true,
    }))
}

/// The tools that a spec and the agents in it name, each once.
pub fn tool_names(spec: &Spec) -> Vec<&str> {
    let mut names: Vec<&str> = spec.tools.iter().map(|tool| tool.name.as_str()).collect();
    for inner in spec.agents.iter().filter_map(|member| member.spec.as_deref()) {
        let more: Vec<&str> = tool_names(inner).into_iter().filter(|name| !names.contains(name)).collect();
        names.extend(more);
    }
    names
}

/// The spec with only some of its tools, the agents in it likewise.
fn with_tools(mut spec: Spec, keep: &dyn Fn(&str) -> bool) -> Spec {
    for member in &mut spec.agents {
        member.spec = member.spec.take().map(|inner| Box::new(with_tools(*inner, keep)));
    }
    spec.with_tools(|tool| keep(&tool.name))
}
