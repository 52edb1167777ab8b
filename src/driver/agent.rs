//! An agent: rules, models and tools, ready to run.

use std::sync::Arc;

use super::job::Job;
use super::live::World;
use super::observer::Observer;
use super::ports::{Model, Secret, Tool};
use super::redact::Redactor;
use super::run::{Run, Stopped};
use crate::journal::{Fixture, Journal};
use crate::machine::Input;
use crate::spec::{RoleName, Rules, Spec, SpecError};

/// An agent that can run, resume and replay. Cheap to clone; every run has its own state.
///
/// ```
/// use planwright::contract::{ToolContract, ToolEffect};
/// use planwright::driver::Agent;
/// use planwright::model::scripted::ScriptedModel;
/// use planwright::{agents, tool::FnTool};
///
/// let spec = agents::shipped("plan-then-execute").unwrap().with_tools(|_| false);
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
    pub(super) rules: Arc<Rules>,
    pub(super) world: Arc<World>,
}

impl Agent {
    /// Puts an agent together.
    pub fn builder(spec: Spec) -> AgentBuilder {
        AgentBuilder { spec, world: World::default(), secrets: Vec::new() }
    }

    /// The rules it runs under.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Runs a question to its end. The time is read from the clock once, now.
    ///
    /// # Errors
    /// [`Stopped`]. A run that ends in ERROR is a [`Run`] with an [`error`](Run::error).
    pub fn run(&self, question: impl Into<String>) -> Result<Run, Stopped> {
        let input = Input { now: super::now(), ..Input::question(question) };
        self.job(input).run()
    }

    /// A run to be configured: where its records go, who watches, who may cancel it.
    pub fn job(&self, input: Input) -> Job<'_> {
        Job::new(self, input)
    }

    /// Goes on with a journal under the rules in its header. What was answered is not asked again.
    ///
    /// # Errors
    /// [`Stopped`]; a write that may or may not have happened is [`Stopped::InDoubt`].
    pub fn resume(&self, journal: &mut dyn Journal, observer: Option<&dyn Observer>) -> Result<Run, Stopped> {
        self.resume_with(journal, observer, super::CancelToken::new())
    }

    /// The same, for somebody who may stop it.
    ///
    /// # Errors
    /// As [`resume`](Agent::resume).
    pub fn resume_with(
        &self,
        journal: &mut dyn Journal,
        observer: Option<&dyn Observer>,
        cancel: super::CancelToken,
    ) -> Result<Run, Stopped> {
        super::resume::resume(self, journal, observer, cancel)
    }

    /// Replays a fixture under this agent's rules: every answer comes out of the fixture, nothing
    /// is asked of the world.
    ///
    /// # Errors
    /// [`Stopped::Drifted`] with every difference.
    pub fn replay(&self, fixture: &Fixture) -> Result<Run, Stopped> {
        self.job(fixture.input.clone()).replay(fixture.clone()).run()
    }
}

impl Fixture {
    /// Replays this fixture against an agent; see [`Agent::replay`].
    ///
    /// # Errors
    /// [`Stopped::Drifted`] with every difference.
    pub fn replay(&self, agent: &Agent) -> Result<Run, Stopped> {
        agent.replay(self)
    }

    /// Replays this fixture under the rules it was recorded with.
    ///
    /// # Errors
    /// [`Stopped::Incomplete`] where its spec does not check, [`Stopped::Drifted`] with every
    /// difference.
    pub fn replay_as_recorded(&self) -> Result<Run, Stopped> {
        let agent = Agent::builder(self.spec.clone()).build();
        agent.map_err(|error| Stopped::Incomplete(format!("the fixture's spec: {error}")))?.replay(self)
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

    /// A tool. Where the spec has a contract of that name, the spec's stands; else the tool's own
    /// is added to it.
    #[must_use]
    pub fn tool(self, tool: impl Tool + 'static) -> Self {
        self.shared_tool(Arc::new(tool))
    }

    /// The same, shared with others.
    #[must_use]
    pub fn shared_tool(mut self, tool: Arc<dyn Tool>) -> Self {
        let contract = tool.contract();
        self.secrets.extend(tool.secrets());
        if !self.spec.tools.iter().any(|known| known.name == contract.name) {
            self.spec.tools.push(contract.clone());
        }
        self.world.tools.insert(contract.name, tool);
        self
    }

    /// A further key whose value must not be kept anywhere.
    #[must_use]
    pub fn secret(mut self, secret: Secret) -> Self {
        self.secrets.push(secret);
        self
    }

    /// The agent. Tools that the spec names and nobody registered are reported when a run starts:
    /// a replay needs none.
    ///
    /// # Errors
    /// What [`Spec::check`] refuses.
    pub fn build(mut self) -> Result<Agent, SpecError> {
        self.world.redactor = Redactor::new(self.secrets);
        Ok(Agent { rules: Arc::new(self.spec.check()?), world: Arc::new(self.world) })
    }
}

impl Agent {
    /// Whether the agent can ask and call all that its spec names.
    pub(super) fn complete(&self) -> Result<(), Stopped> {
        let roles = RoleName::ALL.into_iter().filter(|role| self.rules.has(*role));
        let silent: Vec<&str> = roles
            .filter(|role| self.world.model.is_none() && !self.world.models.contains_key(role))
            .map(RoleName::as_str)
            .collect();
        if !silent.is_empty() {
            let problem = format!("no model is configured for the roles {}", silent.join(", "));
            return Err(Stopped::Incomplete(problem));
        }
        let tools = self.rules.plan().tools().iter().map(|tool| tool.name.as_str());
        let missing: Vec<&str> = tools.filter(|name| !self.world.tools.contains_key(*name)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(Stopped::Incomplete(format!(
            "the spec names tools that are not registered: {} (register them, or leave them out with \
             `Spec::with_tools`)",
            missing.join(", ")
        )))
    }
}
