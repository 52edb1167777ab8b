//! The conversation of a planner that goes on call by call: what it asked for in each round and what came
//! of it, derived from the run's steps. Every call has its result.

use std::ops::Range;

use serde::Serialize;
use serde_json::{Value, json};

use super::results::{output, parts};
use super::{Call, Message};
use crate::machine::{Draft, Progress, State, StepRun, Task};
use crate::spec::{CompiledSpec, Planner, RoleName};

/// Whether a role's requests are conversations.
pub(super) fn has_conversation(rules: &CompiledSpec, role: RoleName) -> bool {
    role.plans() && rules.policy().planner != Planner::Json
}

/// A note to the model.
pub(super) fn note(content: &impl Serialize) -> Message {
    Message::User { content: serde_json::to_string(content).expect("a note has text keys only") }
}

/// The messages since the first.
pub(super) fn messages(rules: &CompiledSpec, state: &State) -> Vec<Message> {
    let (task, policy) = (&state.task, rules.policy());
    let mut messages = Vec::new();
    if policy.planner == Planner::Json || !policy.keeps_steps() {
        return messages;
    }
    let earlier = &task.drafts[..task.drafts.len().saturating_sub(1)];
    for (at, draft) in earlier.iter().enumerate() {
        let first = draft.first_step as usize;
        let next = task.drafts.get(at + 1).map_or(first, |next| next.first_step as usize);
        match policy.planner {
            Planner::ReactText => push_actions(task, draft, first..next, &mut messages),
            Planner::ToolCalls | Planner::Json => push_calls(rules, task, draft, first..next, &mut messages),
        }
        messages.extend(verdict(task, draft, at + 1 == earlier.len()));
    }
    messages
}

fn push_calls(
    rules: &CompiledSpec,
    task: &Task,
    draft: &Draft,
    steps: Range<usize>,
    messages: &mut Vec<Message>,
) {
    let Some(progress) = task.progress.as_ref().filter(|_| !steps.is_empty()) else {
        messages.extend((!draft.said.is_empty()).then(|| words(draft)));
        return;
    };
    let id = |step: usize| format!("call_{}", step + 1);
    let call = |step: usize| {
        let planned = &progress.plan.steps[step];
        let input = planned.input.clone().unwrap_or_else(|| Value::String(planned.instruction().to_owned()));
        let arguments = rules.tool(&planned.tool).map_or(input.clone(), |tool| tool.arguments(&input));
        Call { id: id(step), name: planned.tool.clone(), arguments }
    };
    messages.push(Message::Assistant { text: draft.said.clone(), calls: steps.clone().map(call).collect() });
    messages.extend(steps.map(|step| {
        let (name, content) = (progress.plan.steps[step].tool.clone(), result(progress, step).to_string());
        Message::Tool { id: id(step), name, content }
    }));
}

fn words(draft: &Draft) -> Message {
    Message::Assistant { text: draft.said.clone(), calls: Vec::new() }
}

/// Thoughts and actions as text. Each action is followed by what was observed.
fn push_actions(task: &Task, draft: &Draft, steps: Range<usize>, messages: &mut Vec<Message>) {
    messages.push(words(draft));
    let Some(progress) = &task.progress else { return };
    messages.extend(steps.map(|step| note(&json!({"observation": result(progress, step)}))));
}

fn result(progress: &Progress, step: usize) -> Value {
    let run = &progress.steps[step];
    // A step that was left out has a result too, so that its call has one.
    let output = output(progress, run).unwrap_or_else(|| match run {
        StepRun::Skipped { .. } => "(left out)".into(),
        _ => "(not run)".into(),
    });
    let mut result = json!({"status": run.status(), "output": output});
    if !run.sources().is_empty() {
        result["sources"] = json!(run.sources());
    }
    result
}

/// What the validator said of a round that was not enough.
fn verdict(task: &Task, draft: &Draft, is_last: bool) -> Option<Message> {
    let verdict = draft.verdict.as_ref().filter(|verdict| !verdict.ok)?;
    let mut content = json!({"missing_info": verdict.fix_hint, "reason": verdict.reason});
    // What has been read by now is news only once.
    if let (Some(explored), Some(unexplored)) = parts(task)
        && is_last
    {
        content["explored"] = json!(explored);
        content["unexplored"] = json!(unexplored);
    }
    Some(note(&content))
}
