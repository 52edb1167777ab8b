//! The conversation of a planner that goes on call by call, derived from the run's steps: what it asked
//! for in each round and what came of it. Every call has its result.

use serde::Serialize;
use serde_json::{Value, json};

use super::results::{output, parts};
use super::{Call, Message};
use crate::machine::{Draft, Progress, State, StepRun, Task};
use crate::spec::{CompiledSpec, Planner, RoleName};

/// Whether a role's requests are conversations.
pub(super) fn carries(rules: &CompiledSpec, role: RoleName) -> bool {
    role.plans() && rules.policy().planner != Planner::Json
}

/// A note to the model.
pub(super) fn note(content: &impl Serialize) -> Message {
    let content = serde_json::to_string(content).expect("a note has text keys only");
    Message::User { content }
}

/// What was said since the first message.
pub(super) fn of(rules: &CompiledSpec, state: &State) -> Vec<Message> {
    let task = &state.task;
    let policy = rules.policy();
    let mut said = Vec::new();
    if policy.planner == Planner::Json || !policy.keeps_steps() {
        return said;
    }
    let earlier = &task.drafts[..task.drafts.len().saturating_sub(1)];
    for (at, draft) in earlier.iter().enumerate() {
        let first = draft.first_step as usize;
        let next = task.drafts.get(at + 1).map_or(first, |next| next.first_step as usize);
        match policy.planner {
            Planner::ReactText => acted(task, draft, first..next, &mut said),
            Planner::ToolCalls | Planner::Json => called(rules, task, draft, first..next, &mut said),
        }
        let last = at + 1 == earlier.len();
        said.extend(verdict(task, draft, last));
    }
    said
}

fn called(
    rules: &CompiledSpec,
    task: &Task,
    draft: &Draft,
    steps: std::ops::Range<usize>,
    said: &mut Vec<Message>,
) {
    let Some(progress) = task.progress.as_ref().filter(|_| !steps.is_empty()) else {
        said.extend((!draft.said.is_empty()).then(|| words(draft)));
        return;
    };
    let id = |step: usize| format!("call_{}", step + 1);
    let call = |step: usize| {
        let planned = &progress.plan.steps[step];
        let input = planned.input.clone().unwrap_or_else(|| Value::String(planned.instruction().to_owned()));
        let arguments = rules.tool(&planned.tool).map_or(input.clone(), |tool| tool.arguments(&input));
        Call { id: id(step), name: planned.tool.clone(), arguments }
    };
    said.push(Message::Assistant { text: draft.said.clone(), calls: steps.clone().map(call).collect() });
    for step in steps {
        let name = progress.plan.steps[step].tool.clone();
        let content = result(progress, step).to_string();
        said.push(Message::Tool { id: id(step), name, content });
    }
}

fn words(draft: &Draft) -> Message {
    Message::Assistant { text: draft.said.clone(), calls: Vec::new() }
}

/// Thoughts and actions as text: each action is followed by what was observed.
fn acted(task: &Task, draft: &Draft, steps: std::ops::Range<usize>, said: &mut Vec<Message>) {
    said.push(words(draft));
    let Some(progress) = &task.progress else { return };
    said.extend(steps.map(|step| note(&json!({"observation": result(progress, step)}))));
}

fn result(progress: &Progress, step: usize) -> Value {
    let run = &progress.steps[step];
    let mut result = json!({"status": run.status()});
    result["output"] = match output(progress, run) {
        Some(output) => Value::String(output.into_owned()),
        // A step that was dropped: said, so that its call has a result too.
        None => Value::String(not_run(run).to_owned()),
    };
    if !run.sources().is_empty() {
        result["sources"] = json!(run.sources());
    }
    result
}

fn not_run(run: &StepRun) -> &'static str {
    match run {
        StepRun::Skipped { .. } => "(left out)",
        _ => "(not run)",
    }
}

/// What the validator had to say of a round that was not enough.
fn verdict(task: &Task, draft: &Draft, last: bool) -> Option<Message> {
    let verdict = draft.verdict.as_ref().filter(|verdict| !verdict.ok)?;
    let mut said = json!({"missing_info": verdict.fix_hint, "reason": verdict.reason});
    // What has been read by now is news only once.
    if let (Some(explored), Some(unexplored)) = parts(task)
        && last
    {
        said["explored"] = json!(explored);
        said["unexplored"] = json!(unexplored);
    }
    Some(note(&said))
}
