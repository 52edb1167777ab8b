//! Plan: asks what is to be known before, gets a plan out of the planner, or its word that nothing more
//! needs doing, and a person's yes if one must approve it. This phase never runs a step, and no step of a
//! plan that failed any check ever runs; what a person writes in a plan's place passes the same checks.

use std::sync::Arc;

use crate::contract::{
    Before, ContractError, Plan, PlanContract, PreviousContext, ReactReply, ReadPlan, Scope, excerpt,
    parse_words, strip_thoughts,
};
use crate::machine::admit::check_required_calls;
use crate::machine::reply::No;
use crate::machine::route::Exit;
use crate::machine::run::Run;
use crate::machine::state::{Asking, Draft, PlanStage, Progress, StepRun, Task};
use crate::machine::vocabulary::{Concern, EffectKind, HumanAnswer, ModelReply, PhaseName, Steps, TraceLine};
use crate::spec::{CompiledSpec, Horizon, Intake, Planner, RoleName, Write};

/// The most of a planner's words that are kept beside its calls, in characters.
const KEPT_CHARS: usize = 8_000;

impl Run<'_> {
    pub(in crate::machine) fn on_plan(&mut self, stage: &mut PlanStage) {
        match stage {
            PlanStage::AwaitingApproval => self.hear_approval(),
            PlanStage::Drafting(_) => self.on_draft(stage),
            PlanStage::Screening(_)
            | PlanStage::Recalling(_)
            | PlanStage::Classifying(_)
            | PlanStage::Granting(_) => {
                if let Some(next) = self.on_intake(stage) {
                    *stage = next;
                }
            }
        }
    }

    /// Begins another draft, unless PLAN is where the run begins.
    pub(in crate::machine) fn enter_plan(&mut self) {
        if self.moves.is_empty() {
            return;
        }
        let policy = self.compiled.policy();
        let task = &mut *self.task;
        task.draft = task.draft.saturating_add(1);
        if policy.horizon == Horizon::Whole {
            task.counters.replans = task.counters.replans.saturating_add(1);
            let told = task.feedback.as_ref();
            task.trace.push(TraceLine::ReplanTrigger {
                replan_count: task.counters.replans,
                reason: told.map(|feedback| feedback.reason.clone()).unwrap_or_default(),
                fix_hint: told.map(|feedback| feedback.fix_hint.clone()).unwrap_or_default(),
            });
        }
        if !policy.keeps_steps() {
            task.artifacts.keep_past(task.progress.take());
            task.authority.forget_steps();
        } else if let Some(progress) = &mut task.progress {
            let dropped = progress.drop_pending();
            if let Some(feedback) = &mut task.feedback {
                feedback.dropped = dropped;
            }
        }
        let first_step = task.progress.as_ref().map_or(0, |progress| progress.steps.len() as u32);
        task.drafts.push(Draft { first_step, tainted: task.tainted, ..Draft::default() });
    }

    /// The stage that follows one intake, or begins PLAN. What a rule can answer is not asked.
    pub(in crate::machine) fn plan_stage_after(&mut self, done: Option<Intake>) -> PlanStage {
        let intake = &self.compiled.policy().intake;
        let from = done.and_then(|done| intake.iter().position(|known| *known == done).map(|at| at + 1));
        for wanted in &intake[from.unwrap_or(0)..] {
            match wanted {
                Intake::Scope => return PlanStage::Screening(Asking::first()),
                Intake::Intent => return PlanStage::Classifying(Asking::first()),
                Intake::PreviousContext if self.task.input.history.is_empty() => {
                    let reason = "there are no earlier turns".to_owned();
                    self.note_context(PreviousContext { need_previous_context: false, reason });
                }
                Intake::PreviousContext => return PlanStage::Recalling(Asking::first()),
            }
        }
        self.stage_after_intake()
    }

    /// What the question calls for is asked once all else is known of it. A run that was begun by what may be anyone's
    /// is not asked: its question may be, too.
    fn stage_after_intake(&self) -> PlanStage {
        let is_foreign = self.task.tainted && self.task.input.on_behalf_of.is_some();
        match self.compiled.asks_grant() && !is_foreign {
            true => PlanStage::Granting(Asking::first()),
            false => PlanStage::Drafting(Asking::first()),
        }
    }

    /// Takes an answer. Returns the stage that follows, unless PLAN ends.
    fn on_intake(&mut self, stage: &mut PlanStage) -> Option<PlanStage> {
        let done = match stage {
            PlanStage::Screening(asking) => {
                let (scope, _) = self.read_reply(asking, |compiled, _, reply| {
                    Scope::parse(&reply.text, compiled.max_reply_bytes())
                })?;
                self.line(TraceLine::Scope { in_scope: scope.in_scope });
                if !scope.in_scope {
                    self.task.artifacts.final_answer = Some(scope.refusal.trim().to_owned());
                    return self.leave_without_plan(Exit::OutOfScope);
                }
                Intake::Scope
            }
            PlanStage::Recalling(asking) => {
                let (context, _) = self.read_reply(asking, |compiled, _, reply| {
                    PreviousContext::parse(&reply.text, compiled.max_reply_bytes())
                })?;
                self.note_context(context);
                Intake::PreviousContext
            }
            PlanStage::Classifying(asking) => {
                let read = self.read_reply(asking, |compiled, _, reply| compiled.parse_intent(&reply.text));
                let (intent, _) = read?;
                let at_once = &self.compiled.policy().intent.answer_at_once;
                let needs_tool = intent.needs_tool && !at_once.contains(&intent.intent);
                self.line(TraceLine::Intent { intent: intent.intent.clone(), needs_tool });
                self.task.understanding.intent = Some(Box::new(intent));
                if !needs_tool {
                    return self.leave_without_plan(Exit::NothingToDo);
                }
                Intake::Intent
            }
            PlanStage::Granting(asking) => {
                let read = self.read_reply(asking, |compiled, _, reply| compiled.parse_grant(&reply.text));
                let (granted, _) = read?;
                self.grant_question(granted);
                return Some(PlanStage::Drafting(Asking::first()));
            }
            PlanStage::Drafting(_) | PlanStage::AwaitingApproval => return None,
        };
        Some(self.plan_stage_after(Some(done)))
    }

    fn note_context(&mut self, context: PreviousContext) {
        self.line(TraceLine::PreviousContext { needed: context.need_previous_context });
        self.task.understanding.previous_context = Some(context);
    }

    /// Ends a visit of PLAN that asked for no plan.
    fn leave_without_plan(&mut self, exit: Exit) -> Option<PlanStage> {
        self.plan_line(&Arc::default(), Vec::new());
        self.leave(exit);
        None
    }

    /// Leaves the line of a visit of PLAN that gave a plan.
    fn plan_line(&mut self, plan: &Arc<Plan>, ignored: Vec<String>) {
        let (used_replan_planner, steps) = (self.uses_replanner(), Some(Steps::of(plan)));
        self.line(TraceLine::Plan { ok: true, used_replan_planner, steps, ignored, error: None });
    }

    fn on_draft(&mut self, stage: &mut PlanStage) {
        let PlanStage::Drafting(asking) = stage else { return };
        let read = |compiled: &CompiledSpec, task: &Task, reply: &ModelReply| {
            read_draft(compiled, task, reply).map(|(said, plan)| (said, reply.reasoning.clone(), plan))
        };
        let Some(((said, reasoning, plan), _)) = self.read_reply(asking, read) else { return };
        let draft = self.task.current();
        (draft.said, draft.reasoning) = (said, reasoning);
        let Some(ReadPlan { plan, links, mut ignored, refused }) = plan else { return self.nothing_more() };
        ignored.extend(refused.iter().map(|(_, error)| error.to_string()));
        self.plan_line(&plan, ignored);
        match &mut self.task.progress {
            Some(progress) => progress.extend(&plan.steps, links, self.compiled),
            None => {
                let progress = Progress::of(self.task.draft, plan, links);
                self.task.progress.insert(progress).line_up(0, self.compiled);
            }
        }
        let first = self.task.first_step();
        for (at, error) in refused {
            self.note_failure(PhaseName::Plan, error.to_string());
            self.task.progress.iter_mut().for_each(|progress| progress.refuse_call(first + at, &error));
        }
        // A plan of which nothing runs needs no one's yes; nor does one over the limits, which cannot run.
        let runs = self.task.drafted().any(|(_, planned, _)| !planned.is_final());
        if !(self.compiled.policy().approval.plan && runs) {
            self.task.feedback = None;
            self.grant_plan();
            self.leave(Exit::Planned);
        } else if self.allows_plan(1) {
            *stage = PlanStage::AwaitingApproval;
        }
    }

    /// The planner needs no tool, or no further one.
    fn nothing_more(&mut self) {
        self.plan_line(&Arc::default(), Vec::new());
        self.task.feedback = None;
        let said = self.task.current().said.clone();
        let done = |run: &StepRun| matches!(run, StepRun::Completed { .. });
        let has_results = self.task.progress.as_ref().is_some_and(|progress| progress.steps.iter().any(done));
        let answers = match self.compiled.policy().write {
            Write::Planner => true,
            Write::LastResult | Write::Summary => {
                !said.is_empty() && !has_results && !self.compiled.has(RoleName::Conversation)
            }
            Write::Model => false,
        };
        if answers {
            self.task.artifacts.final_answer = Some(said);
        }
        self.leave(if answers { Exit::Answered } else { Exit::NothingToDo });
    }

    fn hear_approval(&mut self) {
        let asked = EffectKind::ApprovePlan { draft: self.task.draft };
        let answer = match self.hear("plan", Concern::Plan) {
            Some(Ok(answer)) => answer,
            Some(Err(no)) => return self.decline_plan(no),
            None => return,
        };
        if let HumanAnswer::Edit { steps } = answer {
            self.take_edit(asked, &steps);
        }
        self.grant_approved(asked);
        self.task.feedback = None;
        self.leave(Exit::Planned);
    }

    fn decline_plan(&mut self, no: No) {
        let policy = self.compiled.policy();
        if let Some(code) = no.ends_the_run(policy) {
            return self.fail(code, format!("plan: {}", no.reason));
        }
        // A planner that goes on call by call is told in the results of the calls.
        if policy.horizon == Horizon::Next
            && policy.planner != Planner::Json
            && let Some(progress) = &mut self.task.progress
        {
            progress.refuse_pending(&no.failure());
        }
        self.task.feedback = Some(no.feedback("the plan").into());
        self.leave(Exit::Declined);
    }
}

/// Reads a planner's reply: its words, and the plan if there is something to do.
fn read_draft(
    compiled: &CompiledSpec,
    task: &Task,
    reply: &ModelReply,
) -> Result<(String, Option<ReadPlan>), ContractError> {
    let contract = compiled.plan();
    let most = compiled.max_reply_bytes();
    let kept = task.progress.as_ref().filter(|_| compiled.policy().keeps_steps());
    let done = |at: usize| kept.is_some_and(|progress| progress.is_done(at));
    let steps = kept.map_or(&[][..], |progress| &progress.plan.steps);
    let before = Before { steps, done: &done };
    let (mut said, plan) = match compiled.policy().planner {
        Planner::Json => {
            let read = contract.parse(before, &reply.text, most)?;
            (String::new(), (!read.plan.steps.is_empty()).then_some(read))
        }
        Planner::ToolCalls => {
            let (said, calls) = (parse_words(&reply.text, most)?, &reply.tool_calls);
            if calls.is_empty() && said.is_empty() {
                let problem = "expected tool calls or an answer in words, found neither";
                return Err(ContractError::at("$", problem));
            }
            let parse = match compiled.policy().answers_bad_calls() {
                true => PlanContract::parse_each_call,
                false => PlanContract::parse_calls,
            };
            (said, (!calls.is_empty()).then(|| parse(contract, before, calls, most)).transpose()?)
        }
        Planner::ReactText => match contract.parse_react(before, &reply.text, most)? {
            ReactReply::Act(read) => (strip_thoughts(&reply.text).into_owned(), Some(*read)),
            ReactReply::Answer(answer) => (answer, None),
        },
    };
    if plan.is_none() && compiled.policy().horizon == Horizon::Whole && task.draft > 1 {
        return Err(ContractError::at("$.steps", "expected at least 1 step in a new plan, found none"));
    }
    if plan.is_none() && compiled.policy().write != Write::Model {
        compiled.check_answer(&said)?;
    }
    check_required_calls(compiled, task, &said, plan.as_ref().map(|read| read.plan.steps.as_slice()))?;
    if plan.is_some() {
        said = excerpt(&said, KEPT_CHARS);
    }
    Ok((said, plan))
}
