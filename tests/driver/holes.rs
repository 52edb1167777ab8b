//! A value that a model writes for a step is on record like any other reply: a run that was cut goes on with it, its
//! fixture replays without a model, and a key in it is none when it is written down.

use planwright::contract::StepField;
use planwright::driver::Agent;
use planwright::journal::{Fixture, MemoryJournal, Record, fold};
use planwright::machine::Event;
use planwright::spec::{Role, RoleName, Spec};
use serde_json::json;

use crate::stage::{self, Calls, answer, asked, echoing, model};

/// An agent whose plans may leave values to a model.
pub fn filling() -> Spec {
    let mut spec = stage::spec("plan-then-execute");
    spec.policy.plan.fields = vec![StepField::Id, StepField::Refs, StepField::Holes];
    spec.roles.insert(RoleName::Executor, Role { prompt: "Write the value.".to_owned(), ..Role::default() });
    spec
}

/// A search, a second one for what a model makes of the first, and the answer.
pub fn replies(value: &str) -> [String; 3] {
    let hole = json!({"$fill": "what to look for", "type": {"type": "string"}, "from": ["a"]});
    let steps = json!([
        {"id": "a", "tool": "find", "input": "one"}, {"id": "b", "tool": "find", "input": hole},
        {"tool": "final_answer", "input": "the answer"},
    ]);
    [json!({"goal": "g", "steps": steps}).to_string(), json!({"value": value}).to_string(), answer("done")]
}

fn replied(records: &[Record]) -> usize {
    let is_reply =
        |record: &&Record| matches!(record, Record::Answered { event: Event::ModelReplied { .. }, .. });
    records.iter().filter(is_reply).count()
}

#[test]
fn a_run_that_was_cut_goes_on_with_the_value_that_was_written_and_its_fixture_replays() {
    let calls = Calls::default();
    let agent = echoing(filling(), &model(replies("two")), &calls).build().unwrap();
    let whole = agent.job(asked("질문?")).run().unwrap().records().to_vec();
    assert_eq!(calls.names(), ["find:one", "find:two"]);
    let end = fold(whole.clone()).unwrap().state;
    for len in 1..=whole.len() {
        let before = replied(&whole[..len]);
        let (script, mut journal) =
            (model(replies("two").into_iter().skip(before)), MemoryJournal::from(whole[..len].to_vec()));
        let agent = echoing(filling(), &script, &Calls::default()).build().unwrap();
        let run = agent.resume(&mut journal).run().unwrap();
        assert_eq!((run.state(), script.asked()), (&end, 3 - before), "cut after {len} records");
    }
    let fixture = Fixture::of_records(&whole, None).unwrap();
    assert!(fixture.frames.contains_key("executor"), "{:?}", fixture.frames.keys());
    let bare: Agent = Agent::builder(filling()).build().unwrap();
    bare.replay(&fixture).unwrap();
}
