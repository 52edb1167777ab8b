//! What a run by the whole driver allocates: counted, not timed.

use std::sync::Mutex;

use allocation_counter::measure;
use planwright::driver::Agent;
use planwright::machine::{Input, ModelReply};
use planwright::ports::{FnTool, Model, ModelError, Observer, Signal, TokenSink};
use planwright::prompt::ModelRequest;
use planwright::spec::RoleName;
use planwright_otel::RunSpans;

use crate::canned::{QUESTION, Replies, spec};

/// Replies from the list of the benchmarks, run after run.
#[derive(Default)]
struct Canned(Mutex<Replies>);

impl Model for Canned {
    fn name(&self) -> &str {
        "canned"
    }

    fn ask(&self, request: &ModelRequest, _: Option<TokenSink<'_>>) -> Result<ModelReply, ModelError> {
        let mut replies = self.0.lock().unwrap();
        let text = replies.model(request.frame.role);
        if request.frame.role == RoleName::Writer {
            *replies = Replies::default();
        }
        Ok(ModelReply::text(text))
    }
}

fn agent() -> Agent {
    let spec = spec();
    let contracts = spec.tools.clone();
    let builder = contracts.into_iter().enumerate().fold(
        Agent::builder(spec).model(Canned::default()),
        |builder, (at, contract)| {
            builder.tool(FnTool::new(contract, move |_| Ok(Replies::default().tool(at))))
        },
    );
    builder.build().unwrap()
}

/// What a run allocates under an observer, once everything is warm.
fn count(observer: &dyn Observer, after: impl Fn()) -> u64 {
    let agent = agent();
    let run = || {
        let job = agent.job(Input::question(QUESTION)).observer(observer);
        assert!(job.run().unwrap().answer().is_some());
        after();
    };
    run();
    measure(run).count_total
}

#[test]
fn run_with_one_replan_takes_few_allocations() {
    let taken = count(&(), || {});
    assert!(taken <= 110, "{taken} allocations");
}

/// Sees everything and does nothing.
struct Idle;

impl Observer for Idle {
    fn notice(&self, _: Signal<'_>) {}
}

#[test]
fn spans_of_a_run_take_few_allocations() {
    let spans = RunSpans::in_memory(false);
    let [idle, traced] = [count(&Idle, || {}), count(&spans, || assert_eq!(spans.take().len(), 14))];
    let unwatched = count(&(), || {});
    assert!(idle - unwatched <= 2, "{} to be watched", idle - unwatched);
    assert!(traced - idle <= 71, "{} for spans", traced - idle);
}
