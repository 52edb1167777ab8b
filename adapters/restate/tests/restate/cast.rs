//! The agent of the workers that are killed: its plan is the question itself, and its tools write down how they are
//! called in a folder.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use planwright::contract::{ToolContract, ToolEffect, Trust};
use planwright::driver::Agent;
use planwright::ports::{FnTool, ToolCall, ToolError};
use planwright::spec::{Approval, Execution, StepTries};

use crate::echo::Echo;

/// How long a run of the agent takes at most, and how long it waits for an answer, in seconds. 0 is the agent's own.
#[derive(Clone, Copy, Default)]
pub struct Times {
    pub answer: u64,
    pub deadline: u32,
}

/// Writes down the call, and the write under its key. A call with the input `x` is held while the file `hold-x` is
/// there.
fn call(folder: &Path, tool: &str, call: &ToolCall<'_>) -> Result<String, ToolError> {
    let input = call.input.as_str().unwrap_or_default();
    let mut calls = fs::File::options().create(true).append(true).open(folder.join("calls")).unwrap();
    let key = call.idempotency_key;
    writeln!(calls, "{tool} {input} {key} {}", std::process::id()).unwrap();
    fs::write(folder.join("written").join(key.replace('/', "_")), input).unwrap();
    while folder.join(format!("hold-{input}")).exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    match tool {
        "lose" => Err(ToolError::new("lost", format!("{input} is lost"))),
        _ => Ok(format!("{tool} of {input}")),
    }
}

/// The agent, with a folder for its tools.
pub fn agent(folder: &Path, times: Times) -> Agent {
    fs::create_dir_all(folder.join("written")).unwrap();
    let mut spec = planwright::agents::shipped("plan-then-execute").unwrap().with_tools(|_| false);
    spec.policy.approval = Approval::STEPS;
    spec.policy.execution = Execution::Parallel { width: 4 };
    // What fails is tried again after more time than a test has.
    spec.policy.step_tries = StepTries { tries: 2, wait_ms: 600_000 };
    spec.limits.answer_seconds = Some(times.answer).filter(|seconds| *seconds > 0);
    if times.deadline > 0 {
        spec.limits.deadline_seconds = times.deadline;
    }
    let once = |name| ToolContract {
        trust: Trust::Untrusted,
        ..ToolContract::text(name, "Stands in for a tool.", ToolEffect::Write)
    };
    let contracts = [
        // A write that may be made again under its key, one that may not, a look at something, and one that fails.
        ToolContract { idempotent: Some(true), ..once("store") },
        once("send"),
        ToolContract { effect: ToolEffect::Read, ..once("find") },
        ToolContract { effect: ToolEffect::Read, ..once("lose") },
    ];
    let tools = contracts.map(|contract| {
        let (folder, name) = (folder.to_owned(), contract.name.clone());
        FnTool::new(contract, move |asked| call(&folder, &name, asked))
    });
    Agent::builder(spec).model(Echo).tools(tools).build().unwrap()
}
