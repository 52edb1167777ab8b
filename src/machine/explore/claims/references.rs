//! What a step refers to is there before it starts, and is what it is given.

use std::slice::Iter;

use serde_json::Value;

use crate::contract::{FILL, PlanStep, Returned, resolve_input, schema::Schema};
use crate::machine::explore::seen::{Claimed, Seen, ensure};
use crate::machine::state::StepRun;
use crate::machine::{EffectKind, Progress};
use crate::spec::{CompiledAgent, RoleName, Write};

pub(super) fn check(seen: &Seen<'_>) -> Claimed {
    check_answer(seen)?;
    check_value(seen)?;
    let Some(plan) = seen.after().progress.as_ref() else { return Ok(()) };
    for (step, _) in seen.begun() {
        let Some(planned) = plan.plan.steps.get(step as usize) else { continue };
        let named = plan.schedule.links.references.get(&step);
        for name in references(planned).chain(named.into_iter().flat_map(|named| named.keys())) {
            let found = find(plan, step, name);
            // A role that writes is told what was left out, unless that is what it works on.
            let is_role = matches!(seen.compiled.agent(&planned.tool), Some(CompiledAgent::Role(_)));
            let tells = is_role && planned.input_from.as_ref() != Some(name);
            let untried = |at: usize| {
                tells && plan.steps.get(at).is_some_and(|run| run.is_left_out() || run.is_ambiguous())
            };
            let has_output = found.is_some_and(|at| plan.is_done(at) || is_left_out(plan, at) || untried(at));
            ensure(has_output, || {
                format!("{} starts, and {name} has no output", planned.name(step as usize))
            })?;
        }
        check_input(seen, plan, step, planned)?;
    }
    // A plan is taken only where what it refers to in earlier plans is done.
    let first = seen.after().first_step();
    for (at, planned, _) in plan.slots().skip(first).filter(|(_, _, run)| **run == StepRun::Pending) {
        let earlier = |name: &&String| {
            find(plan, at as u32, name).is_none_or(|found| found < first && !plan.is_done(found))
        };
        let broken = references(planned).find(earlier);
        ensure(broken.is_none(), || format!("a plan refers to {broken:?} of an earlier one"))?;
    }
    Ok(())
}

/// A value that a model was to write is what it wrote if that fits the type that the plan says, and else there is none.
fn check_value(seen: &Seen<'_>) -> Claimed {
    let asked = seen.answered().map(|asked| asked.id().kind);
    let Some(EffectKind::Fill { step, hole, .. }) = asked else { return Ok(()) };
    let filled = |plan: Option<&Progress>| plan.map_or(Vec::new(), |plan| plan.filled(step).to_vec());
    let (mut wanted, found) = (filled(seen.before.task.progress.as_ref()), filled(seen.plan()));
    let before = seen.before.task.planned(step);
    let schema = before.and_then(|planned| Some(planned.holes().get(hole as usize)?.schema));
    let fits = |value: &Value| {
        schema.is_some_and(|schema| Schema::new(schema).is_ok_and(|schema| schema.check(value).is_ok()))
    };
    let said = seen.said(RoleName::Executor, |reply| reply.get("value").filter(|value| fits(value)).cloned());
    wanted.extend(said);
    ensure(found == wanted, || {
        format!("the values {found:?} are written for step {step}, expected {wanted:?}")
    })
}

fn references(planned: &PlanStep) -> impl Iterator<Item = &String> {
    planned.depends_on.iter().chain(&planned.input_from)
}

/// The nearest earlier step of a name: one that failed may have given its name away.
fn find(plan: &Progress, step: u32, name: &str) -> Option<usize> {
    let earlier = &plan.plan.steps[..step as usize];
    (0..earlier.len()).rev().find(|at| earlier[*at].name(*at) == name)
}

fn is_left_out(plan: &Progress, at: usize) -> bool {
    plan.steps.get(at) == Some(&StepRun::Skipped { same_as: None })
}

/// Every part of an input is the plan's own, what the step that it refers to returned, or the next of the values that a
/// model wrote.
fn check_referred(
    plan: &Progress,
    step: u32,
    template: &Value,
    given: &Value,
    filled: &mut Iter<'_, Value>,
) -> Claimed {
    let has = |name: &str| template.get(name).is_some_and(|member| !member.is_null());
    if has(FILL) {
        let wanted = filled.next();
        return ensure(wanted == Some(given), || format!("step {step} is given {given}, and not {wanted:?}"));
    }
    if ["where", "order_by", "extract", "$template", "$calc"].into_iter().any(has) {
        let returned = |name: &str| {
            let source = find(plan, step, name).and_then(|at| plan.steps.get(at))?;
            Some(Returned { text: source.output()?, data: source.data(), tool: None })
        };
        let wanted = resolve_input(template, &returned, &[]).ok();
        return ensure(wanted.as_ref() == Some(given), || {
            format!("step {step} is given {given}, and not {wanted:?}")
        });
    }
    if let Some(name) = template.get("$from").and_then(Value::as_str) {
        let source = find(plan, step, name).and_then(|at| plan.steps.get(at));
        let take = template.get("take").and_then(Value::as_str).unwrap_or_default();
        let data = source.and_then(StepRun::data).and_then(|data| data.pointer(take)).cloned();
        let text = || source.and_then(StepRun::output).map(Value::from);
        let wanted = data.or_else(text);
        return ensure(wanted.as_ref() == Some(given), || {
            format!("step {step} is given {given} for {template}, and not {wanted:?}")
        });
    }
    match (template, given) {
        (Value::Object(template), Value::Object(given)) => template.iter().try_for_each(|(name, inner)| {
            check_referred(plan, step, inner, given.get(name).unwrap_or(&Value::Null), filled)
        }),
        (Value::Array(template), Value::Array(given)) => {
            let mut pairs = template.iter().zip(given);
            pairs.try_for_each(|(inner, given)| check_referred(plan, step, inner, given, filled))
        }
        (template, given) => ensure(template == given, || format!("step {step} is given {given}")),
    }
}

fn check_input(seen: &Seen<'_>, plan: &Progress, step: u32, planned: &PlanStep) -> Claimed {
    if plan.schedule.links.references.contains_key(&step)
        && let (Some(template), Some(given)) = (&planned.input, plan.input(step))
    {
        return check_referred(plan, step, template, &given, &mut plan.filled(step).iter());
    }
    let Some(source) = planned.input_from.as_ref().and_then(|name| find(plan, step, name)) else {
        return Ok(());
    };
    let taken = plan.source(step).map(|at| at as usize);
    ensure(taken == Some(source), || format!("step {step} takes what {taken:?} found, and not {source}"))?;
    // A run that begins in the place of one that was refused has what the plan holds, and nothing that was read.
    let anew = seen.before.task.nested.contains_key(&step);
    let output = if anew { planned.material() } else { plan.output(source as u32) };
    let given = match seen.after().nested.get(&step) {
        Some(nested) => nested.task.input.material.clone(),
        None if seen.compiled.agent(&planned.tool).is_some() => return Ok(()),
        None => plan.input(step).and_then(|input| input.as_str().map(str::to_owned)),
    };
    ensure(given.as_deref() == output, || format!("step {step} is given {given:?} and not {output:?}"))
}

/// An answer by rule never rests on a failed step.
fn check_answer(seen: &Seen<'_>) -> Claimed {
    let (Some(plan), Some(answer)) = (seen.plan(), seen.step.state.answer()) else { return Ok(()) };
    let failed = plan.steps.iter().filter(|run| run.has_failed()).filter_map(StepRun::output);
    let rests =
        seen.compiled.policy().write == Write::LastResult && failed.into_iter().any(|shown| shown == answer);
    ensure(!rests, || format!("the answer is what a failed step said: {answer}"))
}
