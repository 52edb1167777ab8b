//! The builder: puts an agent together out of a spec, models and tools.

use std::sync::Arc;

use super::agent::Agent;
use super::clock::{Clock, Sleeper};
use super::environment::{Environment, Registered};
use super::redact::Redactor;
#[cfg(doc)]
use super::run::Run;
#[cfg(doc)]
use super::stopped::Stopped;
#[cfg(doc)]
use crate::contract::ToolContract;
use crate::ports::{Human, Model, Secret, Tool};
use crate::spec::{RoleName, Spec, SpecError};

impl Agent {
    /// Puts an agent together.
    pub fn builder(spec: Spec) -> AgentBuilder {
        AgentBuilder { spec, environment: Environment::default(), secrets: Vec::new() }
    }
}

/// Puts an agent together.
pub struct AgentBuilder {
    spec: Spec,
    environment: Environment,
    secrets: Vec<Secret>,
}

impl AgentBuilder {
    /// The model that is asked in every role that has no model of its own.
    #[must_use]
    pub fn model(self, model: impl Model + 'static) -> Self {
        self.shared_model(Arc::new(model))
    }

    /// A model that is shared with others; see [`model`](AgentBuilder::model).
    #[must_use]
    pub fn shared_model(mut self, model: Arc<dyn Model>) -> Self {
        self.secrets.extend(model.secrets());
        self.environment.model = Some(model);
        self
    }

    /// The model that is asked in one role.
    #[must_use]
    pub fn model_for(mut self, role: RoleName, model: impl Model + 'static) -> Self {
        self.secrets.extend(model.secrets());
        self.environment.models.insert(role, Arc::new(model));
        self
    }

    /// A tool. Where the spec or one of its agents has a contract of that name, that stands; else the
    /// tool's own is added to the spec. A contract that promises less care than the tool asks for is
    /// refused when a run starts or goes on: see [`ToolContract::mistaken_about`].
    #[must_use]
    pub fn tool(self, tool: impl Tool + 'static) -> Self {
        self.shared_tool(Arc::new(tool))
    }

    /// A tool that is shared with others; see [`tool`](AgentBuilder::tool).
    #[must_use]
    pub fn shared_tool(mut self, tool: Arc<dyn Tool>) -> Self {
        let contract = tool.contract();
        self.secrets.extend(tool.secrets());
        if !names(&self.spec, &contract.name) {
            self.spec.tools.push(contract.clone());
        }
        self.environment.tools.insert(contract.name.clone(), Registered { tool, declared: contract });
        self
    }

    /// The person whom the run asks. Without one, a run that asks a person ends [waiting](Run::is_waiting).
    #[must_use]
    pub fn human(self, human: impl Human + 'static) -> Self {
        self.shared_human(Arc::new(human))
    }

    /// A person's port that is shared with others; see [`human`](AgentBuilder::human).
    #[must_use]
    pub fn shared_human(mut self, human: Arc<dyn Human>) -> Self {
        self.environment.human = Some(human);
        self
    }

    /// What lets time pass before another try of a step; a test does not want to wait.
    #[must_use]
    pub fn sleeper(mut self, sleeper: impl Sleeper + 'static) -> Self {
        self.environment.sleeper = Some(Arc::new(sleeper));
        self
    }

    /// The clock that says when a person is asked; the system's unless set.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.environment.clock = Some(Arc::new(clock));
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
    /// What [`Spec::check`] refuses; and, where there is a model to ask, a `max_cost` without a
    /// [price](crate::spec::CompiledSpec::check_prices).
    pub fn build(mut self) -> Result<Agent, SpecError> {
        self.environment.redactor = Redactor::new(self.secrets);
        self.environment.leak = self.environment.redactor.found_in(&self.spec);
        let rules = self.spec.check()?;
        if self.environment.model.is_some() || !self.environment.models.is_empty() {
            rules.check_prices()?;
        }
        Ok(Agent { rules: Arc::new(rules), environment: Arc::new(self.environment) })
    }
}

/// Whether a spec or an agent in it has a contract of this name.
fn names(spec: &Spec, tool: &str) -> bool {
    let own = spec.tools.iter().any(|known| known.name == tool);
    own || spec.agents.iter().filter_map(|member| member.spec.as_deref()).any(|inner| names(inner, tool))
}
