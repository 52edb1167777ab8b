//! Context: what goes into and comes out of one step besides the state. A phase says here how it
//! ended; the edge that follows is `route.rs`'s.

use super::event::Event;
use super::route::{Exit, Move, Next, route};
use super::state::{Asking, ErrorCode, ExecuteStage, Phase, PhaseName, PlanStage, RunError, Task, Writing};
use super::{Effects, Moves, ending};
use crate::spec::CompiledSpec;

/// What one step may use besides the state.
pub(super) struct Context<'a> {
    pub rules: &'a CompiledSpec,
    /// The event, until a handler takes it. statig lends handlers `&Event`, and copying every tool
    /// output would be felt.
    pub event: Option<Event>,
    pub effects: Effects,
    pub moves: Moves,
    /// What ended the run, until ERROR is entered.
    pub error: Option<RunError>,
    exit: Option<Exit>,
}

impl<'a> Context<'a> {
    pub fn new(rules: &'a CompiledSpec, event: Option<Event>) -> Self {
        let (effects, moves) = (Effects::new(), Moves::new());
        Context { rules, event, effects, moves, exit: None, error: None }
    }

    /// Ends the phase.
    pub fn leave(&mut self, exit: Exit) {
        self.exit = Some(exit);
    }

    /// Whether the phase has ended.
    pub fn has_ended(&self) -> bool {
        self.exit.is_some()
    }

    /// Ends the run without an answer.
    pub fn fail(&mut self, code: ErrorCode, message: impl Into<String>) {
        self.error = Some(RunError { code, message: message.into() });
        self.exit = Some(Exit::Failed);
    }

    /// The phase that follows, where the current one has ended.
    pub fn next(&mut self, task: &mut Task, from: PhaseName) -> Option<Phase> {
        let exit = self.exit.take()?;
        let limits = &self.rules.spec().limits;
        let again = match limits.max_iterations {
            Some(most) => task.draft < most,
            None => task.counters.replans < limits.max_replans,
        };
        let next = route(self.rules.policy(), exit, again);
        if exit == Exit::Failed {
            ending::leave_line(task, self.rules, from, self.error.as_ref());
        }
        if next == (Next::Error { exhausted: true }) {
            self.error = Some(ending::exhausted(task, from, exit));
        }
        let phase = match next {
            Next::Plan => Phase::Plan(PlanStage::Drafting(Asking::first())),
            Next::Execute => Phase::Execute(ExecuteStage::Running),
            Next::Validate => Phase::Validate(Asking::first()),
            Next::Write(gate) => Phase::Write(Writing { gate, asking: Asking::first() }),
            Next::Done => Phase::Done,
            Next::Error { .. } => Phase::Error,
        };
        // An answer that was rejected for the last time is better than none, where the policy says so.
        if phase == Phase::Done && task.artifacts.final_answer.is_none() {
            let rejected = task.feedback.as_mut().and_then(|feedback| feedback.answer.take());
            task.artifacts.final_answer = rejected;
        }
        self.moves.push(Move { from, exit, to: phase.name() });
        Some(phase)
    }
}
