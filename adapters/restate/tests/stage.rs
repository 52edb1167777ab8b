//! A worker to be killed: `stage FOLDER ADDRESS ANSWER_SECONDS DEADLINE_SECONDS`.

#[path = "restate/cast.rs"]
mod cast;
#[path = "restate/echo.rs"]
mod echo;

use std::path::Path;
use std::sync::Arc;

use planwright::driver::Threads;
use planwright_restate::Worker;
use planwright_sqlite::SqliteStore;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, address, answer, deadline] = &arguments[..] else { panic!("expected four arguments") };
    let times = cast::Times { answer: answer.parse().unwrap(), deadline: deadline.parse().unwrap() };
    let agent = cast::agent(Path::new(folder), times);
    let store = SqliteStore::open(Path::new(folder).join("threads.db"), Default::default()).unwrap();
    Worker::new(agent, Threads::new(Arc::new(store))).listen(address.parse().unwrap()).unwrap();
}
