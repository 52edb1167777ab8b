//! The builder: puts an agent together out of a spec and whatever answers it.

use std::sync::Arc;

use super::agent::Agent;
use super::clock::{Clock, Sleeper};
use super::live::{Registered, World};
use super::redact::Redactor;
#[cfg(doc)]
use super::run::{Run, Stopped};
#[cfg(doc)]
use crate::contract::ToolContract;
use crate::ports::{Human, Model, Secret, Tool};
use crate::spec::{RoleName, Spec, SpecError};

impl Agent {
    /// Puts an agent together.
    pub fn builder(spec: Spec) -> AgentBuilder {
        AgentBuilder { spec, world: World::default(), secrets: Vec::new() }
    }
}

/// Puts an agent together.
pub struct AgentBuilder {
    spec: Spec,
    world: World,
    secrets: Vec<Secret>,
}

impl AgentBuilder {
    /// The model that is asked in every role that has no model of its own.
    #[must_use]
    pub fn model(self, model: impl Model + 'static) -> Self {
        self.shared_model(Arc::new(model))
    }

    /// The same, shared with others.
    #[must_use]
    pub fn shared_model(mut self, model: Arc<dyn Model>) -> Self {
        self.secrets.extend(model.secrets());
        self.world.model = Some(model);
        self
    }

    /// The model that is asked in one role.
    #[must_use]
    pub fn model_for(mut self, role: RoleName, model: impl Model + 'static) -> Self {
        self.secrets.extend(model.secrets());
        self.world.models.insert(role, Arc::new(model));
        self
    }

    /// A tool. Where the spec or one of its agents has a contract of that name, that stands; else the
    /// tool's own is added to the spec. A contract that promises less care than the tool asks for is
    /// refused when a run starts or goes on: see [`ToolContract::mistaken_about`].
    #[must_use]
    pub fn tool(self, tool: impl Tool + 'static) -> Self {
        self.shared_tool(Arc::new(tool))
    }

    /// The same, shared with others.
    #[must_use]
    pub fn shared_tool(mut self, tool: Arc<dyn Tool>) -> Self {
        let contract = tool.contract();
        self.secrets.extend(tool.secrets());
        if !names(&self.spec, &contract.name) {
            self.spec.tools.push(contract.clone());
        }
        self.world.tools.insert(contract.name.clone(), Registered { tool, declared: contract });
        self
    }

    /// Who is asked where the run asks a person. Where there is nobody, such a run ends
    /// [waiting](Run::is_waiting).
    #[must_use]
    pub fn human(self, human: impl Human + 'static) -> Self {
        self.shared_human(Arc::new(human))
    }

    /// The same, shared with others.
    #[must_use]
    pub fn shared_human(mut self, human: Arc<dyn Human>) -> Self {
        self.world.human = Some(human);
        self
    }

    /// Who lets time pass before another try of a step; a test does not want to wait.
    #[must_use]
    pub fn sleeper(mut self, sleeper: impl Sleeper + 'static) -> Self {
        self.world.sleeper = Some(Arc::new(sleeper));
        self
    }

    /// Who says what time it is where a person is asked; the system's clock unless set.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.world.clock = Some(Arc::new(clock));
        self
    }

    /// A further key whose value must not be kept anywhere. A spec that holds one is refused as
    /// [`Stopped::Secret`] when a run begins: it would be written down with it.
    #[must_use]
    pub fn secret(mut self, secret: Secret) -> Self {
        self.secrets.push(secret);
        self
    }

    /// The agent. Tools that the spec names and nobody registered are reported when a run starts:
    /// a replay needs none.
    ///
    /// # Errors
    /// What [`Spec::check`] refuses; and, where there is a model to ask, a `max_cost` without a
    /// [price](crate::spec::CompiledSpec::check_prices).
    pub fn build(mut self) -> Result<Agent, SpecError> {
        self.world.redactor = Redactor::new(self.secrets);
        self.world.leak = self.world.redactor.found_in(&self.spec);
        let rules = self.spec.check()?;
        if self.world.model.is_some() || !self.world.models.is_empty() {
            rules.check_prices()?;
        }
        Ok(Agent { rules: Arc::new(rules), world: Arc::new(self.world) })
    }
}

/// Whether a spec or an agent in it has a contract of this name.
fn names(spec: &Spec, tool: &str) -> bool {
    let own = spec.tools.iter().any(|known| known.name == tool);
    own || spec.agents.iter().filter_map(|member| member.spec.as_deref()).any(|inner| names(inner, tool))
}
