//! The threads on which tools are called stay, and those that are left behind are bounded: counted, not timed, in
//! a process in which nothing else calls tools.

use std::collections::HashSet;
use std::process::Command;
use std::sync::{Arc, Mutex, RwLock};
use std::thread::{self, ThreadId};

use planwright::contract::ToolContract;
use planwright::driver::{Agent, Run};
use planwright::ports::FnTool;
use planwright::spec::Spec;

use crate::runs::{calc, outputs};
use crate::stage::{answer, model, parallel, plan, spec};

const PTE: &str = "plan-then-execute";

#[test]
fn threads_of_tools_stay_and_those_left_behind_are_bounded() {
    let alone = Command::new(std::env::current_exe().unwrap())
        .args(["tool_threads::counted", "--exact", "--ignored"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&alone.stdout);
    assert!(alone.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
#[ignore = "the test above runs it in a process of its own"]
fn counted() {
    // A thread for all the calls, and the next run has it too.
    let first = threads_of(spec(PTE), Some(10_000), 200);
    assert_eq!((first.len(), &threads_of(spec(PTE), Some(10_000), 200)), (1, &first));
    // Side by side there are no more than the width, in the run and for its calls.
    assert!(threads_of(parallel(PTE, 3), None, 200).len() <= 3);
    assert!(threads_of(parallel(PTE, 3), Some(10_000), 200).len() <= 3);

    let gate = Arc::new(RwLock::new(()));
    let closed = gate.write().unwrap();
    let hangs = Arc::clone(&gate);
    let run = run(spec(PTE), Some(5), 66, move || drop(hangs.read()));
    let outputs = outputs(&run);
    assert!(outputs[..64].iter().all(|output| *output == "ERROR: timeout: no answer within 5 ms"));
    let refused =
        "ERROR: resources: no thread for the call: 64 calls that ran out of time have still not come back";
    assert_eq!(outputs[64..66], [refused; 2]);
    drop(closed);
    // Once they come back, tools are called again, on these threads.
    while threads_of(spec(PTE), Some(10_000), 1).is_empty() {
        thread::yield_now();
    }
}

/// The threads on which a tool was called in so many steps.
fn threads_of(spec: Spec, timeout_ms: Option<u32>, steps: usize) -> HashSet<ThreadId> {
    let threads = Arc::new(Mutex::new(HashSet::new()));
    let seen = Arc::clone(&threads);
    run(spec, timeout_ms, steps, move || {
        seen.lock().unwrap().insert(thread::current().id());
    });
    threads.lock().unwrap().clone()
}

fn run(
    mut spec: Spec,
    timeout_ms: Option<u32>,
    steps: usize,
    tool: impl Fn() + Send + Sync + 'static,
) -> Run {
    let contract = ToolContract { timeout_ms: timeout_ms.map(Into::into), ..calc() };
    spec.tools = vec![contract.clone()];
    spec.policy.plan.max_steps = 500;
    let inputs: Vec<String> = (0..steps).map(|step| step.to_string()).collect();
    let steps: Vec<_> = inputs.iter().map(|input| ("calc", &**input)).collect();
    let tool = FnTool::new(contract, move |_| {
        tool();
        Ok("fertig".to_owned())
    });
    let agent = Agent::builder(spec).model(model([plan(&steps), answer("끝")])).tool(tool);
    agent.build().unwrap().run("q").unwrap()
}
