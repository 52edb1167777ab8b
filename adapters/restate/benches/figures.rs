//! What one Restate node on this machine does: effects a second, milliseconds a run, bytes a run; and the driver alone
//! over the same store. It prints a table and judges nothing.
//!
//! `adapters/restate/tests/run` installs the server; `RESTATE_SERVER` names it. Runs have seven effects that take no time.

#[path = "../tests/restate/echo.rs"]
mod echo;
#[path = "../tests/restate/server.rs"]
mod server;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use planwright::contract::{ToolContract, ToolEffect};
use planwright::driver::{Agent, Threads};
use planwright::ports::FnTool;
use planwright_sqlite::SqliteStore;
use serde_json::{Value, json};
use tempfile::TempDir;

/// The effects of a run: a plan, so many steps without the last, and the answer.
const EFFECTS: usize = 7;
const RUNS: usize = 200;

fn bytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.path().is_dir() {
            true => bytes(&entry.path()),
            false => entry.metadata().map_or(0, |file| file.len()),
        })
        .sum()
}

/// Does it so often on so many threads; prints what it took.
fn measure(name: &str, clients: usize, run: impl Fn(String) + Sync) {
    let (next, began) = (AtomicUsize::new(0), Instant::now());
    std::thread::scope(|scope| {
        for _ in 0..clients {
            scope.spawn(|| {
                while let Some(nth) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|nth| *nth < RUNS) {
                    run(format!("{name}-{clients}-{nth}"));
                }
            });
        }
    });
    let seconds = began.elapsed().as_secs_f64();
    let (runs, each) = (RUNS as f64 / seconds, 1_000.0 * seconds * clients as f64 / RUNS as f64);
    println!("| {name} | {clients} | {:.0} | {runs:.1} | {each:.1} |", runs * EFFECTS as f64);
}

fn main() {
    let look = ToolContract::text("look", "Takes no time.", ToolEffect::Read);
    let spec = planwright::agents::shipped("plan-then-execute").unwrap().with_tools(|_| false);
    let agent = Agent::builder(spec).model(echo::Echo).tool(FnTool::new(look, |_| Ok("seen".to_owned())));
    let agent = agent.build().unwrap();
    let last = json!({"tool": "final_answer", "input": "the answer"});
    let step = |nth: usize| json!({"tool": "look", "input": format!("{nth}")});
    let question = Value::from((2..EFFECTS).map(step).chain([last]).collect::<Vec<_>>()).to_string();

    println!(
        "| where | clients | effects a second | runs a second | ms a run |\n| --- | --- | --- | --- | --- |"
    );
    let folder = TempDir::new().unwrap();
    let store = Arc::new(SqliteStore::open(folder.path().join("alone.db"), Default::default()).unwrap());
    let threads = Threads::new(store);
    for clients in [1, 8] {
        let ask = |name: String| drop(threads.at(&name.parse().unwrap()).ask(&agent, &*question).unwrap());
        measure("driver", clients, ask);
    }
    let restate = server::Restate::start();
    let store = Arc::new(SqliteStore::open(folder.path().join("threads.db"), Default::default()).unwrap());
    let _serving = server::serve(&restate, agent.clone(), store);
    restate.ask("first", &question);
    let before = (bytes(restate.folder()), bytes(folder.path()));
    for clients in [1, 8, 32] {
        measure("restate", clients, |name| drop(restate.ask(&name, &question)));
    }
    let runs = 3 * RUNS as u64;
    let (grown, kept) = (bytes(restate.folder()) - before.0, bytes(folder.path()) - before.1);
    println!("\nbytes a run: {} in Restate's folder, {} in the store", grown / runs, kept / runs);
}
