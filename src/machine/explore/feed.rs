//! What is fed to a state besides the event, and what comes of it.

use crate::machine::{State, Step};
use crate::spec::CompiledSpec;

/// What one letter does to one concrete state.
pub(super) enum Done {
    Refused,
    Stepped { step: Step, lines_before: usize },
    Panicked,
}

/// A budget that is used up before the event comes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Spent {
    Nothing,
    ModelCalls,
    ToolCalls,
    Transitions,
}

impl Spent {
    pub(super) fn of(self, rules: &CompiledSpec, state: &State) -> Option<State> {
        let mut state = state.clone();
        let counters = &mut state.task.counters;
        match self {
            Spent::Nothing => {}
            Spent::ModelCalls => counters.model_calls = rules.bounds().model_calls,
            Spent::ToolCalls => counters.tool_calls = rules.bounds().tool_calls,
            // The event itself is the last transition.
            Spent::Transitions => counters.transitions = rules.bounds().transitions.checked_sub(1)?,
        }
        Some(state)
    }

    pub(super) fn said(self) -> &'static str {
        match self {
            Spent::Nothing => "",
            Spent::ModelCalls => ", no model call left",
            Spent::ToolCalls => ", no tool call left",
            Spent::Transitions => ", no transition left",
        }
    }
}
