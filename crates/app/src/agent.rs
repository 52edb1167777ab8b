//! Settings to agent, for a new run or to go on with one: which spec, and which of its tools a run may use.

use std::path::Path;
use std::sync::Arc;

use crate::error::{Error, Result, read_text};
use crate::settings::{Settings, is_spec_file};
use crate::toolbox::{cache_replies, open_model, open_tools};
use planwright::agents;
use planwright::driver::{Agent, AgentBuilder};
use planwright::journal::{Fixture, Folded};
use planwright::ports::Human;
use planwright::spec::{Money, Spec};

/// Which agent, and its limits.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct AgentChoice {
    /// A shipped agent, or a spec file (with a `/` or ending in .toml) [default: validated]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME|FILE"))]
    pub agent: Option<String>,
    /// The tools a plan may name, out of those in the agent's spec
    #[cfg_attr(feature = "clap", arg(long, value_name = "A,B,…"))]
    pub tools: Option<String>,
    /// How many new plans a run may try, instead of what the spec says
    #[cfg_attr(feature = "clap", arg(long, value_name = "N"))]
    pub max_replans: Option<u32>,
    /// Most tokens of a run, read and written together
    #[cfg_attr(feature = "clap", arg(long, value_name = "N"))]
    pub max_tokens: Option<u64>,
    /// Most money of a run, by the prices in the configuration file or the spec
    #[cfg_attr(feature = "clap", arg(long, value_name = "AMOUNT", value_parser = parse_money))]
    pub max_cost: Option<Money>,
}

#[cfg(feature = "clap")]
fn parse_money(text: &str) -> Result<Money, String> {
    serde_json::from_value(text.into()).map_err(|error| error.to_string())
}

/// An agent that can run, and what people are told about it.
pub struct PreparedAgent {
    /// The agent.
    pub agent: Agent,
    /// What the screen calls the model.
    pub model: String,
    /// The currency of the prices.
    pub currency: Option<String>,
    /// The parts of the contract that the agent reads.
    pub outline: Vec<String>,
    /// What a person must know: documents that are not searched, calls that cannot be demanded.
    pub warnings: Vec<String>,
    /// What a person may like to know: who answers, and out of which documents.
    pub notes: Vec<String>,
}

impl AgentChoice {
    /// Sets the limits that are chosen.
    #[must_use]
    pub fn limit(&self, mut spec: Spec) -> Spec {
        let limits = &mut spec.limits;
        limits.max_replans = self.max_replans.unwrap_or(limits.max_replans);
        limits.max_tokens = self.max_tokens.or(limits.max_tokens);
        limits.max_cost = self.max_cost.or(limits.max_cost);
        spec
    }

    /// Builds the agent of a new run. One that goes on with a recording keeps the tools it was recorded with:
    /// they are part of every request.
    ///
    /// # Errors
    /// Where the agent, a tool or the model cannot be used.
    pub fn prepare(
        &self,
        settings: &Settings,
        recorded: Option<&Fixture>,
        human: Option<Arc<dyn Human>>,
    ) -> Result<PreparedAgent> {
        let agent = self.agent.as_deref();
        let spec = match recorded {
            Some(fixture) if self.tools.is_none() => spec_for_fixture(fixture, agent, false)?,
            _ => {
                let name = agent.or(settings.file.agent.as_deref()).unwrap_or(agents::DEFAULT);
                choose_tools(load_spec(name)?, self.tools.as_deref(), settings)?
            }
        };
        let mut spec = self.limit(spec);
        for (model, price) in &settings.file.prices {
            spec.prices.entry(model.clone()).or_insert(*price);
        }
        if self.max_cost.is_some() && spec.prices.is_empty() {
            let hint = "name it in the configuration file: [prices.\"MODEL\"] with input and output, for a \
                        million tokens each";
            return Err(Error::unusable("--max-cost: no model has a price").hint(hint));
        }
        let waived = waived_calls(&spec);
        let reads_handbook = settings.file.docs.is_none() && tool_names(&spec).contains(&"docs");
        let mut prepared = PreparedAgent::build(spec, settings, human)?;
        prepared.warnings.splice(0..0, waived);
        if reads_handbook {
            let note = "searching the built-in handbook; --docs DIR searches your own folder";
            prepared.notes.push(note.to_owned());
        }
        Ok(prepared)
    }
}

impl PreparedAgent {
    fn build(spec: Spec, settings: &Settings, human: Option<Arc<dyn Human>>) -> Result<Self> {
        let (model, shown) = open_model(settings)?;
        let name = spec.name.clone();
        let mut warnings = Vec::new();
        let (tools, outline) = open_tools(&tool_names(&spec), &name, settings, &mut warnings)?;
        let model = if spec.policy.enable_cache { cache_replies(model, settings) } else { model };
        let builder = Agent::builder(spec).model(model);
        let builder = tools.into_iter().fold(builder, AgentBuilder::tool);
        let builder = human.into_iter().fold(builder, AgentBuilder::human);
        let builder = settings.secrets.iter().cloned().fold(builder, AgentBuilder::secret);
        let agent = builder.build().map_err(Error::at(&name))?;
        let (notes, currency) =
            (vec![format!("{shown} answers, agent {name}")], settings.file.currency.clone());
        Ok(PreparedAgent { agent, notes, model: shown, currency, outline, warnings })
    }

    /// Builds an agent that only replays a recording, which the screen calls `model`.
    ///
    /// # Errors
    /// Where the spec cannot be used.
    pub fn replaying(spec: Spec, model: &str) -> Result<Self> {
        let (name, model) = (spec.name.clone(), model.to_owned());
        let agent = Agent::builder(spec).build().map_err(Error::at(name))?;
        let (outline, warnings, notes) = (Vec::new(), Vec::new(), Vec::new());
        Ok(PreparedAgent { agent, model, currency: None, outline, warnings, notes })
    }

    /// Builds the agent that goes on with a run: under the rules that it began with, or those of the agent `spec`.
    /// Unless the caller chose the model, it must be the one that the run began with.
    ///
    /// # Errors
    /// Where the agent cannot be built, or another model or contract would be used than the run began with.
    pub fn resume(
        folded: &Folded,
        settings: &Settings,
        spec: Option<&str>,
        human: Option<Arc<dyn Human>>,
    ) -> Result<Self> {
        let spec = match spec {
            Some(name) => choose_tools(load_spec(name)?, None, settings)?,
            None => folded.compiled.spec().clone(),
        };
        if !settings.model_fits(folded) && folded.doubts().next().is_none() {
            let (began, now) = (&folded.model, settings.model_name());
            let problem = format!("the run began with the model {began:?}, and now {now:?} would answer");
            let hint = "give the same --base-url and --model as before, or choose with --model or --offline";
            return Err(Error::unusable(problem).hint(hint));
        }
        let prepared = PreparedAgent::build(spec, settings, human)?;
        if folded.state.input().outline != prepared.outline {
            let problem = "the run began with another contract than the one at hand";
            return Err(Error::unusable(problem).hint("name the same --contract as before"));
        }
        Ok(prepared)
    }

    /// Whether this agent can go on with a run as it is.
    pub fn fits(&self, folded: &Folded, settings: &Settings) -> bool {
        let same_spec = folded.compiled.spec() == self.agent.compiled().spec();
        same_spec && folded.state.input().outline == self.outline && settings.model_fits(folded)
    }
}

/// The calls that a shipped agent demands and that cannot be demanded here, because their tool is missing.
fn waived_calls(spec: &Spec) -> Vec<String> {
    let shipped = agents::shipped(&spec.name).map(|shipped| shipped.policy.required_calls);
    let demands = |tool: &str| spec.policy.required_calls.iter().any(|required| required.tool == tool);
    let missing = shipped.unwrap_or_default().into_iter().filter(|required| !demands(&required.tool));
    let warning = |tool: &str| {
        format!("the tool `{tool}` is not at hand, so the agent {} is not held to call it", spec.name)
    };
    missing.map(|required| warning(&required.tool)).collect()
}

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

/// Leaves in a spec the tools that a run may use: those of `--tools`, else all that work with these settings. A
/// tool that the program does not know stays, to be reported.
fn choose_tools(spec: Spec, asked_for: Option<&str>, settings: &Settings) -> Result<Spec> {
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
