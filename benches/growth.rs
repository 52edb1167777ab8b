//! How a run's cost grows with its steps: sequential, side by side, and in a chain in which each
//! step waits for the one before. The machine alone, over the whole horizon.

mod support;

use std::collections::VecDeque;
use std::fmt::Write;

use divan::Bencher;
use divan::counter::ItemsCount;
use planwright::contract::{Returned, ToolContract, resolve_input};
use planwright::driver::Agent;
use planwright::machine::{Effect, Effects, Input, PhaseName, State, start};
use planwright::ports::{FnTool, ScriptedModel};
use planwright::spec::{CompiledSpec, Execution, RoleName};

const SIZES: [usize; 4] = [10, 100, 1_000, 10_000];

fn main() {
    divan::main();
    if support::measures() {
        Shape::ALL.into_iter().for_each(print_growth);
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    /// One step after the other, as written.
    Sequential,
    /// Independent steps, eight at a time.
    Parallel,
    /// Eight at a time would be allowed, but each step waits for the one before.
    Chain,
}

impl Shape {
    const ALL: [Shape; 3] = [Shape::Sequential, Shape::Parallel, Shape::Chain];

    fn compiled(self) -> CompiledSpec {
        let mut spec = support::spec();
        spec.policy.plan.max_steps = 100_000;
        spec.limits.max_reply_bytes = u32::MAX;
        spec.policy.execution = match self {
            Shape::Sequential => Execution::Sequential,
            Shape::Parallel | Shape::Chain => Execution::Parallel { width: 8 },
        };
        spec.check().expect("checks")
    }

    /// A plan of so many tool steps.
    fn plan(self, steps: usize) -> String {
        let mut text = r#"{"goal": "many things", "steps": ["#.to_owned();
        for at in 1..=steps {
            let _ = write!(text, r#"{{"tool": "docs", "input": "the thing with number {at}""#);
            if self == Shape::Chain && at > 1 {
                let _ = write!(text, r#", "depends_on": ["step_{}"]"#, at - 1);
            }
            text.push_str("},\n");
        }
        text.push_str(r#"{"tool": "final_answer", "input": "all of them"}]}"#);
        text
    }
}

fn answer(effect: Effect) -> planwright::machine::Event {
    match effect {
        Effect::CallTool { id, .. } => support::returned(id, "what was found about this thing".to_owned()),
        Effect::AskModel { id, role: RoleName::Validator } => {
            support::replied(id, r#"{"ok": true, "reason": "", "fix_hint": ""}"#.to_owned())
        }
        Effect::AskModel { id, .. } => support::replied(id, "All was found.".to_owned()),
        other => unreachable!("the agent never asks for {other:?}"),
    }
}

/// PLAN, with its reply read.
fn planned(compiled: &CompiledSpec, plan: String) -> (State, Effects) {
    let begun = start(compiled, Input::question(support::QUESTION));
    let event = support::replied(begun.effects[0].id(), plan);
    let step = support::advance(compiled, begun, event);
    (step.state, step.effects)
}

/// EXECUTE for every step, VALIDATE, WRITE, DONE. What runs side by side is answered oldest first.
fn to_the_end(compiled: &CompiledSpec, mut state: State, effects: Effects) -> State {
    let mut waiting: VecDeque<Effect> = effects.into_iter().collect();
    while let Some(effect) = waiting.pop_front() {
        let step = planwright::machine::transition(compiled, state, answer(effect)).expect("was asked");
        waiting.extend(step.effects);
        state = step.state;
    }
    assert_eq!(state.phase(), PhaseName::Done);
    state
}

fn bench_steps(bencher: Bencher<'_, '_>, shape: Shape, steps: usize) {
    let compiled = shape.compiled();
    let (state, effects) = planned(&compiled, shape.plan(steps));
    bencher
        .counter(ItemsCount::new(steps))
        .with_inputs(|| (state.clone(), effects.clone()))
        .bench_values(|(state, effects)| drop(to_the_end(&compiled, state, effects)));
}

fn bench_whole(bencher: Bencher<'_, '_>, shape: Shape, steps: usize) {
    let compiled = shape.compiled();
    let plan = shape.plan(steps);
    bencher.counter(ItemsCount::new(steps)).with_inputs(|| plan.clone()).bench_values(|plan| {
        let (state, effects) = planned(&compiled, plan);
        drop(to_the_end(&compiled, state, effects));
    });
}

/// From the accepted plan on: no plan text is read.
#[divan::bench_group]
mod from_the_plan_on {
    use super::*;

    #[divan::bench(args = SIZES)]
    fn sequential(bencher: Bencher<'_, '_>, steps: usize) {
        bench_steps(bencher, Shape::Sequential, steps);
    }

    #[divan::bench(args = SIZES)]
    fn parallel(bencher: Bencher<'_, '_>, steps: usize) {
        bench_steps(bencher, Shape::Parallel, steps);
    }

    #[divan::bench(args = SIZES)]
    fn chain(bencher: Bencher<'_, '_>, steps: usize) {
        bench_steps(bencher, Shape::Chain, steps);
    }
}

/// The whole run, with the plan read and checked.
#[divan::bench_group]
mod whole_run {
    use super::*;

    #[divan::bench(args = SIZES)]
    fn sequential(bencher: Bencher<'_, '_>, steps: usize) {
        bench_whole(bencher, Shape::Sequential, steps);
    }

    #[divan::bench(args = SIZES)]
    fn parallel(bencher: Bencher<'_, '_>, steps: usize) {
        bench_whole(bencher, Shape::Parallel, steps);
    }

    #[divan::bench(args = SIZES)]
    fn chain(bencher: Bencher<'_, '_>, steps: usize) {
        bench_whole(bencher, Shape::Chain, steps);
    }
}

/// A hundred steps through the driver, with a tool that answers at once: called in place, within its time on a thread
/// that stays, and three side by side.
#[divan::bench(args = [(None, 1), (Some(10_000), 1), (None, 3), (Some(10_000), 3)])]
fn driver_steps(bencher: Bencher<'_, '_>, (timeout_ms, width): (Option<u64>, u32)) {
    const STEPS: usize = 100;
    let mut spec = support::spec();
    spec.policy.plan.max_steps = 1_000;
    if width > 1 {
        spec.policy.execution = Execution::Parallel { width };
    }
    spec.tools.iter_mut().for_each(|tool| tool.timeout_ms = timeout_ms);
    let plan = Shape::Sequential.plan(STEPS);
    let agent = || {
        let replies = [&*plan, r#"{"ok": true, "reason": "", "fix_hint": ""}"#, "All was found."];
        let agent = Agent::builder(spec.clone()).model(ScriptedModel::replies(replies));
        let tool =
            |contract: &ToolContract| FnTool::new(contract.clone(), |_| Ok("what was found".to_owned()));
        spec.tools.iter().map(tool).fold(agent, |agent, tool| agent.tool(tool)).build().expect("builds")
    };
    let run = |agent: Agent| agent.run(support::QUESTION).expect("runs");
    bencher.counter(ItemsCount::new(STEPS)).with_inputs(agent).bench_values(run);
}

/// The cost per step at 10,000 steps against that at 100.
fn print_growth(shape: Shape) {
    let compiled = shape.compiled();
    let (few, many) = (shape.plan(100), shape.plan(10_000));
    let run = |plan: &String| {
        let (state, effects) = planned(&compiled, plan.clone());
        drop(to_the_end(&compiled, state, effects));
    };
    // As many steps on either side of the scale: a hundred short runs, one long one.
    let [few, many] = support::fastest(15, [&mut || (0..100).for_each(|_| run(&few)), &mut || run(&many)]);
    let growth = many.as_secs_f64() / few.as_secs_f64();
    let per_step = |whole: std::time::Duration| whole.as_nanos() / 10_000;
    println!(
        "{shape:?}, whole run: {} ns a step at 100 steps, {} ns at 10,000: {growth:.2} times (bar: 1.5)",
        per_step(few),
        per_step(many),
    );
}

/// A value out of the one record of a megabyte that a literal names, and out of the one that comes first.
#[divan::bench(args = [r#"{"where": [["/title", "equals", "record 9000"]]}"#, r#"{"order_by": "/size", "first": "largest"}"#])]
fn reference_into_a_megabyte(bencher: Bencher<'_, '_>, select: &str) {
    let record = |at: u32| serde_json::json!({"id": at, "size": at, "title": format!("Record {at}"), "text": "x".repeat(60)});
    let data: serde_json::Value = (0..9_001).map(record).collect();
    assert!(data.to_string().len() > 1_000_000);
    let mut reference: serde_json::Value = serde_json::from_str(select).expect("an object");
    (reference["$from"], reference["take"]) = ("step_1".into(), "/id".into());
    let returned = |_: &str| Some(Returned { text: "", data: Some(&data), tool: None });
    bencher.bench(|| assert_eq!(resolve_input(&reference, &returned, &[]).expect("one record"), 9_000));
}
