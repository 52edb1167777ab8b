//! The trace tells what happened, in order: worked out from the moves, what was fed in, and the steps.

use crate::machine::explore::seen::{Claimed, Seen, awaits_approval, ensure};
use crate::machine::state::StepRun;
use crate::machine::{Effect, EffectKind, Event, Exit, PhaseName, TraceLine};
use crate::spec::{CompiledAgent, Horizon};

pub(super) fn check(seen: &Seen<'_>) -> Claimed {
    let kept = seen.after().trace.starts_with(&seen.before.task.trace);
    ensure(kept, || "earlier lines are changed or gone".into())?;
    let mut at = seen.before.phase.name();
    for taken in &seen.step.moves {
        ensure(taken.from == at, || format!("{taken:?} follows {at}"))?;
        at = taken.to;
    }
    let now = seen.step.state.phase.name();
    ensure(at == now, || format!("the moves lead to {at}, the run is in {now}"))?;
    let (wanted, found) = (visits(seen), told_visits(seen));
    ensure(wanted == found, || format!("the lines tell of {found:?}, expected {wanted:?}"))?;
    check_person(seen)?;
    check_model(seen)?;
    seen.lines().iter().try_for_each(|line| check_numbers(seen, line))
}

/// A visit of a phase that ended, and whether it went well; a replan is one too.
type Visit = (&'static str, bool);

fn name(phase: PhaseName) -> &'static str {
    match phase {
        PhaseName::Plan => "PLAN",
        PhaseName::Execute => "EXECUTE",
        PhaseName::Validate => "VALIDATE",
        PhaseName::Write => "WRITE",
        PhaseName::Done => "DONE",
        PhaseName::Error => "ERROR",
    }
}

/// What the moves say. A plan that waits for a person has left its line before they answer.
fn visits(seen: &Seen<'_>) -> Vec<Visit> {
    let (before, after) = (&seen.before.phase, &seen.step.state.phase);
    let mut visits = Vec::new();
    if awaits_approval(after) && !awaits_approval(before) {
        visits.push((name(PhaseName::Plan), true));
    }
    for (nth, taken) in seen.step.moves.iter().enumerate() {
        let told = nth == 0 && awaits_approval(before) && taken.exit != Exit::Failed;
        if !told {
            let ok = !matches!(taken.exit, Exit::Failed | Exit::StepFailed | Exit::Declined);
            visits.push((name(taken.from), ok));
        }
        if taken.to == PhaseName::Plan && seen.compiled.policy().horizon == Horizon::Whole {
            visits.push(("REPLAN_TRIGGER", true));
        }
    }
    visits
}

/// What the lines say. A plan that is over the limits leaves the plan's line and the error's.
fn told_visits(seen: &Seen<'_>) -> Vec<Visit> {
    let mut told: Vec<Visit> = Vec::new();
    for line in seen.lines() {
        let visit = match line {
            TraceLine::Plan { ok, .. } => (name(PhaseName::Plan), *ok),
            TraceLine::Execute { ok, .. } => (name(PhaseName::Execute), *ok),
            TraceLine::Validate { ok, .. } => (name(PhaseName::Validate), *ok),
            TraceLine::Write { ok, .. } => (name(PhaseName::Write), *ok),
            TraceLine::ReplanTrigger { .. } => ("REPLAN_TRIGGER", true),
            _ => continue,
        };
        if visit == ("PLAN", false) {
            told.pop_if(|last| *last == ("PLAN", true));
        }
        told.push(visit);
    }
    told
}

/// What a person said, or that they said nothing, is the first line.
fn check_person(seen: &Seen<'_>) -> Claimed {
    let Some(Effect::AskHuman { .. }) = seen.answered() else { return Ok(()) };
    let fits = match (seen.event, seen.lines().first()) {
        (Event::HumanAnswered { answer, .. }, Some(TraceLine::Human { answer: told, .. })) => told == answer,
        (Event::Expired { .. }, Some(TraceLine::Expired { .. })) => true,
        _ => false,
    };
    ensure(fits, || format!("a person's answer is told as {:?}", seen.lines().first()))
}

/// What follows from a model's reply is told: a repair, a decision, what intake found out.
fn check_model(seen: &Seen<'_>) -> Claimed {
    let Some(asked @ Effect::AskModel { role, .. }) = seen.answered() else { return Ok(()) };
    let kind = asked.id().kind;
    let ask = seen.before.phase.asking().map_or(0, |asking| asking.ask);
    let again = |effect: &Effect| {
        let next = effect.id().kind;
        let asks = matches!(effect, Effect::AskModel { role: other, .. } if *other == role);
        // All numbers but the last say what is asked for.
        let what = |kind: EffectKind| {
            let (name, mut numbers) = kind.parts();
            numbers.pop();
            (name, numbers)
        };
        asks && next != kind && what(next) == what(kind) && seen.step.moves.is_empty()
    };
    let repairs = !matches!(kind, EffectKind::Step { .. } | EffectKind::Orchestrate { .. });
    let repaired = repairs && seen.step.effects.iter().any(again);
    let told = seen.lines().iter().find_map(|line| match line {
        TraceLine::Repair { repair, .. } => Some(*repair),
        _ => None,
    });
    if repairs {
        let wanted = repaired.then_some(ask);
        ensure(told == wanted, || format!("repair {wanted:?} is told as {told:?}"))?;
    }
    let failed = seen.exit() == Some(Exit::Failed);
    let count = |is: fn(&TraceLine) -> bool| seen.lines().iter().filter(|line| is(line)).count();
    let (wanted, found) = match kind {
        _ if repaired || told.is_some() || failed => return Ok(()),
        EffectKind::Orchestrate { .. } => (1, count(|line| matches!(line, TraceLine::Decision { .. }))),
        EffectKind::Scope { .. } => (1, count(|line| matches!(line, TraceLine::Scope { .. }))),
        EffectKind::Intent { .. } => (1, count(|line| matches!(line, TraceLine::Intent { .. }))),
        EffectKind::Grant { .. } => (1, count(|line| matches!(line, TraceLine::Grant { .. }))),
        _ => return Ok(()),
    };
    ensure(wanted == found, || format!("{role} was answered, and {found} lines tell of it"))
}

fn is_bad(line: &TraceLine) -> bool {
    matches!(
        line,
        TraceLine::Plan { ok: false, .. }
            | TraceLine::Execute { ok: false, .. }
            | TraceLine::Validate { ok: false, .. }
            | TraceLine::Write { ok: false, .. }
    )
}

/// The numbers in a line are those of the steps and the counters.
fn check_numbers(seen: &Seen<'_>, line: &TraceLine) -> Claimed {
    let (found, wanted) = match line {
        TraceLine::ReplanTrigger { replan_count, .. } => {
            ((*replan_count, 0, 0), (seen.after().counters.replans, 0, 0))
        }
        TraceLine::Execute { num_results, num_failed, nested, .. } => {
            let Some(plan) = seen.plan() else { return Ok(()) };
            let count = |is: fn(&StepRun) -> bool| {
                plan.steps.iter().skip(seen.first_step()).filter(|run| is(run)).count() as u32
            };
            let results = count(|run| matches!(run, StepRun::Completed { .. } | StepRun::Failed { .. }));
            // A run of its own that was made leaves its trace; one that gave an answer ended well.
            let whole = |tool: &str| matches!(seen.compiled.agent(tool), Some(CompiledAgent::Spec(_)));
            let made = plan.slots().skip(seen.first_step());
            let made = made
                .filter(|(_, planned, run)| whole(&planned.tool) && run.is_finished() && run.attempts() > 0);
            let made: Vec<&StepRun> = made.map(|(.., run)| run).collect();
            let bad = made.iter().find(|run| match run {
                StepRun::Completed { nested: Some(trace), .. } => trace.last().is_some_and(is_bad),
                _ => false,
            });
            ensure(bad.is_none(), || format!("a nested run that failed is done: {bad:?}"))?;
            (
                (*num_results, *num_failed, nested.len() as u32),
                (results, count(StepRun::has_failed), made.len() as u32),
            )
        }
        _ => return Ok(()),
    };
    ensure(found == wanted, || format!("{line:?} tells {found:?}, expected {wanted:?}"))
}
