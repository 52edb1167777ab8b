//! Workers and servers are killed. The run ends as if nothing had been, and each write is made once by its key.

use planwright::journal::RunStatus;
use planwright::machine::HumanAnswer;
use serde_json::json;

use crate::cast::Times;
use crate::server::{Restate, post, report};
use crate::stage::{Stage, plan, step};

#[test]
fn a_worker_killed_in_an_effect_leaves_it_to_the_next_one() {
    let (restate, stage) = (Restate::start(), Stage::new(Times::default()));
    let mut first = stage.enter(None);
    restate.register(first.address);
    let question = plan(&[step("store", "a", "one", &[]), step("store", "b", "two", &["one"])]);
    stage.hold("b");
    restate.send("killed", "ask", &json!({"question": question}));
    stage.await_calls("store b", 1);
    first.kill();
    stage.let_go("b");
    let second = stage.enter(Some(first.address));
    stage.check_as_undisturbed(&restate, "killed", &question);
    let (run, _) = stage.await_status("killed", "done");
    let calls = [("store a", first.id()), ("store b", first.id()), ("store b", second.id())];
    assert_eq!(stage.calls(&run), calls.map(|(call, worker)| (call.to_owned(), worker)));
}

#[test]
fn a_write_that_may_not_happen_twice_is_in_doubt_when_its_worker_is_killed() {
    let (restate, stage) = (Restate::start(), Stage::new(Times::default()));
    let mut first = stage.enter(None);
    restate.register(first.address);
    // Two writes side by side: the second is under way when the first is kept.
    let question = plan(&[step("store", "a", "one", &[]), step("send", "b", "two", &[])]);
    stage.hold("b");
    restate.send("doubt", "ask", &json!({"question": question}));
    stage.await_calls("send b", 1);
    first.kill();
    stage.let_go("b");
    let _second = stage.enter(Some(first.address));
    let (run, status) = stage.await_status("doubt", "in_doubt");
    let RunStatus::InDoubt { tool, .. } = &status else { unreachable!("{status:?}") };
    assert_eq!(tool, "send");
    let sent = |run: &str| stage.calls(run).iter().filter(|(call, _)| call == "send b").count();
    assert_eq!(sent(&run), 1);
    // It is not made again by itself, and once on a person's word.
    let (status, refusal) = post(restate.ingress(), "/planwright/doubt/resume", "", "").unwrap();
    assert_eq!(status, 409, "{refusal}");
    let folded = planwright::journal::fold(stage.records("doubt")).unwrap();
    let token = planwright::driver::token(&folded).unwrap();
    let resolved = report(restate.call("doubt", "resolve", &json!({"did_not_happen": {"token": token}})));
    assert_eq!(resolved.status.name(), "done");
    stage.check_as_undisturbed(&restate, "doubt", &question);
    assert_eq!(sent(&run), 2);
}

#[test]
fn a_worker_and_the_server_killed_while_a_person_is_awaited_lose_nothing() {
    let (mut restate, stage) = (Restate::start(), Stage::new(Times::default()));
    let mut worker = stage.enter(None);
    restate.register(worker.address);
    let question = asking();
    let waiting = restate.ask("asked", &question);
    assert_eq!(waiting.status.name(), "waiting");
    worker.kill();
    restate.kill();
    restate.spawn();
    let _worker = stage.enter(Some(worker.address));
    let done = restate.answer("asked", &waiting.token.unwrap(), &HumanAnswer::respond("yes"));
    assert_eq!((done.status.name(), &done.run), ("done", &waiting.run));
    stage.check_as_undisturbed(&restate, "asked", &question);
    assert_eq!(stage.calls(&done.run).len(), 2);
}

/// A plan in which a person is asked before something is sent.
pub fn asking() -> String {
    let ask = json!({"id": "two", "tool": "hitl", "hitl_question": "send it?", "depends_on": ["one"]});
    plan(&[step("find", "a", "one", &[]), ask, step("send", "b", "three", &["two"])])
}
