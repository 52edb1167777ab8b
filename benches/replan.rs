//! What a run costs: one transition, and a whole run with one replan as a loop written by hand, by
//! the machine alone, and by the whole driver.

mod support;

use std::sync::Mutex;

use divan::Bencher;
use planwright::driver::Agent;
use planwright::machine::{Input, ModelReply, PhaseName, State, Step, start};
use planwright::ports::FnTool;
use planwright::ports::{Model, ModelError, TokenSink};
use planwright::prompt::ModelRequest;
use planwright::spec::{CompiledSpec, RoleName};
use planwright_otel::RunSpans;
use support::{QUESTION, Replies, by_hand};

fn main() {
    assert_all_do_the_same();
    divan::main();
    if support::measures() {
        print_ratios();
    }
}

/// PLAN → EXECUTE ×3 → VALIDATE (rejects) → PLAN → EXECUTE ×3 → VALIDATE → WRITE → DONE.
fn machine(compiled: &CompiledSpec) -> State {
    let mut replies = Replies::default();
    let mut step = start(compiled, Input::question(QUESTION));
    while let Some(&effect) = step.effects.first() {
        step = support::advance(compiled, step, replies.event(effect));
    }
    step.state
}

/// A model that replies from the list, run after run. Not the scripted one of the library: that
/// hands its texts out once, and these are copied in each run, as in the other two.
#[derive(Default)]
struct Canned(Mutex<Replies>);

impl Model for Canned {
    fn name(&self) -> &str {
        "canned"
    }

    fn ask(&self, request: &ModelRequest, _: Option<TokenSink<'_>>) -> Result<ModelReply, ModelError> {
        let mut replies = self.0.lock().expect("nothing panics with it");
        let text = replies.model(request.frame.role);
        if request.frame.role == RoleName::Writer {
            *replies = Replies::default();
        }
        Ok(ModelReply::text(text))
    }
}

fn agent() -> Agent {
    let spec = support::spec();
    let contracts = spec.tools.clone();
    let mut builder = Agent::builder(spec).model(Canned::default());
    for (at, contract) in contracts.into_iter().enumerate() {
        builder = builder.tool(FnTool::new(contract, move |_| Ok(Replies::default().tool(at))));
    }
    builder.build().expect("the spec checks")
}

fn driver(agent: &Agent) -> planwright::driver::Run {
    agent.job(Input::question(QUESTION)).run().expect("nothing interrupts it")
}

#[divan::bench]
fn one_transition(bencher: Bencher<'_, '_>) {
    let compiled = support::compiled();
    let mut replies = Replies::default();
    let begun = start(&compiled, Input::question(QUESTION));
    let plan = replies.event(begun.effects[0]);
    let planned = support::advance(&compiled, begun, plan);
    let answer = replies.event(planned.effects[0]);
    let (state, effects) = (planned.state, planned.effects);
    bencher
        .with_inputs(|| {
            let step = Step { state: state.clone(), effects: effects.clone(), moves: Default::default() };
            (step, answer.clone())
        })
        .bench_values(|(step, answer)| support::advance(&compiled, step, answer));
}

#[divan::bench]
fn replan_run_by_hand(bencher: Bencher<'_, '_>) {
    bencher.bench(|| drop(by_hand::run(QUESTION, &mut Replies::default())));
}

#[divan::bench]
fn replan_run_by_the_machine(bencher: Bencher<'_, '_>) {
    let compiled = support::compiled();
    bencher.bench(|| drop(machine(&compiled)));
}

#[divan::bench]
fn replan_run_by_the_driver(bencher: Bencher<'_, '_>) {
    let agent = agent();
    bencher.bench(|| drop(driver(&agent)));
}

/// The driver with an observer that makes spans, which go nowhere.
fn observed(agent: &Agent, spans: &RunSpans) -> usize {
    agent.job(Input::question(QUESTION)).observer(spans).run().expect("nothing interrupts it");
    spans.take().len()
}

#[divan::bench]
fn replan_run_with_spans(bencher: Bencher<'_, '_>) {
    let (agent, spans) = (agent(), RunSpans::in_memory(false));
    bencher.bench_local(|| observed(&agent, &spans));
}

fn assert_all_do_the_same() {
    // A run, two plans with their calls, two verdicts, an answer and six tools.
    assert_eq!(observed(&agent(), &RunSpans::in_memory(false)), 14);
    let by_hand = by_hand::run(QUESTION, &mut Replies::default());
    let by_machine = machine(&support::compiled());
    let by_driver = driver(&agent());
    assert_eq!(by_machine.phase(), PhaseName::Done);
    assert_eq!(by_machine.counters().tool_calls, 6);
    assert_eq!(by_hand.answer.as_deref(), by_machine.answer());
    assert_eq!(by_hand.trace.len(), by_machine.trace().len());
    assert_eq!(by_machine.trace(), by_driver.trace());
}

fn print_ratios() {
    let (compiled, agent, spans) = (support::compiled(), agent(), RunSpans::in_memory(false));
    let [by_hand, machine, driver, traced] = support::fastest(
        2_000,
        [
            &mut || drop(by_hand::run(QUESTION, &mut Replies::default())),
            &mut || drop(machine(&compiled)),
            &mut || drop(driver(&agent)),
            &mut || assert!(observed(&agent, &spans) > 0),
        ],
    );
    let times = |time: std::time::Duration| time.as_secs_f64() / by_hand.as_secs_f64();
    println!("\nthe fastest batches of 20 runs, taken in turns:");
    println!("  by hand     {by_hand:?} a run");
    println!("  the machine {machine:?} a run, {:.2} times that (bar: 2)", times(machine));
    println!("  the driver  {driver:?} a run, {:.2} times that (bar: 6)", times(driver));
    println!("  its spans   {:?} more (bar: 10 µs)", traced.saturating_sub(driver));
}
