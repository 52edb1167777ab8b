//! What is asked for and what is answered is counted: one for one, and never beyond the budgets.

use crate::machine::explore::seen::{Claimed, Seen, ensure};
use crate::machine::state::{StepOutput, StepRun};
use crate::machine::{Effect, EffectKind, Event, FailureClass, ToolOutcome, Usage, local};
use crate::spec::CompiledSpec;

pub(super) fn check(seen: &Seen<'_>) -> Claimed {
    check_calls(seen)?;
    check_tokens(seen)?;
    check_tries(seen)?;
    check_added_steps(seen)
}

fn check_calls(seen: &Seen<'_>) -> Claimed {
    let (before, after) = (&seen.before.task.counters, &seen.after().counters);
    let transitions = (before.transitions.saturating_add(1), after.transitions);
    ensure(transitions.0 == transitions.1, || format!("transitions {transitions:?}"))?;
    let asked = |is: fn(&Effect) -> bool| seen.step.effects.iter().filter(|effect| is(effect)).count() as u32;
    let model_calls = asked(|effect| matches!(effect, Effect::AskModel { .. }));
    let tool_calls = asked(|effect| matches!(effect, Effect::CallTool { .. }));
    // What a run asks for in the step in which it ends is counted, and asked for no longer.
    let ended = seen.has_ended() || seen.nested_run_ended();
    let bounds = seen.compiled.bounds();
    for (name, before, asked, after, most) in [
        ("model calls", before.model_calls, model_calls, after.model_calls, bounds.model_calls),
        ("tool calls", before.tool_calls, tool_calls, after.tool_calls, bounds.tool_calls),
    ] {
        let wanted = before.saturating_add(asked);
        let counted = after == wanted || (ended && after > wanted);
        ensure(counted, || format!("{before} {name} and {asked} more are counted as {after}"))?;
        // What a nested run may need is set aside when it begins.
        let within = after <= most.max(before) || seen.nested_step().is_some();
        ensure(within, || format!("{after} {name} of {most}"))?;
    }
    Ok(())
}

fn check_tokens(seen: &Seen<'_>) -> Claimed {
    let (before, after) = (&seen.before.task.counters, &seen.after().counters);
    let (usage, model, cached) = match seen.event {
        Event::ModelReplied { reply, .. } => (reply.usage, &*reply.model, reply.cached),
        Event::ModelFailed { failure, .. } => (failure.usage, &*failure.model, false),
        _ => (Usage::default(), "", false),
    };
    let mut wanted = before.usage;
    wanted.add(usage);
    ensure(wanted == after.usage, || format!("tokens: {:?}, expected {wanted:?}", after.usage))?;
    let replies = (before.cached_replies + u32::from(cached), after.cached_replies);
    ensure(replies.0 == replies.1, || format!("cached replies {replies:?}"))?;
    let mut named = Usage::default();
    seen.step.state.usage_by_name().for_each(|(_, usage)| named.add(usage));
    ensure(named == after.usage, || format!("tokens by name: {named:?} of {:?}", after.usage))?;
    // A nested run pays the prices of its own spec.
    let here = seen.event.effect().and_then(|id| local(seen.compiled, seen.before, id));
    let price = here.and_then(|here| here.compiled.spec().prices.get(model));
    let cost = price.map(|price| usage.cost(price));
    let wanted = cost.map_or(before.cost, |cost| before.cost.plus(cost));
    ensure(wanted == after.cost, || format!("cost: {}, expected {wanted}", after.cost))
}

/// How often a step may be tried.
fn most_tries(seen: &Seen<'_>, compiled: &CompiledSpec, step: u32) -> u32 {
    let tool = seen.plan().and_then(|plan| compiled.tool(&plan.plan.steps.get(step as usize)?.tool));
    if tool.is_some_and(|tool| tool.happens_once()) { 1 } else { compiled.policy().step_tries.tries }
}

fn check_tries(seen: &Seen<'_>) -> Claimed {
    let answered = seen.answered().map(|effect| effect.id().kind);
    for (step, attempt) in seen.begun() {
        let wanted = match answered {
            Some(EffectKind::Wait { step: waited, attempt, .. }) if waited == step => attempt,
            // A run that begins in the place of one that was refused: what it may be shown is another claim's.
            _ if seen.nested_step() == Some(step) => {
                let before =
                    seen.before.task.progress.as_ref().and_then(|plan| plan.steps.get(step as usize));
                before.map_or(0, StepRun::attempts) + 1
            }
            _ => 1,
        };
        ensure(attempt == wanted, || format!("try {attempt} of step {step}, expected {wanted}"))?;
    }
    let Some(EffectKind::Step { step, attempt, .. }) = answered else { return Ok(()) };
    // Who found nothing finds nothing the next time.
    let nothing = matches!(seen.event, Event::ModelFailed { failure, .. } if failure.class == FailureClass::NothingFound);
    let again = !nothing && attempt < most_tries(seen, seen.compiled, step);
    let outcome = match seen.event {
        Event::ToolReturned { outcome, .. } => Some(outcome),
        _ => None,
    };
    let slot = seen.slot(step);
    let fits = match (slot, outcome) {
        (Some(StepRun::Waiting { attempt: next }), _) => again && *next == attempt + 1,
        (Some(StepRun::Failed { attempts, .. }), _) => !again && *attempts == attempt,
        (Some(StepRun::Completed { attempts, .. }), None) => *attempts == attempt,
        (
            Some(StepRun::Completed { attempts, output, .. }),
            Some(ToolOutcome::Returned { output: text, .. }),
        ) => *attempts == attempt && *output == StepOutput::Text(text.clone()),
        _ => false,
    };
    let failed = matches!(slot, Some(StepRun::Waiting { .. } | StepRun::Failed { .. }));
    let fits = fits && !(failed && matches!(outcome, Some(ToolOutcome::Returned { .. })));
    ensure(fits, || format!("try {attempt} of step {step} came to {outcome:?}, and the step is {slot:?}"))
}

fn check_added_steps(seen: &Seen<'_>) -> Claimed {
    let added = |task: &crate::machine::Task| task.counters.added_steps;
    let (before, after) = (added(&seen.before.task), added(seen.after()));
    let decided =
        matches!(seen.answered().map(|effect| effect.id().kind), Some(EffectKind::Orchestrate { .. }));
    let steps = |plan: Option<&crate::machine::Progress>| plan.map_or(0, |plan| plan.steps.len() as u32);
    let grown = steps(seen.plan()).saturating_sub(steps(seen.before.task.progress.as_ref()));
    let wanted = before + if decided { grown } else { 0 };
    let most = seen.compiled.spec().limits.max_added_steps;
    ensure(after == wanted && after <= most, || format!("{wanted} steps were added of {most}: {after}"))
}
