//! An agent: rules, models and tools, ready to run.

use std::sync::Arc;

use super::job::Job;
use super::live::World;
use super::resume::Resume;
use super::run::{Run, Stopped};
use super::stream::Stream;
use crate::journal::{Fixture, Journal, Record};
use crate::machine::{HumanAnswer, Input};
use crate::ports::{Nobody, Observer};
use crate::spec::{CompiledSpec, Doer, RoleName};

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
    pub(super) rules: Arc<CompiledSpec>,
    pub(super) world: Arc<World>,
}

impl Agent {
    /// The rules it runs under.
    pub fn rules(&self) -> &CompiledSpec {
        &self.rules
    }

    /// Runs a question to its end, or to a question of its own that nobody answers yet. The time is
    /// read from the clock once, now.
    ///
    /// # Errors
    /// [`Stopped`]. A run that ends in ERROR is a [`Run`] with an [`error`](Run::error), one that waits
    /// for a person is a [`Run`] that [is waiting](Run::is_waiting).
    pub fn run(&self, question: impl Into<String>) -> Result<Run, Stopped> {
        self.job(asked(self, question)).run()
    }

    /// A run to be configured: where its records go, who watches, who may cancel it.
    pub fn job(&self, input: Input) -> Job<'_> {
        Job::new(self, input)
    }

    /// Runs a question on a thread of its own and hands out what happens while it does. The last
    /// item is what came of it; dropping the stream stops the run.
    ///
    /// ```
    /// use planwright::driver::{Agent, Streamed};
    /// use planwright::model::Offline;
    ///
    /// let spec = planwright::agents::shipped("validated").unwrap().with_tools(|tool| tool.name == "calc");
    /// let agent = Agent::builder(spec).model(Offline::new()).tool(planwright::tool::Calc::new()).build()?;
    /// for item in agent.stream("12/4+9?") {
    ///     match item {
    ///         Streamed::Progress(progress) => println!("{}", serde_json::to_string(&progress)?),
    ///         Streamed::Ended(run) => assert_eq!(run?.error(), None),
    ///     }
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stream(&self, question: impl Into<String>) -> Stream {
        self.stream_of(asked(self, question))
    }

    /// The same, from a whole input.
    pub fn stream_of(&self, input: Input) -> Stream {
        Stream::begin(self.clone(), input)
    }

    /// A journal to be gone on with: who watches, what a person says, under which rules.
    ///
    /// ```no_run
    /// use planwright::driver::Agent;
    /// use planwright::journal::FileJournal;
    /// use planwright::machine::HumanAnswer;
    ///
    /// # fn go_on(agent: &Agent, token: &str) -> Result<(), Box<dyn std::error::Error>> {
    /// let mut journal = FileJournal::open("report.jsonl")?;
    /// let run = agent.resuming(&mut journal).answer(HumanAnswer::respond("yes")).token(token).run()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn resuming<'a>(&'a self, journal: &'a mut dyn Journal) -> Resume<'a> {
        Resume::new(self, journal)
    }

    /// Goes on with a journal. What was answered is not asked again.
    ///
    /// # Errors
    /// [`Stopped`]; a write that may or may not have happened is [`Stopped::InDoubt`].
    pub fn resume(&self, journal: &mut dyn Journal, observer: Option<&dyn Observer>) -> Result<Run, Stopped> {
        self.resuming(journal).observer(observer.unwrap_or(&Nobody)).run()
    }

    /// Answers the question that a journal's run waits with, and goes on with it.
    ///
    /// # Errors
    /// [`Stopped::NotWaiting`]; [`Stopped::Refused`] where the answer does not fit, with the journal
    /// left as it is; else as [`resume`](Agent::resume).
    pub fn answer(
        &self,
        journal: &mut dyn Journal,
        answer: HumanAnswer,
        observer: Option<&dyn Observer>,
    ) -> Result<Run, Stopped> {
        self.resuming(journal).answer(answer).observer(observer.unwrap_or(&Nobody)).run()
    }

    /// Ends a journal's run from outside, without going on with it.
    ///
    /// # Errors
    /// [`Stopped::Ended`], and what is wrong with the journal.
    pub fn cancel(&self, journal: &mut dyn Journal, reason: impl Into<String>) -> Result<(), Stopped> {
        super::resume::cancel(journal, self.world.redactor.text(reason.into())).map(drop)
    }

    /// The records without the values of this agent's keys, for whoever hands them out. What it recorded
    /// itself is without them already; a key that it was given since is taken out here.
    pub fn redacted(&self, records: Vec<Record>) -> Vec<Record> {
        self.world.redactor.records(records)
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

/// A question asked now, as the agent's models are told the time.
pub(super) fn asked(agent: &Agent, question: impl Into<String>) -> Input {
    Input { now: super::time_for(agent.rules.policy()), ..Input::question(question) }
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

impl Agent {
    /// Whether what is written down of a run under the agent's spec is without its keys.
    ///
    /// # Errors
    /// [`Stopped::Secret`].
    pub(super) fn keeps_its_keys(&self) -> Result<(), Stopped> {
        match &self.world.leak {
            Some(place) => Err(Stopped::Secret { place: format!("the spec, at {place},") }),
            None => Ok(()),
        }
    }

    /// Whether the agent can ask and call all that its spec names, nested agents included, and each tool
    /// is what the spec takes it for.
    pub(super) fn complete(&self) -> Result<(), Stopped> {
        let mut lacks = Lacks::default();
        self.lacks(&self.rules, &mut lacks);
        let problem = if !lacks.silent.is_empty() {
            format!("no model is configured for the roles {}", lacks.silent.join(", "))
        } else if !lacks.missing.is_empty() {
            format!(
                "the spec names tools that are not registered: {} (register them, or leave them out with \
                 `Spec::with_tools`)",
                lacks.missing.join(", ")
            )
        } else if !lacks.mistaken.is_empty() {
            format!(
                "the spec is mistaken about the tools that are registered: {} (register what the run began \
                 with, or go on under a spec that fits them)",
                lacks.mistaken.join("; ")
            )
        } else {
            return Ok(());
        };
        Err(Stopped::Incomplete(problem))
    }

    /// What the agent lacks, each once.
    fn lacks<'r>(&self, rules: &'r CompiledSpec, lacks: &mut Lacks<'r>) {
        let world = &self.world;
        let mut needs = |role: RoleName| {
            let silence = world.model.is_none() && !world.models.contains_key(&role);
            if silence && !lacks.silent.contains(&role.as_str()) {
                lacks.silent.push(role.as_str());
            }
        };
        RoleName::ALL.into_iter().filter(|role| rules.has(*role)).for_each(&mut needs);
        if rules.doers().iter().any(|doer| matches!(doer, Doer::Role(_))) {
            needs(RoleName::Agent);
        }
        for tool in rules.plan().tools() {
            match world.tools.get(&tool.name) {
                Some(registered) => {
                    let mistaken = tool.mistaken_about(&registered.declared);
                    lacks.mistaken.extend(mistaken.map(|problem| format!("{}.{problem}", tool.name)));
                }
                None if !lacks.missing.contains(&tool.name.as_str()) => lacks.missing.push(&tool.name),
                None => {}
            }
        }
        for doer in rules.doers() {
            if let Doer::Agent(inner) = doer {
                self.lacks(inner, lacks);
            }
        }
    }
}

/// What an agent lacks of what its spec names.
#[derive(Default)]
struct Lacks<'r> {
    /// The roles that nobody answers.
    silent: Vec<&'r str>,
    /// The tools that nobody registered.
    missing: Vec<&'r str>,
    /// The tools that are not what the spec takes them for, with how.
    mistaken: Vec<String>,
}
