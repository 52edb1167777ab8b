//! Every port can be implemented in another crate: an agent runs on those of `planwright-probe`, and its store
//! passes the conformance suite.

use crate::stage;

use std::sync::Arc;

use planwright::contract::ToolContract;
use planwright::driver::{Agent, Threads};
use planwright::journal::{Journal, MemoryStore, Store, conformance, fold};
use planwright::ports::Tool;
use planwright::spec::Approval;
use planwright_probe::{Counter, Echo, Notebook, Parrot, Person, Shelf};
use serde_json::json;

use stage::{answer, asked, spec};

fn agent() -> Agent {
    let mut spec = spec("plan-then-execute");
    spec.tools.retain(|tool: &ToolContract| tool.name == "hitl");
    spec.tools.push(Echo.contract());
    spec.policy.approval = Approval::STEPS;
    let steps = json!([
        {"tool": "echo", "input": "서울"},
        {"tool": "hitl", "hitl_question": "보낼까요?"},
        {"tool": "final_answer", "input": "the answer"},
    ]);
    let plan = json!({"goal": "a goal", "steps": steps}).to_string();
    let model = Parrot::new([plan, answer("서울입니다")]);
    Agent::builder(spec).model(model).tool(Echo).human(Person("네".to_owned())).build().unwrap()
}

#[test]
fn run_on_ports_of_another_crate_ends_as_on_ours() {
    let (mut journal, counter) = (Notebook::default(), Counter::default());
    let run = agent().job(asked("어디?")).journal(&mut journal).observer(&counter).run().unwrap();
    assert_eq!(run.answer(), Some("서울입니다"));
    assert_eq!(&fold(journal.records().unwrap()).unwrap().state, run.state());
    assert!(counter.count() > 5, "{} signals", counter.count());
    let threads = Threads::new(Arc::new(Shelf::default()));
    let thread = "실".parse().unwrap();
    assert_eq!(threads.at(&thread).ask(&agent(), "어디?").unwrap().answer(), Some("서울입니다"));
    assert_eq!(threads.store().turns(&thread), Ok(1));
}

#[test]
fn store_of_another_crate_conforms() {
    conformance::check(|| {
        let store = Arc::new(Shelf::default());
        move || -> Arc<dyn Store> { store.clone() }
    });
}

#[test]
fn memory_store_conforms() {
    conformance::check(|| {
        let store = Arc::new(MemoryStore::new());
        move || -> Arc<dyn Store> { store.clone() }
    });
}

/// Every handle opens another store.
#[test]
#[should_panic]
fn store_that_forgets_does_not_conform() {
    conformance::check(|| || -> Arc<dyn Store> { Arc::new(Shelf::default()) });
}
