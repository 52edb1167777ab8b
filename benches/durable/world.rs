//! What the runs ask: the canned replan run, or a plan of so many small steps.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use planwright::driver::Agent;
use planwright::machine::ModelReply;
use planwright::ports::FnTool;
use planwright::ports::{Model, ModelError, TokenSink};
use planwright::prompt::ModelRequest;
use planwright::spec::RoleName;

use crate::support::{self, Replies};

/// What answers a run.
pub enum World {
    /// PLAN, EXECUTE ×3, VALIDATE (rejects), PLAN, EXECUTE ×3, VALIDATE, WRITE.
    Replan(Replies),
    /// One plan of small steps; its text.
    Steps(String),
}

impl World {
    pub fn replan() -> Self {
        World::Replan(Replies::default())
    }

    /// So many tool steps.
    pub fn steps(count: usize) -> Self {
        let mut text = r#"{"goal": "many things", "steps": ["#.to_owned();
        for at in 1..=count {
            let _ = write!(text, r#"{{"tool": "docs", "input": "the thing with number {at}"}}, "#);
        }
        text.push_str(r#"{"tool": "final_answer", "input": "all of them"}]}"#);
        World::Steps(text)
    }

    pub fn model(&mut self, role: RoleName) -> String {
        match self {
            World::Replan(replies) => {
                let text = replies.model(role);
                if role == RoleName::Writer {
                    *replies = Replies::default();
                }
                text
            }
            World::Steps(plan) => match role {
                RoleName::Planner | RoleName::Replanner => plan.clone(),
                RoleName::Validator => r#"{"ok": true, "reason": "enough", "fix_hint": ""}"#.to_owned(),
                RoleName::Writer => "All was found.".to_owned(),
                other => unreachable!("the agent has no {other}"),
            },
        }
    }

    pub fn tool(&self, step: usize) -> String {
        match self {
            World::Replan(replies) => replies.tool(step),
            World::Steps(_) => "what was found about this thing".to_owned(),
        }
    }

    /// The agent that lives in it.
    pub fn agent(self) -> Agent {
        self.slow_agent(Arc::new(|| {}))
    }

    /// The agent that lives in it, whose models and tools take as long as `pass` does.
    pub fn slow_agent(self, pass: Pass) -> Agent {
        let mut spec = support::spec();
        spec.policy.plan.max_steps = 100_000;
        spec.limits.max_reply_bytes = u32::MAX;
        let small = matches!(self, World::Steps(_));
        let contracts = spec.tools.clone();
        let mut builder = Agent::builder(spec).model(Canned(Mutex::new(self), pass.clone()));
        for (at, contract) in contracts.into_iter().enumerate() {
            let world = if small { World::Steps(String::new()) } else { World::replan() };
            let pass = pass.clone();
            builder = builder.tool(FnTool::new(contract, move |_| {
                pass();
                Ok(world.tool(at))
            }));
        }
        builder.build().expect("the spec checks")
    }
}

/// Lets the time pass that a model or a tool takes.
pub type Pass = Arc<dyn Fn() + Send + Sync>;

struct Canned(Mutex<World>, Pass);

impl Model for Canned {
    fn name(&self) -> &str {
        "canned"
    }

    fn ask(&self, request: &ModelRequest, _: Option<TokenSink<'_>>) -> Result<ModelReply, ModelError> {
        self.1();
        let mut world = self.0.lock().expect("nothing panics with it");
        Ok(ModelReply::text(world.model(request.frame.role)))
    }
}
