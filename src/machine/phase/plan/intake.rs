//! Intake: what PLAN asks before the first draft. This file never drafts; where nothing needs planning,
//! it leaves PLAN with that.

use std::sync::Arc;

use crate::contract::{Intent, Plan, PreviousContext, Scope};
use crate::machine::awaits::Stage;
use crate::machine::route::Exit;
use crate::machine::run::Run;
use crate::machine::state::{Asking, PlanStage};
use crate::machine::vocabulary::{Steps, TraceLine};
use crate::spec::Intake;

impl Run<'_> {
    /// The stage in which PLAN begins.
    pub(in crate::machine) fn first_plan_stage(&mut self) -> PlanStage {
        self.plan_stage_after(None)
    }

    /// The stage that follows one intake, or begins PLAN. What a rule can answer is not asked.
    fn plan_stage_after(&mut self, done: Option<Intake>) -> PlanStage {
        let intake = &self.rules.policy().intake;
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
        PlanStage::Drafting(Asking::first())
    }

    /// Takes an answer. Returns the stage that follows, where PLAN goes on.
    pub(super) fn on_intake(&mut self, stage: &mut PlanStage) -> Option<PlanStage> {
        let effect = self.awaited(Stage::Plan(stage));
        let most = self.rules.spec().limits.max_reply_bytes as usize;
        let done = match stage {
            PlanStage::Screening(asking) => {
                let usable =
                    self.read_reply(effect, asking, |_, _, reply| Scope::parse(&reply.text, most))?;
                self.task.understanding.asks[0] = asking.ask;
                self.screened(usable.value)?
            }
            PlanStage::Recalling(asking) => {
                let read = |reply: &str| PreviousContext::parse(reply, most);
                let usable = self.read_reply(effect, asking, |_, _, reply| read(&reply.text))?;
                self.task.understanding.asks[1] = asking.ask;
                self.note_context(usable.value);
                Intake::PreviousContext
            }
            PlanStage::Classifying(asking) => {
                let usable =
                    self.read_reply(effect, asking, |rules, _, reply| rules.parse_intent(&reply.text))?;
                self.task.understanding.asks[2] = asking.ask;
                self.classified(usable.value)?
            }
            PlanStage::Drafting(_) | PlanStage::AwaitingApproval => return None,
        };
        Some(self.plan_stage_after(Some(done)))
    }

    fn note_context(&mut self, context: PreviousContext) {
        self.line(TraceLine::PreviousContext { needed: context.need_previous_context });
        self.task.understanding.previous_context = Some(context);
    }

    fn screened(&mut self, scope: Scope) -> Option<Intake> {
        self.line(TraceLine::Scope { in_scope: scope.in_scope });
        let in_scope = scope.in_scope;
        if !in_scope {
            self.task.artifacts.final_answer = Some(scope.refusal.trim().to_owned());
            self.leave_without_plan(Exit::OutOfScope);
        }
        self.task.understanding.scope = Some(scope);
        in_scope.then_some(Intake::Scope)
    }

    fn classified(&mut self, intent: Intent) -> Option<Intake> {
        let at_once = &self.rules.policy().intent.answer_at_once;
        let plans = intent.needs_tool && !at_once.contains(&intent.intent);
        self.line(TraceLine::Intent { intent: intent.intent.clone(), needs_tool: plans });
        self.task.understanding.intent = Some(Box::new(intent));
        if !plans {
            self.leave_without_plan(Exit::NothingToDo);
        }
        plans.then_some(Intake::Intent)
    }

    /// Ends a visit of PLAN that asked for no plan.
    fn leave_without_plan(&mut self, exit: Exit) {
        self.plan_line(&Arc::new(Plan::default()), Vec::new(), false);
        self.leave(exit);
    }

    /// Leaves the line of a visit of PLAN that gave a plan.
    pub(super) fn plan_line(&mut self, plan: &Arc<Plan>, ignored: Vec<String>, used_replan_planner: bool) {
        let steps = Some(Steps::of(plan));
        self.line(TraceLine::Plan { ok: true, used_replan_planner, steps, ignored, error: None });
    }
}
