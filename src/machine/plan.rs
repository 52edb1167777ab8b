//! Plan: gets a plan out of the planner, or its word that nothing more needs doing. This phase never
//! runs a step, and no step of a plan that failed any check ever runs.

use std::sync::Arc;

use super::approve;
use super::context::Context;
use super::event::ModelReply;
use super::intake;
use super::outstanding::drafter;
use super::reply::{self, Duty};
use super::route::Exit;
use super::state::{Draft, PhaseName, PlanStage, Progress, StepRun, Task};
use super::trace::{Steps, TraceLine};
use crate::contract::plan::{Before, Links, ReadPlan};
use crate::contract::react::ReactReply;
use crate::contract::read::{spoken, within};
use crate::contract::{ContractError, Plan, PlanStep};
use crate::spec::{CompiledSpec, Horizon, Planner, RoleName, Write};

/// Asks for a plan, or for what is to be known before. Where a plan was sent back, it goes to the
/// audit trail and the replan is counted.
pub(super) fn enter(stage: &mut PlanStage, task: &mut Task, context: &mut Context<'_>) {
    let returns = task.drafts.first().is_some_and(|first| first.plan_asks > 0) || task.feedback.is_some();
    if returns {
        next_draft(task, context.rules);
    }
    ask(stage, task, context);
}

fn ask(stage: &PlanStage, task: &mut Task, context: &mut Context<'_>) {
    let Some(asking) = stage.asking() else { return };
    let role = intake::role(stage).unwrap_or_else(|| drafter(task, context.rules));
    reply::ask(Duty::of(PhaseName::Plan, role), asking, task, context);
}

fn next_draft(task: &mut Task, rules: &CompiledSpec) {
    let policy = rules.policy();
    task.draft += 1;
    if policy.horizon == Horizon::Whole {
        task.counters.replans += 1;
        let feedback = task.feedback.as_ref();
        task.trace.push(TraceLine::ReplanTrigger {
            replan_count: task.counters.replans,
            reason: feedback.map(|feedback| feedback.reason.clone()).unwrap_or_default(),
            fix_hint: feedback.map(|feedback| feedback.fix_hint.clone()).unwrap_or_default(),
        });
    }
    if policy.keeps_steps() {
        if let Some(progress) = &mut task.progress {
            let dropped = progress.drop_pending();
            if let Some(feedback) = &mut task.feedback {
                feedback.dropped = dropped;
            }
        }
    } else if let Some(progress) = task.progress.take() {
        task.artifacts.past.push(progress);
    }
    let first_step = task.progress.as_ref().map_or(0, |progress| progress.steps.len() as u32);
    task.drafts.push(Draft { first_step, tainted: task.tainted, ..Draft::default() });
}

pub(super) fn on_event(stage: &mut PlanStage, task: &mut Task, context: &mut Context<'_>) {
    if matches!(stage, PlanStage::AwaitingApproval) {
        return approve::on_event(task, context);
    }
    let PlanStage::Drafting(asking) = stage else {
        if let Some(next) = intake::on_event(stage, task, context) {
            *stage = next;
            ask(stage, task, context);
        }
        return;
    };
    let duty = Duty::of(PhaseName::Plan, drafter(task, context.rules));
    let Some(usable) = reply::read(duty, asking, task, context, read) else { return };
    let plan_asks = asking.ask;
    let used_replan_planner = duty.role == RoleName::Replanner;
    let Drafted { said, plan } = usable.value;
    let draft = task.current();
    draft.plan_asks = plan_asks;
    draft.said = said;
    match plan {
        Some(planned) => accept(stage, planned, used_replan_planner, task, context),
        None => nothing_more(used_replan_planner, task, context),
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

fn read(rules: &CompiledSpec, task: &Task, reply: &ModelReply) -> Result<Drafted, ContractError> {
    let contract = rules.plan();
    let most = rules.spec().limits.max_reply_bytes as usize;
    let kept = task.progress.as_ref().filter(|_| rules.policy().keeps_steps());
    let done = |at: usize| kept.is_some_and(|progress| progress.is_done(at));
    let steps = kept.map_or(&[][..], |progress| &progress.plan.steps);
    let before = Before { steps, done: &done };
    let mut drafted = match rules.policy().planner {
        Planner::Json => {
            let read = contract.read_after(before, &reply.text, most)?;
            let plan = (!read.plan.steps.is_empty()).then(|| read.into());
            Drafted { said: String::new(), plan }
        }
        Planner::ToolCalls => {
            within(&reply.text, most)?;
            let said = spoken(&reply.text);
            if reply.tool_calls.is_empty() && said.is_empty() {
                return Err(ContractError::at(
                    "$",
                    "expected tool calls or an answer in words, found neither",
                ));
            }
            let calls = &reply.tool_calls;
            let plan = (!calls.is_empty()).then(|| contract.read_calls(before, calls, most)).transpose()?;
            Drafted { said: said.to_owned(), plan: plan.map(Planned::from) }
        }
        Planner::ReactText => match contract.read_react(before, &reply.text, most)? {
            ReactReply::Act(read) => {
                Drafted { said: spoken(&reply.text).to_owned(), plan: Some(read.into()) }
            }
            ReactReply::Answer(answer) => Drafted { said: answer, plan: None },
        },
    };
    if drafted.plan.is_none() && rules.policy().horizon == Horizon::Whole && task.draft > 1 {
        return Err(ContractError::at("$.steps", "expected at least 1 step in a new plan, found none"));
    }
    let planned = drafted.plan.as_ref().map(|planned| planned.plan.steps.as_slice());
    required(rules, task, &drafted.said, planned)?;
    if drafted.plan.is_some() {
        drafted.said = crate::contract::read::excerpt(&drafted.said, KEPT_CHARS);
    }
    Ok(drafted)
}

/// Where the reply leads to an answer, the calls that must come before one must have been made, or
/// be part of the plan.
pub(super) fn required(
    rules: &CompiledSpec,
    task: &Task,
    said: &str,
    planned: Option<&[PlanStep]>,
) -> Result<(), ContractError> {
    let policy = rules.policy();
    if planned.is_some() && policy.horizon == Horizon::Next {
        return Ok(());
    }
    for required in &policy.required_calls {
        let made = task.progress.iter().flat_map(|progress| progress.plan.steps.iter().zip(&progress.steps));
        let made = made.filter(|(step, run)| step.tool == required.tool && run.counts_as_made()).count();
        let planned = planned.into_iter().flatten().filter(|step| step.tool == required.tool);
        let count = made + planned.count();
        let lines = required.per_line.as_ref().map_or(0, |begins| {
            said.lines().filter(|line| line.trim_start().starts_with(begins.as_str())).count()
        });
        let wanted = (required.least as usize).max(lines);
        if count < wanted {
            let times = if wanted == 1 { "once".to_owned() } else { format!("{wanted} times") };
            let problem = format!(
                "{:?} must be called {times} before the answer; so far it was called {count} times",
                required.tool
            );
            return Err(ContractError::at("$", problem));
        }
    }
    Ok(())
}

/// Takes the plan on: to a person where one must approve it, else to EXECUTE.
fn accept(
    stage: &mut PlanStage,
    planned: Planned,
    used_replan_planner: bool,
    task: &mut Task,
    context: &mut Context<'_>,
) {
    let Planned { plan, links, ignored } = planned;
    let steps = Some(Steps::of(&plan));
    task.trace.push(TraceLine::Plan { ok: true, used_replan_planner, steps, ignored, error: None });
    let (draft, rules) = (task.draft, context.rules);
    match &mut task.progress {
        Some(progress) => progress.extend(&plan, links, rules),
        None => task.progress = Some(Progress::of(draft, plan, links, rules)),
    }
    if approve::is_due(task, rules) {
        return approve::ask(stage, task, context);
    }
    task.feedback = None;
    context.leave(Exit::Planned);
}

/// The planner needs no tool, or no further one.
fn nothing_more(used_replan_planner: bool, task: &mut Task, context: &mut Context<'_>) {
    let steps = Some(Steps::of(&Arc::new(Plan::default())));
    let ignored = Vec::new();
    task.trace.push(TraceLine::Plan { ok: true, used_replan_planner, steps, ignored, error: None });
    task.feedback = None;
    let rules = context.rules;
    let said = task.current().said.clone();
    let done = |run: &StepRun| matches!(run, StepRun::Completed { .. });
    let has_results = task.progress.as_ref().is_some_and(|progress| progress.steps.iter().any(done));
    let its_own = match rules.policy().write {
        Write::Planner => true,
        Write::LastResult | Write::Summary => {
            !said.is_empty() && !has_results && !rules.has(RoleName::Conversation)
        }
        Write::Model => false,
    };
    if its_own {
        task.artifacts.final_answer = Some(said);
        return context.leave(Exit::Answered);
    }
    context.leave(Exit::NothingToDo);
}
