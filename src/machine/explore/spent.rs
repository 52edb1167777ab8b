//! Spent: budgets that are used up, as what a state can be met with.

use crate::machine::{Counters, State};
use crate::spec::{CompiledSpec, RoleName};

/// A budget that is used up before the event comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Spent {
    Nothing,
    ModelCalls,
    ToolCalls,
    Transitions,
    /// Tokens and money.
    Tokens,
}

impl Spent {
    /// The budgets that a spec has.
    pub fn all(compiled: &CompiledSpec) -> impl Iterator<Item = Spent> {
        let limits = &compiled.spec().limits;
        let spends = limits.max_tokens.is_some() || limits.max_cost.is_some();
        let all = [Spent::Nothing, Spent::ModelCalls, Spent::ToolCalls, Spent::Transitions];
        all.into_iter().chain(spends.then_some(Spent::Tokens))
    }

    /// The state with the budget used up.
    pub fn apply(self, compiled: &CompiledSpec, state: &State) -> State {
        let mut state = state.clone();
        let (bounds, limits) = (compiled.bounds(), &compiled.spec().limits);
        let Counters { model_calls, tool_calls, transitions, usage, cost, .. } = &mut state.task.counters;
        match self {
            Spent::Nothing => {}
            Spent::ModelCalls => *model_calls = bounds.model_calls,
            Spent::ToolCalls => *tool_calls = bounds.tool_calls,
            // The event itself is the last transition.
            Spent::Transitions => *transitions = bounds.transitions.saturating_sub(1),
            Spent::Tokens => {
                *cost = limits.max_cost.unwrap_or_default();
                usage.input_tokens = limits.max_tokens.unwrap_or_default();
                state.task.usage_by_role.insert(RoleName::Planner, *usage);
            }
        }
        state
    }
}
