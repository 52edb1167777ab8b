//! Settings to agent: for a new run, or to go on with one.

use std::sync::Arc;

use crate::catalog::{choose_tools, load_spec, replaying_agent, spec_for_fixture, tool_names};
use crate::error::{Error, Result};
use crate::settings::Settings;
use crate::toolbox::{Toolbox, cache_replies, open_model};
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
    /// Builds the agent of a spec.
    fn build(spec: Spec, settings: &Settings, human: Option<Arc<dyn Human>>) -> Result<Self> {
        let (model, shown) = open_model(settings)?;
        let name = spec.name.clone();
        let toolbox = Toolbox::open(&tool_names(&spec), &name, settings)?;
        let model = if spec.policy.enable_cache { cache_replies(model, settings) } else { model };
        let builder = Agent::builder(spec).model(model);
        let builder = toolbox.tools.into_iter().fold(builder, AgentBuilder::tool);
        let builder = human.into_iter().fold(builder, AgentBuilder::human);
        let builder = settings.secrets.iter().cloned().fold(builder, AgentBuilder::secret);
        let agent = builder.build().map_err(Error::at(&name))?;
        Ok(PreparedAgent {
            agent,
            notes: vec![format!("{shown} answers, agent {name}")],
            model: shown,
            currency: settings.file.currency.clone(),
            outline: toolbox.outline,
            warnings: toolbox.warnings,
        })
    }

    /// Builds an agent that only replays a recording, which the screen calls `model`.
    ///
    /// # Errors
    /// Where the spec cannot be used.
    pub fn replaying(spec: Spec, model: &str) -> Result<Self> {
        let (agent, model) = (replaying_agent(spec)?, model.to_owned());
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
            None => folded.rules.spec().clone(),
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
        let same_spec = folded.rules.spec() == self.agent.rules().spec();
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
