//! The adapter tells the stories of the driver's tests, and each leaves the same trace.

use std::sync::Arc;

use planwright::journal::{Fixture, MemoryStore, RunStatus, Store};
use serde_json::json;

use crate::server::{Restate, report, serve};
use crate::world::{World, fixtures};

#[test]
fn every_story_leaves_the_trace_that_the_driver_leaves() {
    let restate = Restate::start();
    let store = Arc::new(MemoryStore::new());
    let mut told = 0;
    for (agent, path) in fixtures() {
        let recorded = Fixture::load(&path).unwrap();
        let name = format!("{agent}-{}", path.file_stem().unwrap().to_string_lossy());
        let spec = planwright::agents::shipped(agent).unwrap();
        let world = World::new(&recorded, &spec, restate.ingress(), &name);
        let agent = world.agent(spec);
        let _serving = serve(&restate, agent.clone(), store.clone());
        let asked = json!({"question": recorded.input.question, "history": recorded.input.history});
        let mut report = report(restate.call(&name, "ask", &asked));
        while let RunStatus::Waiting { question, .. } = &report.status {
            let Some(answer) = world.answer(question) else { break };
            report = restate.answer(&name, &report.token.unwrap(), &answer);
        }
        // What is in the store is made a fixture and replayed, as the driver's journals are.
        let waits = (report.status.name() == "waiting").then(|| report.status.text().to_owned());
        let made = Fixture::of_records(&store.records(&name.parse().unwrap(), 0).unwrap(), waits).unwrap();
        assert_eq!(made.outcome, recorded.outcome, "{name}: {report:?}");
        let (ours, theirs) = (agent.replay(&made).unwrap(), agent.replay(&recorded).unwrap());
        assert_eq!(ours.trace(), theirs.trace(), "{name}");
        told += 1;
    }
    assert!(told >= 99, "{told} stories");
}
