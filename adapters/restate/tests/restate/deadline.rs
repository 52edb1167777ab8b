//! A run that takes too long ends at its deadline as it does with the driver: in an effect, in a wait, and where its
//! worker is away meanwhile.

use std::time::Duration;

use planwright::journal::{Record, RunStatus};
use serde_json::json;

use crate::cast::Times;
use crate::server::{Restate, await_some};
use crate::stage::{Stage, plan, step};

const TIMES: Times = Times { answer: 0, deadline: 5 };

#[test]
fn run_ends_at_its_deadline_in_an_effect_in_a_wait_and_with_its_worker_away() {
    let (restate, stage) = (Restate::start(), Stage::new(TIMES));
    let mut worker = stage.enter(None);
    restate.register(worker.address);
    // A look that does not come back, and one that fails and is to be tried again in ten minutes.
    stage.hold("a");
    let held = plan(&[step("find", "a", "one", &[])]);
    let waits = plan(&[step("lose", "b", "one", &[])]);
    std::thread::scope(|scope| {
        for (thread, question) in [("held", &held), ("waits", &waits)] {
            let (stage, restate) = (&stage, &restate);
            scope.spawn(move || stage.drive(&format!("{thread}-driver"), question));
            scope.spawn(move || {
                let report = restate.ask(thread, question);
                assert!(matches!(report.status, RunStatus::Failed { .. }), "{report:?}");
            });
        }
    });
    // The worker is away when the time is over: in an effect, and in a wait, of which there is one try.
    for (thread, question) in [("held-away", &held), ("waits-away", &waits)] {
        restate.send(thread, "ask", &json!({"question": question}));
    }
    let is_wait = |record: &Record| matches!(record, Record::Requested { effect, .. } if effect.to_string().starts_with("wait."));
    await_some("a call", || (stage.calls("").len() == 6).then_some(()));
    await_some("a wait", || stage.records("waits-away").iter().any(is_wait).then_some(()));
    worker.kill();
    std::thread::sleep(Duration::from_secs(u64::from(TIMES.deadline)));
    let _worker = stage.enter(Some(worker.address));
    for thread in ["held", "waits"] {
        for told in [thread.to_owned(), format!("{thread}-away")] {
            let (run, status) = stage.await_status(&told, "failed");
            assert!(status.text().contains("DEADLINE_EXCEEDED"), "{told}: {status:?}");
            assert_eq!(stage.trace(&told), stage.trace(&format!("{thread}-driver")), "{told}");
            assert_eq!(stage.calls(&run).len(), 1, "{told}: the worker that came back asks for nothing");
        }
    }
    stage.let_go("a");
}
