//! What a run by the whole driver allocates: counted, not timed.

use std::sync::Mutex;

use allocation_counter::measure;
use planwright::driver::Agent;
use planwright::machine::{Input, ModelReply};
use planwright::ports::{FnTool, Model, ModelError, TokenSink};
use planwright::prompt::ModelRequest;
use planwright::spec::RoleName;

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

#[test]
fn run_with_one_replan_takes_few_allocations() {
    let spec = spec();
    let contracts = spec.tools.clone();
    let agent = contracts.into_iter().enumerate().fold(
        Agent::builder(spec).model(Canned::default()),
        |builder, (at, contract)| {
            builder.tool(FnTool::new(contract, move |_| Ok(Replies::default().tool(at))))
        },
    );
    let agent = agent.build().unwrap();
    let run = || assert!(agent.job(Input::question(QUESTION)).run().unwrap().answer().is_some());
    run();
    let taken = measure(run);
    assert!(taken.count_total <= 110, "{} allocations", taken.count_total);
}
