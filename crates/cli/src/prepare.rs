//! The agent of a call of the program: spec, limits, prices, model and tools.

use std::sync::Arc;

use super::args::AgentArgs;
use super::config::Settings;
use super::failure::{Failure, Outcome};
use super::screen::Screen;
use super::{agent, world};
use planwright::agents;
use planwright::driver::Agent;
use planwright::journal::Fixture;
use planwright::ports::Human;
use planwright::spec::Spec;

/// The agent, with the model and the tools that it may use, and how the model is called. One that
/// goes on with a recording keeps the tools it was recorded with: they are part of every request.
pub fn agent(
    args: &AgentArgs,
    settings: &Settings,
    recorded: Option<&Fixture>,
    human: Option<Arc<dyn Human>>,
) -> Outcome<(Agent, String)> {
    let spec = match recorded {
        Some(fixture) if args.tools.is_none() => agent::for_fixture(fixture, args.agent.as_deref(), false)?,
        _ => {
            let name = args.agent.as_deref().or(settings.agent.as_deref()).unwrap_or(agents::DEFAULT);
            agent::choose_tools(agent::spec(name)?, args.tools.as_deref(), settings)?
        }
    };
    let spec = priced(adjusted(spec, args), args, settings)?;
    not_held_to(&spec);
    let (model, name) = world::model(settings)?;
    Ok((world::agent(spec, settings, model, human)?, name))
}

/// Says which calls an agent is not held to because their tool is not at hand.
fn not_held_to(spec: &Spec) {
    let Some(whole) = agents::shipped(&spec.name) else { return };
    let held = |tool: &str| spec.policy.required_calls.iter().any(|required| required.tool == tool);
    for required in whole.policy.required_calls.iter().filter(|required| !held(&required.tool)) {
        let tool = &required.tool;
        super::out::complain(&format!(
            "planwright: the tool `{tool}` is not at hand, so the agent {} is not held to call it",
            spec.name
        ));
    }
}

/// The spec with the limits that this call asks for.
pub fn adjusted(mut spec: Spec, args: &AgentArgs) -> Spec {
    let limits = &mut spec.limits;
    limits.max_replans = args.max_replans.unwrap_or(limits.max_replans);
    limits.max_tokens = args.max_tokens.or(limits.max_tokens);
    limits.max_cost = args.max_cost.or(limits.max_cost);
    spec
}

/// The spec with the prices of the configuration file. Its own go before them.
fn priced(mut spec: Spec, args: &AgentArgs, settings: &Settings) -> Outcome<Spec> {
    for (model, price) in &settings.prices {
        spec.prices.entry(model.clone()).or_insert(*price);
    }
    if args.max_cost.is_some() && spec.prices.is_empty() {
        let hint = "name it in the configuration file: [prices.\"MODEL\"] with input and output, for a million \
                    tokens each";
        return Err(Failure::unusable("--max-cost: no model has a price").hint(hint));
    }
    Ok(spec)
}

/// Says who answers, and out of which documents.
pub fn introduce(agent: &Agent, model: &str, settings: &Settings, screen: &Screen) {
    let spec = agent.rules().spec();
    screen.note(&format!("{model} answers, agent {}", spec.name));
    if settings.docs.is_none() && agent::tool_names(spec).contains(&"docs") {
        screen.note("searching the built-in handbook; --docs DIR searches your own folder");
    }
}
