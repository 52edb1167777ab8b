//! Draft: reads the plan out of the planner's reply, whole or call by call, and takes it on.

use std::sync::Arc;

use crate::contract::ReactReply;
use crate::contract::{Before, Links, ReadPlan};
use crate::contract::{ContractError, Plan};
use crate::contract::{check_size, excerpt, strip_thoughts};
use crate::machine::awaits::Stage;
use crate::machine::edit::check_required_calls;
use crate::machine::route::Exit;
use crate::machine::run::Run;
use crate::machine::state::{PlanStage, Progress, StepRun, Task};
use crate::machine::vocabulary::ModelReply;
use crate::spec::{CompiledSpec, Horizon, Planner, RoleName, Write};

impl Run<'_> {
    pub(super) fn on_draft(&mut self, stage: &mut PlanStage) {
        let effect = self.awaited(Stage::Plan(stage));
        let used_replan_planner = self.drafter() == RoleName::Replanner;
        let PlanStage::Drafting(asking) = stage else { return };
        let Some(usable) = self.read_reply(effect, asking, read_draft) else { return };
        let plan_asks = asking.ask;
        let Drafted { said, plan } = usable.value;
        let draft = self.task.current();
        draft.plan_asks = plan_asks;
        draft.said = said;
        match plan {
            Some(planned) => self.accept(stage, planned, used_replan_planner),
            None => self.nothing_more(used_replan_planner),
        }
    }

    /// Takes the plan on: to a person where one must approve it, else to EXECUTE.
    fn accept(&mut self, stage: &mut PlanStage, planned: Planned, used_replan_planner: bool) {
        let Planned { plan, links, ignored } = planned;
        self.plan_line(&plan, ignored, used_replan_planner);
        match &mut self.task.progress {
            Some(progress) => progress.extend(&plan, links, self.rules),
            None => self.task.progress = Some(Progress::of(self.task.draft, plan, links, self.rules)),
        }
        if self.needs_approval() {
            return self.ask_approval(stage);
        }
        self.task.feedback = None;
        self.leave(Exit::Planned);
    }

    /// The planner needs no tool, or no further one.
    fn nothing_more(&mut self, used_replan_planner: bool) {
        self.plan_line(&Arc::new(Plan::default()), Vec::new(), used_replan_planner);
        self.task.feedback = None;
        let said = self.task.current().said.clone();
        let done = |run: &StepRun| matches!(run, StepRun::Completed { .. });
        let has_results = self.task.progress.as_ref().is_some_and(|progress| progress.steps.iter().any(done));
        let answers = match self.rules.policy().write {
            Write::Planner => true,
            Write::LastResult | Write::Summary => {
                !said.is_empty() && !has_results && !self.rules.has(RoleName::Conversation)
            }
            Write::Model => false,
        };
        if answers {
            self.task.artifacts.final_answer = Some(said);
            return self.leave(Exit::Answered);
        }
        self.leave(Exit::NothingToDo);
    }
}

/// What a planner's reply says.
struct Drafted {
    /// Its words beside a plan, or instead of one.
    said: String,
    /// What is to be done; nothing where nothing is.
    plan: Option<Planned>,
}

/// A plan that passed, on the way to where it is kept.
struct Planned {
    plan: Arc<Plan>,
    links: Links,
    ignored: Vec<String>,
}

impl From<ReadPlan> for Planned {
    fn from(read: ReadPlan) -> Self {
        Planned { plan: Arc::new(read.plan), links: read.links, ignored: read.ignored }
    }
}

/// The most of a planner's words that are kept beside its calls, in characters.
const KEPT_CHARS: usize = 8_000;

fn read_draft(rules: &CompiledSpec, task: &Task, reply: &ModelReply) -> Result<Drafted, ContractError> {
    let contract = rules.plan();
    let most = rules.spec().limits.max_reply_bytes as usize;
    let kept = task.progress.as_ref().filter(|_| rules.policy().keeps_steps());
    let done = |at: usize| kept.is_some_and(|progress| progress.is_done(at));
    let steps = kept.map_or(&[][..], |progress| &progress.plan.steps);
    let before = Before { steps, done: &done };
    let mut drafted = match rules.policy().planner {
        Planner::Json => {
            let read = contract.parse(before, &reply.text, most)?;
            let plan = (!read.plan.steps.is_empty()).then(|| read.into());
            Drafted { said: String::new(), plan }
        }
        Planner::ToolCalls => {
            check_size(&reply.text, most)?;
            let said = strip_thoughts(&reply.text);
            if reply.tool_calls.is_empty() && said.is_empty() {
                return Err(ContractError::at(
                    "$",
                    "expected tool calls or an answer in words, found neither",
                ));
            }
            let calls = &reply.tool_calls;
            let plan = (!calls.is_empty()).then(|| contract.parse_calls(before, calls, most)).transpose()?;
            Drafted { said: said.into_owned(), plan: plan.map(Planned::from) }
        }
        Planner::ReactText => match contract.parse_react(before, &reply.text, most)? {
            ReactReply::Act(read) => {
                Drafted { said: strip_thoughts(&reply.text).into_owned(), plan: Some(read.into()) }
            }
            ReactReply::Answer(answer) => Drafted { said: answer, plan: None },
        },
    };
    if drafted.plan.is_none() && rules.policy().horizon == Horizon::Whole && task.draft > 1 {
        return Err(ContractError::at("$.steps", "expected at least 1 step in a new plan, found none"));
    }
    let planned = drafted.plan.as_ref().map(|planned| planned.plan.steps.as_slice());
    check_required_calls(rules, task, &drafted.said, planned)?;
    if drafted.plan.is_some() {
        drafted.said = excerpt(&drafted.said, KEPT_CHARS);
    }
    Ok(drafted)
}
