//! A write that a tainted run starts takes authority that was there before, and nothing adds to that but a person.

use std::collections::BTreeMap;

use super::people::{allowed_calls, had_approval};
use crate::contract::ToolEffect;
use crate::machine::authority::find_untrusted;
use crate::machine::explore::seen::{Claimed, Seen, ensure};
use crate::machine::state::{State, StepRun, Task};
use crate::machine::{Counters, Effect, EffectId, EffectKind, Event, HumanAnswer, Local, PhaseName, local};

/// Every call that needs authority takes it, or has a person's yes.
pub(super) fn check_calls(seen: &Seen<'_>) -> Claimed {
    for effect in &seen.step.effects {
        let Effect::CallTool { id, .. } = effect else { continue };
        let Some(now) = local(seen.compiled, &seen.step.state, *id) else { continue };
        let EffectKind::Step { step, attempt: 1, .. } = now.id.kind else { continue };
        check_call(seen, *id, &now, step)?;
    }
    check_anew(seen.before, &seen.step.state)?;
    check_words(&seen.step.state)
}

/// The run of an agent that takes the place of one that was refused is shown nothing that was read, and is the last: none
/// takes its place.
fn check_anew(before: &State, after: &State) -> Claimed {
    for (at, inner) in &after.task.nested {
        let Some(earlier) = before.task.nested.get(at) else { continue };
        let attempt = |state: &State| {
            let run = state.task.progress.as_ref().and_then(|progress| progress.steps.get(*at as usize));
            run.map(StepRun::attempts)
        };
        if attempt(before) == attempt(after) {
            check_anew(earlier, inner)?;
            continue;
        }
        let sees = |state: &State| after.task.shows_findings(*at, &state.task);
        let Counters { tool_calls, questions, .. } = earlier.task.counters;
        ensure(sees(earlier) && !sees(inner) && tool_calls == 0 && questions == 0, || {
            format!(
                "a run that was refused, of {:?}, begins anew as {:?}",
                earlier.task.input, inner.task.input
            )
        })?;
    }
    Ok(())
}

fn check_call(seen: &Seen<'_>, id: EffectId, now: &Local<'_, '_>, step: u32) -> Claimed {
    let task = &now.state.task;
    let tool = task.planned(step).and_then(|planned| now.compiled.tool(&planned.tool));
    let Some(tool) = tool else { return Ok(()) };
    let is_tainted = task.drafts.last().is_some_and(|draft| draft.tainted);
    let writes = tool.effect == ToolEffect::Write;
    let person = person_of(seen.event, id);
    let before = local(seen.compiled, seen.before, id);
    let asked = before.is_some_and(|before| {
        let allowed = || allowed_calls(before.compiled, before.state, seen.event).contains(&step);
        had_approval(before.state, step) || (person.is_some() && allowed())
    });
    let containment = now.compiled.policy().containment;
    if asked || !containment.guards(tool) {
        return Ok(());
    }
    let theirs = now.compiled.needs_approval(&tool.name);
    let untrusted = find_untrusted(now.compiled, task, step).filter(|_| !theirs);
    ensure(untrusted.is_none(), || {
        format!("{} is called, and nobody was asked about {untrusted:?}", tool.name)
    })?;
    if !(writes || is_tainted) {
        return Ok(());
    }
    check_granted(now, step)?;
    let Some(template) = task.call_template(step) else { return Ok(()) };
    let before = before.map(|before| &*before.state.task);
    let (had, has) = (before.map_or((0, 0), |task| count(task, &template)), count(task, &template));
    // What only reads takes nothing.
    let taken = if writes { had.0 > has.0 } else { had.0 + had.1 > 0 };
    // A plan that begins in this very step was granted and taken from at once.
    let begins =
        before.is_some_and(|before| before.draft == task.draft && !before.tainted) || person.is_some();
    let granted = begins && (!writes || has.1 > had.1);
    ensure(taken || granted, || {
        format!("{} is called, and its authority was {had:?} and is {has:?}", tool.name)
    })
}

/// A call that stands for a granted one has the input that was granted.
fn check_granted(now: &Local<'_, '_>, step: u32) -> Claimed {
    let task = &now.state.task;
    let Some(wanted) = task.granted_call(now.compiled, step) else { return Ok(()) };
    let called = task.progress.as_ref().and_then(|progress| progress.input(step));
    ensure(wanted.is_some() && wanted.as_ref() == called.as_deref(), || {
        format!("{called:?} is called, and {wanted:?} was granted")
    })
}

/// What a person said yes to, or wrote, in the run that an effect belongs to.
fn person_of(event: &Event, id: EffectId) -> Option<EffectKind> {
    let Event::HumanAnswered { effect, answer } = event else { return None };
    let yes = !matches!(answer, HumanAnswer::Reject { .. } | HumanAnswer::Respond { .. });
    (yes && effect.path == id.path).then_some(effect.kind)
}

/// How often a call may still be made, and how often it was.
fn count(task: &Task, template: &str) -> (usize, usize) {
    let all = task.authority.templates().filter(|(known, _)| *known == template);
    let (spent, left): (Vec<_>, Vec<_>) = all.partition(|(_, spent)| *spent);
    (left.len(), spent.len())
}

/// What is said of a call that was refused does not depend on the call.
fn check_words(state: &State) -> Claimed {
    for run in state.task.progress.iter().flat_map(|plan| &plan.steps) {
        let (Some(denial), StepRun::Failed { failure, .. }) = (run.denial(), run) else { continue };
        let constant = format!("ERROR: {}: {}", denial.code(), denial.message());
        ensure(failure.shown == constant, || format!("a refusal says {:?}", failure.shown))?;
    }
    Ok(())
}

/// The authority of each run only shrinks, but by a plan of a run that was not tainted, and by a person. What the
/// question calls for is granted once, and there is no more of it in all runs together afterwards.
pub(super) fn check_growth(seen: &Seen<'_>) -> Claimed {
    let (id, before) = (seen.event.effect(), seen.before);
    let granting = id.filter(|id| matches!(id.kind, EffectKind::Grant { .. }));
    let foreign = granting.is_some_and(|id| {
        let run = before.run_of(id);
        run.is_some_and(|run| run.task.tainted && run.task.input.on_behalf_of.is_some())
    });
    ensure(!foreign, || "a run that was begun by what may be anyone's says what it calls for".to_owned())?;
    if granting.is_none() {
        let (had, has) = (left_of_question(before), left_of_question(&seen.step.state));
        let grown = has.into_iter().find(|(template, count)| had.get(template).is_none_or(|had| had < count));
        ensure(grown.is_none(), || format!("the question calls for {grown:?} all at once"))?;
    }
    check_run(seen.event, seen.event.effect(), Some(seen.before), &seen.step.state)
}

/// The calls that the question has left, in a run and in those of its agents.
fn left_of_question(state: &State) -> BTreeMap<String, usize> {
    let mut left: BTreeMap<String, usize> = BTreeMap::new();
    for template in state.task.authority.left(true) {
        *left.entry(template.to_owned()).or_default() += 1;
    }
    for inner in state.task.nested.values() {
        for (template, count) in left_of_question(inner) {
            *left.entry(template).or_default() += count;
        }
    }
    left
}

fn check_run(event: &Event, id: Option<EffectId>, before: Option<&State>, after: &State) -> Claimed {
    let left = |state: &State| {
        let mut left: BTreeMap<String, usize> = BTreeMap::new();
        for template in state.task.authority.left(false) {
            *left.entry(template.to_owned()).or_default() += 1;
        }
        left
    };
    let here = id.filter(|id| id.path.is_empty()).map(|id| id.kind);
    let asked = matches!(here, Some(EffectKind::ApprovePlan { .. } | EffectKind::Human { .. }));
    let person = asked && matches!(event, Event::HumanAnswered { .. });
    // Where the question says what it calls for, no plan grants anything.
    let by_question = before.is_some_and(|before| before.task.authority.granted().is_some());
    let drafted = matches!(here, Some(EffectKind::Plan { .. })) && !by_question;
    let clean = before.is_some_and(|before| !before.task.tainted && before.phase.name() == PhaseName::Plan);
    if !(person || (drafted && clean)) {
        let had = before.map(left).unwrap_or_default();
        let has = left(after);
        // What rests on a step is known by another template once a person has picked a value of it.
        let picked = matches!((here, event), (Some(EffectKind::Pick { .. }), Event::HumanAnswered { .. }));
        let no_more = picked && has.values().sum::<usize>() <= had.values().sum();
        let grown = has
            .into_iter()
            .find(|(template, count)| !no_more && had.get(template).is_none_or(|had| had < count));
        ensure(grown.is_none(), || format!("a run may make {grown:?}, and nobody allowed it"))?;
    }
    for (step, inner) in &after.task.nested {
        let inside =
            id.and_then(EffectId::outside).filter(|(place, _)| place.step == *step).map(|(_, id)| id);
        check_run(event, inside, before.and_then(|before| before.task.nested.get(step)), inner)?;
    }
    Ok(())
}
