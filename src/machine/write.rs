//! Write: gets the answer: from the writer, or out of the results by rule. This phase never judges and
//! never goes back.

use super::context::Context;
use super::execute::first_failure;
use super::human::EDITED;
use super::outstanding::author;
use super::reply::{self, Duty};
use super::route::Exit;
use super::state::{ErrorCode, Feedback, PhaseName, Progress, StepRun, Task, WriteReason, Writing};
use super::trace::TraceLine;
use crate::contract::AnswerForm;
use crate::spec::{CompiledSpec, RoleName, ValidateAt, Write};

/// Asks for the answer, or puts it together.
pub(super) fn enter(writing: &mut Writing, task: &mut Task, context: &mut Context<'_>) {
    let role = author(writing.gate, context.rules);
    let policy = context.rules.policy();
    if role == RoleName::Conversation || policy.write == Write::Model {
        reply::ask(Duty::of(PhaseName::Write, role), &writing.asking, task, context);
        return;
    }
    let progress = task.progress.as_ref();
    let judged = policy.validate_at == ValidateAt::Answer;
    let answer = match policy.write {
        Write::Summary => progress.map(|progress| summary(progress, task)),
        Write::LastResult | Write::Planner | Write::Model => progress.and_then(last_result),
    };
    match answer.filter(|answer| !answer.trim().is_empty()) {
        Some(answer) => written(answer, task, context),
        // There is nothing to judge, so it is as if it had been judged and sent back.
        None if judged && writing.gate == WriteReason::JudgedAfterwards => sent_back(task, context),
        None => context.fail(ErrorCode::WriteError, nothing(writing.gate, task)),
    }
}

fn sent_back(task: &mut Task, context: &mut Context<'_>) {
    let reason = nothing(WriteReason::JudgedAfterwards, task);
    task.trace.push(TraceLine::Write { ok: false, final_chars: None, error: Some(reason.clone()) });
    let fix_hint = "Plan another way to a last step that gives the answer.".to_owned();
    task.feedback = Some(Feedback { reason, fix_hint, step_failed: true, ..Feedback::default() });
    context.leave(Exit::StepFailed);
}

fn nothing(gate: WriteReason, task: &Task) -> String {
    match (gate, first_failure(task)) {
        (WriteReason::NoToolNeeded, _) => {
            "nothing was planned, so there is no result to answer with".to_owned()
        }
        (_, Some(failure)) => format!("there is no last result to answer with: {failure}"),
        (_, None) => "no step has a result to answer with".to_owned(),
    }
}

/// The output of the last step that was not left out. That it failed is no answer.
fn last_result(progress: &Progress) -> Option<String> {
    let steps = progress.plan.steps.iter().zip(&progress.steps).enumerate().rev();
    let mut last = steps.filter(|(_, (planned, run))| {
        !planned.is_final() && run.is_finished() && run.output() != Some(EDITED)
    });
    let (at, (_, run)) = last.find(|(_, (_, run))| !matches!(run, StepRun::Skipped { same_as: None }))?;
    match run {
        StepRun::Failed { .. } => None,
        _ => progress.output(at as u32).map(str::to_owned),
    }
}

/// One line for each step of the current plan.
fn summary(progress: &Progress, task: &Task) -> String {
    let line = |(at, run): (usize, &StepRun)| {
        let planned = progress.plan.steps.get(at)?;
        if planned.is_final() {
            return None;
        }
        let name = planned.name(at);
        let number =
            name.strip_prefix("step_").filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
        let what = planned.description.as_deref().or(planned.task.as_deref());
        let what = match what {
            None if planned.is_hitl() => planned.question(),
            None => planned.told(),
            Some(what) => what,
        };
        Some(format!("Step {}: {what} - {}", number.unwrap_or(&name), run.status()))
    };
    let from = if task.drafts.len() > 1 { 0 } else { task.first_step() };
    let lines: Vec<String> = progress.steps.iter().enumerate().skip(from).filter_map(line).collect();
    lines.join("\n")
}

fn written(answer: String, task: &mut Task, context: &mut Context<'_>) {
    let final_chars = Some(answer.chars().count() as u32);
    task.trace.push(TraceLine::Write { ok: true, final_chars, error: None });
    task.artifacts.final_answer = Some(answer);
    context.leave(Exit::Written);
}

pub(super) fn on_event(writing: &mut Writing, task: &mut Task, context: &mut Context<'_>) {
    let role = author(writing.gate, context.rules);
    let duty = Duty::of(PhaseName::Write, role);
    let most = context.rules.spec().limits.max_reply_bytes as usize;
    let read = |rules: &CompiledSpec, _: &Task, reply: &super::ModelReply| match role {
        RoleName::Writer => rules.form().read(&reply.text, most),
        _ => AnswerForm::Text.read(&reply.text, most),
    };
    let Some(usable) = reply::read(duty, &mut writing.asking, task, context, read) else { return };
    task.current().write_asks = writing.asking.ask;
    written(usable.value, task, context);
}
