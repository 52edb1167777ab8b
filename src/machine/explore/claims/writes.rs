//! What may write is asked for once, beside nothing, and not again once it is made.

use crate::contract::{ToolEffect, canonical};
use crate::machine::explore::seen::{Claimed, Seen, ensure};
use crate::machine::state::{State, StepRun};
use crate::machine::{EffectId, EffectKind, Event, ToolOutcome, local};
use crate::spec::CompiledSpec;

pub(super) fn check(seen: &Seen<'_>) -> Claimed {
    let effects = &seen.step.effects;
    for (nth, effect) in effects.iter().enumerate() {
        let id = effect.id();
        let twice = effects[..nth].iter().chain(seen.waited).any(|other| other.id() == id);
        ensure(!twice, || format!("{id} is asked for twice"))?;
    }
    check_memory(seen)?;
    let after = &seen.step.state;
    for effect in effects {
        let id = effect.id();
        let Some((call, tries)) = write_of(seen.compiled, after, id) else { continue };
        let made = seen.before.task.written.contains_key(&call)
            || local(seen.compiled, seen.before, id).is_some_and(|here| knows(here.state, &call));
        ensure(!made, || format!("{call} is made again"))?;
        let EffectKind::Step { attempt, .. } = id.kind else { continue };
        ensure(attempt <= tries, || format!("{call} is tried again"))?;
    }
    check_alone(seen.compiled, after)
}

fn knows(state: &State, call: &String) -> bool {
    state.task.written.contains_key(call)
}

/// A write by what it does, and how often it may be tried.
fn write_of(compiled: &CompiledSpec, state: &State, id: EffectId) -> Option<(String, u32)> {
    let here = local(compiled, state, id)?;
    let EffectKind::Step { step, .. } = here.id.kind else { return None };
    let plan = here.state.task.progress.as_ref()?;
    let tool = &plan.plan.steps.get(step as usize)?.tool;
    let contract = here.compiled.called_tool(tool)?;
    let input = plan.input(step).filter(|_| contract.effect == ToolEffect::Write)?;
    let tries = if contract.happens_once() { 1 } else { u32::MAX };
    Some((format!("{tool} {}", canonical(&input)), tries))
}

/// What was written is remembered: here, by the run that does the step, and here again when that ends.
fn check_memory(seen: &Seen<'_>) -> Claimed {
    let (before, after) = (seen.before, &seen.step.state);
    let lost = before.task.written.keys().find(|call| !knows(after, call));
    ensure(lost.is_none(), || format!("it is forgotten that {lost:?} was made"))?;
    let inner = seen.nested_step().and_then(|step| before.task.nested.get(&step));
    let now = seen.nested_step().and_then(|step| after.task.nested.get(&step));
    let kept = |call: &String| knows(now.unwrap_or(after), call);
    let lost = inner.and_then(|inner| inner.task.written.keys().find(|call| !kept(call)));
    ensure(lost.is_none(), || format!("it is forgotten that {lost:?} was made by a nested run"))?;
    let Event::ToolReturned { effect, outcome: ToolOutcome::Returned { .. } } = seen.event else {
        return Ok(());
    };
    let made = write_of(seen.compiled, before, *effect).map(|(call, _)| call);
    ensure(made.as_ref().is_none_or(kept), || format!("it is not noted that {made:?} was made"))
}

/// A step that may write runs beside no other.
fn check_alone(compiled: &CompiledSpec, state: &State) -> Claimed {
    let Some(plan) = &state.task.progress else { return Ok(()) };
    let running = || plan.slots().filter(|(_, _, run)| run.is_running() && **run != StepRun::WaitingHuman);
    let writes = |tool: &str| compiled.tool(tool).is_some_and(|tool| tool.effect == ToolEffect::Write);
    let alone = running().count() < 2 || !running().any(|(_, planned, _)| writes(&planned.tool));
    ensure(alone, || format!("{} steps run, and one of them may write", running().count()))
}
