//! A run goes by its spec's contracts; so a tool that asks for more care than its contract promises is
//! refused before anything is asked.

use crate::stage;

use planwright::contract::{ToolContract, ToolEffect};
use planwright::driver::{Agent, Changed, Stopped};
use planwright::journal::{Journal, MemoryJournal, Record};
use planwright::ports::ScriptedModel;
use planwright::spec::Spec;
use serde_json::json;
use std::sync::Arc;

use stage::{Calls, answer, asked, echoing, model, plan, spec};

fn replies() -> [String; 2] {
    [plan(&[("store", "하나")]), answer("답입니다.")]
}

/// An agent under this spec that has `tool` registered in the place of the tool of that name.
fn agent_with(spec: Spec, tool: ToolContract, script: &Arc<ScriptedModel>, calls: &Calls) -> Agent {
    let contracts = spec.tools.clone();
    let builder = Agent::builder(spec).model(script.clone());
    let tools = contracts.into_iter().map(|own| if own.name == tool.name { tool.clone() } else { own });
    tools.fold(builder, |builder, contract| builder.tool(calls.echo(contract))).build().unwrap()
}

fn contract(name: &str) -> ToolContract {
    spec("plan-then-execute").tools.into_iter().find(|tool| tool.name == name).unwrap()
}

/// A run of which `store`, a write that may be repeated, was requested and not answered.
fn killed() -> Vec<Record> {
    let agent = echoing(spec("plan-then-execute"), &model(replies()), &Calls::default()).build().unwrap();
    let mut records = agent.job(asked("질문?")).run().unwrap().records().to_vec();
    let requested =
        |record: &Record| matches!(record, Record::Requested { effect, .. } if effect.step().is_some());
    let at = records.iter().position(requested).unwrap();
    records.truncate(at + 1);
    records
}

fn journal(records: &[Record]) -> MemoryJournal {
    MemoryJournal::from(records.to_vec())
}

#[test]
fn write_that_may_no_longer_be_repeated_is_not_repeated_under_the_old_contract() {
    let now = ToolContract { idempotent: None, ..contract("store") };
    let killed = killed();
    for changed in [Changed::Refuse, Changed::Keep] {
        let (script, calls, mut journal) = (model([answer("답")]), Calls::default(), journal(&killed));
        let agent = agent_with(spec("plan-then-execute"), now.clone(), &script, &calls);
        let stopped = agent.resume(&mut journal).changed(changed).run().unwrap_err();
        assert!(matches!(stopped, Stopped::Incomplete(_)), "{stopped:?}");
        let said = stopped.to_string();
        assert!(said.contains("store.idempotent: expected false, found true"), "{said}");
        assert_eq!((calls.count(), script.asked()), (0, 0));
        assert!(journal.records().unwrap() == killed);
    }
    let (calls, mut journal) = (Calls::default(), journal(&killed));
    let agent = agent_with(spec("plan-then-execute"), contract("store"), &model([answer("답")]), &calls);
    assert_eq!(agent.resume(&mut journal).run().unwrap().answer(), Some("답"), "the same tools go on");
    assert_eq!(calls.names(), ["store:하나"]);
}

/// What a run says where the tool at hand is this one; nothing, where it runs.
#[track_caller]
fn check(tool: ToolContract, expect: Option<&str>) {
    let (script, calls) = (model(replies()), Calls::default());
    let ended = agent_with(spec("plan-then-execute"), tool, &script, &calls).run("질문?");
    match (ended, expect) {
        (Ok(_), None) => assert_eq!(calls.count(), 1),
        (Err(stopped), Some(expect)) => {
            assert!(stopped.to_string().contains(expect), "{stopped}");
            assert_eq!((script.asked(), calls.count()), (0, 0));
        }
        (ended, expect) => panic!("expected {expect:?}, found {ended:?}"),
    }
}

#[test]
fn contract_may_ask_for_more_care_than_its_tool_and_for_no_less() {
    let of = |name, effect| ToolContract { effect, timeout_ms: Some(1_000), ..contract(name) };
    check(of("calc", ToolEffect::Read), Some("calc.effect: expected read, found pure"));
    check(of("calc", ToolEffect::Write), Some("calc.effect: expected write, found pure"));
    check(of("find", ToolEffect::Write), Some("find.effect: expected write, found read"));
    check(ToolContract { effect: ToolEffect::Pure, ..contract("find") }, None);
    check(ToolContract { effect: ToolEffect::Read, idempotent: None, ..contract("store") }, None);
    check(ToolContract { idempotent: Some(true), ..contract("send") }, None);
    check(ToolContract { description: "Finds.".to_owned(), max_output_bytes: 9, ..contract("find") }, None);
}

#[test]
fn tool_that_takes_no_input_of_its_contract_is_refused_by_name() {
    let of = |input| ToolContract { input, ..contract("find") };
    let object = json!({"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]});
    check(of(object.clone()), Some("find.input: expected object, found string"));
    check(of(json!({"type": "string", "maxLength": 100})), None);
    let said = ToolContract {
        input: json!({"type": "object", "properties": {"city": {"type": "string"}}}),
        ..contract("find")
    };
    let problem = said.find_mismatch(&of(object.clone())).unwrap();
    assert_eq!(problem, r#"input: expected the field "to", found none of that name"#);
    assert_eq!(of(object.clone()).find_mismatch(&of(object)), None);
}

#[test]
fn replay_calls_no_tool_and_minds_none() {
    let agent = echoing(spec("plan-then-execute"), &model(replies()), &Calls::default()).build().unwrap();
    let fixture = agent.run("질문?").unwrap().fixture().unwrap();
    let now = ToolContract { idempotent: None, ..contract("store") };
    let agent = agent_with(spec("plan-then-execute"), now, &model([""; 0]), &Calls::default());
    assert_eq!(agent.replay(&fixture).unwrap().answer(), Some("답입니다."));
}
