//! The canned work as the shipped agent `validated` does it. Its plans name a step's `args` `input` and its `why`
//! `description`.

use std::cell::Cell;

use planwright::contract::{FinalStep, StepField, ToolContract, ToolEffect};
use planwright::driver::Agent;
use planwright::machine::{Effect, Event, Input, ModelReply, ToolOutcome, start, transition};
use planwright::ports::{FnTool, Model, ModelError, TokenSink};
use planwright::prompt::ModelRequest;
use planwright::spec::{CompiledSpec, RoleName, Spec};
use serde_json::json;

use super::{TOOLS, Work};

thread_local!(static VERDICTS: Cell<usize> = const { Cell::new(0) });

/// The texts of the roles, given out as owned texts.
#[derive(Clone)]
struct Canned {
    plans: [String; 2],
    verdicts: [String; 2],
    answer: String,
}

impl Canned {
    fn reply(&self, role: RoleName) -> ModelReply {
        let text = match role {
            RoleName::Planner => {
                VERDICTS.set(0);
                &self.plans[0]
            }
            RoleName::Replanner => &self.plans[1],
            RoleName::Validator => &self.verdicts[VERDICTS.replace(VERDICTS.get() + 1)],
            RoleName::Writer => &self.answer,
            other => unreachable!("the agent has no {other}"),
        };
        ModelReply::text(text.clone())
    }
}

impl Model for Canned {
    fn name(&self) -> &str {
        "canned"
    }

    fn ask(&self, request: &ModelRequest, _: Option<TokenSink<'_>>) -> Result<ModelReply, ModelError> {
        Ok(self.reply(request.frame.role))
    }
}

pub struct Ours {
    canned: Canned,
    compiled: CompiledSpec,
    agent: Agent,
}

impl Ours {
    pub fn of(work: &Work) -> Ours {
        let plans = work.plans.each_ref();
        let plans =
            plans.map(|text| text.replace("\"args\":", "\"input\":").replace("\"why\":", "\"description\":"));
        let (verdicts, answer) = (work.verdicts.clone(), work.answer.clone());
        let canned = Canned { plans, verdicts, answer };
        let spec = spec(work.max_replans);
        let mut builder = Agent::builder(spec.clone()).model(canned.clone());
        for (contract, output) in spec.tools.clone().into_iter().zip(work.outputs.clone()) {
            builder = builder.tool(FnTool::new(contract, move |_| Ok(output.clone())));
        }
        let agent = builder.build().expect("the spec checks");
        Ours { canned, compiled: spec.check().expect("the spec checks"), agent }
    }

    /// `start` and `transition`: no prompts, no digests, no journal.
    pub fn by_machine(&self, work: &Work) {
        let mut step = start(&self.compiled, Input::question(work.question.as_str()));
        while let Some(&effect) = step.effects.first() {
            let event = match effect {
                Effect::AskModel { id, role } => {
                    Event::ModelReplied { effect: id, reply: self.canned.reply(role) }
                }
                Effect::CallTool { id, step: nth } => {
                    let outcome = ToolOutcome::returned(work.output(nth as usize));
                    Event::ToolReturned { effect: id, outcome }
                }
                other => unreachable!("the agent never asks for {other:?}"),
            };
            step = transition(&self.compiled, step.state, event).expect("answers what was asked");
        }
        work.check(&step.state);
    }

    /// Every prompt rendered, every request digested, every record kept in memory, every tool called.
    pub fn by_driver(&self, work: &Work) {
        let run = self.agent.job(Input::question(work.question.as_str())).run();
        work.check(run.expect("nothing interrupts it").state());
    }
}

fn spec(max_replans: u32) -> Spec {
    let mut spec = planwright::agents::shipped("validated").expect("ships with the crate");
    let input = json!({"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]});
    let tool = |name| ToolContract::json(name, "Answers from a list.", ToolEffect::Pure).input(input.clone());
    spec.tools = TOOLS.map(tool).to_vec();
    spec.policy.plan.final_step = FinalStep::None;
    spec.policy.plan.fields = vec![StepField::Id, StepField::Description];
    spec.policy.plan.max_steps = 100_000;
    spec.limits.max_reply_bytes = u32::MAX;
    spec.limits.max_replans = max_replans;
    spec
}
