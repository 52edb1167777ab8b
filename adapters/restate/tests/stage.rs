//! A worker to be killed: its plan is the question itself, and its tools write down how they are called in a folder.
//!
//! `stage FOLDER ADDRESS [ANSWER_SECONDS]`. A call with the input `x` is held while the file `hold-x` is there.

#[path = "restate/echo.rs"]
mod echo;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use planwright::contract::{ToolContract, ToolEffect, Trust};
use planwright::driver::{Agent, Threads};
use planwright::ports::{FnTool, ToolCall, ToolError};
use planwright::spec::{Approval, Execution};
use planwright_restate::Worker;
use planwright_sqlite::SqliteStore;

/// Writes down the call, and the write under its key.
fn call(folder: &Path, tool: &str, call: &ToolCall<'_>) -> Result<String, ToolError> {
    let input = call.input.as_str().unwrap_or_default();
    let mut calls = fs::File::options().create(true).append(true).open(folder.join("calls")).unwrap();
    let key = call.idempotency_key;
    writeln!(calls, "{tool} {input} {key} {}", std::process::id()).unwrap();
    fs::write(folder.join("written").join(key.replace('/', "_")), input).unwrap();
    while folder.join(format!("hold-{input}")).exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(format!("{tool} of {input}"))
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (folder, address) = (PathBuf::from(&arguments[0]), arguments[1].parse().unwrap());
    fs::create_dir_all(folder.join("written")).unwrap();
    let mut spec = planwright::agents::shipped("plan-then-execute").unwrap().with_tools(|_| false);
    spec.policy.approval = Approval::STEPS;
    spec.policy.execution = Execution::Parallel { width: 4 };
    spec.limits.answer_seconds = arguments.get(2).map(|seconds| seconds.parse().unwrap());
    let once = |name| ToolContract {
        trust: Trust::Untrusted,
        ..ToolContract::text(name, "Stands in for a tool.", ToolEffect::Write)
    };
    let contracts = [
        // A write that may be made again under its key, one that may not, and a look at something.
        ToolContract { idempotent: Some(true), ..once("store") },
        once("send"),
        ToolContract { effect: ToolEffect::Read, ..once("find") },
    ];
    let tools = contracts.map(|contract| {
        let (folder, name) = (folder.clone(), contract.name.clone());
        FnTool::new(contract, move |asked| call(&folder, &name, asked))
    });
    let agent = Agent::builder(spec).model(echo::Echo).tools(tools).build().unwrap();
    let store = SqliteStore::open(folder.join("threads.db"), Default::default()).unwrap();
    Worker::new(agent, Threads::new(Arc::new(store))).listen(address).unwrap();
}
