//! Need: what the steps of a plan may cost at worst, and whether the limits leave room for that. Asked
//! before the first of them runs, so no run ends halfway through a plan for want of budget, and what
//! has run by then never depends on the order in which answers came.

use super::state::Task;
use super::vocabulary::Counters;
use crate::contract::{ContractError, PlanStep, ToolContract};
use crate::spec::{CompiledAgent, CompiledSpec, Orchestrate};

/// What the steps of a plan may need, further tries included.
#[derive(Default)]
pub(super) struct Need {
    pub model_calls: u32,
    pub tool_calls: u32,
    pub transitions: u32,
}

impl Need {
    pub fn of<'a>(steps: impl Iterator<Item = &'a PlanStep>, rules: &CompiledSpec) -> Self {
        let mut need = Need::default();
        let policy = rules.policy();
        let mut decisions: u32 = 0;
        for planned in steps.filter(|planned| !planned.is_final()) {
            decisions = decisions.saturating_add(1);
            need.add_step(planned, rules);
        }
        if policy.orchestrate == Orchestrate::EachStep && decisions > 0 {
            // One before the first step and one after each.
            need.add(1, (decisions.saturating_add(1), 0, decisions.saturating_add(1)));
        }
        need
    }

    fn add_step(&mut self, planned: &PlanStep, rules: &CompiledSpec) {
        if rules.needs_approval(&planned.tool) {
            self.add(1, (0, 0, 1));
        }
        if rules.policy().approval.steps && planned.is_hitl() {
            return self.add(1, (0, 0, 1));
        }
        let most = rules.policy().step_tries.tries;
        let tries = if most > 1 && happens_once(planned, rules) { 1 } else { most };
        let once = match rules.agent(&planned.tool) {
            None => (0, 1, 1),
            Some(CompiledAgent::Role(_)) => (1, 0, 1),
            Some(CompiledAgent::Spec(inner)) => {
                let bounds = inner.bounds();
                (bounds.model_calls, bounds.tool_calls, bounds.transitions)
            }
        };
        self.add(tries, once);
        // The waits between the tries.
        self.add(tries.saturating_sub(1), (0, 0, 1));
    }

    fn add(&mut self, times: u32, (model_calls, tool_calls, transitions): (u32, u32, u32)) {
        let more = |sum: u32, each: u32| sum.saturating_add(times.saturating_mul(each));
        self.model_calls = more(self.model_calls, model_calls);
        self.tool_calls = more(self.tool_calls, tool_calls);
        self.transitions = more(self.transitions, transitions);
    }
}

/// Whether a step is a write that may not happen twice: it never runs beside another step, and is never
/// tried again.
pub(super) fn happens_once(planned: &PlanStep, rules: &CompiledSpec) -> bool {
    rules.tool(&planned.tool).is_some_and(ToolContract::happens_once)
}

/// Whether steps that take the place of others can still be carried out.
pub(super) fn leaves_room(spent: &Counters, rules: &CompiledSpec, steps: &[PlanStep]) -> Result<(), String> {
    let need = Need::of(steps.iter(), rules);
    let bounds = rules.bounds();
    let kinds = [
        ("model calls", spent.model_calls, need.model_calls, bounds.model_calls),
        ("tool calls", spent.tool_calls, need.tool_calls, bounds.tool_calls),
        ("transitions", spent.transitions, need.transitions, bounds.transitions),
    ];
    for (kind, spent, needed, most) in kinds {
        let wanted = spent.saturating_add(needed);
        if needed > 0 && wanted > most {
            return Err(format!("the steps may need {wanted} {kind} in all, {most} are allowed"));
        }
    }
    Ok(())
}

/// Whether steps that an answer puts in the place of others can still be carried out after it: the
/// answer is a transition too.
pub(super) fn leaves_room_after_this(
    task: &Task,
    rules: &CompiledSpec,
    steps: &[PlanStep],
) -> Result<(), ContractError> {
    let mut spent = task.counters;
    spent.transitions = spent.transitions.saturating_add(1);
    leaves_room(&spent, rules, steps).map_err(|problem| ContractError::at("$.steps", problem))
}
