//! The machine that is walked: the real one, or one that a test breaks on purpose.

use crate::machine::{Event, Input, Refusal, Refused, State, Step, admit, start, transition};
use crate::spec::CompiledSpec;

/// The three functions that are walked. Each default is the real one.
pub trait Machine {
    /// Begins a run, as [`start`] does.
    fn start(&self, rules: &CompiledSpec, input: Input) -> Step {
        start(rules, input)
    }

    /// Says whether an event fits a state, as [`admit`](admit()) does.
    ///
    /// # Errors
    /// Why the event does not fit.
    fn admit(&self, rules: &CompiledSpec, state: &State, event: &Event) -> Result<(), Refusal> {
        admit(rules, state, event)
    }

    /// Moves a run by one event, as [`transition`] does.
    ///
    /// # Errors
    /// The event, refused.
    fn transition(&self, rules: &CompiledSpec, state: State, event: Event) -> Result<Step, Box<Refused>> {
        transition(rules, state, event)
    }
}

/// The machine that this crate runs.
pub(super) struct Real;

impl Machine for Real {}

/// What one letter does to one concrete state.
pub(super) enum Outcome {
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
    pub const ALL: [Spent; 4] = [Spent::Nothing, Spent::ModelCalls, Spent::ToolCalls, Spent::Transitions];

    /// The state with the budget used up.
    pub fn apply(self, rules: &CompiledSpec, state: &State) -> Option<State> {
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

    pub fn suffix(self) -> &'static str {
        match self {
            Spent::Nothing => "",
            Spent::ModelCalls => ", no model call left",
            Spent::ToolCalls => ", no tool call left",
            Spent::Transitions => ", no transition left",
        }
    }
}
