//! Untrusted output taints: at once, for good, and across nested runs.

use crate::contract::{ToolEffect, Trust};
use crate::machine::explore::seen::{Claimed, Seen, ensure};
use crate::machine::state::StepRun;
use crate::machine::{EffectKind, Event, Progress, ToolOutcome, local};
use crate::spec::{CompiledSpec, Execution};

fn is_untrusted(compiled: &CompiledSpec, plan: Option<&Progress>, step: u32) -> bool {
    let tool = plan.and_then(|plan| compiled.tool(&plan.plan.steps.get(step as usize)?.tool));
    tool.is_none_or(|tool| tool.trust == Trust::Untrusted)
}

/// Whether every field that was returned is declared to be trusted, or a trusted pure tool says why it failed.
fn is_all_trusted(
    compiled: &CompiledSpec,
    plan: Option<&Progress>,
    step: u32,
    outcome: &ToolOutcome,
) -> bool {
    let tool = plan.and_then(|plan| compiled.tool(&plan.plan.steps.get(step as usize)?.tool));
    let ToolOutcome::Returned { output, data, .. } = outcome else {
        return tool.is_some_and(|tool| tool.trust == Trust::Trusted && tool.effect == ToolEffect::Pure);
    };
    tool.is_some_and(|tool| !tool.taints(output, data.as_deref()))
}

pub(super) fn check(seen: &Seen<'_>) -> Claimed {
    let (before, after) = (&seen.before.task, seen.after());
    // What the run that was answered has read now.
    let read = match seen.event {
        Event::ToolReturned { effect, outcome } => {
            local(seen.compiled, seen.before, *effect).is_some_and(|here| {
                let EffectKind::Step { step, .. } = here.id.kind else { return true };
                let plan = here.state.task.progress.as_ref();
                let has_failed = matches!(outcome, ToolOutcome::Failed { .. });
                (has_failed || is_untrusted(here.compiled, plan, step))
                    && !is_all_trusted(here.compiled, plan, step, outcome)
            })
        }
        _ => false,
    };
    let wanted = match seen.nested_step() {
        None => before.tainted || read,
        Some(step) => {
            let inner = read || before.nested.get(&step).is_some_and(|inner| inner.task.tainted);
            if let Some(now) = after.nested.get(&step).filter(|_| !seen.nested_run_ended()) {
                let found = now.task.tainted;
                ensure(found == inner, || format!("a nested run is tainted: {found}, expected {inner}"))?;
            }
            before.tainted || (inner && seen.nested_run_ended())
        }
    };
    // A run that ends keeps no nested ones, and reads nothing more of them.
    let found = after.tainted;
    ensure(found == wanted, || format!("the run is tainted: {found}, expected {wanted}"))?;
    check_drafts(seen)?;
    seen.begun().into_iter().try_for_each(|(step, _)| check_nested(seen, step))
}

/// A draft is as tainted as the run was when it was made, or amended by a model.
fn check_drafts(seen: &Seen<'_>) -> Claimed {
    let (before, after) = (&seen.before.task, seen.after());
    let decided =
        matches!(seen.answered().map(|asked| asked.id().kind), Some(EffectKind::Orchestrate { .. }));
    let steps = |plan: Option<&Progress>| plan.map(|plan| plan.plan.clone());
    let amended = decided && steps(seen.plan()) != steps(before.progress.as_ref());
    for (nth, draft) in after.drafts.iter().enumerate() {
        let fits = match before.drafts.get(nth) {
            Some(old) if nth + 1 == before.drafts.len() && decided => {
                let raised = old.tainted || (amended && before.tainted);
                draft.tainted == raised || (draft.tainted && before.tainted)
            }
            Some(old) => draft.tainted == old.tainted,
            None => draft.tainted == after.tainted,
        };
        ensure(fits, || format!("draft {} is tainted: {}", nth + 1, draft.tainted))?;
    }
    Ok(())
}

/// A nested run begins as tainted as what it is shown.
fn check_nested(seen: &Seen<'_>, step: u32) -> Claimed {
    let (after, Some(plan)) = (seen.after(), seen.after().progress.as_ref()) else { return Ok(()) };
    let Some(nested) = after.nested.get(&step) else { return Ok(()) };
    let one_by_one = seen.compiled.policy().execution == Execution::Sequential;
    let planned = &plan.plan.steps[step as usize];
    let refers = |at: usize| {
        let name = plan.plan.steps[at].name(at);
        planned.depends_on.contains(&name) || planned.input_from.as_ref() == Some(&name)
    };
    let first = after.first_step();
    let shown = plan
        .slots()
        .take(step as usize)
        .filter(|(at, _, run)| run.is_finished() && (one_by_one || *at < first || refers(*at)));
    // What a person says is theirs.
    let tools = shown.filter(|(_, planned, _)| !planned.is_hitl() && !planned.is_final());
    let mut untrusted = tools.filter(|(at, _, run)| {
        let trusted = match run {
            StepRun::Completed { data, .. } => {
                let outcome = ToolOutcome::Returned {
                    output: run.output().unwrap_or_default().to_owned(),
                    sources: Vec::new(),
                    data: data.clone(),
                };
                is_all_trusted(seen.compiled, Some(plan), *at as u32, &outcome)
            }
            _ => false,
        };
        !trusted && is_untrusted(seen.compiled, Some(plan), *at as u32)
    });
    let wanted = after.drafts.last().is_some_and(|draft| draft.tainted) || untrusted.next().is_some();
    let found = nested.task.tainted;
    ensure(found || !wanted, || "a nested run begins clean that is shown untrusted output".into())
}
