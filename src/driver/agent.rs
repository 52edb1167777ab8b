//! An agent: a checked spec with the models and tools that answer it.

use std::sync::Arc;

use super::environment::Environment;
use super::stopped::Stopped;
use crate::journal::Record;
use crate::spec::{CompiledAgent, CompiledSpec, RoleName};

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
    pub(super) rules: Arc<CompiledSpec>,
    pub(super) environment: Arc<Environment>,
}

impl Agent {
    /// The rules it runs under.
    pub fn rules(&self) -> &CompiledSpec {
        &self.rules
    }

    /// The records without the values of this agent's keys. What the agent recorded itself holds none; a
    /// key that it was given since is taken out here.
    pub fn redacted(&self, records: Vec<Record>) -> Vec<Record> {
        self.environment.redactor.records(records)
    }

    /// Refuses a spec that holds a key: it would be written down with every run.
    ///
    /// # Errors
    /// [`Stopped::Secret`].
    pub(super) fn check_secrets(&self) -> Result<(), Stopped> {
        match &self.environment.leak {
            Some(place) => Err(Stopped::Secret { place: format!("the spec, at {place},") }),
            None => Ok(()),
        }
    }

    /// Refuses an agent that cannot ask or call all that its spec names, nested agents included, or whose
    /// tools are not what the spec takes them for.
    ///
    /// # Errors
    /// [`Stopped::Incomplete`].
    pub(super) fn check_complete(&self) -> Result<(), Stopped> {
        let mut lacks = Lacks::default();
        self.collect_lacks(&self.rules, &mut lacks);
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

    /// Collects what the agent lacks, each once.
    fn collect_lacks<'r>(&self, rules: &'r CompiledSpec, lacks: &mut Lacks<'r>) {
        let environment = &self.environment;
        let mut needs = |role: RoleName| {
            let silence = environment.model.is_none() && !environment.models.contains_key(&role);
            if silence && !lacks.silent.contains(&role.as_str()) {
                lacks.silent.push(role.as_str());
            }
        };
        RoleName::ALL.into_iter().filter(|role| rules.has(*role)).for_each(&mut needs);
        if rules.agents().iter().any(|doer| matches!(doer, CompiledAgent::Role(_))) {
            needs(RoleName::Agent);
        }
        for tool in &rules.spec().tools {
            match environment.tools.get(&tool.name) {
                Some(registered) => {
                    let mistaken = tool.find_mismatch(&registered.declared);
                    lacks.mistaken.extend(mistaken.map(|problem| format!("{}.{problem}", tool.name)));
                }
                None if !lacks.missing.contains(&tool.name.as_str()) => lacks.missing.push(&tool.name),
                None => {}
            }
        }
        for doer in rules.agents() {
            if let CompiledAgent::Spec(inner) = doer {
                self.collect_lacks(inner, lacks);
            }
        }
    }
}

/// What an agent lacks of what its spec names.
#[derive(Default)]
struct Lacks<'r> {
    /// The roles without a model.
    silent: Vec<&'r str>,
    /// The tools that are not registered.
    missing: Vec<&'r str>,
    /// The tools that are not what the spec takes them for, with how.
    mistaken: Vec<String>,
}
