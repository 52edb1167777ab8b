//! What the records of a run cost: folding a long journal, rendering it as a fixture, replaying
//! one. In memory: what a disk takes to write a record down is not measured here.

mod support;

use divan::Bencher;
use divan::counter::ItemsCount;
use planwright::driver::Agent;
use planwright::journal::{Fixture, Record, fold};
use planwright::machine::{Input, ModelReply};
use planwright::ports::FnTool;
use planwright::ports::{Model, ModelError, TokenSink};
use planwright::prompt::ModelRequest;
use planwright::spec::RoleName;

/// Tool steps of the long run: with plan, verdict and answer, 10,000 events.
const STEPS: usize = 9_997;

fn main() {
    divan::main();
}

struct Canned {
    plan: String,
}

impl Model for Canned {
    fn name(&self) -> &str {
        "canned"
    }

    fn ask(&self, request: &ModelRequest, _: Option<TokenSink<'_>>) -> Result<ModelReply, ModelError> {
        Ok(ModelReply::text(match request.frame.role {
            RoleName::Planner | RoleName::Replanner => self.plan.clone(),
            RoleName::Validator => r#"{"ok": true, "reason": "enough", "fix_hint": ""}"#.to_owned(),
            RoleName::Writer => "All was found.".to_owned(),
            other => unreachable!("the agent has no {other}"),
        }))
    }
}

/// The records of a run with so many tool steps.
fn records(steps: usize) -> Vec<Record> {
    let mut spec = support::spec();
    spec.policy.plan.max_steps = 100_000;
    spec.limits.max_reply_bytes = u32::MAX;
    let each: String = (0..steps)
        .map(|at| format!(r#"{{"tool": "docs", "input": "the thing with number {at}"}}, "#))
        .collect();
    let plan = format!(r#"{{"goal": "much", "steps": [{each}{{"tool": "final_answer", "input": "all"}}]}}"#);
    let contracts = spec.tools.clone();
    let mut builder = Agent::builder(spec).model(Canned { plan });
    for contract in contracts {
        builder = builder.tool(FnTool::new(contract, |_| Ok("what was found about this thing".to_owned())));
    }
    let agent = builder.build().expect("the spec checks");
    let run = agent.job(Input::question(support::QUESTION)).run().expect("nothing interrupts it");
    run.records().to_vec()
}

fn fixture(steps: usize) -> Fixture {
    Fixture::of_records(&records(steps), None).expect("the records fold")
}

#[divan::bench]
fn fold_10_000_events(bencher: Bencher<'_, '_>) {
    let records = records(STEPS);
    let events = records.iter().filter(|record| matches!(record, Record::Answered { .. })).count();
    assert_eq!(events, 10_000);
    bencher
        .counter(ItemsCount::new(events))
        .with_inputs(|| records.clone())
        .bench_values(|records| fold(records).expect("folds"));
}

#[divan::bench(args = [3, 100, 1_000, 10_000])]
fn render_a_fixture(bencher: Bencher<'_, '_>, steps: usize) {
    let records = records(steps);
    bencher
        .counter(ItemsCount::new(steps))
        .bench(|| Fixture::of_records(&records, None).expect("the records fold"));
}

#[divan::bench(args = [3, 100, 1_000, 10_000])]
fn replay_a_fixture(bencher: Bencher<'_, '_>, steps: usize) {
    let fixture = fixture(steps);
    bencher.counter(ItemsCount::new(steps)).bench(|| fixture.replay_as_recorded().expect("does not drift"));
}

#[divan::bench]
fn read_a_fixture(bencher: Bencher<'_, '_>) {
    let text = fixture(3).to_json();
    bencher.bench(|| Fixture::parse(&text).expect("is a fixture"));
}
