//! What a person says is what happens: no yes without one, nothing beside a question, an edit as written.

use crate::contract::PlanStep;
use crate::machine::explore::seen::{Claimed, Seen, ensure};
use crate::machine::state::{ExecuteStage, StepOutput, StepRun};
use crate::machine::{
    AllowedCall, Effect, EffectKind, ErrorCode, Event, Exit, HumanAnswer, Phase, Progress, State, asked_calls,
};
use crate::spec::{CompiledSpec, OnExpiry, OnRejection};

pub(super) fn check(seen: &Seen<'_>) -> Claimed {
    check_answer(seen)?;
    check_barrier(seen)?;
    check_approvals(seen)
}

fn check_answer(seen: &Seen<'_>) -> Claimed {
    let Some(asked @ Effect::AskHuman { .. }) = seen.answered() else { return Ok(()) };
    match seen.event {
        Event::Expired { .. } => check_no(seen, asked.id().kind, true),
        Event::HumanAnswered { answer: HumanAnswer::Reject { .. }, .. } => {
            check_no(seen, asked.id().kind, false)
        }
        Event::HumanAnswered { answer, .. } => check_yes(seen, asked.id().kind, answer),
        _ => Ok(()),
    }
}

/// Nothing of the plan goes on, and the run ends where the policy says so.
fn check_no(seen: &Seen<'_>, asked: EffectKind, expired: bool) -> Claimed {
    let policy = seen.compiled.policy();
    let code = match (expired && policy.on_expiry == OnExpiry::Stop, policy.on_rejection) {
        (true, _) => Some(ErrorCode::Expired),
        (false, OnRejection::Skip)
            if matches!(asked, EffectKind::ApproveCall { .. } | EffectKind::Pick { .. }) =>
        {
            return check_skipped(seen, asked);
        }
        (false, OnRejection::Stop | OnRejection::Skip) => Some(ErrorCode::Rejected),
        (false, OnRejection::Replan) => None,
    };
    let exit = seen.exit();
    let found = seen.step.state.error().map(|error| error.code);
    let ended = exit == Some(Exit::Failed) && found == code;
    let fits = if code.is_some() { ended } else { exit == Some(Exit::Declined) };
    ensure(fits, || format!("a person's no ends in {exit:?} with {found:?}, expected {code:?}"))?;
    let begun = seen.begun();
    ensure(begun.is_empty(), || format!("after a person's no, {begun:?} begin"))?;
    let refused = asked.step().is_none_or(|step| seen.slot(step).is_some_and(StepRun::has_failed));
    ensure(refused, || "the step that a person said no to has not failed".into())
}

/// The calls alone are left out.
fn check_skipped(seen: &Seen<'_>, asked: EffectKind) -> Claimed {
    let calls = asked_calls(seen.compiled, seen.before);
    let steps = if calls.is_empty() { asked.step().into_iter().collect() } else { calls };
    steps.into_iter().try_for_each(|step| check_left_out(seen, step))
}

fn check_left_out(seen: &Seen<'_>, step: u32) -> Claimed {
    let called = seen.begun().iter().any(|begun| begun.0 == step);
    let failed = seen.slot(step).is_some_and(|run| run.has_failed() && run.attempts() == 0);
    ensure(failed && !called, || format!("a call that a person said no to is {:?}", seen.slot(step)))
}

/// Of several calls those that a person named are made or may be, as they were shown or edited, and the others are not.
fn check_some(seen: &Seen<'_>, calls: &[AllowedCall]) -> Claimed {
    let asked = asked_calls(seen.compiled, seen.before);
    if calls.len() < asked.len() && seen.compiled.policy().on_rejection != OnRejection::Skip {
        let ended = seen.exit().is_some_and(|exit| matches!(exit, Exit::Failed | Exit::Declined));
        return ensure(ended && seen.begun().is_empty(), || "the run goes on after a person's no".into());
    }
    let input = |plan: Option<&Progress>, step| plan.and_then(|plan| Some(plan.input(step)?.into_owned()));
    for (step, position) in asked.into_iter().zip(1..) {
        let Some(call) = calls.iter().find(|call| call.position() == position) else {
            check_left_out(seen, step)?;
            continue;
        };
        let wanted = call.input().cloned().or_else(|| input(seen.before.task.progress.as_ref(), step));
        ensure(input(seen.plan(), step) == wanted, || {
            format!("step {step} is not called with what a person allowed")
        })?;
        let run = seen.slot(step);
        let waits = seen.plan().is_some_and(|plan| plan.schedule.approved.contains_key(&step));
        let stands = matches!(run, Some(StepRun::Completed { made_by: Some(_), .. }));
        let called = waits || stands || seen.begun().contains(&(step, 1)) || seen.has_ended();
        ensure(called, || format!("a call that a person said yes to is {run:?}"))?;
    }
    Ok(())
}

/// Whether a person has allowed the call of a step before its turn.
pub(super) fn had_approval(before: &State, step: u32) -> bool {
    before.task.progress.as_ref().is_some_and(|progress| progress.schedule.approved.contains_key(&step))
}

/// The steps whose calls an answer allows, in the run that it is for.
pub(super) fn allowed_calls(compiled: &CompiledSpec, before: &State, event: &Event) -> Vec<u32> {
    let Event::HumanAnswered { answer, .. } = event else { return Vec::new() };
    let mut asked = asked_calls(compiled, before);
    match answer {
        HumanAnswer::Approve | HumanAnswer::EditInput { .. } => asked.truncate(1),
        HumanAnswer::ApproveCalls { calls } => {
            let named = calls.iter().map(|call| call.position() as usize);
            asked = named.filter_map(|at| asked.get(at.checked_sub(1)?).copied()).collect();
        }
        _ => asked.clear(),
    }
    asked
}

fn check_yes(seen: &Seen<'_>, asked: EffectKind, answer: &HumanAnswer) -> Claimed {
    let (plan, old) = (seen.plan(), seen.before.task.progress.as_ref());
    let steps = |plan: Option<&Progress>| plan.map_or(Vec::new(), |plan| plan.plan.steps.clone());
    let edited = |kept: usize, edit: &[PlanStep]| {
        let now = steps(plan);
        now.len() == kept + edit.len() && now.ends_with(edit)
    };
    let completed = |step: u32, output: &StepOutput| matches!(seen.slot(step), Some(StepRun::Completed { output: found, .. }) if found == output);
    // A write that was made already stands for the call.
    let called = |step: u32| {
        let stands = matches!(seen.slot(step), Some(StepRun::Completed { made_by: Some(_), .. }));
        stands || seen.begun().contains(&(step, 1)) || seen.has_ended()
    };
    let begun = old.map_or(0, Progress::begun);
    if let HumanAnswer::ApproveCalls { calls } = answer {
        return check_some(seen, calls);
    }
    let fits = match (asked, answer) {
        (EffectKind::ApprovePlan { .. }, _) if seen.exit() != Some(Exit::Planned) => false,
        (EffectKind::ApprovePlan { .. }, HumanAnswer::Edit { steps: edit }) => {
            edited(seen.first_step(), edit)
        }
        (EffectKind::ApprovePlan { .. }, _) => steps(plan) == steps(old),
        (EffectKind::ApproveCall { step, .. }, HumanAnswer::Respond { text }) => {
            completed(step, &StepOutput::Text(text.clone()))
        }
        (EffectKind::ApproveCall { step, .. }, HumanAnswer::EditInput { input }) => {
            let given = plan.and_then(|plan| plan.input(step));
            called(step) && given.is_some_and(|given| *given == *input)
        }
        (EffectKind::ApproveCall { step, .. }, _) => called(step),
        // The reference is gone, and what was picked is somewhere in its place.
        (EffectKind::Pick { step, .. }, HumanAnswer::Respond { text }) => {
            let input = |plan: Option<&Progress>| plan?.plan.steps.get(step as usize)?.input.clone();
            let (had, has) = (input(old), input(plan));
            has != had && has.is_some_and(|input| input.to_string().contains(text.as_str()))
        }
        (EffectKind::Human { step, .. }, HumanAnswer::Edit { steps: edit }) => {
            completed(step, &StepOutput::Edited) && edited(begun, edit)
        }
        (EffectKind::Human { step, .. }, HumanAnswer::Respond { text }) => {
            completed(step, &StepOutput::Text(text.clone()))
        }
        (EffectKind::Human { step, .. }, _) => completed(step, &StepOutput::Approved),
        _ => false,
    };
    ensure(fits, || format!("a person said {answer:?} to {asked}, and {:?} follows", seen.step.moves))
}

/// While a person is asked in EXECUTE, no step runs but theirs.
fn check_barrier(seen: &Seen<'_>) -> Claimed {
    let state = &seen.step.state;
    let asks = matches!(
        state.phase,
        Phase::Execute(
            ExecuteStage::AwaitingHuman { .. }
                | ExecuteStage::AwaitingCallApproval { .. }
                | ExecuteStage::AwaitingPick { .. }
        )
    );
    let runs = state.task.progress.iter().flat_map(|plan| &plan.steps).filter(|run| run.is_running());
    let running = runs.count();
    ensure(!asks || running == 1, || format!("{running} steps run beside a question to a person"))
}

/// What a person must say yes to has their yes: plans, calls, and the steps behind a step of theirs. A yes to a call is
/// given to a call that was shown, and taken by that call.
fn check_approvals(seen: &Seen<'_>) -> Claimed {
    let (policy, Some(plan)) = (seen.compiled.policy(), seen.plan()) else { return Ok(()) };
    let allowed = match seen.answered() {
        Some(_) => allowed_calls(seen.compiled, seen.before, seen.event),
        None => Vec::new(),
    };
    let is_allowed = |step: u32| had_approval(seen.before, step) || allowed.contains(&step);
    let mut waiting = plan.schedule.approved.keys();
    let stray = waiting.find(|step| !is_allowed(**step) || seen.begun().contains(&(**step, 1)));
    ensure(stray.is_none(), || {
        format!("a yes is left for step {stray:?}, and nobody gave it or it was taken")
    })?;
    let approval = policy.approval;
    if approval.is_never() {
        return Ok(());
    }
    let asked = seen.answered().map(|effect| effect.id().kind);
    let yes = matches!(
        seen.event,
        Event::HumanAnswered { answer: HumanAnswer::Approve | HumanAnswer::Edit { .. }, .. }
    );
    let runs = plan.plan.steps.iter().skip(seen.first_step()).any(|planned| !planned.is_final());
    let planned = seen.step.moves.iter().any(|taken| taken.exit == Exit::Planned);
    let approved = yes && matches!(asked, Some(EffectKind::ApprovePlan { .. }));
    ensure(!(approval.plan && runs && planned) || approved, || "a plan runs that no person approved".into())?;
    let theirs = |planned: &PlanStep| approval.steps && planned.is_hitl();
    let risky = |planned: &PlanStep| seen.compiled.needs_approval(&planned.tool);
    for (step, attempt) in seen.begun() {
        let Some(planned) = plan.plan.steps.get(step as usize) else { continue };
        let fits = !theirs(planned) && (attempt > 1 || is_allowed(step) || !risky(planned));
        ensure(fits, || format!("{} is called without a person's yes", planned.tool))?;
        let open = |run: &StepRun| matches!(run, StepRun::Pending | StepRun::WaitingHuman);
        let mut before = plan.slots().take(step as usize);
        let passed = before.find(|(_, planned, run)| (theirs(planned) || risky(planned)) && open(run));
        ensure(passed.is_none(), || format!("step {step} begins before a person's: {passed:?}"))?;
    }
    Ok(())
}
