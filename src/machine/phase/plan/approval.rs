//! Approval: a plan that passed every check and is put to a person. Nothing of it runs before they say
//! yes; what they write in its place passes the same checks as a planner's.

use crate::machine::awaits::Stage;
use crate::machine::edit::link_plan_edit;
use crate::machine::person::{Heard, No};
use crate::machine::route::Exit;
use crate::machine::run::Run;
use crate::machine::state::PlanStage;
use crate::machine::vocabulary::{Concern, HumanAnswer};
use crate::spec::{Horizon, Planner};

/// What a plan is called in the trace.
const PLAN: &str = "plan";

impl Run<'_> {
    /// Whether the plan that was just accepted needs a person's yes: one of which nothing runs does not.
    pub(super) fn needs_approval(&self) -> bool {
        self.rules.policy().approval.plan && self.task.drafted().any(|(_, planned, _)| !planned.is_final())
    }

    /// Asks, unless the plan is over the limits: nobody is to approve what cannot run.
    pub(super) fn ask_approval(&mut self, stage: &mut PlanStage) {
        if self.allows_plan(1) {
            *stage = PlanStage::AwaitingApproval;
            self.task.current().approval_asked = true;
            self.ask(Stage::Plan(stage));
        }
    }

    pub(super) fn hear_approval(&mut self) {
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
