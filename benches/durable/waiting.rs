//! Many threads that wait for people: what they take up, and how long one of them takes.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use planwright::agents;
use planwright::contract::{ToolContract, ToolEffect};
use planwright::driver::{Agent, Threads, token};
use planwright::journal::{Durability, Order, Query};
use planwright::machine::{HumanAnswer, ModelReply};
use planwright::ports::FnTool;
use planwright::ports::{Model, ModelError, TokenSink};
use planwright::prompt::ModelRequest;
use planwright::spec::{Approval, RoleName};
use planwright_sqlite::SqliteStore;

use crate::measured::memory;
use crate::thread;

const PLAN: &str = r#"{"goal": "send it", "steps": [
    {"tool": "find", "input": "the report"},
    {"tool": "hitl", "hitl_question": "Send it?"},
    {"tool": "send", "input": "the report"},
    {"tool": "final_answer", "input": "what was done"}]}"#;

struct Planning;

impl Model for Planning {
    fn name(&self) -> &str {
        "planning"
    }

    fn ask(&self, request: &ModelRequest, _: Option<TokenSink<'_>>) -> Result<ModelReply, ModelError> {
        Ok(ModelReply::text(match request.frame.role {
            RoleName::Planner => PLAN,
            _ => r#"{"final": "It was sent."}"#,
        }))
    }
}

fn agent() -> Agent {
    let mut spec = agents::shipped("plan-then-execute").expect("ships with the crate");
    spec.policy.approval = Approval::STEPS;
    let tool = |name, effect| ToolContract::text(name, "A tool.", effect);
    spec.tools = vec![tool("find", ToolEffect::Pure), tool("send", ToolEffect::Write)];
    let contracts = spec.tools.clone();
    let mut builder = Agent::builder(spec).model(Planning);
    for contract in contracts {
        builder = builder.tool(FnTool::new(contract, |_| Ok("done".to_owned())));
    }
    builder.build().expect("the spec checks")
}

/// So many threads that wait, of one agent.
pub fn many(folder: &Path, count: usize) {
    let path = folder.join("waiting.db");
    let store = SqliteStore::open(&path, Durability::Normal).expect("opens");
    let (threads, agent) = (Threads::new(Arc::new(store)), agent());
    let before = memory();
    let began = Instant::now();
    for nth in 0..count {
        assert!(threads.at(&thread(nth)).ask(&agent, "Send the report").expect("runs").is_waiting());
    }
    let each = began.elapsed() / u32::try_from(count).expect("few");
    let after = memory();
    let statuses = vec!["waiting".to_owned()];
    let query = Query { statuses, order: Order::LongestWaiting, ..Query::default() };
    let began = Instant::now();
    let page = threads.list(&query).expect("reads");
    let listed = began.elapsed();
    assert_eq!((page.len(), page[0].thread.as_str()), (50, "thread-000000"));

    let one = &page[7].thread;
    let began = Instant::now();
    let token = token(&threads.folded(one, None).expect("folds")).expect("it waits");
    let run = threads.at(one).token(token).answer(&agent, HumanAnswer::respond("Yes")).expect("goes on");
    let answered = began.elapsed();
    assert_eq!((run.answer(), run.error()), (Some("It was sent."), None));
    threads.store().vacuum().expect("nobody else is there");
    let bytes = std::fs::metadata(&path).expect("is there").len();
    println!(
        "{count} threads that wait: each begun in {each:.1?}; {bytes} bytes, {} a thread",
        bytes / count as u64
    );
    println!("  a page of 50 in {listed:.1?}, one read and answered in {answered:.1?}");
    println!("  memory {} KiB before, {} KiB after, {} KiB at most", before.0, after.0, after.1);
}
