//! Orchestrate: between the steps, a model looks at the results and decides what becomes of the rest of
//! the plan. This file never runs a step.

use super::amend::amend;
use crate::contract::{Action, Decision};
use crate::machine::awaits::Stage;
use crate::machine::run::Run;
use crate::machine::state::{Asking, Decided, ExecuteStage};
use crate::machine::vocabulary::TraceLine;

impl Run<'_> {
    /// Whether there is something to decide: nothing runs, and the plan has a step to carry out.
    pub(super) fn decision_is_due(&self) -> bool {
        let running = self.task.progress.as_ref().map_or(1, |progress| progress.schedule.running);
        running == 0 && self.task.drafted().any(|(_, planned, _)| !planned.is_final())
    }

    /// Asks for a decision.
    pub(super) fn ask_decision(&mut self, stage: &mut ExecuteStage) {
        *stage = ExecuteStage::Orchestrating(Asking::first());
        self.ask(Stage::Execute(stage));
    }

    /// Takes a decision and carries it out. Returns whether there was one.
    pub(super) fn hear_decision(&mut self, stage: &mut ExecuteStage) -> bool {
        let effect = self.awaited(Stage::Execute(stage));
        let ExecuteStage::Orchestrating(asking) = stage else { return false };
        let usable = self.read_reply(effect, asking, |rules, _, reply| rules.parse_decision(&reply.text));
        let Some(usable) = usable else { return false };
        let asks = asking.ask;
        self.task.current().decision_asks.push(asks);
        self.decide(usable.value, usable.fallback);
        true
    }

    fn decide(&mut self, mut decision: Decision, mut fallback: Option<String>) {
        let mut remaining = None;
        match amend(&decision, &mut self.task, self.rules) {
            Ok(None) => {}
            Ok(Some(names)) => {
                remaining = Some(names);
                // What a model says after untrusted output was read is no cleaner than that.
                let tainted = self.task.tainted;
                self.task.current().tainted |= tainted;
            }
            Err(problem) => {
                fallback = Some(problem.clone());
                decision = Decision::carry_on(problem);
            }
        }
        let skips = decision.action == Action::SkipRemaining;
        if skips {
            remaining = Some(Vec::new());
        }
        let after = self.task.progress.as_ref().map_or(0, |progress| progress.schedule.finished);
        let decided = Decided {
            draft: self.task.draft,
            after,
            decision: decision.clone(),
            fallback: fallback.is_some(),
        };
        self.task.decisions.push(decided);
        self.line(TraceLine::Decision { after, decision: Box::new(decision), fallback, remaining });
        if skips && let Some(progress) = self.task.progress.as_mut() {
            progress.skip_pending();
        }
    }
}
