//! A hint travels in its own field, is followed where there is one, and changes no question.

use serde_json::Value;

use crate::machine::explore::seen::{Claimed, Seen, ensure};
use crate::machine::state::PlanStage;
use crate::machine::{Effect, EffectKind, Event, Exit, HumanAnswer, Phase, PhaseName, TraceLine};
use crate::spec::RoleName;

pub(super) fn check(seen: &Seen<'_>) -> Claimed {
    let (before, after) = (&seen.before.task, seen.after());
    ensure(before.input == after.input, || "the question is rewritten".into())?;
    let classifies = matches!(seen.before.phase, Phase::Plan(PlanStage::Classifying(_)));
    let kept = classifies || before.understanding.intent == after.understanding.intent;
    ensure(kept, || "what the user wants is rewritten".into())?;
    check_role(seen)?;
    check_line(seen)?;
    if !seen.goes_back_to_plan() || seen.has_ended() {
        let goes_on = seen.step.moves.is_empty();
        return ensure(!goes_on || before.feedback == after.feedback, || "the hint changes unheard".into());
    }
    let Some(hint) = given(seen) else { return Ok(()) };
    let found = after.feedback.as_ref().map_or("", |feedback| &feedback.fix_hint);
    ensure(found == hint, || format!("the hint {hint:?} arrives as {found:?}"))?;
    check_elsewhere(seen, &hint)
}

/// The hint that came in, where the words of it are a model's or a person's.
fn given(seen: &Seen<'_>) -> Option<String> {
    match (seen.exit()?, seen.event) {
        (Exit::Rejected, _) => seen.said(RoleName::Validator, |verdict: &Value| {
            let hint = verdict.get("fix_hint").or_else(|| verdict.get("missing_info"))?;
            Some(hint.as_str()?.to_owned())
        }),
        (Exit::Declined, Event::HumanAnswered { answer: HumanAnswer::Reject { reason }, .. }) => {
            Some(reason.clone())
        }
        _ => None,
    }
}

/// The re-planner is asked where there is a hint, and nowhere else; a repair asks whom was asked. A verdict in the
/// closed form is a hint, whatever the validator's own was: who is asked must not tell of that either.
fn check_role(seen: &Seen<'_>) -> Claimed {
    let asked = seen.step.effects.iter().find_map(|effect| match effect {
        Effect::AskModel { id, role } if id.path.is_empty() => {
            matches!(id.kind, EffectKind::Plan { .. }).then_some(*role)
        }
        _ => None,
    });
    let Some(asked) = asked else { return Ok(()) };
    let back = seen.step.moves.iter().rev().find(|taken| taken.to == PhaseName::Plan);
    let closed = seen.after().tainted && seen.compiled.policy().closes_planning();
    let hinted = match back.map(|taken| taken.exit) {
        Some(Exit::Rejected) if closed => true,
        Some(Exit::Rejected | Exit::Declined) => match given(seen) {
            Some(hint) => !hint.trim().is_empty(),
            // That nobody answered, or what they did not allow of several calls, is said as well.
            None => matches!(
                seen.event,
                Event::Expired { .. } | Event::HumanAnswered { answer: HumanAnswer::ApproveCalls { .. }, .. }
            ),
        },
        Some(exit) => exit == Exit::StepFailed,
        None => seen.role() == Some(RoleName::Replanner),
    };
    let wanted = match hinted && seen.compiled.has(RoleName::Replanner) {
        true => RoleName::Replanner,
        false => RoleName::Planner,
    };
    ensure(asked == wanted, || format!("{asked} is asked and not {wanted}"))
}

/// PLAN's line says who drafted, and the line of the replan carries the hint.
fn check_line(seen: &Seen<'_>) -> Claimed {
    let drafted = seen.role().filter(|role| matches!(role, RoleName::Planner | RoleName::Replanner));
    for line in seen.lines() {
        let fits = match (line, drafted) {
            (TraceLine::Plan { used_replan_planner, .. }, Some(role)) => {
                *used_replan_planner == (role == RoleName::Replanner)
            }
            (TraceLine::ReplanTrigger { fix_hint, .. }, _) => {
                given(seen).is_none_or(|hint| hint == *fix_hint)
            }
            _ => true,
        };
        ensure(fits, || format!("{drafted:?} drafted, and its line is {line:?}"))?;
        if matches!(line, TraceLine::Plan { .. }) {
            break;
        }
    }
    Ok(())
}

/// The hint stands where it belongs: in the feedback, the verdict, the failures and the trace.
fn check_elsewhere(seen: &Seen<'_>, hint: &str) -> Claimed {
    let after = seen.after();
    let shown = [
        serde_json::to_string(&after.understanding),
        serde_json::to_string(&after.progress),
        serde_json::to_string(&after.artifacts.final_answer),
    ];
    let found = hint.len() > 2 && shown.iter().flatten().any(|shown| shown.contains(hint));
    ensure(!found, || format!("the hint {hint:?} stands elsewhere too"))
}
