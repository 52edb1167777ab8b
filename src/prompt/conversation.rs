//! The conversation of a planner that goes on call by call: what it asked for in each round and what came
//! of it, derived from the run's steps. Every call has its result.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::{Value, json};

use super::repeats::Shown;
use super::{Call, Message};
use crate::machine::{Draft, Path, Progress, State, StepRun, Task};
use crate::spec::{CompiledSpec, Planner};

pub(super) fn note(content: &Value) -> Message {
    Message::User { content: content.to_string() }
}

/// The rounds of a run that were written already: what stands in one never changes once the next is asked for.
#[derive(Default)]
pub(super) struct Rounds {
    run: Path,
    /// Whether they hold no outputs.
    closed: bool,
    written: usize,
    messages: Vec<Message>,
    shown: Shown,
}

/// The messages since the first.
pub(super) fn messages(
    compiled: &CompiledSpec,
    state: &State,
    run: Path,
    rounds: &mut Rounds,
) -> Vec<Message> {
    let (task, policy) = (&state.task, compiled.policy());
    if policy.planner == Planner::Json || !policy.keeps_steps() {
        return Vec::new();
    }
    let earlier = &task.drafts[..task.drafts.len().saturating_sub(1)];
    let closed = task.is_closed(policy);
    if rounds.run != run || rounds.closed != closed || rounds.written > earlier.len() {
        *rounds = Rounds { run, closed, ..Rounds::default() };
    }
    let Rounds { written, messages, shown, .. } = rounds;
    for (at, draft) in earlier.iter().enumerate().skip(*written) {
        messages.extend(at.checked_sub(1).and_then(|before| verdict(task, &earlier[before], false)));
        let first = draft.first_step as usize;
        let steps = first..task.drafts.get(at + 1).map_or(first, |next| next.first_step as usize);
        push_round(compiled, task, draft, steps, shown, messages);
    }
    *written = earlier.len();
    let last = earlier.last().and_then(|draft| verdict(task, draft, true));
    messages.iter().cloned().chain(last).collect()
}

/// The planner's words with its calls, and what came of each. As text, its words name the call.
fn push_round(
    compiled: &CompiledSpec,
    task: &Task,
    draft: &Draft,
    steps: Range<usize>,
    shown: &mut Shown,
    messages: &mut Vec<Message>,
) {
    let as_text = compiled.policy().planner == Planner::ReactText;
    let slots = task.progress.iter().flat_map(|progress| {
        let slot = move |at| Some((at, progress.plan.steps.get(at)?, progress, progress.steps.get(at)?));
        steps.clone().filter_map(slot)
    });
    let slots = slots.map(|(at, planned, progress, run)| {
        let input = planned.input.clone().unwrap_or_else(|| planned.instruction().into());
        let tool = compiled.tool(&planned.tool).filter(|_| !run.is_refused_call());
        let arguments = tool.map_or(input.clone(), |tool| tool.arguments(&input));
        let (id, name) = (format!("call_{}", at + 1), planned.tool.clone());
        let result = match task.is_closed(compiled.policy()) && !planned.is_hitl() {
            true => closed_result(run),
            false => result(progress, run, |output| shown.add(output, || planned.name(at))),
        };
        (Call { id, name, arguments }, result)
    });
    let slots: Vec<(Call, Value)> = slots.collect();
    if slots.is_empty() && draft.said.is_empty() && !as_text {
        return;
    }
    let calls = slots.iter().filter(|_| !as_text).map(|(call, _)| call.clone()).collect();
    let reasoning = if as_text { Vec::new() } else { draft.reasoning.clone() };
    messages.push(Message::Assistant { text: draft.said.clone(), calls, reasoning });
    messages.extend(slots.into_iter().map(|(Call { id, name, .. }, result)| match as_text {
        true => note(&json!({"observation": result})),
        false => Message::Tool { id, name, content: result.to_string() },
    }));
}

fn result<'a>(
    progress: &Progress,
    run: &'a StepRun,
    mut show: impl FnMut(Cow<'a, str>) -> Cow<'a, str>,
) -> Value {
    // A step that was left out has a result too, so that its call has one.
    let output = output(progress, run).map(&mut show).unwrap_or_else(|| match run {
        StepRun::Skipped { .. } => "(left out)".into(),
        _ => "(not run)".into(),
    });
    let mut result = json!({"status": run.status(), "output": output});
    if !run.sources().is_empty() {
        result["sources"] = json!(run.sources());
    }
    result
}

/// What became of a call, without what it returned.
fn closed_result(run: &StepRun) -> Value {
    match run.failure_kind() {
        Some(failure) => json!({"status": run.status(), "failure": failure}),
        None => json!({"status": run.status()}),
    }
}

/// The output of a step as a model is shown it, if there is anything to show.
pub(super) fn output<'a>(progress: &Progress, run: &'a StepRun) -> Option<Cow<'a, str>> {
    if let StepRun::Skipped { same_as: Some(same) } = run {
        let name = progress.plan.steps.get(*same as usize)?.name(*same as usize);
        return Some(format!("(skipped: the same call as {name})").into());
    }
    run.output().map(Cow::Borrowed)
}

/// The parts of the outline that results come from, and the other parts; `None` in a run without an outline.
pub(super) fn parts(task: &Task) -> Option<(Vec<&str>, Vec<&str>)> {
    (!task.input.outline.is_empty()).then(|| crate::machine::explored(task))
}

/// What the validator said of a round that was not enough.
fn verdict(task: &Task, draft: &Draft, is_last: bool) -> Option<Message> {
    let verdict = draft.verdict.as_ref().filter(|verdict| !verdict.ok)?;
    let mut content = json!({"missing_info": verdict.fix_hint, "reason": verdict.reason});
    // What has been read by now is news only once.
    if let Some((explored, unexplored)) = parts(task).filter(|_| is_last) {
        content["explored"] = json!(explored);
        content["unexplored"] = json!(unexplored);
    }
    Some(note(&content))
}
