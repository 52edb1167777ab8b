//! Settings to agent, for a new run or to go on with one: which spec, and which of its tools a run may use.

use std::path::Path;
use std::sync::Arc;

use strsim::jaro;

use crate::config::is_spec_file;
use crate::error::{Error, Result, read_text};
use crate::models::open_model;
use crate::servers::Server;
use crate::settings::Settings;
use crate::store::flag;
use crate::toolbox::open_tools;
use planwright::agents;
use planwright::contract::ToolContract;
use planwright::driver::{Agent, AgentBuilder};
use planwright::journal::{Fixture, Folded};
use planwright::ports::Human;
use planwright::spec::{McpPins, Money, Spec};

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
    /// How often a run of an agent that goes round by round may plan
    #[cfg_attr(feature = "clap", arg(long, value_name = "N"))]
    pub max_iterations: Option<u32>,
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
    /// What was typed to choose the model and the documents: a command that goes on needs it again.
    pub flags: String,
    /// Whether a folder of documents, or one document, was named.
    pub(crate) has_documents: bool,
    /// The servers of models that may be asked.
    pub(crate) servers: Vec<Server>,
}

impl AgentChoice {
    /// Sets the limits that are chosen.
    #[must_use]
    pub fn limit(&self, mut spec: Spec) -> Spec {
        let limits = &mut spec.limits;
        limits.max_replans = self.max_replans.unwrap_or(limits.max_replans);
        limits.max_iterations = self.max_iterations.or(limits.max_iterations);
        limits.max_tokens = self.max_tokens.or(limits.max_tokens);
        limits.max_cost = self.max_cost.or(limits.max_cost);
        spec
    }

    /// Reads the text of the spec of the agent that is chosen.
    ///
    /// # Errors
    /// As [`spec_source`].
    pub fn source(&self, settings: &Settings) -> Result<String> {
        spec_source(self.agent.as_deref().or(settings.file.agent.as_deref()).unwrap_or(agents::DEFAULT))
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
        let (began, now) = (recorded.map_or("", |fixture| &fixture.model), settings.model_name());
        if !settings.model_is_chosen && !began.is_empty() && began != now {
            let problem =
                format!("the recording began with the model {began:?}, and now {now:?} would answer");
            let hint = "give the same --base-url and --model as before, choose with --model or --offline, or begin again with \
                        --record-mode all";
            return Err(Error::unusable(problem).hint(hint));
        }
        let spec = match recorded {
            Some(fixture) if self.tools.is_none() => {
                let is_recorded =
                    |file: &&str| load_spec(file).is_ok_and(|spec| spec.name == fixture.spec.name);
                let agent = agent.or(settings.file.agent.as_deref().filter(is_recorded));
                if let Some(file) = agent {
                    settings.mcp.own(load_spec(file)?.all_mcp());
                }
                spec_for_fixture(fixture, agent)?.unwrap_or_else(|| fixture.spec.clone())
            }
            _ => {
                let name = agent.or(settings.file.agent.as_deref()).unwrap_or(agents::DEFAULT);
                choose_tools(load_with_servers(name, settings)?, self.tools.as_deref(), settings)?
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
        let reads_handbook = settings.file.docs.is_none() && has_tool(&spec, "docs");
        let file = agent
            .or(settings.file.agent.as_deref())
            .filter(|name| is_spec_file(name) && !spec.mcp.is_empty());
        let file = file.filter(|_| settings.typed.mcp.is_none()).map(|file| flag("mcp", file));
        let mut prepared = PreparedAgent::build(spec, settings, human)?;
        prepared.flags.extend(file);
        prepared.warnings.splice(0..0, waived);
        let note = "searching the built-in handbook; --docs DIR searches your own folder";
        prepared.notes.extend(reads_handbook.then(|| note.to_owned()));
        Ok(prepared)
    }
}

impl PreparedAgent {
    fn build(spec: Spec, settings: &Settings, human: Option<Arc<dyn Human>>) -> Result<Self> {
        let name = spec.name.clone();
        let (answers, model) = open_model(settings, spec.policy.enable_cache)?;
        let (mut warnings, notes) = (Vec::new(), vec![format!("{model} answers, agent {name}")]);
        let (tools, outline) = open_tools(&spec, settings, &mut warnings)?;
        let builder = tools.into_iter().fold(Agent::builder(spec).model(answers), AgentBuilder::tool);
        let builder = human.into_iter().fold(builder, AgentBuilder::human);
        let builder = settings.secrets.iter().cloned().fold(builder, AgentBuilder::secret);
        let agent = builder.build().map_err(Error::at(&name))?;
        let (currency, flags) = (settings.file.currency.clone(), settings.typed.flags());
        let has_documents = settings.file.docs.is_some();
        let servers = settings.server.iter().chain(settings.named.values()).cloned().collect();
        Ok(PreparedAgent { agent, model, currency, outline, warnings, notes, flags, has_documents, servers })
    }

    /// Builds an agent that only replays a recording, which the screen calls `model`.
    ///
    /// # Errors
    /// Where the spec cannot be used.
    pub fn replaying(spec: Spec, model: &str) -> Result<Self> {
        let name = spec.name.clone();
        let agent = Agent::builder(spec).build().map_err(Error::at(name))?;
        let (outline, warnings, notes) = (Vec::new(), Vec::new(), Vec::new());
        let (model, flags) = (model.to_owned(), String::new());
        let (currency, has_documents, servers) = (None, false, Vec::new());
        Ok(PreparedAgent { agent, model, currency, outline, warnings, notes, flags, has_documents, servers })
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
            Some(name) => choose_tools(load_with_servers(name, settings)?, None, settings)?,
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
    let demanded = agents::shipped(&spec.name).map(|shipped| shipped.policy.required_calls);
    let tools = demanded.into_iter().flatten().map(|required| required.tool);
    let is_waived = |tool: &String| spec.policy.required_calls.iter().all(|left| left.tool != *tool);
    let warning =
        |tool| format!("the tool `{tool}` is not at hand, so the agent {} is not held to call it", spec.name);
    tools.filter(is_waived).map(warning).collect()
}

/// Loads a shipped agent by name, or a spec from a file.
///
/// # Errors
/// Where there is no such agent, or the file holds no spec.
pub fn load_spec(agent: &str) -> Result<Spec> {
    let text = spec_source(agent)?;
    let pins = match is_spec_file(agent) {
        true => agents::read_pins(Path::new(agent)).map_err(Error::unusable)?,
        false => McpPins::new(),
    };
    Spec::from_toml_with_pins(&text, &pins).map_err(Error::at(agent))
}

/// Loads an agent's spec with the servers of the configuration, and notes that both may be used.
fn load_with_servers(agent: &str, settings: &Settings) -> Result<Spec> {
    let mut spec = load_spec(agent)?;
    let file = &settings.file;
    for (name, server) in &file.mcp {
        spec.mcp.entry(name.clone()).or_insert_with(|| server.clone());
    }
    spec.take_pins(&file.mcp_pins).map_err(Error::at("the configuration file"))?;
    spec.clone().check().map_err(Error::at(agent))?;
    settings.mcp.own(spec.all_mcp());
    Ok(spec)
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
        let nearest = agents::names().max_by(|one, other| jaro(one, agent).total_cmp(&jaro(other, agent)));
        let nearest = nearest.filter(|name| jaro(name, agent) > 0.7);
        let meant = nearest.map_or_else(String::new, |name| format!("did you mean {name}? "));
        Error::unusable(problem)
            .hint(format!("{meant}a file is named by a path with a `/` or the ending .toml"))
    })
}

/// The spec that a fixture is replayed under: that of the agent that is asked for, else of the shipped agent of
/// its name. `None` where no agent of its name is known: it can be replayed as recorded, which says nothing of the
/// agent as it is now.
///
/// # Errors
/// As [`load_spec`].
pub fn spec_for_fixture(fixture: &Fixture, asked_for: Option<&str>) -> Result<Option<Spec>> {
    let spec = asked_for.map(load_spec).transpose()?.or_else(|| agents::shipped(&fixture.spec.name));
    Ok(spec.map(|spec| with_tools_of(spec, &fixture.spec, asked_for)))
}

/// The spec of the agent that is asked for, with the tools that a recorded run would have under it: of the shipped
/// ones those that it had, and all of the agent's own.
pub fn with_tools_of(spec: Spec, recorded: &Spec, asked_for: Option<&str>) -> Spec {
    let mut spec =
        spec.with_tools(|tool| agents::tool(&tool.name).is_none() || has_tool(recorded, &tool.name));
    for (name, server) in
        recorded.mcp.iter().filter(|(name, _)| !spec.mcp.contains_key(*name)).collect::<Vec<_>>()
    {
        // The configuration gave it to whatever agent there was.
        spec.mcp.insert(name.clone(), server.clone());
        let tools = recorded.tools.iter().filter(|tool| server.pins.contains_key(&tool.name));
        spec.tools.extend(tools.cloned());
    }
    if !asked_for.is_some_and(is_spec_file) {
        // A shipped agent was given what its spec does not name.
        let is_missing = |tool: &&ToolContract| spec.tools.iter().all(|known| known.name != tool.name);
        let missing: Vec<ToolContract> = recorded.tools.iter().filter(is_missing).cloned().collect();
        spec.tools.extend(missing);
    }
    spec
}

/// Leaves in a spec the tools that a run may use: those of `--tools`, else all that work with these settings. A
/// tool that the program does not know stays, to be reported.
fn choose_tools(spec: Spec, asked_for: Option<&str>, settings: &Settings) -> Result<Spec> {
    if let Some(list) = asked_for {
        let names: Vec<&str> = list.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        if let Some(unknown) = names.iter().find(|name| !has_tool(&spec, name)) {
            let has = spec.all_tools().iter().map(|tool| &*tool.name).collect::<Vec<_>>().join(", ");
            let problem = format!("--tools: the agent {} has no tool {unknown:?}; it has {has}", spec.name);
            return Err(Error::unusable(problem));
        }
        if names.contains(&"search") && settings.search_key.is_none() {
            let variable = settings.file.search_key_env();
            let problem = format!("--tools: `search` needs a key, and {variable} is not set");
            return Err(Error::unusable(problem).hint("set it, or leave `search` out"));
        }
        return Ok(spec.with_tools(|tool| names.contains(&&*tool.name)));
    }
    let online = settings.server.is_some();
    // A language model would take the handbook for the user's own documents. With nothing else to
    // plan with, it is still better than nothing.
    let docs =
        !online || settings.file.docs.is_some() || spec.all_tools().iter().all(|tool| tool.name == "docs");
    Ok(spec.with_tools(|tool| match &*tool.name {
        "docs" => docs,
        "wiki" | "lookup" => online,
        "search" => online && settings.search_key.is_some(),
        _ => true,
    }))
}

/// Whether a spec or one of its nested agents names a tool.
fn has_tool(spec: &Spec, name: &str) -> bool {
    spec.all_tools().iter().any(|tool| tool.name == name)
}
