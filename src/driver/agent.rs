//! An agent: a checked spec with the models, tools and people that answer it.

use std::sync::Arc;

use super::environment::{Clock, Environment, Registered};
use super::redact::Redactor;
use super::run::Stopped;
use crate::ports::{Human, Model, Secret, Tool};
use crate::spec::{CompiledAgent, CompiledSpec, RoleName, Spec, SpecError};

/// An agent that can run, resume and replay. Cheap to clone; every run has its own state.
///
/// ```
/// use planwright::prelude::*;
///
/// let spec = planwright::agents::shipped("plan-then-execute").unwrap().with_tools(|_| false);
/// let agent = Agent::builder(spec)
///     .tool(FnTool::new(ToolContract::text("clock", "Tells the time.", ToolEffect::Pure), |_| Ok("noon".into())))
///     .model(ScriptedModel::replies([
///         r#"{"goal": "time", "steps": [{"tool": "clock", "input": "now"}, {"tool": "final_answer", "input": "the time"}]}"#,
///         r#"{"final": "It is noon."}"#,
///     ]))
///     .build()?;
/// let run = agent.run("What time is it?")?;
/// assert_eq!(run.answer(), Some("It is noon."));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Agent {
    pub(super) compiled: Arc<CompiledSpec>,
    pub(super) environment: Arc<Environment>,
    /// What the environment lacks of what the spec names.
    lack: Option<String>,
}

impl Agent {
    /// Begins to put an agent together.
    pub fn builder(spec: Spec) -> AgentBuilder {
        AgentBuilder { spec, environment: Environment::default(), secrets: Vec::new() }
    }

    /// The checked spec that it runs under.
    pub fn compiled(&self) -> &CompiledSpec {
        &self.compiled
    }

    /// An agent with the models, tools and people of this one under another spec.
    ///
    /// # Errors
    /// What [`Spec::check`] refuses, and a spec that holds a key of theirs.
    pub fn with_spec(&self, spec: Spec) -> Result<Agent, SpecError> {
        match self.environment.redactor.found_in(&spec) {
            Some(place) => Err(SpecError::at(place, "expected no key, found one")),
            None => Ok(Agent::of(spec.check()?, Arc::clone(&self.environment))),
        }
    }

    /// Refuses a spec that holds a key: it would be written down with every run.
    pub(super) fn check_secrets(&self) -> Result<(), Stopped> {
        match &self.environment.leak {
            Some(place) => Err(Stopped::Secret { place: format!("the spec, at {place},") }),
            None => Ok(()),
        }
    }

    /// The agent that runs under a spec in an environment.
    pub(super) fn of(compiled: CompiledSpec, environment: Arc<Environment>) -> Self {
        let lack = find_lack(&compiled, &environment);
        Agent { compiled: Arc::new(compiled), environment, lack }
    }

    /// Refuses an agent that lacks a model or a tool of its spec, nested agents included, or whose tools are
    /// not what the spec takes them for.
    pub(super) fn check_complete(&self) -> Result<(), Stopped> {
        self.lack.clone().map_or(Ok(()), |lack| Err(Stopped::Incomplete(lack)))
    }
}

/// What an environment lacks of what a spec and the agents nested in it name, or has otherwise than they take it for.
fn find_lack(compiled: &CompiledSpec, environment: &Environment) -> Option<String> {
    let mut all = Vec::new();
    collect_specs(compiled, &mut all);
    let Environment { model, models, tools: registered, .. } = environment;
    let needs = |role: RoleName| {
        let is_agent = |it: &CompiledAgent| matches!(it, CompiledAgent::Role(_));
        let does_steps = || all.iter().any(|compiled| compiled.agents().iter().any(is_agent));
        all.iter().any(|compiled| compiled.has(role)) || (role == RoleName::Agent && does_steps())
    };
    let roles = RoleName::ALL.iter().chain([&RoleName::Agent]);
    let silent = roles.filter(|role| model.is_none() && !models.contains_key(role) && needs(**role));
    let silent: Vec<String> = silent.map(RoleName::to_string).collect();
    let (mut missing, mut mistaken) = (Vec::new(), Vec::new());
    for tool in all.iter().flat_map(|compiled| &compiled.spec().tools) {
        match registered.get(&tool.name) {
            None if missing.contains(&&*tool.name) => {}
            None => missing.push(&*tool.name),
            Some(found) => {
                let mismatch = tool.find_mismatch(&found.declared);
                mistaken.extend(mismatch.map(|it| format!("{}.{it}", tool.name)));
            }
        }
    }
    Some(if !silent.is_empty() {
        format!("no model is configured for the roles {}", silent.join(", "))
    } else if !missing.is_empty() {
        format!(
            "the spec names tools that are not registered: {} (register them, or leave them out with \
                 `Spec::with_tools`)",
            missing.join(", ")
        )
    } else if !mistaken.is_empty() {
        format!(
            "the spec is mistaken about the tools that are registered: {} (register what the run began \
                 with, or go on under a spec that fits them)",
            mistaken.join("; ")
        )
    } else {
        return None;
    })
}

/// A spec and those of the agents nested in it.
fn collect_specs<'r>(compiled: &'r CompiledSpec, all: &mut Vec<&'r CompiledSpec>) {
    all.push(compiled);
    for agent in compiled.agents() {
        if let CompiledAgent::Spec(inner) = agent {
            collect_specs(inner, all);
        }
    }
}

/// Puts an agent together. What several agents share is given to each in an [`Arc`].
pub struct AgentBuilder {
    spec: Spec,
    environment: Environment,
    secrets: Vec<Secret>,
}

impl AgentBuilder {
    /// The model that is asked in every role that has no model of its own.
    #[must_use]
    pub fn model(mut self, model: impl Model + 'static) -> Self {
        self.secrets.extend(model.secrets());
        self.environment.model = Some(Arc::new(model));
        self
    }

    /// The model that is asked in one role.
    #[must_use]
    pub fn model_for(mut self, role: RoleName, model: impl Model + 'static) -> Self {
        self.secrets.extend(model.secrets());
        self.environment.models.insert(role, Arc::new(model));
        self
    }

    /// A tool. If the spec or one of its agents has a contract of that name, that one stands; else the
    /// tool's own is added to the spec. A contract that promises less care than the tool asks for is refused
    /// when a run starts or goes on; see
    /// [`ToolContract::find_mismatch`](crate::contract::ToolContract::find_mismatch).
    #[must_use]
    pub fn tool(mut self, tool: impl Tool + 'static) -> Self {
        let declared = tool.contract();
        self.secrets.extend(tool.secrets());
        if !has_contract(&self.spec, &declared.name) {
            self.spec.tools.push(declared.clone());
        }
        let name = declared.name.clone();
        self.environment.tools.insert(name, Registered { tool: Arc::new(tool), declared });
        self
    }

    /// Several tools; see [`tool`](AgentBuilder::tool).
    #[must_use]
    pub fn tools<T: Tool + 'static>(self, tools: impl IntoIterator<Item = T>) -> Self {
        tools.into_iter().fold(self, AgentBuilder::tool)
    }

    /// The person whom the run asks. Without one, a run that asks a person ends
    /// [waiting](super::Run::is_waiting).
    #[must_use]
    pub fn human(mut self, human: impl Human + 'static) -> Self {
        self.environment.human = Some(Box::new(human));
        self
    }

    /// The clock, which also lets time pass before another try of a step; the system's unless set.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.environment.clock = Box::new(clock);
        self
    }

    /// A further key whose value must not be kept anywhere. A spec that holds one is refused as
    /// [`Stopped::Secret`] when a run begins: it would be written down with it.
    #[must_use]
    pub fn secret(mut self, secret: Secret) -> Self {
        self.secrets.push(secret);
        self
    }

    /// The agent. Tools that the spec names and that are not registered are reported when a run starts: a
    /// replay needs none.
    ///
    /// # Errors
    /// What [`Spec::check`] refuses; and, if there is a model to ask, a `max_cost` without a
    /// [price](crate::spec::CompiledSpec::check_prices).
    pub fn build(mut self) -> Result<Agent, SpecError> {
        self.environment.redactor = Redactor::new(self.secrets);
        self.environment.leak = self.environment.redactor.found_in(&self.spec);
        let compiled = self.spec.check()?;
        if self.environment.model.is_some() || !self.environment.models.is_empty() {
            compiled.check_prices()?;
        }
        Ok(Agent::of(compiled, Arc::new(self.environment)))
    }
}

/// Whether a spec or an agent in it has a contract of this name.
fn has_contract(spec: &Spec, tool: &str) -> bool {
    let mut nested = spec.agents.iter().filter_map(|member| member.spec.as_deref());
    spec.tools.iter().any(|known| known.name == tool) || nested.any(|inner| has_contract(inner, tool))
}
