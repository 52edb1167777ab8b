//! What `compose.restate.yaml` starts, without containers: the server as every test here starts it, and the worker
//! program with the environment of the file.

use std::net::TcpStream;
use std::process::Command;

use planwright::journal::Store;
use planwright_sqlite::SqliteStore;
use tempfile::TempDir;

use crate::server::{Restate, await_some, free_port};

/// The store of the file. `tests/clients/compose.py` opens one at such an address.
const STORE: &str = "postgres://planwright@postgres/agents?sslmode=disable";

#[test]
fn the_worker_of_the_compose_file_answers_by_the_lines_of_the_guide() {
    let file = include_str!("../../../../compose.restate.yaml");
    for line in ["command: [--node-name, restate]", "RESTATE_DISABLE_TELEMETRY: \"true\""] {
        assert!(file.contains(line), "the tests start a server by other words: {line}");
    }
    let (folder, restate) = (TempDir::new().unwrap(), Restate::start());
    let path = folder.path().join("threads.db");
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], free_port()));
    let mut worker = Command::new(env!("CARGO_BIN_EXE_planwright-restate"));
    // Nobody's home, and a folder that the worker may not write.
    worker.env_clear().current_dir("/proc").args(["validated", &address.to_string()]);
    let set = file.lines().skip_while(|line| !line.contains("worker:")).filter(|line| line.contains(": \""));
    for (name, value) in set.filter_map(|line| line.trim().split_once(": ")) {
        let value = value.trim_matches('"').replace(STORE, path.to_str().unwrap());
        worker.env(name, if value.starts_with("${") { "" } else { &value });
    }
    let mut worker = worker.spawn().unwrap();
    await_some("a worker", || TcpStream::connect(address).ok());
    restate.register(address);
    let guide = include_str!("../../../../docs/guide/scale.md");
    let asked = "curl localhost:8080/planwright/demo/ask --json '{\"question\": \"What is 345*872?\"}'";
    assert!(guide.contains(asked));
    let report = restate.ask("demo", "What is 345*872?");
    assert!(report.status.text().contains("300840"), "{report:?}");
    let store = SqliteStore::open(&path, Default::default()).unwrap();
    assert_eq!(store.find(&"demo".parse().unwrap()).unwrap().unwrap().status, report.status);
    worker.kill().unwrap();
    worker.wait().unwrap();
}
