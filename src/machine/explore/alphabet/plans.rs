//! Plans of every size worth telling apart, in each of the ways in which a planner gives them, and
//! plans that break the contract in one way each.

use serde_json::{Value, json};

use super::letter::{Replies, sample, text};
use crate::contract::{FINAL_ANSWER, FinalStep, HITL, ToolContract, ToolEffect, Trust, schema};
use crate::machine::explore::abstraction::{MOST_LINES, may_be_called_again};
use crate::machine::{ModelReply, State, StepRun};
use crate::spec::{CompiledSpec, Duplicates, Execution, Write};

type Kind<'a> = (ToolEffect, bool, Trust, bool, bool, Option<&'a str>);

/// One tool or agent of each kind that a branch can tell apart: its effect, whether it may happen twice, whether
/// its output is trusted, whether a model does it, whether a person must allow it, and whether it must be
/// called.
fn kinds(rules: &CompiledSpec) -> Vec<&ToolContract> {
    let mut kinds: Vec<(Kind<'_>, &ToolContract)> = Vec::new();
    for tool in rules.plan().all() {
        let required = rules.policy().required_calls.iter().find(|required| required.tool == tool.name);
        let required = required.map(|required| required.tool.as_str());
        let is_agent = rules.agent(&tool.name).is_some();
        let kind = (
            tool.effect,
            tool.is_idempotent(),
            tool.trust,
            is_agent,
            rules.needs_approval(&tool.name),
            required,
        );
        if !kinds.iter().any(|(known, _)| *known == kind) {
            kinds.push((kind, tool));
        }
    }
    kinds.into_iter().map(|(_, tool)| tool).collect()
}

/// An input that no other step has.
fn input(tool: &ToolContract, nth: usize) -> Value {
    match sample(&tool.input) {
        Value::String(text) => {
            let longer = Value::String(format!("{text}{nth}"));
            if schema::check(&tool.input, &longer).is_ok() { longer } else { Value::String(text) }
        }
        other => other,
    }
}

/// How many steps stand before a new plan.
fn kept(rules: &CompiledSpec, state: &State) -> usize {
    let progress = state.task.progress.as_ref().filter(|_| rules.policy().keeps_steps());
    progress.map_or(0, |progress| progress.steps.len())
}

/// A plan whose one step waits for one that an earlier draft did.
fn going_on(tool: &ToolContract, state: &State, ends: bool) -> Option<(String, ModelReply)> {
    let progress = state.task.progress.as_ref()?;
    let done = progress.steps.iter().position(|run| matches!(run, StepRun::Completed { .. }))?;
    let name = progress.plan.steps[done].name(done);
    Some(text(
        "plan that goes on from what was done",
        plan(progress.steps.len(), &[tool], ends, |_| json!([name])),
    ))
}

/// Plans in JSON.
pub(super) fn written(rules: &CompiledSpec, state: &State) -> Replies {
    let base = kept(rules, state);
    let policy = rules.policy();
    let ends = policy.plan.final_step == FinalStep::Required;
    let (least, most) = (policy.plan.min_steps, policy.plan.max_steps);
    let kinds = kinds(rules);
    let mut replies = Vec::new();
    for size in least..=most {
        let calls = if ends { size - 1 } else { size };
        if calls == 0 {
            let name = if ends { "plan of only the final step" } else { "plan of nothing" };
            replies.push(text(name, plan(0, &[], ends, |_| Value::Null)));
            continue;
        }
        for tool in &kinds {
            let tools = vec![*tool; calls as usize];
            replies.push(text(
                &format!("plan of {calls} × {}", tool.name),
                plan(base, &tools, ends, |_| Value::Null),
            ));
        }
        if kinds.len() > 1 && calls > 1 {
            let tools: Vec<&ToolContract> = kinds.iter().copied().cycle().take(calls as usize).collect();
            replies.push(text(
                &format!("plan of {calls} mixed steps"),
                plan(base, &tools, ends, |_| Value::Null),
            ));
        }
        if calls == 4 && !kinds.is_empty() && policy.execution != Execution::Sequential {
            let diamond = |at: usize| match at {
                1 | 2 => json!([format!("step_{}", base + 1)]),
                3 => json!([format!("step_{}", base + 2), format!("step_{}", base + 3)]),
                _ => Value::Null,
            };
            replies.push(text("plan of a diamond", plan(base, &[kinds[0]; 4], ends, diamond)));
        }
        if calls == 3 && !kinds.is_empty() {
            let chain =
                |at: usize| if at == 0 { Value::Null } else { json!([format!("step_{}", base + at)]) };
            replies.push(text("plan of a chain", plan(base, &[kinds[0]; 3], ends, chain)));
        }
        if policy.duplicates == Duplicates::Skip && calls == 2 && !kinds.is_empty() {
            replies.push(text("plan of the same call twice", same_twice(base, kinds[0], ends)));
        }
        if rules.policy().approval.steps && calls > 1 && !kinds.is_empty() {
            replies.push(text(
                &format!("plan of {calls} steps with a question"),
                asking(base, kinds[0], calls, ends),
            ));
        }
    }
    if rules.policy().approval.steps && most > 1 {
        let asks = json!({"agent": HITL, "hitl_question": "may I?"});
        replies.push(text("plan of only a question", whole(vec![asks], ends)));
    }
    if base > 0 && !kinds.is_empty() {
        replies.extend(going_on(kinds[0], state, ends));
    }
    replies.extend(bad(most));
    replies
}

fn whole(mut steps: Vec<Value>, ends: bool) -> String {
    if ends {
        steps.push(json!({"tool": FINAL_ANSWER, "input": "answer"}));
    }
    json!({"goal": "…", "reasoning": "…", "strategy": "…", "steps": steps}).to_string()
}

fn step(tool: &ToolContract, nth: usize) -> Value {
    json!({"tool": tool.name, "input": input(tool, nth), "task": "…", "description": "…"})
}

/// Steps whose inputs no step before has had.
fn plan(base: usize, tools: &[&ToolContract], ends: bool, depends_on: impl Fn(usize) -> Value) -> String {
    let step = |(at, tool): (usize, &&ToolContract)| {
        let mut step = step(tool, 10 * base + at);
        step["depends_on"] = depends_on(at);
        step
    };
    whole(tools.iter().enumerate().map(step).collect(), ends)
}

fn same_twice(base: usize, tool: &ToolContract, ends: bool) -> String {
    whole(vec![step(tool, 10 * base), step(tool, 10 * base)], ends)
}

/// Work with a question to a person before the last of it.
fn asking(base: usize, tool: &ToolContract, calls: u32, ends: bool) -> String {
    let mut steps: Vec<Value> = (0..calls as usize - 1).map(|at| step(tool, 10 * base + at)).collect();
    steps.insert(steps.len() - 1, json!({"agent": HITL}));
    whole(steps, ends)
}

fn bad(most: u32) -> Replies {
    let unknown = json!({"goal": "…", "steps": [{"tool": "no such tool", "input": "x"}]});
    let last = json!({"tool": FINAL_ANSWER, "input": "x"});
    let long = vec![last.clone(); most as usize + 1];
    let own = json!({"id": "a", "tool": FINAL_ANSWER, "input": "x", "depends_on": ["a"]});
    vec![
        text("plan with an unknown tool", unknown.to_string()),
        text("plan without steps or a goal", json!({"steps": []}).to_string()),
        text("plan with too many steps", json!({"goal": "…", "steps": long}).to_string()),
        text("plan that is prose", "First I would search."),
        text("plan with a cycle", json!({"goal": "…", "steps": [own]}).to_string()),
    ]
}

/// Native calls.
pub(super) fn called(rules: &CompiledSpec, state: &State) -> Replies {
    let policy = rules.policy();
    let most = policy.plan.max_steps as usize;
    let kinds = kinds(rules);
    let call = |tool: &ToolContract, nth: usize| (tool.name.clone(), tool.arguments(&input(tool, nth)));
    let fresh =
        state.task.first_step() + state.task.progress.as_ref().map_or(0, |progress| progress.steps.len());
    let mut replies = words(rules);
    for size in 1..=most {
        for tool in &kinds {
            let calls = (0..size).map(|nth| call(tool, 10 * fresh + nth));
            replies.push((format!("{size} calls of {}", tool.name), ModelReply::calls(calls)));
        }
        if size > 1 && kinds.len() > 1 {
            let mixed = kinds.iter().copied().cycle().take(size).enumerate();
            let calls = mixed.map(|(nth, tool)| call(tool, 10 * fresh + nth));
            replies.push((format!("{size} mixed calls"), ModelReply::calls(calls)));
        }
    }
    if policy.duplicates == Duplicates::Skip && !kinds.is_empty() {
        if most > 1 {
            let calls = [call(kinds[0], 10 * fresh), call(kinds[0], 10 * fresh)];
            replies.push(("the same call twice".into(), ModelReply::calls(calls)));
        }
        replies.extend(repeated(state));
    }
    let required: Vec<&ToolContract> =
        policy.required_calls.iter().filter_map(|required| rules.tool(&required.tool)).collect();
    if required.len() > 1 && required.len() <= most {
        let calls = required.iter().enumerate().map(|(nth, tool)| call(tool, 10 * fresh + nth));
        replies.push(("every required call".into(), ModelReply::calls(calls)));
    }
    replies.push(("call of an unknown tool".into(), ModelReply::calls([("no such tool", json!({}))])));
    if let Some(tool) = kinds.first() {
        let empty = ModelReply::calls([(tool.name.clone(), json!({}))]);
        replies.push(("call without arguments".into(), empty));
        let many = vec![call(tool, 0); most + 1];
        replies.push(("too many calls".into(), ModelReply::calls(many)));
    }
    replies
}

/// The first call that succeeded in an earlier round, again. A step that an orchestrator put there has
/// no input to call it with.
fn repeated(state: &State) -> Option<(String, ModelReply)> {
    let progress = state.task.progress.as_ref()?;
    let steps = progress.plan.steps.iter().zip(&progress.steps);
    let done = steps.filter(|(planned, run)| may_be_called_again(planned, run));
    let (planned, _) = done.min_by_key(|(planned, _)| &planned.tool)?;
    let arguments = json!({"input": planned.input});
    Some(("an earlier call again".into(), ModelReply::calls([(planned.tool.clone(), arguments)])))
}

/// Words instead of calls: an answer, where the planner gives it.
fn words(rules: &CompiledSpec) -> Replies {
    let mut replies = vec![text("words", "an answer")];
    let policy = rules.policy();
    for required in policy.required_calls.iter().filter(|_| policy.write == Write::Planner) {
        let Some(begins) = &required.per_line else { continue };
        for lines in 1..=MOST_LINES {
            let said = format!("{begins} …\n").repeat(lines as usize);
            replies.push(text(&format!("words with {lines} lines of {begins:?}"), said));
        }
    }
    replies
}

/// Thoughts and actions as text.
pub(super) fn acted(rules: &CompiledSpec, state: &State) -> Replies {
    let fresh = state.task.first_step();
    let mut replies: Replies = words(rules)
        .into_iter()
        .map(|(name, reply)| text(&name, format!("Thought: done\nFinal Answer: {}", reply.text)))
        .collect();
    for tool in kinds(rules) {
        let value = input(tool, fresh);
        let written = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let said = format!("Thought: more\nAction: {}\nAction Input: {written}", tool.name);
        replies.push(text(&format!("action {}", tool.name), said));
    }
    replies.push(text("unknown action", "Action: no such tool\nAction Input: x"));
    replies.push(text("neither action nor answer", "Thought: hm"));
    replies
}
