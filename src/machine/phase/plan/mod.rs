//! Plan: gets a plan out of the planner, or its word that nothing more needs doing, and where a person
//! must approve it, their yes. This phase never runs a step, and no step of a plan that failed any check
//! ever runs; what a person writes in a plan's place passes the same checks as a planner's.

mod draft;
mod intake;

use crate::machine::awaits::Stage;
use crate::machine::edit::link_plan_edit;
use crate::machine::person::{Heard, No};
use crate::machine::route::Exit;
use crate::machine::run::Run;
use crate::machine::state::{Draft, PlanStage};
use crate::machine::vocabulary::{Concern, HumanAnswer, TraceLine};
use crate::spec::{Horizon, Planner};

/// What a plan is called in the trace.
const PLAN: &str = "plan";

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

    /// Whether the plan that was just accepted needs a person's yes: one of which nothing runs does not.
    pub(super) fn needs_approval(&self) -> bool {
        self.rules.policy().approval.plan && self.task.drafted().any(|(_, planned, _)| !planned.is_final())
    }

    /// Asks, unless the plan is over the limits: what cannot run needs no approval.
    pub(super) fn ask_approval(&mut self, stage: &mut PlanStage) {
        if self.allows_plan(1) {
            *stage = PlanStage::AwaitingApproval;
            self.task.current().approval_asked = true;
            self.ask(Stage::Plan(stage));
        }
    }

    fn hear_approval(&mut self) {
        let answer = match self.hear(PLAN, Concern::Plan) {
            Some(Heard::Answer(answer)) => answer,
            Some(Heard::No(no)) => return self.decline_plan(no),
            None => return,
        };
        if let HumanAnswer::Edit { steps } = answer
            // It passed this very check before it was taken.
            && let Ok(links) = link_plan_edit(self.rules, &self.task, &steps)
            && let Some(progress) = self.task.progress.as_mut()
        {
            progress.replace_pending(steps, links, self.rules);
        }
        self.task.feedback = None;
        self.leave(Exit::Planned);
    }

    fn decline_plan(&mut self, no: No) {
        let policy = self.rules.policy();
        if let Some(code) = no.ends_the_run(policy) {
            return self.fail(code, format!("{PLAN}: {}", no.reason));
        }
        // A planner that goes on call by call is told in the results of the calls.
        if policy.horizon == Horizon::Next
            && policy.planner != Planner::Json
            && let Some(progress) = &mut self.task.progress
        {
            progress.refuse_pending(&no.failure());
        }
        self.task.feedback = Some(no.feedback("the plan"));
        self.leave(Exit::Declined);
    }
}
