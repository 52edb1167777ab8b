//! A write that a tainted run starts takes authority that was there before, and nothing adds to that but a person.

use std::collections::BTreeMap;

use crate::contract::ToolEffect;
use crate::machine::authority::find_untrusted;
use crate::machine::explore::seen::{Claimed, Seen, ensure};
use crate::machine::state::{State, StepRun, Task};
use crate::machine::{Effect, EffectId, EffectKind, Event, HumanAnswer, Local, PhaseName, local};

/// Every call that needs authority takes it, or has a person's yes.
pub(super) fn check_calls(seen: &Seen<'_>) -> Claimed {
    for effect in &seen.step.effects {
        let Effect::CallTool { id, .. } = effect else { continue };
        let Some(now) = local(seen.compiled, &seen.step.state, *id) else { continue };
        let EffectKind::Step { step, attempt: 1, .. } = now.id.kind else { continue };
        check_call(seen, *id, &now, step)?;
    }
    check_words(&seen.step.state)
}

fn check_call(seen: &Seen<'_>, id: EffectId, now: &Local<'_, '_>, step: u32) -> Claimed {
    let task = &now.state.task;
    let tool = task.planned(step).and_then(|planned| now.compiled.tool(&planned.tool));
    let Some(tool) = tool else { return Ok(()) };
    let is_tainted = task.drafts.last().is_some_and(|draft| draft.tainted);
    let writes = tool.effect == ToolEffect::Write;
    let person = person_of(seen.event, id);
    let asked = matches!(person, Some(EffectKind::ApproveCall { step: of, .. }) if of == step);
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
    let Some(template) = task.progress.as_ref().and_then(|progress| progress.template(step)) else {
        return Ok(());
    };
    let before = local(seen.compiled, seen.before, id).map(|before| &*before.state.task);
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

/// The authority of each run only shrinks, but by a plan of a run that was not tainted, and by a person.
pub(super) fn check_growth(seen: &Seen<'_>) -> Claimed {
    check_run(seen.event, seen.event.effect(), Some(seen.before), &seen.step.state)
}

fn check_run(event: &Event, id: Option<EffectId>, before: Option<&State>, after: &State) -> Claimed {
    let left = |state: &State| {
        let mut left: BTreeMap<String, usize> = BTreeMap::new();
        for (template, _) in state.task.authority.templates().filter(|(_, spent)| !spent) {
            *left.entry(template.to_owned()).or_default() += 1;
        }
        left
    };
    let here = id.filter(|id| id.path.is_empty()).map(|id| id.kind);
    let asked = matches!(here, Some(EffectKind::ApprovePlan { .. } | EffectKind::Human { .. }));
    let person = asked && matches!(event, Event::HumanAnswered { .. });
    let drafted = matches!(here, Some(EffectKind::Plan { .. }));
    let clean = before.is_some_and(|before| !before.task.tainted && before.phase.name() == PhaseName::Plan);
    if !(person || (drafted && clean)) {
        let had = before.map(left).unwrap_or_default();
        let grown =
            left(after).into_iter().find(|(template, count)| had.get(template).is_none_or(|had| had < count));
        ensure(grown.is_none(), || format!("a run may make {grown:?}, and nobody allowed it"))?;
    }
    for (step, inner) in &after.task.nested {
        let inside =
            id.and_then(EffectId::outside).filter(|(place, _)| place.step == *step).map(|(_, id)| id);
        check_run(event, inside, before.and_then(|before| before.task.nested.get(step)), inner)?;
    }
    Ok(())
}
