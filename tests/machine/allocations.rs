//! A run's memory grows with its steps and with nothing else: counted, not timed.

use std::collections::VecDeque;
use std::fmt::Write;

use allocation_counter::{AllocationInfo, measure};
use planwright::agents;
use planwright::contract::{ToolContract, ToolEffect};
use planwright::machine::explore;
use planwright::machine::{
    Effect, EffectId, Event, Input, ModelReply, PhaseName, State, Step, ToolOutcome, start, transition,
};
use planwright::spec::{CompiledSpec, Execution, RoleName};

/// Sizes one below a power of two, so that the plan (with its `final_answer`) fills the room that
/// its list has grown to.
const FEW: usize = 127;
const MORE: usize = 1_023;
const MANY: usize = 16_383;

fn compiled(execution: Execution) -> CompiledSpec {
    let mut spec = agents::shipped("validated").expect("ships with the crate");
    spec.tools = vec![ToolContract::text("docs", "Answers from a list.", ToolEffect::Pure)];
    spec.policy.execution = execution;
    spec.policy.plan.max_steps = 100_000;
    spec.limits.max_reply_bytes = u32::MAX;
    spec.check().expect("the shipped agent with another tool")
}

/// A plan of so many tool steps, each as long as the next.
fn plan(steps: usize, chained: bool) -> String {
    let mut text = r#"{"goal": "many things", "steps": ["#.to_owned();
    for at in 0..steps {
        let _ = write!(text, r#"{{"id": "s{at:06}", "tool": "docs", "input": "thing {at:06}""#);
        if let (true, Some(before)) = (chained, at.checked_sub(1)) {
            let _ = write!(text, r#", "depends_on": ["s{before:06}"]"#);
        }
        text.push_str("}, ");
    }
    text.push_str(r#"{"tool": "final_answer", "input": "all of them"}]}"#);
    text
}

fn replied(effect: EffectId, text: &str) -> Event {
    Event::ModelReplied { effect, reply: ModelReply::text(text) }
}

fn answer(effect: Effect) -> Event {
    match effect {
        Effect::CallTool { id, .. } => {
            let outcome = ToolOutcome::returned("what was found about this thing");
            Event::ToolReturned { effect: id, outcome }
        }
        Effect::AskModel { id, role: RoleName::Validator } => {
            replied(id, r#"{"ok": true, "reason": "enough", "fix_hint": ""}"#)
        }
        Effect::AskModel { id, .. } => replied(id, "All was found."),
        other => unreachable!("the agent never asks for {other:?}"),
    }
}

fn accept(compiled: &CompiledSpec, plan: &str) -> Step {
    let begun = start(compiled, Input::question("Which?"));
    let event = replied(begun.effects[0].id(), plan);
    transition(compiled, begun.state, event).expect("answers what was asked")
}

fn finish(compiled: &CompiledSpec, accepted: Step) -> State {
    let mut waiting = VecDeque::with_capacity(16);
    waiting.extend(accepted.effects);
    let mut state = accepted.state;
    while let Some(effect) = waiting.pop_front() {
        let step = transition(compiled, state, answer(effect)).expect("answers what was asked");
        waiting.extend(step.effects);
        state = step.state;
    }
    assert_eq!(state.phase(), PhaseName::Done);
    state
}

/// What it takes from the accepted plan to DONE.
fn taken_by(compiled: &CompiledSpec, steps: usize, chained: bool) -> AllocationInfo {
    let accepted = accept(compiled, &plan(steps, chained));
    let mut ended = None;
    let taken = measure(|| ended = Some(finish(compiled, accepted)));
    drop(ended);
    taken
}

/// What a step adds must be the same in a long run as in a short one, to the last allocation.
#[track_caller]
fn check_every_step_takes_the_same(execution: Execution, chained: bool) {
    let compiled = compiled(execution);
    let [few, more, many] = [FEW, MORE, MANY].map(|steps| taken_by(&compiled, steps, chained));
    let per_step = |whole: &AllocationInfo, part: &AllocationInfo, steps: usize| {
        (whole.count_total - part.count_total) as f64 / steps as f64
    };
    let early = per_step(&more, &few, MORE - FEW);
    let late = per_step(&many, &more, MANY - MORE);
    assert!(early >= 1.0, "the counter does not count: {early}");
    assert!((late - early).abs() < 0.01, "{execution:?}: {early} allocations a step, then {late}");
}

#[test]
fn step_one_by_one_beside_others_or_in_a_chain_takes_as_many_allocations_in_a_long_run_as_in_a_short_one() {
    check_every_step_takes_the_same(Execution::Sequential, false);
    check_every_step_takes_the_same(Execution::Parallel { width: 8 }, false);
    check_every_step_takes_the_same(Execution::Parallel { width: 8 }, true);
}

#[test]
fn memory_of_a_run_is_proportional_to_its_steps() {
    let compiled = compiled(Execution::Sequential);
    let most_at_once = |steps: usize| {
        let text = plan(steps, false);
        let run = measure(|| drop(finish(&compiled, accept(&compiled, &text))));
        run.bytes_max as f64 / steps as f64
    };
    let (few, many) = (most_at_once(FEW), most_at_once(MANY));
    assert!(many < few * 1.01, "{few} bytes a step, then {many}");
}

#[test]
fn written_state_is_proportional_to_its_steps() {
    let compiled = compiled(Execution::Sequential);
    let written = |steps: usize| {
        let state = finish(&compiled, accept(&compiled, &plan(steps, false)));
        serde_json::to_string(&state).expect("a state is JSON").len()
    };
    let [few, more, many] = [FEW, MORE, MANY].map(written);
    // The counters have a few more digits.
    let early = (more - few) / (MORE - FEW);
    let late = (many - more) / (MANY - MORE);
    assert_eq!(early, late);
}

/// What is walked is copied no oftener than it is fed, and what has been refused is not copied at all.
#[test]
fn a_walk_takes_few_allocations_an_edge_and_little_memory_a_state() {
    let compiled = agents::shipped("self-ask").expect("shipped").check().expect("checks");
    let mut report = None;
    let walk = measure(|| report = Some(explore::explore(&compiled)));
    let report = report.expect("walked");
    let edges = report.edges as u64;
    let (calls, bytes) = (walk.count_total / edges, walk.bytes_total / edges);
    let held = walk.bytes_max / report.states as u64;
    assert!(calls <= 150 && bytes <= 30_000, "{calls} allocations and {bytes} bytes an edge");
    assert!(held <= 12_000, "{held} bytes a state");
}
