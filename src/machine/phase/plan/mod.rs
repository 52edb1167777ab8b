//! Plan: gets a plan out of the planner, or its word that nothing more needs doing. This phase never
//! runs a step, and no step of a plan that failed any check ever runs.

mod approval;
mod draft;
mod intake;

use crate::machine::awaits::Stage;
use crate::machine::run::Run;
use crate::machine::state::{Draft, PlanStage};
use crate::machine::vocabulary::TraceLine;
use crate::spec::Horizon;

impl Run<'_> {
    /// Asks for a plan, or for what is to be known before. Where a plan was sent back, it goes to the
    /// audit trail and the replan is counted.
    pub(in crate::machine) fn enter_plan(&mut self, stage: &PlanStage) {
        let task = &self.task;
        if task.drafts.first().is_some_and(|first| first.plan_asks > 0) || task.feedback.is_some() {
            self.begin_next_draft();
        }
        self.ask(Stage::Plan(stage));
    }

    pub(in crate::machine) fn on_plan(&mut self, stage: &mut PlanStage) {
        match stage {
            PlanStage::AwaitingApproval => self.hear_approval(),
            PlanStage::Drafting(_) => self.on_draft(stage),
            PlanStage::Screening(_) | PlanStage::Recalling(_) | PlanStage::Classifying(_) => {
                if let Some(next) = self.on_intake(stage) {
                    *stage = next;
                    self.ask(Stage::Plan(stage));
                }
            }
        }
    }

    fn begin_next_draft(&mut self) {
        let policy = self.rules.policy();
        let task = &mut *self.task;
        task.draft = task.draft.saturating_add(1);
        if policy.horizon == Horizon::Whole {
            task.counters.replans = task.counters.replans.saturating_add(1);
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
}
