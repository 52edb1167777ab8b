//! What a model said is what the run does: verdicts, plans, and what came of the steps.

use serde_json::Value;

use crate::contract::{FINAL_ANSWER, HITL};
use crate::machine::explore::seen::{Claimed, Seen, awaits_approval, ensure};
use crate::machine::state::{ExecuteStage, PlanStage, StepRun};
use crate::machine::{ErrorCode, Event, Exit, Phase, PhaseName, TraceLine};
use crate::spec::{OnStepFailure, Planner, RoleName};

pub(super) fn check_verdict(seen: &Seen<'_>) -> Claimed {
    let judges = matches!(seen.before.phase, Phase::Validate(_));
    let ok = |value: &Value| value.get("ok").or_else(|| value.get("sufficient"))?.as_bool();
    let said = if judges { seen.said(RoleName::Validator, ok) } else { None };
    let told = seen.lines().iter().find_map(|line| match line {
        TraceLine::Validate { verdict, .. } => verdict.as_ref().map(|verdict| verdict.ok),
        _ => None,
    });
    ensure(told == said, || format!("the verdict is ok: {said:?}, its line says {told:?}"))?;
    let mut wanted = said.map(|ok| if ok { Exit::Accepted } else { Exit::Rejected });
    let judged = |exit: &Exit| matches!(exit, Exit::Accepted | Exit::Rejected);
    for taken in &seen.step.moves {
        let exit = Some(taken.exit).filter(judged);
        ensure(exit == wanted, || format!("the verdict is ok: {said:?}, and the exit {}", taken.exit))?;
        wanted = None;
    }
    ensure(wanted.is_none(), || format!("the verdict is ok: {said:?}, and nothing follows"))
}

/// The tools of the steps that a planner's reply asks for.
fn asked_for(seen: &Seen<'_>, role: RoleName) -> Vec<String> {
    let Event::ModelReplied { reply, .. } = seen.event else { return fallback_plan(seen, role) };
    match seen.compiled.policy().planner {
        Planner::Json => fallback_plan(seen, role),
        Planner::ToolCalls => reply.tool_calls.iter().map(|call| call.name.clone()).collect(),
        Planner::ReactText => {
            let action = reply.text.lines().find_map(|line| line.strip_prefix("Action: "));
            action.into_iter().map(str::to_owned).collect()
        }
    }
}

fn fallback_plan(seen: &Seen<'_>, role: RoleName) -> Vec<String> {
    let tool = |step: &Value| Some(step.get("tool").or_else(|| step.get("agent"))?.as_str()?.to_owned());
    let tools = |plan: &Value| plan.get("steps")?.as_array()?.iter().map(tool).collect::<Option<Vec<_>>>();
    seen.said(role, tools).unwrap_or_default()
}

pub(super) fn check_plan(seen: &Seen<'_>) -> Claimed {
    let said = |role, field: &str, wanted: bool| {
        seen.said(role, |value| value.get(field)?.as_bool()) == Some(wanted)
    };
    let exit = seen.exit();
    let Phase::Plan(stage) = &seen.before.phase else { return Ok(()) };
    let (role, fits) = match (stage, seen.role()) {
        (PlanStage::Screening(_), Some(role)) => {
            let refused = |value: &Value| Some(!value.get("refusal")?.as_str()?.trim().is_empty());
            let left = exit == Some(Exit::OutOfScope);
            let may = said(role, "in_scope", false);
            (role, left == may || (!left && seen.said(role, refused) != Some(true)))
        }
        (PlanStage::Classifying(_), Some(role)) => {
            let at_once = &seen.compiled.policy().intent.answer_at_once;
            let kind = |value: &Value| {
                let kind = value.get("intent_type").or_else(|| value.get("intent"))?.as_str()?;
                Some(at_once.iter().any(|known| known == kind))
            };
            let needs_none = said(role, "needs_tool", false) || seen.said(role, kind) == Some(true);
            (role, (exit == Some(Exit::NothingToDo)) == needs_none)
        }
        (PlanStage::Drafting(_), Some(role)) => {
            let asked = asked_for(seen, role);
            let waits = exit.is_none() && awaits_approval(&seen.step.state.phase);
            let runs = exit == Some(Exit::Planned) || waits;
            let slots = seen.plan().into_iter().flat_map(|plan| plan.slots());
            let planned: Vec<_> = slots.skip(seen.first_step()).collect();
            // A call that was refused by itself is there as that.
            let known =
                |tool: &str| [HITL, FINAL_ANSWER].contains(&tool) || seen.compiled.tool(tool).is_some();
            let mut pairs = asked.iter().zip(&planned);
            let same = asked.len() == planned.len()
                && pairs.all(|(asked, (_, planned, run))| {
                    run.is_refused_call() || (*asked == planned.tool && known(asked))
                });
            let nothing = matches!(exit, Some(Exit::NothingToDo | Exit::Answered)) && !asked.is_empty();
            (role, !nothing && (!runs || (same && !asked.is_empty())))
        }
        _ => return Ok(()),
    };
    ensure(fits, || format!("{role} was answered, and PLAN is left by {exit:?} with another plan or none"))
}

pub(super) fn check_results(seen: &Seen<'_>) -> Claimed {
    let left = seen.step.moves.iter().find(|taken| taken.from == PhaseName::Execute);
    let (Some(taken), Some(plan)) = (left, seen.plan()) else { return Ok(()) };
    let drafted = || plan.steps.iter().skip(seen.first_step());
    let failed = drafted().any(|run| run.has_failed() && !run.is_left_out());
    let policy = seen.compiled.policy().on_step_failure;
    let fits = match taken.exit {
        Exit::Executed => drafted().all(StepRun::is_finished) && (!failed || policy == OnStepFailure::Record),
        Exit::StepFailed => failed && policy == OnStepFailure::Replan,
        Exit::Declined => drafted().any(StepRun::has_failed),
        // One step that failed ends the run only where the policy says so.
        Exit::Failed => {
            let code = seen.step.state.error().map(|error| error.code);
            let decides = matches!(seen.before.phase, Phase::Execute(ExecuteStage::Orchestrating(_)));
            code != Some(ErrorCode::ExecuteError) || decides || (failed && policy == OnStepFailure::Abort)
        }
        _ => false,
    };
    let steps = || drafted().map(StepRun::status).collect::<Vec<_>>();
    ensure(fits, || {
        format!("EXECUTE is left by {} with the steps {:?} under {policy:?}", taken.exit, steps())
    })
}
